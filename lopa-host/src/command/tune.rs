//! `lopa tune`: searches for practical step sizes.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;
use lopa_host::campaign::{Trial, Tune, trials_csv};
use lopa_host::metrics::Metric;
use lopa_host::record::Over;

use super::compare::stem;
use super::sweep::metric;
use super::{Failure, Threads, folder, inputs, interrupts, print, progress, settled};

/// Searches for practical step sizes with a stated budget, the same for every file.
///
/// Step sizes are drawn log-uniformly, then successive halving picks the best: all trials run for a ninth of the rounds,
/// the best third of them for a third, and the best third of those for all. The first trial is the file unchanged.
/// Algorithms that share a step size are tried with the same draws of it. Writes tune.csv with every trial, and a copy of
/// each file with its best step sizes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa tune network.toml --out tuned\n  \
                        lopa tune lopa.toml spdb.toml ma-dsbo.toml --out tuned --trials 81 --seed 2")]
pub(crate) struct TuneCommand {
    /// Experiment files (TOML).
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder for the results.
    #[arg(long)]
    out: PathBuf,
    /// Number of trials per file.
    #[arg(long, default_value_t = 27, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    trials: u16,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds each trial runs on: the mean counts, and trials that diverge on any seed are discarded.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    seeds: u16,
    /// Metric whose last value is optimised. Avoid test_accuracy: that would tune on the test set.
    #[arg(long, default_value = "outer_loss", value_parser = metric)]
    metric: Metric,
    /// Range of beta and lambda, FROM:TO, and of alpha for single-level methods.
    #[arg(long, default_value = "0.001:1", value_parser = range)]
    range: [f32; 2],
    /// Range of alpha, FROM:TO. The shared variable often needs far larger steps than models do.
    #[arg(long, default_value = "0.001:300", value_parser = range)]
    outer_range: [f32; 2],
    #[command(flatten)]
    threads: Threads,
}

fn range(text: &str) -> Result<[f32; 2], String> {
    let wrong =
        || format!("{text:?} is not a range: write 0.001:1, from a number above 0 to a larger one");
    let (low, high) = text.split_once(':').ok_or_else(wrong)?;
    match (low.trim().parse(), high.trim().parse()) {
        (Ok(low), Ok(high)) if 0.0 < low && low < high && high < f32::INFINITY => Ok([low, high]),
        _ => Err(wrong()),
    }
}

impl TuneCommand {
    /// Searches for every file, and prints the best step sizes.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.threads.start()?;
        let mut searches = Vec::new();
        for file in &self.files {
            let experiment = settled(file)?;
            let tune = Tune {
                experiment,
                trials: self.trials,
                seed: self.seed,
                seeds: self.seeds,
                metric: self.metric,
                over: Over::Last,
                reach: None,
                range: self.range,
                outer_range: self.outer_range,
            };
            searches.push((stem(file), tune));
        }
        let names: Vec<&String> = searches.iter().map(|(name, _)| name).collect();
        if let Some(name) = names.iter().enumerate().find(|(i, a)| names[..*i].contains(a)) {
            return Err(Failure::input(format!("two files are named {}: rename one", name.1)));
        }
        let mut outcomes: Vec<String> = names.iter().map(|name| format!("{name}.toml")).collect();
        outcomes.push("tune.csv".into());
        let read = self.files.iter().zip(&searches);
        let read: Vec<_> =
            read.flat_map(|(file, (_, tune))| inputs(file, &tune.experiment)).collect();
        let outputs = folder(&self.out, &outcomes, &read)?;
        let runs: usize = searches.iter().flat_map(|(_, tune)| tune.rungs()).map(|r| r.0).sum();
        let (stop, bar) = (interrupts()?, progress(runs as u64, "runs"));
        let mut found: Vec<(&str, Vec<Trial>)> = Vec::new();
        for (name, tune) in &searches {
            let trials = tune.run(stop, || bar.inc(1));
            found.push((name, trials.map_err(|e| Failure::input(format!("{name}: {e}")))?));
        }
        bar.finish_and_clear();
        let table = trials_csv(&found, self.metric);
        let mut batch = outputs.batch();
        batch.add("tune.csv", table);
        let (mut diverged, mut found_text) = (Vec::new(), String::new());
        for ((name, tune), (_, trials)) in searches.iter().zip(&found) {
            let Some(Trial { algorithm, value: Some(value), rounds, .. }) = trials.first() else {
                diverged.push(name.as_str());
                batch.remove(&format!("{name}.toml"));
                continue;
            };
            let mut experiment = tune.experiment.moved_to(outputs.folder());
            experiment.algorithm = algorithm.clone();
            let text = toml::to_string(&experiment).map_err(Failure::run)?;
            batch.add(format!("{name}.toml"), text);
            found_text += &format!(
                "{name}: {} {value:.6} after {rounds} rounds; {} trials, {} rounds in total\n\n[algorithm]\n{}\n",
                self.metric.name(),
                self.trials,
                tune.budget(),
                toml::to_string(algorithm).map_err(Failure::run)?,
            );
        }
        batch.write()?;
        print(&format!("{found_text}results {}\n", self.out.display()))?;
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::run("interrupted: unfinished trials were not saved"));
        }
        match &diverged[..] {
            [] => Ok(()),
            names => Err(Failure::run(format!(
                "every trial diverged for {}: try a lower --range",
                names.join(", ")
            ))),
        }
    }
}
