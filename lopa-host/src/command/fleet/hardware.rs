//! Real boards: flash, start, status, read and stop.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use lopa_core::wire::Status;
use lopa_host::chips::{BOARDS, Board, Limits};
use lopa_host::fleet::{Client, Connected, Reading, Silence, flash};
use lopa_host::live::Phase;
use lopa_host::model::{Model, Variables};
use lopa_host::report::{NodeState, Outputs, States};
use lopa_host::run::Prepared;

use super::Source;
use super::follow::Follow;
use super::progress::{Progress, damaged, word};
use crate::command::live::LiveOption;
use crate::command::shard::{access, add_blobs, blob_name, blobs_for};
use crate::command::{Failure, interrupts, print, tell};

/// How often the status of boards is requested.
const LOOK: Duration = Duration::from_millis(500);

/// How long a board is asked again and again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Flashes boards.
#[derive(Debug, Args)]
pub(super) struct Flash {
    /// Folder for the blobs.
    #[arg(long, default_value = "blobs")]
    blobs: PathBuf,
    /// Print the command lines without running them.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    source: Source,
}

impl Flash {
    pub(super) fn run(&self, prepared: &Prepared) -> Result<(), Failure> {
        let board = board(prepared)?;
        let blobs = blobs_for(prepared, Limits::default(), Some(&board))?;
        let outputs = Outputs::new(&self.blobs).map_err(Failure::input)?;
        // What a board would refuse is reported before anything is built or written.
        let nodes = 0..prepared.experiment().network.nodes;
        let probes: Vec<_> = nodes.map(|node| probe(prepared, node)).collect::<Result<_, _>>()?;
        flash::lines(&board, &self.blobs, &self.blobs, None).map_err(Failure::input)?;
        let few_bits = prepared.experiment().codec().map_err(Failure::input)?.is_some();
        let image = self.source.program(&if few_bits { board.with_few_bits() } else { board })?;
        let mut batch = outputs.batch();
        batch.restrict(access(prepared));
        add_blobs(&mut batch, &blobs);
        batch.write()?;
        for (blob, probe) in blobs.iter().zip(probes) {
            let path = outputs.folder().join(blob_name(blob.budget.node));
            let lines = flash::lines(&board, &image, &path, probe);
            for line in lines.map_err(Failure::input)? {
                print(&format!("{line}\n"))?;
                if !self.dry_run {
                    line.run().map_err(Failure::run)?;
                }
            }
        }
        Ok(())
    }
}

/// The board that the file names.
pub(super) fn board(prepared: &Prepared) -> Result<Board, Failure> {
    let table = prepared.experiment().fleet.as_ref();
    let name = table.and_then(|table| table.board.as_deref()).ok_or_else(|| {
        let known = BOARDS.map(|board| board.name).join(", ");
        Failure::input(format!("fleet.board is missing: choose one of {known}"))
    })?;
    name.parse().map_err(|error| Failure::input(format!("fleet.board: {error}")))
}

/// The probe that the file names for a node: only a single board needs no name.
pub(super) fn probe(prepared: &Prepared, node: u32) -> Result<Option<&str>, Failure> {
    let experiment = prepared.experiment();
    let mut own = experiment.fleet.iter().flat_map(|table| &table.node);
    let probe = own.find(|own| own.id == node).and_then(|own| own.probe.as_deref());
    if probe.is_none() && experiment.network.nodes > 1 {
        return Err(Failure::input(format!(
            "fleet.node: node {node} needs a probe, since there are several boards: \
             probe-rs list prints their names"
        )));
    }
    Ok(probe)
}

/// Starts boards; if the host is their router, or they are watched, it stays until they have finished.
pub(super) fn start(prepared: &Prepared, file: &Path, live: &LiveOption) -> Result<(), Failure> {
    let mut fleet = Connected::open(prepared)?;
    each(&mut fleet, |client| client.start(), "start")?;
    if !fleet.routed() && !live.is_on() {
        return Ok(());
    }
    if fleet.routed() {
        tell(format_args!(
            "this host is the router: boards can reach each other only while it runs; Ctrl-C stops it"
        ));
    }
    let mut follow = Follow::if_live(prepared, file, live)?;
    let done = watch(&mut fleet, prepared, |fleet, statuses| {
        if let Some(follow) = &mut follow {
            follow.look(statuses, |node| fleet.client(node), Vec::new(), Duration::ZERO);
        }
        Vec::new()
    })?;
    if let (false, Some(follow)) = (done, &mut follow) {
        follow.end(Phase::Stopped, "No longer watched.");
    }
    if !done && fleet.routed() {
        return Err(Failure::run(
            "stopped: the boards wait for each other until start or monitor runs again",
        ));
    }
    if !done {
        return print("the boards continue unwatched\n");
    }
    let rounds = prepared.experiment().run.iterations;
    if let Some(follow) = &mut follow {
        fleet.clients().for_each(|client| follow.read(client));
        follow.finish(rounds);
    }
    print(&format!("finished: {rounds} rounds, {} frames forwarded\n", fleet.passed()))
}

/// Shows the progress of boards until they have finished, or until Ctrl-C is pressed: tells which. `look` returns what
/// to add to the state of each. If the others have finished, a board that does not start is not waited for.
pub(super) fn watch(
    fleet: &mut Connected,
    prepared: &Prepared,
    mut look: impl FnMut(&mut Connected, &[Result<Status, Silence>]) -> Vec<String>,
) -> Result<bool, Failure> {
    let (experiment, stop) = (prepared.experiment(), interrupts()?);
    let mut bars = Progress::new(experiment.network.nodes as usize, experiment.run.iterations);
    loop {
        let statuses = fleet.statuses();
        bars.show(&statuses, &look(fleet, &statuses));
        let done = |status: &Result<Status, Silence>| {
            status.as_ref().is_ok_and(|status| status.round >= status.rounds)
        };
        let left: Vec<_> = statuses.iter().filter(|status| !done(status)).collect();
        if let Some(Err(silence @ Silence::Refused { .. })) = left.first()
            && left.iter().all(|other| matches!(other, Err(Silence::Refused { .. })))
        {
            bars.clear();
            return Err(Failure::run(silence));
        }
        let done = left.is_empty();
        if done || stop.load(Ordering::Relaxed) {
            bars.clear();
            return Ok(done);
        }
        std::thread::sleep(LOOK);
    }
}

/// Pauses boards after the round they are in.
pub(super) fn stop(prepared: &Prepared) -> Result<(), Failure> {
    each(&mut Connected::open(prepared)?, |client| client.stop(), "stop")
}

/// Sends the same request to every board, and prints the answers.
pub(super) fn each(
    fleet: &mut Connected,
    tell: impl Fn(&mut Client) -> Result<bool, Silence>,
    what: &str,
) -> Result<(), Failure> {
    for node in fleet.nodes() {
        let done = fleet.ask(node, PATIENCE, &tell).map_err(Failure::run)?;
        if !done {
            return Err(Failure::run(format!("node {node} cannot {what}")));
        }
        print(&format!("node {node}: {what}\n"))?;
    }
    Ok(())
}

/// Prints the state of every board.
pub(super) fn status(prepared: &Prepared) -> Result<(), Failure> {
    let mut fleet = Connected::open(prepared)?;
    let mut text = String::from(
        "node   round  rounds  met dead refused  boot   repaired   damaged  epochs  state\n",
    );
    let mut silent = Vec::new();
    for node in fleet.nodes() {
        let both = |client: &mut Client| Ok((client.status()?, client.counters()?));
        let (status, counters) = match fleet.ask(node, PATIENCE, both) {
            Ok(both) => both,
            Err(silence) => {
                let _ = writeln!(text, "{node:>4}  {}", word(&Err(silence)));
                silent.push(node);
                continue;
            }
        };
        let Status { session, round, rounds, met, dead, refused, .. } = status;
        let damaged = damaged(&counters);
        let (repaired, epochs) = (counters.repaired, counters.epochs);
        let state = word(&Ok(status));
        let _ = writeln!(
            text,
            "{node:>4} {round:>7} {rounds:>7} {met:>4} {dead:>4} {refused:>7} {session:>5} {repaired:>10} {damaged:>9} {epochs:>7}  {state}"
        );
    }
    print(&text)?;
    if silent.is_empty() {
        return Ok(());
    }
    let rates: Vec<String> = fleet.rates().iter().map(u32::to_string).collect();
    Err(Failure::run(format!(
        "no answer from nodes {silent:?} at {} baud: check their power and their lines to this host",
        rates.join(" or ")
    )))
}

/// Reads states.
#[derive(Debug, Args)]
pub(super) struct Read {
    /// Folder for state.json and model.json.
    #[arg(long)]
    out: PathBuf,
}

impl Read {
    pub(super) fn run(&self, prepared: &Prepared) -> Result<(), Failure> {
        let files = ["state.json", Model::FILE];
        let outputs = Outputs::for_files(&self.out, &files).map_err(Failure::input)?;
        let mut fleet = Connected::open(prepared)?;
        let mut readings = Vec::new();
        for node in fleet.nodes() {
            let reading = fleet.ask(node, PATIENCE, Client::reading);
            readings.push((node, reading.map_err(Failure::run)?));
        }
        write_states(prepared, &readings, &outputs)
    }
}

/// Writes the states of some boards, and their models.
pub(super) fn write_states(
    prepared: &Prepared,
    readings: &[(u32, Reading)],
    outputs: &Outputs,
) -> Result<(), Failure> {
    // A board that is still learning changes while it is read.
    let at_rest = readings.iter().all(|(_, r)| r.status.round >= r.status.rounds);
    let iteration = readings.iter().map(|(_, r)| r.status.round).min().unwrap_or(0);
    let nodes = readings.iter().map(|(id, reading)| node(*id, reading)).collect();
    let states = States { iteration, base: prepared.base(), at_rest: Some(at_rest), nodes };
    let refit = |(id, reading): &(u32, Reading)| prepared.refitted_node(*id, &reading.variables[0]);
    let refitted = readings.iter().map(refit).collect::<Result<Vec<_>, _>>();
    let refitted = refitted.unwrap_or_else(|error| {
        tell(format_args!("lopa: {error}; model.json has the models of the boards instead"));
        vec![None; readings.len()]
    });
    let learned = readings.iter().zip(&refitted).map(|((id, reading), refitted)| {
        let [x, theta, ..] = &reading.variables;
        Variables { id: *id, x, theta: refitted.as_ref().unwrap_or(theta) }
    });
    let shards = prepared.material().shards();
    let mut batch = outputs.batch();
    batch.add_json("state.json", &states)?;
    match Model::new(prepared.experiment(), shards, learned) {
        Some(model) => batch.add_json(Model::FILE, &model)?,
        None => batch.remove(Model::FILE),
    }
    batch.write()?;
    if !at_rest {
        tell(format_args!(
            "lopa: the boards are still learning, so these states are from different rounds"
        ));
    }
    print(&format!("{:<26} {iteration}\n", "state.json after round"))
}

fn node(id: u32, reading: &Reading) -> NodeState<'_> {
    let [x, theta, v, z, y] = reading.variables.each_ref().map(Vec::as_slice);
    let (round, [v, z, y]) = (Some(reading.status.round), [v, z, y].map(Some));
    NodeState { id, round, x, theta, v, z, y, ..NodeState::default() }
}
