//! `lopa fleet --emulate`: a network on emulated boards, with accidents on request.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use lopa_core::blob::Wiring;
use lopa_core::wire::Status;
use lopa_host::fleet::reference::{Reference, measure};
use lopa_host::fleet::{
    Accident, Account, Basis, Course, Emulated, Layout, Reading, Silence, patient,
};
use lopa_host::live::Phase;
use lopa_host::network::Faults;
use lopa_host::report::{Outputs, Results};
use lopa_host::run::Prepared;

use super::Source;
use super::follow::{Follow, REST};
use super::progress::Progress;
use crate::command::live::LiveOption;
use crate::command::{Failure, Lines, folder, inputs, interrupts, progress};

/// Seconds before a silent neighbour is given up, if no board goes missing.
const CALM: f64 = 100.0;
/// The same if a board will be missed.
const BRISK: f64 = 10.0;

/// Emulated boards.
#[derive(Debug, Args)]
pub(super) struct Emulation {
    /// Emulate the boards, with QEMU.
    #[arg(long, requires = "out")]
    pub(super) emulate: bool,
    /// Folder for the results; earlier ones are replaced when the fleet has finished.
    #[arg(long, requires = "emulate")]
    out: Option<PathBuf>,
    /// How boards are wired [default: direct, unless the file says routed or a node has more than four neighbours].
    #[arg(long, value_name = "direct|routed", value_parser = wiring, requires = "emulate")]
    wiring: Option<Wiring>,
    /// Cut the power of a board once it has completed ROUND rounds. The others go on without it.
    #[arg(long, value_name = "NODE@ROUND", value_parser = Accident::kill, requires = "emulate")]
    kill: Vec<Accident>,
    /// Restore its power once another board has completed ROUND rounds: it resumes from its last checkpoint.
    #[arg(long, value_name = "NODE@ROUND", value_parser = Accident::restart, requires = "emulate")]
    restart: Vec<Accident>,
    /// Cut a line for good, until a round (A-B@50..80), or for some seconds (A-B@50+2). A cut shorter than --silence changes no bit.
    #[arg(long, value_name = "A-B@ROUND", value_parser = Accident::cut, requires = "emulate")]
    cut: Vec<Accident>,
    /// Damage frames between boards with this probability. It changes no bit.
    #[arg(long, value_name = "PROBABILITY", value_parser = probability, requires = "emulate")]
    corrupt: Option<f32>,
    /// Lose frames between boards with this probability. It changes no bit.
    #[arg(long, value_name = "PROBABILITY", value_parser = probability, requires = "emulate")]
    drop: Option<f32>,
    /// Seed for damaged and lost frames.
    #[arg(long, default_value_t = 1, requires = "emulate")]
    seed: u64,
    /// Seconds after which a silent neighbour is given up [default: 100, or 10 if a board will be missed].
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "emulate")]
    silence: Option<f64>,
    #[command(flatten)]
    pub(super) live: LiveOption,
    #[command(flatten)]
    source: Source,
}

/// Emulated boards share no bus.
fn wiring(text: &str) -> Result<Wiring, String> {
    match text {
        "direct" => Ok(Wiring::Direct),
        "routed" => Ok(Wiring::Routed),
        _ => Err("choose direct (a line for each pair of neighbours) or routed (one line per board, to this host)".into()),
    }
}

pub(super) fn probability(text: &str) -> Result<f32, String> {
    let found = text.parse::<f32>().ok().filter(|found| (0.0..1.0).contains(found));
    found.ok_or_else(|| "must be a probability in [0, 1)".into())
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=1e6).contains(seconds));
    seconds.ok_or_else(|| "must be a number of seconds from 0.1 to 1000000".into())
}

impl Emulation {
    fn accidents(&self) -> Vec<Accident> {
        self.kill.iter().chain(&self.restart).chain(&self.cut).copied().collect()
    }

    /// What the host does to frames; nothing if it need not be in between.
    fn faults(&self) -> Option<(Faults, u64)> {
        let (corrupt, drop) = (self.corrupt.unwrap_or(0.0), self.drop.unwrap_or(0.0));
        let needed = corrupt > 0.0 || drop > 0.0 || !self.cut.is_empty();
        needed.then_some((Faults { corrupt, drop, ..Faults::NONE }, self.seed))
    }

    pub(super) fn run(&self, file: &Path, prepared: &Prepared) -> Result<(), Failure> {
        let Some(out) = &self.out else {
            return Err(Failure::input("--out DIR is missing: name a folder for the results"));
        };
        let experiment = prepared.experiment();
        let (nodes, rounds) = (experiment.network.nodes, experiment.run.iterations);
        let accidents = self.accidents();
        let calm = Duration::from_secs_f64(CALM);
        let missed = accidents.iter().any(|accident| accident.changes_bits(calm));
        let silence = self.silence.unwrap_or(if missed { BRISK } else { CALM });
        let silence = Duration::from_secs_f64(silence);
        let changes = accidents.iter().any(|accident| accident.changes_bits(silence));
        let links: Vec<(u32, u32)> = prepared.weights().topology().links().collect();
        let course = Course::new(&accidents, nodes, &links, rounds, silence);
        let mut course = course.map_err(Failure::input)?;
        let faults = self.faults();
        let lossy = faults.as_ref().is_some_and(|(faults, _)| faults.corrupt + faults.drop > 0.0);
        let layout = Layout::new(prepared, self.wiring, patient(silence, lossy))?;
        let outputs = folder(out, &Outputs::RUN, &inputs(file, experiment))?;
        let mut follow = Follow::if_live(prepared, file, &self.live)?;
        let image = self.source.program(&layout.board)?;
        let stop = interrupts()?;
        let bar = progress(rounds, "simulated rounds");
        let reference = Reference::run(prepared, stop, |round| bar.set_position(round));
        bar.finish_and_clear();
        let Some(reference) = reference? else {
            return Err(Failure::run("interrupted; nothing was written"));
        };
        let mut fleet = Emulated::new(&image, &layout.blobs, faults).map_err(Failure::run)?;
        let start = Instant::now();
        let mut bars = Progress::new(nodes as usize, rounds);
        let ran = course.run(&mut fleet, stop, |fleet, statuses| {
            let status =
                |(node, status): (u32, &Option<Status>)| status.ok_or(Silence::Silent(node));
            let statuses: Vec<_> = (0..).zip(statuses).map(status).collect();
            bars.show(&statuses, &[]);
            if let Some(follow) = &mut follow {
                let lines = fleet.lines();
                follow.look(&statuses, |node| fleet.client(node).ok(), lines, REST);
            }
        });
        bars.clear();
        if let (Some(follow), Err(error)) = (&follow, &ran) {
            follow.end(Phase::Failed, &error.to_string());
        }
        ran.map_err(Failure::run)?;
        let seconds = start.elapsed().as_secs_f64();
        let readings = fleet.readings().map_err(Failure::run)?;
        let spoiled = fleet.passed().spoiled;
        drop(fleet);
        if let Some(follow) = &mut follow {
            follow.finish(rounds);
        }
        let others = reference.others(&readings);
        let same = others.is_empty();
        let metrics = if same { Basis::SimulationOfTheSameBits } else { Basis::StatesReadBack };
        let account = Account {
            board: layout.board.name.to_owned(),
            wiring: layout.wiring,
            seconds,
            accidents: self.accident_words(),
            spoiled,
            off: (0..nodes).filter(|node| !readings.contains_key(node)).collect(),
            same_bits: (same || !changes).then_some(same),
            other_bits: others,
            metrics,
            counters: readings.iter().map(|(node, reading)| (*node, reading.counters)).collect(),
        };
        let measured = measure(prepared, &readings, &reference, same, seconds)?;
        let (value, note) = (serde_json::to_value(&account).map_err(Failure::run)?, account.note());
        let nodes = measured.views();
        let learned = prepared.learned(&nodes, Some(stop));
        let results = Results {
            learned: Some(&learned),
            node_record: experiment.run.per_node.then_some(&measured.node_record),
            losses: readings.values().map(Reading::losses).max().unwrap_or(0),
            fleet: Some((&value, &note)),
            ..prepared.results(&nodes, &measured.record)
        };
        outputs.write(&results)?;
        let mut lines = Lines::default();
        lines.add("rounds", rounds);
        lines.add_last(&measured.record);
        lines.add_scores(&learned.scores, experiment);
        report(lines, &account, out)
    }

    /// What is done to the fleet, as it was requested.
    fn accident_words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.accidents().iter().map(ToString::to_string).collect();
        words.extend(self.corrupt.map(|probability| format!("corrupt {probability}")));
        words.extend(self.drop.map(|probability| format!("drop {probability}")));
        words
    }
}

/// A few lines like those of lopa run; all values are measured from the states read back.
fn report(mut lines: Lines, account: &Account, out: &Path) -> Result<(), Failure> {
    let repaired = account.counters.values().map(|counters| counters.repaired);
    lines.add("chunks repaired", repaired.sum::<u64>());
    lines.add("frames spoiled", account.spoiled);
    if !account.off.is_empty() {
        lines.add("nodes off", format_args!("{:?}", account.off));
    }
    let bits = match account.same_bits {
        Some(true) => "the same as in the simulation, on every node",
        Some(false) => "NOT the same as in the simulation",
        None => "different from the simulation, as expected after these accidents",
    };
    lines.add("bits", bits);
    lines.add("results", out.display());
    lines.print()?;
    if account.same_bits == Some(false) {
        let lost = account.counters.values().any(|counters| counters.epochs > 0);
        let why = if lost {
            "; link timeouts split the network, so this machine may be too busy: try a longer --silence"
        } else {
            ""
        };
        let nodes = &account.other_bits;
        return Err(Failure::run(format!(
            "the bits of nodes {nodes:?} differ from the simulation{why}"
        )));
    }
    Ok(())
}
