//! Time per round must grow no faster than the number of nodes, the batch and the dimension: see README.md in this folder.

use std::error::Error;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Instant;

use lopa_core::batch::Sampler;
use lopa_core::footprint::Footprint;
use lopa_core::node::{Config, Scheme};
use lopa_core::problems::Logistic;
use lopa_core::steps::StepSizes;
use lopa_host::data::{Shard, synthetic::Recipe};
use lopa_host::network::Simulation;
use lopa_host::plot::{Chart, Line};
use lopa_host::record::Scale;
use lopa_host::topology::Topology;

const SCHEME: Scheme = Scheme::GradientTracking;

const HELP: &str = "\
Measures how the time of a round grows: see lopa-host/benches/scale/README.md

cargo bench -p lopa-host --bench scale [-- --write]

--write writes the table and the chart in that folder anew.";

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A network of nodes that learn logistic regression.
#[derive(Clone, Copy)]
struct Size {
    nodes: u32,
    features: usize,
    samples: usize,
    batch: u32,
}

/// The size that grows, and the others.
struct Sweep {
    name: &'static str,
    sizes: &'static [u32],
    network: fn(u32) -> Size,
    /// The largest size may take this many times as long as the second smallest, per unit.
    promised: f64,
}

const SWEEPS: [Sweep; 3] = [
    Sweep {
        name: "nodes",
        sizes: &[10, 100, 1_000, 10_000, 100_000],
        network: |nodes| Size { nodes, features: 8, samples: 20, batch: 10 },
        promised: 2.0,
    },
    Sweep {
        name: "batch",
        sizes: &[10, 20, 40, 80, 160, 320, 640],
        network: |batch| Size { nodes: 4, features: 784, samples: 100, batch },
        promised: 1.3,
    },
    Sweep {
        name: "features",
        sizes: &[64, 128, 256, 512, 1_024, 2_048, 4_096],
        network: |features| Size { nodes: 4, features: features as usize, samples: 100, batch: 40 },
        promised: 1.5,
    },
];

/// The cost of one node.
struct Cost {
    microseconds: f64,
    /// The growth of the process in bytes, if the system reports it.
    resident: Option<f64>,
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let write = match arguments[..] {
        [] => false,
        ["--write"] => true,
        ["--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    // On one thread: how threads share the work is another question.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let measured = pool.map_err(Into::into).and_then(|pool| pool.install(|| measure_all(write)));
    match measured {
        Ok(misses) if misses.is_empty() => ExitCode::SUCCESS,
        Ok(misses) => {
            eprintln!("{}", misses.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything; returns the promises that were not kept.
fn measure_all(write: bool) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    let report = report().map_err(|error| error.to_string())?;
    println!("{}", report.table);
    if write {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/scale");
        let page = std::fs::read_to_string(folder.join("README.md"))?;
        let (before, _) = page.split_once("| sweep |").ok_or("README.md has no table")?;
        std::fs::write(folder.join("README.md"), format!("{before}{}", report.table))?;
        std::fs::write(folder.join("scale.svg"), report.chart.svg())?;
    }
    Ok(report.misses)
}

struct Report {
    table: String,
    chart: Chart,
    misses: Vec<String>,
}

fn report() -> Outcome<Report> {
    let mut table = "| sweep | size | µs per node and round | per unit, against the smallest | bytes resident per node |\n|---|---:|---:|---:|---:|".to_owned();
    let mut chart = Chart::new("size, smallest = 1", "time of a round, smallest = 1");
    (chart.x_scale, chart.y_scale) = (Scale::Logarithmic, Scale::Logarithmic);
    let mut misses = Vec::new();
    for sweep in &SWEEPS {
        let mut points = Vec::new();
        let mut costs = Vec::new();
        // The largest first: reused memory would hide its growth.
        for &size in sweep.sizes.iter().rev() {
            costs.push((size, measure((sweep.network)(size))?));
        }
        costs.reverse();
        let whole = |(size, cost): &(u32, Cost)| {
            cost.microseconds * f64::from((sweep.network)(*size).nodes)
        };
        let first = (f64::from(costs[0].0), whole(&costs[0]));
        for row in &costs {
            let (size, cost) = row;
            let (times, longer) = (f64::from(*size) / first.0, whole(row) / first.1);
            points.push([times, longer]);
            let resident = cost.resident.map_or("-".into(), |bytes| format!("{bytes:.0}"));
            let (name, time, unit) = (sweep.name, cost.microseconds, longer / times);
            write!(table, "\n| {name} | {size} | {time:.3} | {unit:.2} | {resident} |")?;
        }
        // What does not grow is shared by few units in the smallest network, so the second is the base.
        let unit = |row: &(u32, Cost)| whole(row) / f64::from(row.0);
        let growth = unit(&costs[costs.len() - 1]) / unit(&costs[1]);
        if growth > sweep.promised {
            let (name, promised) = (sweep.name, sweep.promised);
            misses.push(format!("{name}: {growth:.2} times the time per unit, at most {promised}"));
        }
        chart.add(Line::new(sweep.name, points));
    }
    let line = [1.0, 10_000.0].map(|size| [size, size]).to_vec();
    chart.add(Line::new("linear", line));
    let width = (SWEEPS[0].network)(1).features;
    let computed = Footprint::new(SCHEME, width, width, Logistic::workspace(width)).state;
    write!(table, "\n\nThe variables of a node in the first sweep take {computed} bytes.\n")?;
    Ok(Report { table, chart, misses })
}

/// The mean round of a ring.
fn measure(size: Size) -> Outcome<Cost> {
    let Size { nodes, features, samples, batch } = size;
    let recipe = Recipe { features, relevant: 4, samples, alike: false, seed: 1 };
    let shard = |node| Shard { test: None, ..recipe.shard(node) };
    let shards: Vec<Shard> = (0..nodes).map(shard).collect();
    let problems = shards.iter().map(Shard::logistic).collect::<Result<Vec<_>, _>>()?;
    let rate = 0.8 / features as f32;
    let steps = StepSizes::new(0.1, rate, rate, 0.4, 0.4)?;
    let batch = NonZeroU32::new(batch).ok_or("an empty batch")?;
    let config = |node| Config { steps, sampler: Sampler::drawn(1, node, batch) };
    let edges = Topology::ring(nodes).metropolis();
    let before = resident();
    let mut network = Simulation::new(problems, SCHEME, edges, |outer| vec![-4.0; outer], config)?;
    // About as long for every size, and at least a dozen rounds.
    let work = f64::from(nodes) * (500.0 + features as f64 * f64::from(batch.get()));
    let rounds = (7.0e8 / work).clamp(12.0, 20_000.0) as u32;
    network.round()?;
    let began = seconds();
    for _ in 0..rounds {
        network.round()?;
    }
    let time = (seconds() - began) / f64::from(rounds);
    let grown = resident().zip(before).map(|(now, before)| now.saturating_sub(before));
    // Smaller growth depends on what the allocator happened to have at hand.
    let resident = grown.filter(|&bytes| bytes >= 1 << 20);
    let resident = resident.map(|bytes| bytes as f64 / f64::from(nodes));
    Ok(Cost { microseconds: 1e6 * time / f64::from(nodes), resident })
}

/// Seconds that this thread has had a core for, on Linux; elsewhere, of the clock.
fn seconds() -> f64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split_whitespace().next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()) {
        Some(nanoseconds) => 1e-9 * nanoseconds,
        None => BEGAN.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}

/// The process's resident bytes, on Linux.
fn resident() -> Option<u64> {
    // In pages, which have 4 KiB on nearly every machine.
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(4_096 * text.split_whitespace().nth(1)?.parse::<u64>().ok()?)
}
