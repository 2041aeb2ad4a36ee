//! `lopa run`: simulates the network a file describes.

use std::path::PathBuf;

use clap::Args;
use lopa_host::config::Experiment;
use lopa_host::metrics::Metrics;
use lopa_host::outputs::Outputs;
use lopa_host::run::{Prepared, RunError};

use super::{Failure, progress, threads};

/// Simulates the network a file describes.
///
/// Writes metrics.csv, state.json and summary.json.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  lopa run network.toml --out results --threads 2")]
pub(crate) struct Run {
    /// The file.
    file: PathBuf,
    /// The folder for the results; earlier ones are replaced when the run ends.
    #[arg(long)]
    out: PathBuf,
    /// How many threads; all cores if not given. The results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Diverged(_) => Self::run(error),
            RunError::Input(_) | RunError::Output(_) => Self::input(error),
        }
    }
}

impl Run {
    /// Runs, and says in a few lines what came out.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        threads(self.threads)?;
        let experiment = Experiment::read(&self.file).map_err(Failure::input)?;
        let prepared = Prepared::new(experiment)?;
        let outputs = Outputs::new(&self.out).map_err(Failure::input)?;
        let bar = progress(prepared.experiment().run.iterations, "rounds");
        let rows = prepared.run(&outputs, |_| bar.inc(1));
        bar.finish_and_clear();
        let rows = rows?;
        if let Some(Metrics { iteration, outer_loss, consensus, test_accuracy, .. }) = rows.last() {
            println!("iteration      {iteration}");
            println!("outer loss     {outer_loss:.6}");
            println!("consensus      {consensus:.3e}");
            if let Some(accuracy) = test_accuracy {
                println!("test accuracy  {accuracy:.4}");
            }
        }
        println!("results        {}", self.out.display());
        Ok(())
    }
}
