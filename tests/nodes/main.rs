//! The node program on emulated boards: real firmware, real serial lines, the same bits as on a host.

mod accidents;
mod board;
#[path = "../emulator/mod.rs"]
#[allow(dead_code, reason = "each test binary uses its part")]
mod emulator;
mod host;
mod log;
mod ring;

use std::path::PathBuf;
use std::sync::OnceLock;

use board::Boards;
use host::Host;
use lopa_core::node::Variable;
use lopa_host::simulation::Simulation;
use lopa_host::topology::Topology;
use ring::{CHECKPOINT_EVERY, NODES, ROUNDS, SCHEME, START, blobs, config, shards, wires};

/// The image, built once for all tests.
fn image() -> PathBuf {
    static IMAGE: OnceLock<PathBuf> = OnceLock::new();
    let build = || emulator::build("mps2-an386", "mps2-an386", emulator::CORTEX_M4F.target, &[]);
    IMAGE.get_or_init(|| build().unwrap_or_else(|error| panic!("{error}"))).clone()
}

/// A ring of boards, off.
fn ring(rounds: u64) -> Boards {
    Boards::new(image(), &blobs(rounds), (0..NODES).map(wires).collect())
}

/// The states after all rounds in one memory: x, θ, v, z, y of every node.
fn simulated() -> Vec<Vec<u32>> {
    let shards = shards();
    let problems = shards.iter().map(|shard| shard.logistic().expect("a sound shard"));
    let edges = Topology::ring(NODES as u32).metropolis();
    let mut simulation =
        Simulation::new(problems, SCHEME, edges, START, config).expect("a sound network");
    (0..ROUNDS).for_each(|_| simulation.round().expect("it converges"));
    let bits = |s: lopa_core::node::State<'_>| {
        [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect()
    };
    simulation.nodes().iter().map(|node| bits(node.state())).collect()
}

fn assert_simulated_bits(hosts: &mut [Host]) {
    for (node, (host, want)) in hosts.iter_mut().zip(simulated()).enumerate() {
        let status = host.wait_for_round(ROUNDS);
        assert_eq!((status.round, status.dead, status.refused), (ROUNDS, 0, 0), "node {node}");
        assert_eq!(host.bits(), want, "node {node}");
        let counters = host.counters();
        println!("node {node}: {status:?} {counters:?}");
        assert_eq!((counters.epochs, counters.corrupt, counters.malformed), (0, 0, 0));
    }
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_ring_of_boards_ends_with_the_simulations_bits() {
    let mut boards = ring(ROUNDS);
    let mut hosts: Vec<Host> = (0..NODES).map(|node| boards.start(node)).collect();
    assert_simulated_bits(&mut hosts);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_fleet_that_lost_its_power_goes_on_where_it_was() {
    let half = ROUNDS / 2;
    let mut boards = ring(half);
    let mut hosts: Vec<Host> = (0..NODES).map(|node| boards.start(node)).collect();
    hosts.iter_mut().for_each(|host| assert_eq!(host.wait_for_round(half).round, half));
    // A checkpoint is written before a node says that it is done; this one replaces the other slot.
    assert!(hosts[0].checkpoint());
    drop(hosts);
    for (node, blob) in blobs(ROUNDS).iter().enumerate() {
        boards.kill(node);
        boards.flash(node, blob);
    }
    let mut hosts: Vec<Host> = (0..NODES).map(|node| boards.start(node)).collect();
    hosts.iter_mut().for_each(|host| assert_eq!(host.status().session, 2));
    assert_simulated_bits(&mut hosts);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_node_that_lost_its_power_joins_again_with_its_checkpoint() {
    let mut boards = ring(ROUNDS);
    let mut hosts: Vec<Host> = (0..NODES).map(|node| boards.start(node)).collect();
    hosts[2].wait_for_round(ROUNDS / 4);
    boards.kill(2);
    hosts[2] = boards.start(2);
    for (node, host) in hosts.iter_mut().enumerate() {
        let status = host.wait_for_round(ROUNDS);
        let found = (status.round, status.met, status.dead, status.session);
        assert_eq!(found, (ROUNDS, 2, 0, if node == 2 { 2 } else { 1 }), "node {node}");
        assert!(host.counters().epochs > 0, "a reboot begins an epoch");
    }
    // What it had learned came from the checkpoint: few rounds are lost, not the first quarter. A round that the new
    // epoch cut off is computed twice.
    let [evaluations, ..] = hosts[2].metrics().evaluations;
    let few = 8;
    let least = ROUNDS - u64::from(CHECKPOINT_EVERY) - few;
    assert!((least..=ROUNDS + few).contains(&evaluations), "{evaluations} evaluations");
    // And the fleet ends about where it would have without the accident.
    for (node, (host, want)) in hosts.iter_mut().zip(simulated()).enumerate() {
        let x = host.read(Variable::Outer);
        let want: Vec<f32> = want[..x.len()].iter().map(|&bits| f32::from_bits(bits)).collect();
        let norm = |a: &mut dyn Iterator<Item = f32>| a.map(|a| a * a).sum::<f32>().sqrt();
        let gap = norm(&mut x.iter().zip(&want).map(|(a, b)| a - b));
        let way = norm(&mut want.iter().map(|a| a - START));
        println!("node {node}: {gap} off after a way of {way}");
        assert!(gap < 0.1 * way, "node {node} ends {gap} off after a way of {way}");
    }
}
