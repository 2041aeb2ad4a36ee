//! `lopa run`: simulates the network a file describes.

use std::path::PathBuf;

use clap::Args;
use lopa_host::config::Experiment;
use lopa_host::report::Outputs;
use lopa_host::run::{Options, Outcome, Prepared, RunError};

use super::{Failure, interrupts, print, progress, threads};

/// Simulates the network a file describes.
///
/// Writes metrics.csv, state.json, summary.json, report.html with its figures, and a checkpoint. Ctrl-C ends the run after
/// the current round, with everything so far written; --resume continues from there to the same bits as an uninterrupted
/// run. algorithm.name is LoPA or one of the methods it is compared with: `lopa algorithms` lists them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa run network.toml --out results --threads 2\n  \
                        lopa run network.toml --out results --resume")]
pub(crate) struct Run {
    /// Experiment file (TOML).
    file: PathBuf,
    /// Folder for the results; earlier ones are replaced when the run ends.
    #[arg(long)]
    out: PathBuf,
    /// Continue an interrupted run, or make a finished one longer, from the checkpoint in the folder for the results.
    #[arg(long)]
    resume: bool,
    /// Number of threads [default: all cores]. Results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Diverged(_) | RunError::Output(_) => Self::run(error),
            RunError::Input(_) | RunError::Config(_) | RunError::Table(_) | RunError::Resume(_) => {
                Self::input(error)
            }
        }
    }
}

impl Run {
    /// Runs, and prints the results in a few lines.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        threads(self.threads)?;
        let experiment = Experiment::read(&self.file).map_err(Failure::input)?;
        let prepared = Prepared::new(experiment)?;
        let outputs = Outputs::new(&self.out).map_err(Failure::input)?;
        let bar = progress(prepared.experiment().run.iterations, "rounds");
        let options = Options { resume: self.resume, stop: Some(interrupts()?) };
        let outcome = prepared.run_with(&outputs, options, |round| bar.set_position(round));
        bar.finish_and_clear();
        let Outcome { record, round, finished, losses, .. } = outcome?;
        let mut text = String::new();
        let mut line = |what: &str, value: String| text += &format!("{what:<26} {value}\n");
        line("rounds", round.to_string());
        let last = record.rows().last();
        for (at, column) in record.columns().iter().enumerate().skip(1) {
            if let Some(value) = last.and_then(|row| row[at]) {
                line(&column.title, short(value));
            }
        }
        line("results", self.out.display().to_string());
        print(&text)?;
        if losses > 0 {
            eprintln!(
                "lopa: {losses} link timeouts split the network, so the result differs from an in-process run; \
                 fewer faults or a higher baud rate would help"
            );
        }
        if finished {
            return Ok(());
        }
        let (file, out) = (self.file.display(), self.out.display());
        Err(Failure::run(format!(
            "interrupted after round {round}; continue with: lopa run {file} --out {out} --resume"
        )))
    }
}

/// A number for people: counts whole, the rest with six digits.
pub(crate) fn short(value: f64) -> String {
    let small = value != 0.0 && value.abs() < 1e-4;
    match value {
        _ if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        _ if small || value.abs() >= 1e6 => format!("{value:.5e}"),
        _ => format!("{value:.6}"),
    }
}
