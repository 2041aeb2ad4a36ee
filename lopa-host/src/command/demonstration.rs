//! `lopa` alone: runs a small network and shows what it learned.

use std::error::Error;

use clap::Args;
use indicatif::ProgressBar;
use lopa_core::batch::Sampler;
use lopa_core::network::Edge;
use lopa_core::node::{Config, Scheme};
use lopa_core::problem::{Point, Predict, Problem};
use lopa_core::problems::Logistic;
use lopa_core::samples::{LabelKind, Row};
use lopa_core::steps::StepSizes;
use lopa_host::data::{Shard, synthetic::Recipe};
use lopa_host::metrics::accuracy;
use lopa_host::simulation::{SimulatedNode, Simulation};
use lopa_host::topology::Topology;

/// What the demonstration can be told.
#[derive(Debug, Args)]
pub(crate) struct Demonstration {
    /// How many nodes the ring has.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: u32,
    /// How many rounds it runs.
    #[arg(long, default_value_t = 3000)]
    rounds: u64,
    /// The seed of data and draws: the same seed, the same bits.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Few samples, many features, few of them worth anything: where hyper-parameters matter.
const RECIPE: Recipe = Recipe { features: 24, relevant: 4, samples: 40, seed: 0 };
/// ln of the strength every feature starts with.
const START: f32 = -3.0;
const BATCH: u32 = 20;

/// Compares four networks on the same data, and prints what came out.
pub(crate) fn demonstrate(arguments: &Demonstration) -> Result<(), Box<dyn Error>> {
    let recipe = Recipe { seed: arguments.seed, ..RECIPE };
    let shards: Vec<Shard> = (0..arguments.nodes).map(|node| recipe.shard(node)).collect();
    let ring = Topology::ring(arguments.nodes);

    println!(
        "{} nodes on a ring. Each has {} training samples of {} features, of which {} matter.\n\
         Each learns a classifier of its own; together they learn how strongly to regularise each feature.\n",
        arguments.nodes, recipe.samples, recipe.features, recipe.relevant
    );
    let bar = super::progress(4 * arguments.rounds, "rounds");
    let run = |scheme, edges: Vec<Edge>, alpha| {
        Run { shards: &shards, scheme, edges, alpha, arguments }.run(&bar)
    };
    let gradient = Scheme::LocalGradient;
    // A step this small leaves the strengths where they start.
    let fixed = run(gradient, Vec::new(), f32::MIN_POSITIVE)?;
    let alone = run(gradient, Vec::new(), ALPHA)?;
    let local = run(gradient, ring.metropolis(), ALPHA)?;
    let tracking = run(Scheme::GradientTracking, ring.metropolis(), ALPHA)?;
    bar.finish_and_clear();

    println!("  test accuracy, mean over the nodes");
    for (name, simulation) in [
        ("strengths left as they are", &fixed),
        ("every node for itself", &alone),
        ("LoPA-LG", &local),
        ("LoPA-GT", &tracking),
    ] {
        println!("  {name:<28} {:.3}", mean_accuracy(simulation, &shards)?);
    }
    println!(
        "\n  what the fleet agreed on (LoPA-GT): the larger the strength, the less a feature counts"
    );
    let x = mean_outer(tracking.nodes());
    for (feature, x) in x.iter().enumerate() {
        let mark = if feature < recipe.relevant { "matters" } else { "noise" };
        let bar = "▪".repeat(((x - START + 3.0) * 6.0).clamp(0.0, 60.0) as usize);
        println!("  feature {feature:>2}  {mark:<8} {:>8.4}  {bar}", lopa_core::math::exp(*x));
    }
    Ok(())
}

/// α of every run but the first.
const ALPHA: f32 = 0.6;

/// One of the four networks that are compared.
struct Run<'a> {
    shards: &'a [Shard],
    scheme: Scheme,
    edges: Vec<Edge>,
    alpha: f32,
    arguments: &'a Demonstration,
}

impl<'a> Run<'a> {
    fn run(self, bar: &ProgressBar) -> Result<Simulation<Logistic<'a>>, Box<dyn Error>> {
        let problems: Vec<_> = self.shards.iter().map(Shard::logistic).collect::<Result<_, _>>()?;
        let steps = StepSizes::new(self.alpha, 0.05, 0.05, 0.2, 0.5)?;
        let size = std::num::NonZeroU32::new(BATCH).expect("not zero");
        let seed = self.arguments.seed;
        let config = |node| Config { steps, sampler: Sampler::drawn(seed, node, size) };
        let mut simulation = Simulation::new(problems, self.scheme, self.edges, START, config)?;
        for _ in 0..self.arguments.rounds {
            simulation.round()?;
            bar.inc(1);
        }
        Ok(simulation)
    }
}

fn mean_accuracy(
    simulation: &Simulation<Logistic<'_>>,
    shards: &[Shard],
) -> Result<f64, Box<dyn Error>> {
    let mut sum = 0.0;
    for (node, shard) in simulation.nodes().iter().zip(shards) {
        let mut workspace = vec![0.0; node.problem().dimensions().workspace];
        let at = Point { x: node.state().x, theta: node.state().theta };
        let predict = |row: Row<'_>| Some(node.problem().predict(at, row, &mut workspace));
        let test = shard.test.as_ref().ok_or("no test samples")?;
        sum += accuracy(&test.samples(LabelKind::Binary)?, predict).unwrap_or(0.0);
    }
    Ok(sum / shards.len() as f64)
}

fn mean_outer(nodes: &[SimulatedNode<Logistic<'_>>]) -> Vec<f32> {
    let mut mean = vec![0.0; nodes.first().map_or(0, |node| node.state().x.len())];
    for node in nodes {
        lopa_core::vector::add_scaled(&mut mean, 1.0 / nodes.len() as f32, node.state().x);
    }
    mean
}
