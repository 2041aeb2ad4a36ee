//! The subcommands of `lopa`: one file each.

pub(crate) mod algorithms;
pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod demonstration;
pub(crate) mod describe;
pub(crate) mod export;
#[cfg(unix)]
pub(crate) mod fleet;
#[cfg(unix)]
mod hang_up;
pub(crate) mod init;
pub(crate) mod key;
pub(crate) mod live;
pub(crate) mod paper;
pub(crate) mod predict;
pub(crate) mod run;
pub(crate) mod shard;
pub(crate) mod sweep;
pub(crate) mod theory;
pub(crate) mod topology;
pub(crate) mod tune;
pub(crate) mod workers;

use std::fmt;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use lopa_core::samples::LabelKind;
use lopa_host::config::Experiment;
use lopa_host::files::WriteError;
use lopa_host::record::Record;
use lopa_host::report::{Chosen, Outputs, Score};
use lopa_host::run::{Prepared, RunError};
use serde::Serialize;

/// Why the command ends with a status that is not zero.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Failure {
    /// 1 a run failed or diverged, 2 bad usage or input.
    pub(crate) status: u8,
    /// The message.
    what: String,
}

impl Failure {
    /// Bad usage or input.
    pub(crate) fn input(what: impl fmt::Display) -> Self {
        Self { status: 2, what: what.to_string() }
    }

    /// A run failed.
    pub(crate) fn run(what: impl fmt::Display) -> Self {
        Self { status: 1, what: what.to_string() }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Diverged(_) | RunError::Output(_) | RunError::Worker(_) => Self::run(error),
            _ => Self::input(error),
        }
    }
}

/// For results that cannot be written; a folder that cannot be made is wrong input instead.
impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::run(error)
    }
}

/// Reads an experiment file, and everything its network needs.
pub(crate) fn prepared(file: &Path) -> Result<Prepared, Failure> {
    complete(Experiment::read(file).map_err(Failure::input)?)
}

/// Reads an experiment file, and chooses what it leaves open.
pub(crate) fn settled(file: &Path) -> Result<Experiment, Failure> {
    let experiment = Experiment::read(file).map_err(Failure::input)?;
    if experiment.is_open() {
        Ok(complete(experiment)?.experiment().clone())
    } else {
        Ok(experiment)
    }
}

/// Reads everything that an experiment needs, and tells which of its settings were chosen.
pub(crate) fn complete(experiment: Experiment) -> Result<Prepared, Failure> {
    let wait = bar(0, "{spinner} choosing step sizes, {elapsed}");
    if experiment.is_open() {
        wait.enable_steady_tick(Duration::from_millis(100));
    }
    let prepared = Prepared::new(experiment);
    wait.finish_and_clear();
    let prepared = prepared?;
    if !prepared.chosen().is_empty() {
        let chosen =
            prepared.chosen().iter().map(|Chosen { key, value }| format!("{key} = {value}"));
        tell(format_args!("chosen: {}", chosen.collect::<Vec<_>>().join(", ")));
    }
    prepared.large_batch().into_iter().for_each(|remark| tell(format_args!("lopa: {remark}")));
    Ok(prepared)
}

/// The folder for files of these names. Refuses, before anything runs or is written, to replace an input of the command or
/// a file that lopa has not written.
pub(crate) fn folder<N: AsRef<str>>(
    out: &Path,
    names: &[N],
    inputs: &[PathBuf],
) -> Result<Outputs, Failure> {
    refuse_inputs(out, names, inputs)?;
    Outputs::for_files(out, names).map_err(Failure::input)
}

/// Refuses to replace an input of the command by one of these files.
pub(crate) fn refuse_inputs<N: AsRef<str>>(
    out: &Path,
    names: &[N],
    inputs: &[PathBuf],
) -> Result<(), Failure> {
    let inputs: Vec<PathBuf> = inputs.iter().filter_map(|path| path.canonicalize().ok()).collect();
    for path in names.iter().map(|name| out.join(name.as_ref())) {
        if path.canonicalize().is_ok_and(|path| inputs.contains(&path)) {
            return Err(Failure::input(format!(
                "{} is an input of this command and would be replaced: choose another folder with --out",
                path.display()
            )));
        }
    }
    Ok(())
}

/// The files that a command reads: an experiment file, and those that it names.
pub(crate) fn inputs(file: &Path, experiment: &Experiment) -> Vec<PathBuf> {
    let mut all = experiment.inputs();
    all.push(file.into());
    all
}

/// A bar on a terminal, nothing in a pipe. It counts `what`.
pub(crate) fn progress(len: u64, what: &'static str) -> ProgressBar {
    bar(len, "{bar:40} {pos}/{len} {msg}, {per_sec}, {eta} left").with_message(what)
}

/// A bar of this form on a terminal, nothing in a pipe.
pub(crate) fn bar(len: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a fixed template");
    // It shows itself on standard error, if that is a terminal.
    ProgressBar::new(len).with_style(style)
}

/// The threads of a command.
#[derive(Debug, Args)]
pub(crate) struct Threads {
    /// Number of threads [default: all cores]. Results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl Threads {
    /// How many were asked for.
    pub(crate) const fn number(&self) -> Option<u16> {
        self.threads
    }

    /// Starts them.
    pub(crate) fn start(&self) -> Result<(), Failure> {
        self.start_or(None)
    }

    /// Starts them, or another number if none was asked for.
    pub(crate) fn start_or(&self, other: Option<u16>) -> Result<(), Failure> {
        let Some(threads) = self.threads.or(other) else { return Ok(()) };
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global()
            .map_err(|error| Failure::run(format!("cannot start {threads} threads: {error}")))
    }
}

/// Becomes true on Ctrl-C, on a request to terminate, and when the terminal is closed unless `nohup` says otherwise; the second
/// time the process ends at once. A command calls this once.
pub(crate) fn interrupts() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    #[cfg(unix)]
    let goes_on = hang_up::is_ignored();
    let listening = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            #[cfg(unix)]
            lopa_host::fleet::emulator::end_all();
            std::process::exit(1);
        }
    });
    listening.map_err(|error| Failure::run(format!("cannot listen for Ctrl-C: {error}")))?;
    #[cfg(unix)]
    if goes_on {
        hang_up::ignore();
    }
    Ok(&STOP)
}

/// A value as a line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string(value).map_err(Failure::run)? + "\n")
}

/// Lines for people: a name and a value each.
#[derive(Default)]
pub(crate) struct Lines(String);

impl Lines {
    /// Adds a line.
    pub(crate) fn add(&mut self, what: &str, value: impl fmt::Display) {
        self.0 += &format!("{what:<26} {value}\n");
    }

    /// Adds the last values of a record.
    pub(crate) fn add_last(&mut self, record: &Record) {
        let last = record.rows().last().into_iter().flatten();
        for (column, value) in record.columns().iter().zip(last).skip(1) {
            if let Some(value) = value {
                self.add(&column.title, short(*value));
            }
        }
    }

    /// Adds a comparison, if there is one.
    pub(crate) fn add_scores(&mut self, scores: &[Score], experiment: &Experiment) {
        let regression = experiment.problem.labels() == Some(LabelKind::Real);
        let Some(table) = lopa_host::report::comparison(scores, regression) else { return };
        self.0 += "\n";
        for row in [&table.head].into_iter().chain(&table.rows) {
            let cells = row.iter().skip(1).map(|cell| format!(" {cell:>13}"));
            self.0 += &format!("{:<32}{}\n", row[0], cells.collect::<String>());
        }
        self.0 += "\n";
    }

    /// Prints them.
    pub(crate) fn print(&self) -> Result<(), Failure> {
        print(&self.0)
    }
}

/// A number for people: counts whole, the rest with six digits.
fn short(value: f64) -> String {
    let small = value != 0.0 && value.abs() < 1e-4;
    match value {
        _ if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        _ if small || value.abs() >= 1e6 => format!("{value:.5e}"),
        _ => format!("{value:.6}"),
    }
}

/// Prints a line to standard error, in one piece: other programs may print there too, or read it meanwhile. A failure to
/// print it is ignored.
pub(crate) fn tell(line: impl fmt::Display) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Writes a text to standard output. The reader may stop early, as `head` does.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// The result of printing to standard output; a reader that stops early is not a failure.
pub(crate) fn printed(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::run(format!("cannot print: {error}")))
        }
        _ => Ok(()),
    }
}
