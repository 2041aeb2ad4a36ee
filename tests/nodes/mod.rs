//! The node program on emulated boards: real firmware, real serial lines, the same bits as on a host.

mod accidents;
mod c;
mod direct;
mod examples;
mod few_bits;
pub mod keys;
mod learning;
mod log;
mod mixed;
mod routed;
mod trouble;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lopa_core::blob::Wiring;
use lopa_core::wire::Counters;
use lopa_host::chips::Board;
use lopa_host::config::Experiment;
use lopa_host::fleet::reference::Reference;
use lopa_host::fleet::{Accident, Course, Emulated, Layout, image, patient};
use lopa_host::network::Faults;
use lopa_host::run::Prepared;

/// Long enough that no node is declared dead, however busy this machine is.
pub const PATIENT: Duration = Duration::from_secs(100);

/// Logistic regression on synthetic samples.
fn logistic(nodes: u32, topology: &str, rounds: u64) -> Prepared {
    prepared(&described(nodes, topology, rounds))
}

/// The same as a file.
fn described(nodes: u32, topology: &str, rounds: u64) -> String {
    format!(
        r#"
        network = {{ nodes = {nodes}, topology = "{topology}" }}
        problem = {{ kind = "logistic" }}
        data = {{ features = 24, relevant = 6, samples = 20 }}
        run = {{ iterations = {rounds}, seed = 11, x0 = -4.0, checkpoint_every = 25, record_every = 50 }}
        [algorithm]
        name = "lopa-gt"
        alpha = 0.5
        beta = 0.3
        lambda = 0.3
        gamma = 0.5
        tau = 0.7
        batch = 8
        "#
    )
}

fn prepared(text: &str) -> Prepared {
    let experiment = Experiment::parse(text).unwrap_or_else(|error| panic!("{error}"));
    Prepared::new(experiment).unwrap_or_else(|error| panic!("{error}"))
}

/// A board's program, built once for all tests.
fn program(board: &Board) -> PathBuf {
    // One build at a time, or two tests would wait for each other's lock in cargo.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _alone = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    image::build(&image::folder(None), board).unwrap_or_else(|error| panic!("{error}"))
}

/// A network on emulated boards, switched off.
fn fleet(
    prepared: &Prepared,
    wiring: Option<Wiring>,
    silence: Duration,
    faults: Option<Faults>,
) -> Emulated {
    let layout = Layout::new(prepared, wiring, patient(silence, faults.is_some())).unwrap();
    let image = program(&layout.board);
    Emulated::new(&image, &layout.blobs, faults.map(|faults| (faults, 7))).unwrap()
}

/// Runs a fleet to its end.
fn run(prepared: &Prepared, fleet: &mut Emulated, accidents: &[Accident], silence: Duration) {
    let links: Vec<(u32, u32)> = prepared.weights().topology().links().collect();
    let (nodes, rounds) = (fleet.len() as u32, prepared.experiment().run.iterations);
    let start = Instant::now();
    let mut course = Course::new(accidents, nodes, &links, rounds, silence).unwrap();
    let ran = course.run(fleet, &AtomicBool::new(false), |_, _| ());
    if let Err(error) = ran {
        let logs: Vec<String> = (0..nodes).map(|node| fleet.log(node)).collect();
        panic!("{error}\n{}", logs.concat());
    }
    println!("{nodes} nodes, {rounds} rounds: {:.1} seconds", start.elapsed().as_secs_f64());
}

/// Cuts the power of all boards, gives them the blobs of a longer run, and runs it to its end from their checkpoints.
fn continue_as(prepared: &Prepared, fleet: &mut Emulated) {
    let layout = Layout::new(prepared, None, patient(PATIENT, false)).unwrap();
    for (node, blob) in (0..).zip(&layout.blobs) {
        fleet.kill(node);
        fleet.flash(node, blob).unwrap();
    }
    run(prepared, fleet, &[], PATIENT);
    for node in 0..fleet.len() as u32 {
        assert_eq!(fleet.client(node).unwrap().status().unwrap().session, 2, "node {node}");
    }
}

/// What a node has counted.
fn counters(fleet: &mut Emulated, node: u32) -> Counters {
    fleet.client(node).unwrap().counters().unwrap()
}

/// Checks that no node received a damaged frame, apart from one on each of its `wires` to other boards: emulators may connect
/// them in the middle of a frame.
fn assert_undamaged(fleet: &mut Emulated, wires: u64) {
    for node in 0..fleet.len() as u32 {
        let counters = counters(fleet, node);
        let fits = counters.corrupt <= wires && counters.malformed == 0;
        assert!(fits, "node {node}: {counters:?}");
    }
}

/// Checks that every node has the bits of the simulation, and that none ever lost a neighbour.
fn assert_simulated_bits(prepared: &Prepared, fleet: &mut Emulated) {
    let reference = Reference::run(prepared, &AtomicBool::new(false), |_| ()).unwrap().unwrap();
    let readings = fleet.readings().unwrap();
    assert_eq!(readings.len(), fleet.len());
    for (node, reading) in &readings {
        println!("node {node}: {:?} {:?}", reading.status, reading.counters);
        let rounds = prepared.experiment().run.iterations;
        let status = reading.status;
        assert_eq!((status.round, status.dead, status.refused), (rounds, 0, 0), "node {node}");
        assert_eq!(reading.counters.epochs, 0, "node {node}");
    }
    assert_eq!(reference.others(&readings), [0_u32; 0], "nodes that differ from the simulation");
}
