//! The command `lopa`.

mod demonstration;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lopa_host::config::Experiment;
use lopa_host::metrics::Metrics;
use lopa_host::outputs::Outputs;
use lopa_host::run::{Prepared, RunError};

/// Learning on a fleet of microcontrollers without a server.
///
/// Without a command: a ring of nodes learns on synthetic data, in one memory, with the code that runs on a chip. Each
/// node learns a classifier of its own from a handful of samples; together they learn which features deserve trust.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  lopa --nodes 20 --seed 7\n  lopa run network.toml --out results\n\n\
                  Exit status: 0, 1 a run failed or diverged, 2 bad usage or input."
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demonstration: demonstration::Demonstration,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulates the network a file describes.
    ///
    /// Writes metrics.csv, state.json and summary.json.
    #[command(after_help = "Example:\n  lopa run network.toml --out results --threads 2")]
    Run {
        /// The file.
        file: PathBuf,
        /// The folder for the results; earlier ones are replaced when the run ends.
        #[arg(long)]
        out: PathBuf,
        /// How many threads; all cores if not given. The results do not depend on it.
        #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
    },
    /// Prints a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Exit status: 0, 1 a run failed or diverged, 2 bad usage or input.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        None => demonstration::demonstrate(&arguments.demonstration).map_err(|error| (1, error)),
        Some(Command::Run { file, out, threads }) => run(&file, &out, threads).map_err(|error| {
            let status = if matches!(error, RunError::Diverged(_)) { 1 } else { 2 };
            (status, error.into())
        }),
        Some(Command::Completions { shell }) => {
            let out = &mut std::io::stdout();
            clap_complete::generate(shell, &mut Arguments::command(), "lopa", out);
            Ok(())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, error)) => {
            eprintln!("lopa: {error}");
            ExitCode::from(status)
        }
    }
}

fn run(file: &Path, out: &Path, threads: Option<u16>) -> Result<(), RunError> {
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global()
            .map_err(|error| RunError::Input(format!("cannot start {threads} threads: {error}")))?;
    }
    let prepared = Prepared::new(Experiment::read(file)?)?;
    let outputs = Outputs::new(out).map_err(RunError::Output)?;
    let bar = progress(prepared.experiment().run.iterations);
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
    println!("results        {}", out.display());
    Ok(())
}

/// A bar on a terminal, nothing in a pipe.
fn progress(rounds: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(Some(rounds), ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} rounds, {per_sec}, {eta} left")
        .expect("a fixed template");
    ProgressBar::new(rounds).with_style(style)
}
