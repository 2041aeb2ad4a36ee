//! `lopa gateway`: joins the boards of this machine with those of others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use lopa_core::blob::Wiring;
use lopa_core::wire::Status;
use lopa_host::config::Experiment;
use lopa_host::fleet::gateway::{Boards, GatewayError, Joined, Site, Unaware};
use lopa_host::fleet::{
    Client, Connected, Emulated, Layout, PortError, Silence, Switchboard, patient,
};
use lopa_host::live::Phase;
use lopa_host::meeting::MeetingError;
use lopa_host::model::Model;
use lopa_host::network::Faults;
use lopa_host::report::Outputs;
use lopa_host::run::{Prepared, seal};

use super::Source;
use super::emulate::{probability, seconds};
use super::follow::Follow;
use super::hardware::write_states;
use super::progress::Progress;
use crate::command::live::LiveOption;
use crate::command::{Failure, complete, inputs, interrupts, print, refuse_inputs, tell};

/// What is written.
const RESULTS: [&str; 2] = ["state.json", Model::FILE];
/// How often the status of boards is requested.
const LOOK: Duration = Duration::from_millis(500);
/// How long nothing is said about a line that is waited for.
const SOON: Duration = Duration::from_secs(1);
/// How long a gateway stays for another that is gone, and may not know that all nodes have finished.
const FAREWELL: Duration = Duration::from_secs(60);
/// Seconds before a silent neighbour is given up, where boards are not real: those have their own times.
pub(super) const SILENCE: f64 = 10.0;

/// Joins the boards on this machine with those on others, through Zenoh.
///
/// The file is the same on all machines. It lists them as [[fleet.gateway]], each with its name, its address and its nodes, and
/// every machine runs this command with its own name. It opens the ports of its nodes, forwards their frames, shows their
/// progress, and ends when the nodes of all gateways have finished and all gateways have heard it. A gateway that is lost is missed
/// by the neighbours of its nodes only as a board would be: they continue, and take its nodes back when it returns.
///
/// Frames stay sealed as boards send them: links.key protects them from one board to the other. Certificates, access control and
/// routers between gateways are a matter of Zenoh's configuration file, which fleet.zenoh or --zenoh names.
///
/// Needs a lopa with Zenoh: cargo install --locked --path lopa-host --features zenoh
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lopa gateway ring.toml attic\n  lopa gateway ring.toml attic --out learned\n  \
                  lopa gateway ring.toml attic --emulate\n  lopa gateway ring.toml attic --live\n  lopa gateway ring.toml attic --zenoh zenoh.json5\n\n\
                  Exit status: 0 all nodes have finished, 1 stopped or failed, 2 bad usage or input."
)]
pub(crate) struct GatewayCommand {
    /// Experiment file (TOML), the same on all machines.
    file: PathBuf,
    /// This machine's name in [[fleet.gateway]].
    name: String,
    /// Emulate the nodes of this gateway, with QEMU.
    #[arg(long)]
    emulate: bool,
    #[command(flatten)]
    service: Service,
    /// Forward frames without the key that the file names. Progress is not shown, and only Ctrl-C ends it.
    #[arg(long, conflicts_with_all = ["emulate", "out", "live"])]
    without_key: bool,
    /// Emulated boards: seconds after which a silent neighbour is given up [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "emulate")]
    silence: Option<f64>,
    #[command(flatten)]
    source: Source,
}

/// What a gateway does besides forwarding frames.
#[derive(Debug, Args)]
pub(super) struct Service {
    /// Folder for state.json and model.json of the nodes here, once they have finished.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Configuration file of Zenoh [default: what fleet.zenoh names].
    #[arg(long, value_name = "FILE")]
    zenoh: Option<PathBuf>,
    /// Lose frames that nodes here receive with this probability. It changes no bit.
    #[arg(long, value_name = "PROBABILITY", value_parser = probability)]
    drop: Option<f32>,
    /// Damage frames that nodes here receive with this probability. It changes no bit.
    #[arg(long, value_name = "PROBABILITY", value_parser = probability)]
    corrupt: Option<f32>,
    #[command(flatten)]
    live: LiveOption,
}

impl From<GatewayError> for Failure {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::Meeting(MeetingError::Open { .. }) => Self::run(error),
            _ => Self::input(error),
        }
    }
}

/// Reads the file of a fleet: its step sizes must not be left open, because every machine would choose them again.
pub(super) fn settled(file: &Path) -> Result<Experiment, Failure> {
    let experiment = Experiment::read(file).map_err(Failure::input)?;
    if experiment.is_open() {
        return Err(super::left_open(file));
    }
    Ok(experiment)
}

impl GatewayCommand {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if !cfg!(feature = "zenoh") {
            return Err(GatewayError::from(MeetingError::Feature).into());
        }
        let experiment = settled(&self.file)?;
        let seal = if self.without_key { None } else { Some(seal(&experiment)?) };
        let site = Site::new(&experiment, &self.file, &self.name, seal)?;
        self.service.check(&self.file, &experiment)?;
        let needed = self.emulate || self.service.needs_data();
        let prepared = needed.then(|| complete(experiment.clone())).transpose()?;
        let mut duties = self.service.duties(&self.file, prepared.as_ref(), &site)?;
        let stop = interrupts()?;
        let Some(prepared) = prepared.as_ref().filter(|_| self.emulate) else {
            let mut boards = self.service.open(&experiment, &site, &duties, stop)?;
            return self.service.run(&experiment, &site, &mut boards, &mut duties, stop);
        };
        let silence = Duration::from_secs_f64(self.silence.unwrap_or(SILENCE));
        let layout = Layout::new(prepared, Some(Wiring::Routed), patient(silence, true))?;
        let image = self.source.program(&layout.board)?;
        let faults = Some(self.service.faults());
        let mut boards = Emulated::new(&image, &layout.blobs, faults).map_err(Failure::run)?;
        // Before the first board speaks, so that none meets only those here.
        let mut joined = self.service.join(&experiment, &site, boards.switch())?;
        for node in &site.own.nodes {
            boards.start(*node).map_err(Failure::run)?;
        }
        watch(&experiment, &site, &mut joined, &mut boards, &mut duties, stop)
    }
}

/// What a gateway does with what its nodes have learned.
#[derive(Default)]
pub(super) struct Duties<'p> {
    /// Writes it.
    target: Option<(&'p Prepared, Outputs)>,
    /// Shows it.
    follow: Option<Follow<'p>>,
}

impl Duties<'_> {
    /// Writes what the nodes here have learned.
    fn write(&self, boards: &mut dyn Boards, nodes: &[u32]) -> Result<(), Failure> {
        let Some((prepared, outputs)) = &self.target else { return Ok(()) };
        let mut readings = Vec::new();
        for node in nodes {
            let Some(client) = boards.host(*node) else { continue };
            readings.push((*node, client.reading().map_err(Failure::run)?));
        }
        write_states(prepared, &readings, outputs)
    }

    /// Shows the statuses of the nodes here.
    fn show(&mut self, boards: &mut dyn Boards, statuses: &[Result<Status, Silence>]) {
        if let Some(follow) = &mut self.follow {
            // Losses on the way from other gateways are not known here: they are estimated.
            follow.look(statuses, |node| boards.host(node), Vec::new(), Duration::ZERO);
        }
    }

    /// All nodes have finished.
    fn finish(&mut self, boards: &mut dyn Boards, nodes: &[u32], rounds: u64) {
        let Some(follow) = &mut self.follow else { return };
        for node in nodes {
            boards.host(*node).into_iter().for_each(|client| follow.read(client));
        }
        follow.finish(rounds);
    }

    /// It was stopped before.
    fn stop(&self) {
        if let Some(follow) = &self.follow {
            follow.end(Phase::Stopped, "The gateway was stopped.");
        }
    }
}

impl Service {
    fn faults(&self) -> (Faults, u64) {
        let (drop, corrupt) = (self.drop.unwrap_or(0.0), self.corrupt.unwrap_or(0.0));
        (Faults { drop, corrupt, ..Faults::NONE }, 1)
    }

    /// Checks, before anything is read, that results would not replace inputs.
    pub(super) fn check(&self, file: &Path, experiment: &Experiment) -> Result<(), Failure> {
        let inputs = inputs(file, experiment);
        self.out.iter().try_for_each(|out| refuse_inputs(out, &RESULTS, &inputs))
    }

    /// Whether it needs the data that the file names.
    pub(super) const fn needs_data(&self) -> bool {
        self.out.is_some() || self.live.is_on()
    }

    /// Prepares, before anything runs, what is to be written and shown.
    pub(super) fn duties<'p>(
        &self,
        file: &Path,
        prepared: Option<&'p Prepared>,
        site: &Site,
    ) -> Result<Duties<'p>, Failure> {
        let Some(prepared) = prepared else { return Ok(Duties::default()) };
        let outputs = self.out.as_ref().map(|out| Outputs::for_files(out, &RESULTS));
        let outputs = outputs.transpose().map_err(Failure::input)?;
        Ok(Duties {
            target: outputs.map(|outputs| (prepared, outputs)),
            follow: Follow::site(prepared, file, &self.live, site)?,
        })
    }

    /// Opens the ports of the nodes here, and says which one is waited for.
    pub(super) fn open(
        &self,
        experiment: &Experiment,
        site: &Site,
        duties: &Duties<'_>,
        stop: &'static AtomicBool,
    ) -> Result<Connected, Failure> {
        let mut told = String::new();
        let wait = move |error: &PortError, waited: Duration| {
            let error = error.to_string();
            if waited >= SOON && told != error {
                tell(format_args!("waiting (Ctrl-C stops it): {error}"));
                told = error;
            }
            !stop.load(Ordering::Relaxed)
        };
        Connected::open_site(experiment, site, self.faults(), wait).map_err(|error| {
            if stop.load(Ordering::Relaxed) {
                duties.stop();
                return Failure::run(format!("stopped before all boards were there: {error}"));
            }
            error.into()
        })
    }

    /// Joins the boards of a site with the others.
    fn join(
        &self,
        experiment: &Experiment,
        site: &Site,
        switch: &Switchboard,
    ) -> Result<Joined, Failure> {
        let named = experiment.fleet.as_ref().and_then(|fleet| fleet.zenoh.as_deref());
        let mut joined = Joined::open(site, self.zenoh.as_deref().or(named))?;
        joined.carry(site, switch)?;
        Ok(joined)
    }

    /// Joins the boards of a site with the others, and stays until all have finished.
    pub(super) fn run(
        &self,
        experiment: &Experiment,
        site: &Site,
        boards: &mut dyn Boards,
        duties: &mut Duties<'_>,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut joined = self.join(experiment, site, boards.switch())?;
        watch(experiment, site, &mut joined, boards, duties, stop)
    }
}

/// Stays until the nodes of all gateways have finished.
fn watch(
    experiment: &Experiment,
    site: &Site,
    joined: &mut Joined,
    boards: &mut dyn Boards,
    duties: &mut Duties<'_>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let name = &site.own.name;
    let (mut nodes, rounds) = (site.own.nodes.clone(), experiment.run.iterations);
    nodes.sort_unstable();
    tell(format_args!(
        "gateway {name}: nodes {nodes:?}, keys {}; Ctrl-C stops it",
        site.keys.all()
    ));
    let mut bars = Progress::of(nodes.clone(), rounds);
    let (mut woken, mut reported, mut farewell) = (BTreeSet::new(), false, None);
    while !stop.load(Ordering::Relaxed) {
        joined.news().into_iter().for_each(|news| bars.tell(&news));
        if site.seal.is_none() {
            boards.reopen();
            joined.rest(LOOK);
            continue;
        }
        let statuses = boards.look();
        for (node, status) in &statuses {
            // Paused by a gateway that was stopped, or by hand before this one began.
            let paused = |status: &Status| status.paused;
            if status.as_ref().is_ok_and(paused) && woken.insert(*node) {
                // One that does not answer now is tried again at the next look.
                let started = boards.host(*node).map(Client::start);
                if !matches!(started, Some(Ok(_))) {
                    woken.remove(node);
                }
            }
        }
        let done = |(_, status): &(u32, Result<Status, Silence>)| {
            status.as_ref().is_ok_and(|status| status.round >= status.rounds)
        };
        let all = statuses.iter().all(done);
        let learns = |(_, status): &(u32, Result<Status, Silence>)| {
            status.as_ref().is_ok_and(|status| status.round < status.rounds)
        };
        let learn = statuses.iter().any(learns);
        let statuses: Vec<_> = statuses.into_iter().map(|(_, status)| status).collect();
        bars.show(&statuses, &[]);
        duties.show(boards, &statuses);
        if all && !reported {
            duties.write(boards, &nodes)?;
            joined.finish();
            reported = true;
        } else if learn && reported {
            // They have met nodes that have not finished: what was written is not the last word.
            joined.resume();
            reported = false;
        }
        if reported && joined.all_finished(site) {
            joined.know();
            if farewell.get_or_insert_with(Farewell::new).is_over(&joined.unaware(site), &bars) {
                break;
            }
        } else if farewell.take().is_some() && reported {
            // Others learn again: what was known is no longer true.
            joined.finish();
        }
        joined.rest(LOOK);
    }
    bars.clear();
    if farewell.is_none() {
        duties.stop();
        return leave(site, boards);
    }
    duties.finish(boards, &nodes, rounds);
    let frames = boards.switch().passed().frames;
    print(&format!("finished: {rounds} rounds, {frames} frames forwarded\n"))
}

/// All nodes have finished, and those who may not have heard it are told.
struct Farewell {
    began: Instant,
    /// Since when nobody is there who may not know.
    alone: Option<Instant>,
    told: bool,
}

impl Farewell {
    fn new() -> Self {
        Self { began: Instant::now(), alone: None, told: false }
    }

    /// Whether all know, or those who may not have been gone for long.
    fn is_over(&mut self, unaware: &Unaware, bars: &Progress) -> bool {
        let names = [&unaware.there[..], &unaware.gone].concat();
        if names.is_empty() {
            return true;
        }
        self.alone = unaware.there.is_empty().then(|| self.alone.unwrap_or_else(Instant::now));
        if !self.told && self.began.elapsed() >= SOON {
            self.told = true;
            bars.tell(&format!(
                "all nodes have finished; waiting for gateways that may not know it: {} (Ctrl-C leaves now)",
                names.join(", ")
            ));
        }
        self.alone.is_some_and(|since| since.elapsed() >= FAREWELL)
    }
}

/// Pauses boards that would otherwise give their neighbours elsewhere up, and learn alone.
fn leave(site: &Site, boards: &mut dyn Boards) -> Result<(), Failure> {
    if site.seal.is_none() {
        return Err(Failure::run("stopped: the boards here do not reach the others any more"));
    }
    for node in &site.own.nodes {
        if let Some(client) = boards.host(*node) {
            client.set_patience(Duration::from_secs(2));
            // One that does not answer cannot be paused.
            let _ = client.stop();
        }
    }
    Err(Failure::run("stopped: the boards here are paused until the gateway runs again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_stays_for_those_who_may_not_know_but_not_for_ever() {
        let bars = Progress::of(vec![0], 1);
        let cellar = || vec!["cellar".to_owned()];
        let nobody = Unaware::default();
        let there = Unaware { there: cellar(), ..Unaware::default() };
        let gone = Unaware { gone: cellar(), ..Unaware::default() };
        let mut farewell = Farewell::new();
        assert!(!farewell.is_over(&there, &bars));
        assert!(!farewell.is_over(&gone, &bars));
        assert!(farewell.is_over(&nobody, &bars));
        // Gone for long; one that came back and left is waited for as long again.
        let long_ago = Instant::now().checked_sub(FAREWELL);
        farewell.alone = long_ago;
        assert!(farewell.is_over(&gone, &bars));
        farewell.alone = long_ago;
        assert!(!farewell.is_over(&there, &bars));
        assert!(!farewell.is_over(&gone, &bars));
    }
}
