//! `--workers`: a run in several processes; `lopa worker`: one of them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Args;
use lopa_host::algorithms::workers::{Joined, Place, Split};
use lopa_host::config::Experiment;
use lopa_host::meeting::MeetingError;
use lopa_host::run::follow;
use tempfile::TempDir;

use super::{Failure, Threads, tell};

/// Processes for a run.
#[derive(Debug, Args)]
pub(crate) struct WorkersOption {
    /// Run in several processes: their number, on this machine; or where each of them listens, separated by commas, such as
    /// big:7447,small:7447. The first is this process, and the others are `lopa worker`. Results do not depend on it.
    #[arg(long, value_name = "NUMBER|ADDRESS,…")]
    workers: Option<Workers>,
    /// With addresses: configuration file of Zenoh, through which processes meet.
    #[arg(long, value_name = "FILE", requires = "workers")]
    zenoh: Option<PathBuf>,
}

/// How many, or where.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Workers {
    Here(usize),
    At(Vec<String>),
}

/// More processes than any machine has cores.
const MOST: usize = 1024;

impl std::str::FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            let sound = (2..=MOST).contains(&number);
            return if sound { Ok(Self::Here(number)) } else { Err(format!("use 2 to {MOST}")) };
        }
        let addresses: Vec<String> = text.split(',').map(|part| part.trim().to_owned()).collect();
        if addresses.len() < 2 || addresses.iter().any(|address| !address.contains([':', '/'])) {
            return Err("use a number, or addresses such as big:7447,small:7447".into());
        }
        Ok(Self::At(addresses))
    }
}

/// A process of a run that another one leads.
///
/// Start one for every address of --workers but the first, with the same file and the same addresses, and the run itself with
/// `lopa run`, in any order. Data may be in other places on this machine, but must be the same. It ends with the run.
///
/// Needs a lopa with Zenoh: cargo install --locked --path lopa-host --features zenoh
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lopa run network.toml --out results --workers big:7447,small:7447    # on big\n  \
                        lopa worker network.toml --workers big:7447,small:7447 --part 1      # on small\n\n\
                        Exit status: 0 the run is over, 1 another worker is gone, 2 bad usage or input."
)]
pub(crate) struct WorkerCommand {
    /// Experiment file (TOML).
    file: PathBuf,
    /// Where each process listens, separated by commas: the same for all.
    #[arg(long, value_name = "ADDRESS,…")]
    workers: Workers,
    /// Which of them this is, from 1: the first address is that of `lopa run`.
    #[arg(long)]
    part: usize,
    /// Configuration file of Zenoh.
    #[arg(long, value_name = "FILE")]
    zenoh: Option<PathBuf>,
    /// Leave it to `lopa run` to say what went wrong.
    #[arg(long, hide = true)]
    quiet: bool,
    #[command(flatten)]
    threads: Threads,
}

/// The processes of a run on this machine, without the first. They end with it.
#[derive(Debug)]
struct Processes {
    children: Vec<Child>,
    /// With their sockets.
    _folder: TempDir,
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.children {
            // They keep nothing that could be lost; most have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Processes {
    /// Starts them, and returns where all listen.
    fn start(file: &Path, number: usize, threads: u16) -> Result<(Self, Vec<String>), Failure> {
        let failed =
            |error: std::io::Error| Failure::run(format!("cannot start a worker: {error}"));
        let folder = tempfile::tempdir().map_err(failed)?;
        let socket = |part| format!("unixsock-stream/{}", folder.path().join(part).display());
        let addresses: Vec<String> = (0..number).map(|part| socket(part.to_string())).collect();
        let program = std::env::current_exe().map_err(failed)?;
        let mut started = Self { children: Vec::new(), _folder: folder };
        for part in 1..number {
            let mut command = Command::new(&program);
            command.arg("worker").arg(file).args(["--workers", &addresses.join(",")]);
            command.args(["--part", &part.to_string(), "--threads", &threads.to_string()]);
            command.arg("--quiet").stdin(Stdio::null()).stdout(Stdio::null());
            // Ctrl-C is meant for the first one, which ends the others.
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            started.children.push(command.spawn().map_err(failed)?);
        }
        Ok((started, addresses))
    }

    /// The first that has ended.
    fn ended(&mut self) -> Option<usize> {
        let ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)) | Err(_));
        self.children.iter_mut().position(ended).map(|index| index + 1)
    }
}

/// Why processes did not meet.
enum Unmet {
    Meeting(MeetingError),
    Ended(usize),
    Stopped,
}

impl From<MeetingError> for Unmet {
    fn from(error: MeetingError) -> Self {
        Self::Meeting(error)
    }
}

impl From<Unmet> for Failure {
    fn from(unmet: Unmet) -> Self {
        match unmet {
            Unmet::Meeting(error @ MeetingError::Open { .. }) => Self::run(error),
            Unmet::Meeting(error) => Self::input(error),
            Unmet::Ended(part) => Self::run(format!("worker {part} ended before the run began")),
            Unmet::Stopped => Self::run("stopped before all workers were there"),
        }
    }
}

/// The other processes of a run, and the place of this one.
#[derive(Debug)]
pub(crate) struct Led {
    pub(crate) place: Place,
    _processes: Option<Processes>,
}

impl WorkersOption {
    /// The threads of each process, if the file is to be run in several on this machine and nothing else was said.
    pub(crate) fn threads(&self) -> Option<u16> {
        let Some(Workers::Here(number)) = self.workers else { return None };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        u16::try_from((cores / number).max(1)).ok()
    }

    /// Starts and meets the other processes, if there are to be any.
    pub(crate) fn start(
        &self,
        file: &Path,
        experiment: &Experiment,
        threads: u16,
        stop: &AtomicBool,
    ) -> Result<Option<Led>, Failure> {
        let Some(workers) = &self.workers else { return Ok(None) };
        let (mut processes, addresses) = match workers {
            Workers::Here(number) => {
                split(experiment, *number)?;
                let (processes, addresses) = Processes::start(file, *number, threads)?;
                (Some(processes), addresses)
            }
            Workers::At(addresses) => (None, addresses.clone()),
        };
        let mut told = Told::default();
        let place = meet(file, experiment, &addresses, 0, self.zenoh.as_deref(), |missing| {
            if stop.load(Ordering::Relaxed) {
                return Err(Unmet::Stopped);
            }
            if let Some(part) = processes.as_mut().and_then(Processes::ended) {
                return Err(Unmet::Ended(part));
            }
            told.waiting(missing);
            Ok(())
        })?;
        Ok(Some(Led { place, _processes: processes }))
    }
}

/// Tells once in a while who is missing.
#[derive(Debug, Default)]
struct Told {
    waits: u32,
    missing: Vec<usize>,
}

impl Told {
    fn waiting(&mut self, missing: &[usize]) {
        self.waits += 1;
        // Not at once: those on this machine need a moment.
        if self.waits > 40 && self.missing != missing {
            let numbers: Vec<String> = missing.iter().map(ToString::to_string).collect();
            let s = if missing.len() == 1 { "" } else { "s" };
            tell(format_args!("waiting for worker{s} {}", numbers.join(", ")));
            self.missing = missing.to_vec();
        }
    }
}

impl WorkerCommand {
    /// Follows until the run is over.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.threads.start()?;
        let experiment = Experiment::read(&self.file).map_err(Failure::input)?;
        let Workers::At(addresses) = &self.workers else {
            return Err(Failure::input(
                "--workers: give the address of each process; only lopa run starts processes by their number",
            ));
        };
        if !(1..addresses.len()).contains(&self.part) {
            return Err(Failure::input(format!(
                "--part {}: there are workers 1 to {}, and worker 0 is lopa run",
                self.part,
                addresses.len() - 1
            )));
        }
        let mut told = Told::default();
        let zenoh = self.zenoh.as_deref();
        let place = meet(&self.file, &experiment, addresses, self.part, zenoh, |missing| {
            told.waiting(missing);
            Ok(())
        })?;
        match follow(&experiment, &place) {
            Err(_) if self.quiet => Ok(()),
            followed => Ok(followed?),
        }
    }
}

/// How a network is divided.
fn split(experiment: &Experiment, parts: usize) -> Result<Split, Failure> {
    let nodes = experiment.network.nodes;
    Split::new(nodes as usize, parts).ok_or_else(|| {
        Failure::input(format!(
            "--workers: there are {parts} workers for {nodes} nodes: use at most {nodes}"
        ))
    })
}

/// Meets the other processes of a run of this file.
fn meet(
    file: &Path,
    experiment: &Experiment,
    addresses: &[String],
    part: usize,
    zenoh: Option<&Path>,
    wait: impl FnMut(&[usize]) -> Result<(), Unmet>,
) -> Result<Place, Failure> {
    let split = split(experiment, addresses.len())?;
    // What a key cannot contain becomes an underscore: the same on all machines, where the file may be in other folders.
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let name: String = name.unwrap_or_default().chars().map(plain).collect();
    let mesh = Joined::meet(&name, addresses, part, zenoh, wait)?;
    Ok(Place { split, part, mesh: Arc::new(mesh) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_a_number_or_addresses() {
        assert_eq!("4".parse(), Ok(Workers::Here(4)));
        let at = |all: &[&str]| Workers::At(all.iter().map(ToString::to_string).collect());
        assert_eq!("a:1, b:2".parse(), Ok(at(&["a:1", "b:2"])));
        assert_eq!("tls/a:1,tls/b:2".parse(), Ok(at(&["tls/a:1", "tls/b:2"])));
        for wrong in ["1", "0", "2000", "", "a", "a:1", "a:1,", "a,b", "-3"] {
            assert!(wrong.parse::<Workers>().is_err(), "{wrong}");
        }
    }
}
