//! `lopa node`: one node of a network as a process.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use lopa_core::blob::Wiring;
use lopa_host::chips::{Form, Limits, Loaded, VALUES, blobs};
use lopa_host::config::{Experiment, FleetNode};
use lopa_host::fleet::gateway::{GatewayError, Site};
use lopa_host::fleet::{Doing, KeptError, Port, PortError, Process, ProcessError, patient};
use lopa_host::meeting::MeetingError;
use lopa_host::run::{Prepared, seal};

use super::emulate::seconds;
use super::gateway::{SILENCE, Service, settled};
use crate::command::{Failure, complete, interrupts, progress, tell};

/// Rounds between checkpoints, where the file names none.
const CHECKPOINT_EVERY: u32 = 100;

/// Runs one node of a network as a process: a single-board computer is a node, too.
///
/// It does what a board does, to the same bits. With --listen it offers its line as a socket, to a gateway or to lopa fleet, whose
/// file has the same address as the node's port. Without, it joins the others through Zenoh, as the gateway that has this node
/// alone; that needs a lopa with Zenoh: cargo install --locked --path lopa-host --features zenoh
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa node ring.toml --id 3 --state node-3\n  \
                  lopa node ring.toml --id 3 --listen tcp:0.0.0.0:4000 --blob blobs/node-3.blob\n\n\
                  Exit status: 0 all nodes have finished, 1 stopped or failed, 2 bad usage or input.")]
pub(crate) struct NodeCommand {
    /// Experiment file (TOML), the same on all machines.
    file: PathBuf,
    /// The number of the node.
    #[arg(long)]
    id: u32,
    /// Offer the node's line here, as tcp:HOST:PORT or unix:PATH, instead of joining the others through Zenoh.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["out", "zenoh", "drop", "corrupt", "live"])]
    listen: Option<String>,
    /// Folder in which boots are counted and checkpoints are kept, from which the node continues; needed with a key.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The node's blob, written by lopa shard: the data that the file names are then not needed here.
    #[arg(long, value_name = "FILE")]
    blob: Option<PathBuf>,
    /// Seconds after which a silent neighbour is given up [default: 10, or what the blob says].
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "blob")]
    silence: Option<f64>,
    #[command(flatten)]
    service: Service,
}

impl From<ProcessError> for Failure {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Port(PortError::Offer { .. })
            | ProcessError::Kept(KeptError::Used(_) | KeptError::Write(_)) => Self::run(error),
            _ => Self::input(error),
        }
    }
}

impl NodeCommand {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.listen.is_none() && !cfg!(feature = "zenoh") {
            let error = MeetingError::Feature;
            return Err(Failure::input(format!("{error}; or offer the node's line with --listen")));
        }
        let experiment = settled(&self.file)?;
        if self.id >= experiment.network.nodes {
            return Err(Failure::input(format!(
                "there is no node {}: the network has {} nodes, counted from 0",
                self.id, experiment.network.nodes
            )));
        }
        if experiment.links.as_ref().is_none_or(|links| links.wiring == Wiring::Direct) {
            return Err(GatewayError::Wiring.into());
        }
        let loaded = self.loaded(&experiment)?;
        match &self.listen {
            Some(port) => self.offer(&loaded, &port.parse().map_err(Failure::input)?),
            None => self.join(experiment, &loaded),
        }
    }

    /// The node's blob, as a board would have it.
    fn loaded(&self, experiment: &Experiment) -> Result<Loaded, Failure> {
        let bytes = match &self.blob {
            Some(path) => fs::read(path).map_err(|error| {
                Failure::input(format!("cannot read {}: {error}", path.display()))
            })?,
            None => {
                let silence = Duration::from_secs_f64(self.silence.unwrap_or(SILENCE));
                let form = Form {
                    wiring: Some(Wiring::Routed),
                    values: Some(VALUES),
                    timing: Some(patient(silence, true)),
                    checkpoint_every: Some(CHECKPOINT_EVERY),
                };
                let prepared = Prepared::new(experiment.clone())?;
                let own =
                    blobs(&prepared, Limits::default(), form)?.into_iter().nth(self.id as usize);
                own.map(|own| own.bytes).unwrap_or_default()
            }
        };
        let loaded = Loaded::new(&bytes);
        let blob = loaded.blob().map_err(Failure::input)?;
        let number = blob.node();
        if number != self.id {
            return Err(Failure::input(format!(
                "the blob is that of node {number}, not {}",
                self.id
            )));
        }
        Ok(loaded)
    }

    /// Offers the node's line until it is stopped.
    fn offer(&self, loaded: &Loaded, port: &Port) -> Result<(), Failure> {
        let blob = loaded.blob().map_err(Failure::input)?;
        let mut node = Process::new(port, self.state.clone())?;
        let (id, stop) = (self.id, interrupts()?);
        tell(format_args!("node {id}: {port}; Ctrl-C stops it"));
        let bar = progress(blob.plan().rounds, "rounds");
        let mut said = false;
        let ran = node.run(&blob, stop, |Doing { round, rounds, diverged }| {
            bar.set_position(round);
            let over = diverged || round >= rounds;
            if over && !said {
                let what = if diverged { "diverged in" } else { "has finished" };
                tell(format_args!("node {id} {what} round {round}"));
            }
            said = over;
        });
        bar.finish_and_clear();
        Ok(ran?)
    }

    /// Joins the others: the node, and a gateway that opens its line, in one process.
    fn join(&self, mut experiment: Experiment, loaded: &Loaded) -> Result<(), Failure> {
        let gateway = Site::of_node(&experiment, self.id)?.clone();
        if gateway.nodes != [self.id] {
            return Err(Failure::input(format!(
                "gateway {} has the nodes {:?}: a node that joins by itself needs a [[fleet.gateway]] of its own, with nodes = \
                 [{id}]; or run lopa gateway, and this node with --listen",
                gateway.name,
                gateway.nodes,
                id = self.id
            )));
        }
        let site = Site::new(&experiment, &self.file, &gateway.name, Some(seal(&experiment)?))?;
        self.service.check(&self.file, &experiment)?;
        let prepared =
            self.service.needs_data().then(|| complete(experiment.clone())).transpose()?;
        let mut duties = self.service.duties(&self.file, prepared.as_ref(), &site)?;
        let folder = tempfile::Builder::new().prefix("lopa").tempdir();
        let folder =
            folder.map_err(|error| Failure::run(format!("no folder for a socket: {error}")))?;
        let port = Port::Unix(folder.path().join("node"));
        let mut node = Process::new(&port, self.state.clone())?;
        let own = FleetNode { id: self.id, port: Some(port.to_string()), probe: None };
        if let Some(fleet) = &mut experiment.fleet {
            fleet.node.retain(|other| other.id != self.id);
            fleet.node.push(own);
        }
        let (stop, left) = (interrupts()?, AtomicBool::new(false));
        let blob = loaded.blob().map_err(Failure::input)?;
        thread::scope(|scope| {
            let runs = scope.spawn(|| {
                let ran = node.run(&blob, &left, |_| ());
                // A node that does not start is not waited for.
                if ran.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                ran
            });
            let served =
                self.service.open(&experiment, &site, &duties, stop).and_then(|mut boards| {
                    self.service.run(&experiment, &site, &mut boards, &mut duties, stop)
                });
            left.store(true, Ordering::Relaxed);
            match runs.join() {
                Ok(Err(error)) => Err(error.into()),
                _ => served,
            }
        })
    }
}
