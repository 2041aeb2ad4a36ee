//! The subcommands of `lopa`: one file each.

pub(crate) mod algorithms;
pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod demonstration;
#[cfg(unix)]
pub(crate) mod fleet;
pub(crate) mod key;
pub(crate) mod paper;
pub(crate) mod run;
pub(crate) mod shard;
pub(crate) mod sweep;
pub(crate) mod theory;
pub(crate) mod topology;
pub(crate) mod tune;

use std::error::Error;
use std::fmt;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Why the command ends with a status that is not zero.
#[derive(Debug)]
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

/// Becomes true on Ctrl-C or a request to terminate; the second one ends the process at once.
pub(crate) fn interrupts() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    static ONCE: Once = Once::new();
    let mut heard = Ok(());
    ONCE.call_once(|| {
        heard = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                #[cfg(unix)]
                lopa_host::fleet::emulator::end_all();
                std::process::exit(1);
            }
        });
    });
    heard.map_err(|error| Failure::run(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(&STOP)
}

/// Writes a text to standard output. The reader may stop early, as `head` does.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::run(format!("cannot print: {error}")))
        }
        _ => Ok(()),
    }
}
