//! `lopa run`: simulates the network a file describes.

use std::path::PathBuf;

use clap::Args;
use lopa_host::config::Experiment;
use lopa_host::live::{Feed, Live, Phase};
use lopa_host::report::Outputs;
use lopa_host::run::{Options, Outcome, RunError, Watch, settle};

use super::live::LiveOption;
use super::workers::WorkersOption;
use super::{Failure, Lines, Threads, complete, folder, inputs, interrupts, progress, tell};

/// Simulates the network a file describes.
///
/// Writes metrics.csv, state.json, model.json, summary.json, report.html with its figures, and a checkpoint. Ctrl-C ends the
/// run after the current round, with everything so far written; --resume continues from there to the same bits as an
/// uninterrupted run. algorithm.name is LoPA or one of the methods it is compared with: `lopa algorithms` lists them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa run network.toml --out results --threads 2\n  \
                        lopa run network.toml --out results --resume\n  \
                        lopa run network.toml --out results --live\n  \
                        lopa run network.toml --out results --workers 4")]
pub(crate) struct Run {
    /// Experiment file (TOML).
    file: PathBuf,
    /// Folder for the results; earlier ones are replaced when the run ends, unless it diverges.
    #[arg(long)]
    out: PathBuf,
    /// Continue an interrupted run, or make a finished one longer, from the checkpoint in the folder for the results.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    live: LiveOption,
    #[command(flatten)]
    workers: WorkersOption,
    #[command(flatten)]
    threads: Threads,
}

impl Run {
    /// Runs, and prints the results in a few lines.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let threads = self.workers.threads();
        self.threads.start_or(threads)?;
        let mut experiment = Experiment::read(&self.file).map_err(Failure::input)?;
        let chosen = if self.resume { settle(&mut experiment, &self.out) } else { Vec::new() };
        let prepared = complete(experiment)?.with_chosen(chosen);
        let inputs = inputs(&self.file, prepared.experiment());
        let outputs = folder(&self.out, &Outputs::RUN, &inputs)?;
        let bar = progress(prepared.experiment().run.iterations, "rounds");
        let stop = interrupts()?;
        let threads = self.threads.number().or(threads).unwrap_or(1);
        let led = self.workers.start(&self.file, prepared.experiment(), threads, stop)?;
        let (outputs, stop) = (Some(&outputs), Some(stop));
        let live = self.live.start(&prepared, &self.file)?;
        let feed = live.as_ref().map(Live::feed);
        let watch = feed.map(|feed| feed as &dyn Watch);
        let place = led.as_ref().map(|led| &led.place);
        let options = Options { outputs, resume: self.resume, stop, watch, place };
        let outcome = prepared.run(options, |round| bar.set_position(round));
        bar.finish_and_clear();
        if let Some(feed) = feed {
            end(feed, &outcome);
        }
        if let Err(RunError::Worker(gone)) = outcome {
            return Err(Failure::run(format!("{gone}; {}", self.resuming())));
        }
        let Outcome { record, round, finished, losses, learned, .. } = outcome?;
        let mut lines = Lines::default();
        lines.add("rounds", round);
        lines.add_last(&record);
        lines.add_scores(&learned.scores, prepared.experiment());
        lines.add("results", self.out.display());
        lines.print()?;
        if let Some(failed) = learned.failed {
            tell(format_args!("lopa: {failed}"));
        }
        if losses > 0 {
            tell(format_args!(
                "lopa: {losses} link timeouts split the network, so the result differs from an in-process run; \
                 fewer faults or a higher baud rate would help"
            ));
        }
        if finished {
            return Ok(());
        }
        Err(Failure::run(format!("interrupted after round {round}; {}", self.resuming())))
    }

    /// How to go on.
    fn resuming(&self) -> String {
        let (file, out) = (self.file.display(), self.out.display());
        format!("continue with: lopa run {file} --out {out} --resume")
    }
}

/// Tells those that watch how it ended.
fn end(feed: &Feed, outcome: &Result<Outcome<'_>, RunError>) {
    match outcome {
        Ok(outcome) if outcome.finished => feed.end(Phase::Finished, ""),
        Ok(_) => feed.end(Phase::Stopped, "Stopped before the last round."),
        Err(error @ RunError::Diverged(diverged)) => {
            feed.diverged(diverged.node());
            feed.end(Phase::Diverged, &error.to_string());
        }
        Err(error) => feed.end(Phase::Failed, &error.to_string()),
    }
}
