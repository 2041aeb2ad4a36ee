//! Nodes that die, return, or are cut off: the others continue to their own optimum.

use super::fleet::{
    Fleet, LONG, Network, QuadraticNode, both, distance, restored, saved, standing, tracking,
};
use lopa_core::exchange::{Micros, Standing};
use lopa_host::network::{Faults, Wiring};
use lopa_host::topology::Topology;

fn network(fleet: &Fleet, wiring: Wiring) -> Network {
    fleet.linked(fleet.plain(wiring))
}

/// Checks that all nodes that are on have met in one epoch and consider the others dead.
fn at_peace(network: &Network, on: &[usize]) {
    let epoch = network.exchange(on[0]).epoch();
    for &i in on {
        assert_eq!(network.exchange(i).epoch(), epoch, "node {i}");
        for (node, standing) in network.exchange(i).standings() {
            let expected =
                if on.contains(&(node as usize)) { Standing::Met } else { Standing::Dead };
            assert_eq!(standing, expected, "{i} about {node}");
        }
    }
}

const WIRINGS: [Wiring; 3] = [Wiring::Direct, Wiring::Routed, Wiring::Bus];
const EVERYONE: [usize; 5] = [0, 1, 2, 3, 4];
const OTHERS: [usize; 4] = [0, 1, 3, 4];

#[test]
fn when_a_node_dies_the_others_reach_their_own_optimum() {
    let fleets = both(tracking(Topology::ring(5), 1_500));
    for (fleet, wiring) in fleets.iter().flat_map(|fleet| WIRINGS.map(|wiring| (fleet, wiring))) {
        let mut network = network(fleet, wiring);
        network.run_to_round(0, 50, LONG).unwrap();
        network.kill(2);
        network.run(LONG).unwrap();
        at_peace(&network, &OTHERS);
        let (right, wrong) = (
            distance(&network, fleet, &OTHERS, &OTHERS),
            distance(&network, fleet, &OTHERS, &EVERYONE),
        );
        let near = right < fleet.tolerance();
        assert!(near && wrong > 1e-2, "{:?} {wiring:?}: {right:e} {wrong:e}", fleet.codec);
    }
}

/// A fleet of five in a ring, in both ways.
fn rings() -> [Fleet; 2] {
    both(tracking(Topology::ring(5), 1_500))
}

/// Kills node 2 in round 50, waits for `pause`, and revives it with the node that `back` makes.
fn comes_back(fleet: &Fleet, pause: Micros, back: impl Fn(&Fleet, &[u8]) -> QuadraticNode) {
    let mut network = network(fleet, Wiring::Direct);
    network.run_to_round(2, 40, LONG).unwrap();
    while !matches!(network.node(2).phase(), lopa_core::node::Phase::Ready) {
        network.run_for(100).unwrap();
    }
    let bytes = saved(&network, 2);
    network.run_to_round(0, 50, LONG).unwrap();
    network.kill(2);
    network.run_for(pause).unwrap();
    network.revive(2, back(fleet, &bytes)).unwrap();
    network.run(LONG).unwrap();
    at_peace(&network, &EVERYONE);
    let far = distance(&network, fleet, &EVERYONE, &EVERYONE);
    assert!(far < fleet.tolerance(), "{far:e}");
}

#[test]
fn a_node_rejoins_from_its_checkpoint() {
    for fleet in rings() {
        comes_back(&fleet, 2 * fleet.silence(), |fleet, bytes| restored(fleet, 2, bytes));
    }
}

#[test]
fn a_node_rejoins_without_a_checkpoint() {
    for fleet in rings() {
        comes_back(&fleet, 2 * fleet.silence(), |fleet, _| fleet.node(2));
    }
}

#[test]
fn a_node_that_reboots_unnoticed_rejoins() {
    for fleet in rings() {
        let silence = fleet.silence();
        for pause in [0, 1_000, silence / 8, silence - 1_000] {
            comes_back(&fleet, pause, |fleet, bytes| restored(fleet, 2, bytes));
            comes_back(&fleet, pause, |fleet, _| fleet.node(2));
        }
    }
}

#[test]
fn both_halves_of_a_partition_continue_and_reunite() {
    both(tracking(Topology::ring(6), 6_000)).iter().for_each(part_and_reunite);
}

fn part_and_reunite(fleet: &Fleet) {
    let mut network = network(fleet, Wiring::Direct);
    network.run_to_round(0, 50, LONG).unwrap();
    let (left, right) = ([0, 1, 2], [3, 4, 5]);
    let all = [0, 1, 2, 3, 4, 5];
    let across = |a: usize, b: usize| (a < 3) != (b < 3);
    network.set_faults(across, &Faults { drop: 1.0, ..Faults::NONE });
    network.run_to_round(0, 2_000, LONG).unwrap();
    network.run_to_round(3, 2_000, LONG).unwrap();
    for half in [left, right] {
        let far = distance(&network, fleet, &half, &half);
        assert!(far < fleet.tolerance(), "{far:e}");
    }
    network.set_faults(across, &Faults::NONE);
    network.run(LONG).unwrap();
    at_peace(&network, &all);
    let far = distance(&network, fleet, &all, &all);
    assert!(far < fleet.tolerance(), "{far:e}");
}

#[test]
fn a_line_that_works_one_way_only_is_given_up() {
    rings().iter().for_each(work_one_way);
}

/// Node 1 receives from 2, but 2 does not receive from 1: both must continue without the other.
fn work_one_way(fleet: &Fleet) {
    let mut network = network(fleet, Wiring::Direct);
    network.run_to_round(0, 50, LONG).unwrap();
    network.set_faults(|a, b| (a, b) == (1, 2), &Faults { drop: 1.0, ..Faults::NONE });
    network.run(LONG).unwrap();
    assert_eq!(standing(&network, 1, 2), Standing::Dead);
    assert_eq!(standing(&network, 2, 1), Standing::Dead);
    // The ring became a path: all nodes still take part.
    let far = distance(&network, fleet, &EVERYONE, &EVERYONE);
    assert!(far < fleet.tolerance(), "{far:e}");
    // No flapping: each end gave the half-dead line up once.
    let epochs = EVERYONE.map(|i| network.exchange(i).counters().epochs);
    assert!(epochs.iter().all(|&e| e <= 2), "{epochs:?}");
}

#[test]
fn a_node_left_alone_learns_alone() {
    let fleet = tracking(Topology::ring(2), 800);
    let mut network = network(&fleet, Wiring::Direct);
    network.run_to_round(0, 20, LONG).unwrap();
    network.kill(1);
    network.run(LONG).unwrap();
    let far = distance(&network, &fleet, &[0], &[0]);
    assert!(far < 1e-5, "{far:e}");
}

#[test]
fn nodes_that_die_and_return_on_bad_lines_reach_the_optimum() {
    both(tracking(Topology::ring(5), 1_200)).iter().for_each(die_and_return);
}

fn die_and_return(fleet: &Fleet) {
    let mut linking = fleet.plain(Wiring::Direct);
    linking.faults = Faults {
        drop: 0.15,
        corrupt: 0.1,
        duplicate: 0.1,
        reorder: 0.1,
        delay: 2_000,
        cut: vec![],
    };
    let mut network: Network = fleet.linked(linking);
    network.run_to_round(0, 50, LONG).unwrap();
    network.kill(2);
    network.run_to_round(0, 150, LONG).unwrap();
    network.revive(2, fleet.node(2)).unwrap();
    network.run_to_round(0, 250, LONG).unwrap();
    network.kill(4);
    network.kill(3);
    network.run_for(3 * fleet.silence()).unwrap();
    network.revive(4, fleet.node(4)).unwrap();
    network.revive(3, fleet.node(3)).unwrap();
    network.run(LONG).unwrap();
    at_peace(&network, &EVERYONE);
    let far = distance(&network, fleet, &EVERYONE, &EVERYONE);
    assert!(far < fleet.tolerance(), "{far:e}");
}
