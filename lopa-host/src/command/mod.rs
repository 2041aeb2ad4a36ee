//! The subcommands of `lopa`: one file each.

pub(crate) mod data;
pub(crate) mod demonstration;
pub(crate) mod run;
pub(crate) mod topology;

use std::error::Error;
use std::fmt;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Why the command ends with a status that is not zero.
#[derive(Debug)]
pub(crate) struct Failure {
    /// 1 a run failed or diverged, 2 bad usage or input.
    pub(crate) status: u8,
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Failure {}

/// A bar on a terminal, nothing in a pipe. It counts `what`.
pub(crate) fn progress(len: u64, what: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::hidden());
    }
    let template = format!("{{bar:40}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left");
    let style = ProgressStyle::with_template(&template).expect("a fixed template");
    ProgressBar::new(len).with_style(style)
}

/// Starts so many threads, all cores if none are named.
pub(crate) fn threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
    rayon::ThreadPoolBuilder::new()
        .num_threads(usize::from(threads))
        .build_global()
        .map_err(|error| Failure::run(format!("cannot start {threads} threads: {error}")))
}
