//! `lopa` alone: runs a small network and shows what it learned. `lopa example` prints its experiment file.

use std::fmt::Write;

use clap::Args;
use lopa_core::vector::add_scaled;
use lopa_host::algorithms::{AlgorithmName, NodeView};
use lopa_host::config::Experiment;
use lopa_host::metrics::Metric;
use lopa_host::run::{Options, Outcome, Prepared};

use super::{Failure, print, progress};

/// The experiment file.
const FILE: &str = include_str!("../../examples/lopa.toml");

/// Options of the demonstration; the file's values if not given.
#[derive(Debug, Args)]
pub(crate) struct Demonstration {
    /// Number of nodes on the ring [default: 10].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: Option<u32>,
    /// Number of rounds [default: 3000].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Seed of the data and the batches: the same seed gives the same bits [default: 1].
    #[arg(long)]
    seed: Option<u64>,
}

/// Prints the experiment file of the demonstration: a good start for one of your own.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  lopa example > ring.toml\n  lopa run ring.toml --out results")]
pub(crate) struct Example {}

impl Example {
    /// Prints the file.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        print(FILE)
    }
}

impl Demonstration {
    /// Compares four networks on the same data, and prints what they learned.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut experiment = Experiment::parse(FILE).map_err(Failure::run)?;
        experiment.network.nodes = self.nodes.unwrap_or(experiment.network.nodes);
        let run = &mut experiment.run;
        run.iterations = self.rounds.unwrap_or(run.iterations);
        run.seed = self.seed.unwrap_or(run.seed);
        // Only the end is shown here.
        run.record_every = run.iterations;
        let (nodes, rounds) = (experiment.network.nodes, run.iterations);
        let data = experiment.data.recipe(0);
        print(&format!(
            "{nodes} nodes on a ring. Each has {} training samples of {} features, of which {} matter.\n\
             Each node learns its own classifier; together they learn how strongly to regularise each feature.\n\n",
            data.samples, data.features, data.relevant
        ))?;

        let gt = Prepared::new(experiment)?;
        let lg = gt.with(|experiment| experiment.algorithm.name = AlgorithmName::LopaLg)?;
        let alone = lg.alone();
        // A step this small leaves the strengths where they start.
        let fixed =
            alone.with(|experiment| experiment.algorithm.alpha = Some(f32::MIN_POSITIVE))?;
        let networks = [
            ("the same strength for all", &fixed),
            ("each node on its own", &alone),
            ("LoPA-LG", &lg),
            ("LoPA-GT", &gt),
        ];

        let bar = progress(networks.len() as u64 * rounds, "rounds");
        let mut text = "  test accuracy, mean over nodes\n".to_owned();
        let mut agreed = Vec::new();
        for (done, (name, prepared)) in (0..).zip(networks) {
            let tick = |round| bar.set_position(done * rounds + round);
            let outcome = prepared.run(Options::default(), tick)?;
            let accuracy = outcome.record.last(Metric::TestAccuracy.name()).unwrap_or(f64::NAN);
            let _ = writeln!(text, "  {name:<28} {accuracy:.3}");
            agreed = mean_outer(&outcome);
        }
        bar.finish_and_clear();

        text += "\n  strength per feature, agreed on by the fleet (LoPA-GT); a high strength mutes a feature\n";
        for (feature, x) in agreed.iter().enumerate() {
            let mark = if feature < data.relevant { "matters" } else { "noise" };
            let bar = "▪".repeat(((x + 3.0) * 6.0).clamp(0.0, 60.0) as usize);
            let strength = lopa_core::math::exp(gt.base() + x);
            let line = format!("  feature {feature:>2}  {mark:<8} {strength:>8.4}  {bar}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text +=
            "\nMake it yours: lopa example > ring.toml, then lopa run ring.toml --out results\n";
        print(&text)
    }
}

/// The mean of the nodes' x, which is 0 where they start.
fn mean_outer(outcome: &Outcome<'_>) -> Vec<f32> {
    let nodes = outcome.nodes();
    let mut mean = vec![0.0; nodes.first().map_or(0, |node| node.x.len())];
    let share = 1.0 / nodes.len() as f32;
    nodes.iter().for_each(|NodeView { x, .. }| add_scaled(&mut mean, share, x));
    mean
}
