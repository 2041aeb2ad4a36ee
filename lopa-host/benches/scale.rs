//! With a hundred times as many nodes, time per node and round and memory per node must stay about the same.

use std::error::Error;
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Instant;

use lopa_core::batch::Sampler;
use lopa_core::footprint::Footprint;
use lopa_core::node::{Config, Scheme};
use lopa_core::problems::Logistic;
use lopa_core::steps::StepSizes;
use lopa_host::data::{Shard, synthetic::Recipe};
use lopa_host::network::Simulation;
use lopa_host::topology::Topology;

/// The promised bound: a node of the large network costs at most this many times as much as one of the small network.
const WANTED: f64 = 1.5;
const SCHEME: Scheme = Scheme::GradientTracking;
const RECIPE: Recipe = Recipe { features: 16, relevant: 4, samples: 20, seed: 1 };

/// The cost of one node.
struct Cost {
    microseconds: f64,
    /// The growth of the process in bytes, if the system reports it.
    resident: Option<f64>,
}

fn main() -> ExitCode {
    match compare() {
        Ok(ratio) if ratio <= WANTED => ExitCode::SUCCESS,
        Ok(ratio) => {
            eprintln!("{ratio:.2} times the time a node: at most {WANTED} is promised");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<f64, Box<dyn Error>> {
    // The large network first: reused memory would hide its growth.
    let large = measure(100, 60)?;
    let small = measure(10, 6_000)?;
    let width = RECIPE.features;
    let computed = Footprint::new(SCHEME, width, width, Logistic::workspace(width));
    println!("microseconds per node and round, and bytes of a node, n = p = {width}");
    for (side, cost) in [(10, &small), (100, &large)] {
        let resident = cost.resident.map_or("?".into(), |bytes| format!("{bytes:.0}"));
        println!(
            "  torus {side}x{side:<4} {:6.3} µs, {resident} bytes resident",
            cost.microseconds
        );
    }
    println!("  computed: {} bytes of variables", computed.state);
    println!("  ratio {:.2}", large.microseconds / small.microseconds);
    Ok(large.microseconds / small.microseconds)
}

/// The median round of a torus of `side` by `side`.
fn measure(side: u32, rounds: usize) -> Result<Cost, Box<dyn Error>> {
    let nodes = side * side;
    let shards: Vec<Shard> = (0..nodes).map(|node| RECIPE.shard(node)).collect();
    let problems = shards.iter().map(Shard::logistic).collect::<Result<Vec<_>, _>>()?;
    let steps = StepSizes::new(0.1, 0.1, 0.1, 0.4, 0.4)?;
    let size = NonZeroU32::new(10).ok_or("an empty batch")?;
    let config = |node| Config { steps, sampler: Sampler::drawn(1, node, size) };
    let edges = Topology::torus(side, side)?.metropolis();
    let before = resident();
    let mut network = Simulation::new(problems, SCHEME, edges, |outer| vec![-4.0; outer], config)?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let began = Instant::now();
        network.round()?;
        times.push(began.elapsed().as_secs_f64());
    }
    let grown = resident().zip(before).map(|(now, before)| now.saturating_sub(before));
    times.sort_by(f64::total_cmp);
    let microseconds = 1e6 * times[times.len() / 2] / f64::from(nodes);
    Ok(Cost { microseconds, resident: grown.map(|bytes| bytes as f64 / f64::from(nodes)) })
}

/// The process's resident bytes, on Linux.
fn resident() -> Option<u64> {
    // In pages, which have 4 KiB on nearly every machine.
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(4_096 * text.split_whitespace().nth(1)?.parse::<u64>().ok()?)
}
