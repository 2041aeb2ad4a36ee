//! Fleets that reboot from checkpoints of the same or of different rounds: all nodes meet and reach the optimum.

use super::fleet::{
    Fleet, LONG, Network, QuadraticNode, bits, both, path, restored, topologies, tracking,
};
use super::node::round;
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{Standing, Timing};
use lopa_host::network::{Faults, LinkedNetwork, Linking, Wiring};
use lopa_host::topology::Topology;
use proptest::prelude::*;

/// A checkpoint's epoch, by number, and round.
type Place = (u64, u64);

/// Epochs that nodes 1 and 2 began, and the rounds in which they began.
const SECOND: Place = ((1 << 16) | 1, 20);
const THIRD: Place = ((2 << 16) | 2, 45);

fn fleet(topology: Topology) -> Fleet {
    tracking(topology, 1_000)
}

/// Node `number` restored from its checkpoint of a place, in a fleet that went through the epochs before.
fn checkpointed(fleet: &Fleet, number: usize, (epoch, end): Place) -> QuadraticNode {
    let mut nodes = fleet.nodes();
    let edges = fleet.edges();
    for now in 0..=end {
        for (new, _) in [SECOND, THIRD].into_iter().filter(|p| p.1 == now && p.0 <= epoch) {
            let new = Epoch { number: new, mark: 5 };
            nodes.iter_mut().for_each(|node| node.restart(new, now));
        }
        if now < end {
            round(&mut nodes, &edges);
        }
    }
    let mut bytes = vec![0; nodes[number].checkpoint_len()];
    nodes[number].save(&mut bytes).unwrap();
    let node = restored(fleet, number, &bytes);
    assert_eq!((node.state().epoch.number, node.state().round), (epoch, end));
    node
}

/// A fleet whose nodes boot at the same time, each from its own checkpoint.
fn woken(fleet: &Fleet, places: &[Place], linking: Linking) -> Network {
    let nodes = places.iter().enumerate().map(|(number, at)| checkpointed(fleet, number, *at));
    let edges = fleet.edges();
    LinkedNetwork::new(nodes.collect(), &edges, fleet.rounds, linking).unwrap()
}

/// Runs to the end and checks that all nodes have met their neighbours in one epoch and are at the joint optimum.
fn ends_well(fleet: &Fleet, network: &mut Network) {
    network.run(LONG).unwrap();
    let epoch = network.exchange(0).epoch();
    let everyone: Vec<usize> = (0..network.len()).collect();
    let optimum = fleet.optimum(&everyone);
    for &number in &everyone {
        let exchange = network.exchange(number);
        assert_eq!(exchange.epoch(), epoch, "node {number}");
        for (neighbour, standing) in exchange.standings() {
            let round = network.node(number).state().round;
            assert_eq!(standing, Standing::Met, "{neighbour} for {number} in round {round}");
        }
        for (x, o) in network.node(number).state().x.iter().zip(&optimum) {
            let far = (f64::from(*x) - o).abs();
            assert!(far < fleet.tolerance(), "node {number} is {far:e} off");
        }
    }
}

#[test]
fn checkpoints_of_one_round_continue_bit_for_bit() {
    for fleet in both(fleet(Topology::ring(5))) {
        for round in [0, 1, 50, 999, 1_000] {
            let mut network = woken(&fleet, &[(0, round); 5], fleet.plain(Wiring::Direct));
            network.run(LONG).unwrap();
            for (number, want) in fleet.states().iter().enumerate() {
                assert_eq!(&bits(network.node(number)), want, "node {number} from round {round}");
                assert_eq!(network.exchange(number).counters().epochs, 0);
            }
        }
    }
}

#[test]
fn checkpoints_of_a_later_epoch_continue_in_that_epoch() {
    for fleet in both(fleet(Topology::ring(4))) {
        let mut network = woken(&fleet, &[(THIRD.0, 60); 4], fleet.plain(Wiring::Direct));
        ends_well(&fleet, &mut network);
        let exchange = network.exchange(0);
        assert_eq!((exchange.epoch().number, exchange.counters().epochs), (THIRD.0, 0));
    }
}

#[test]
fn checkpoints_of_two_rounds_begin_an_epoch_in_the_earlier_one() {
    for fleet in both(fleet(path(2))) {
        for rounds in [[50, 61], [61, 50], [0, 50], [50, 1_000], [999, 1_000]] {
            let mut network =
                woken(&fleet, &rounds.map(|round| (0, round)), fleet.plain(Wiring::Direct));
            // Until both have met: a round takes at least twice as long as its simulated computation.
            while !(0..2).all(|i| network.exchange(i).standings().all(|(_, s)| s == Standing::Met))
            {
                network.run_for(50).unwrap();
            }
            // Late in a run it goes back further, so that there are rounds left to settle.
            let lower = rounds[0].min(rounds[1]).min(fleet.rounds - fleet.rounds / 4);
            for number in 0..2 {
                assert!(network.exchange(number).epoch() != Epoch::FIRST, "{rounds:?}");
                let round = network.node(number).state().round;
                assert!(
                    round.abs_diff(lower) <= 1,
                    "{rounds:?}: node {number} is in round {round}"
                );
            }
            network.run(LONG).unwrap();
            if lower < 100 {
                ends_well(&fleet, &mut network);
            }
        }
    }
}

#[test]
fn nodes_on_a_path_meet_whatever_their_rounds() {
    for fleet in both(fleet(path(3))) {
        for rounds in
            [[50, 61, 50], [61, 50, 61], [50, 61, 72], [72, 61, 50], [61, 50, 0], [50, 50, 61]]
        {
            for wiring in [Wiring::Direct, Wiring::Routed, Wiring::Bus] {
                let places = rounds.map(|round| (0, round));
                let mut network = woken(&fleet, &places, fleet.plain(wiring));
                ends_well(&fleet, &mut network);
            }
        }
    }
}

/// A node that joins an epoch starts with y = z. A node that continues in it from a checkpoint must do the same: otherwise
/// the mean of y is no longer that of z, and the fleet misses the optimum.
#[test]
fn checkpoints_of_different_epochs_begin_a_new_one() {
    for fleet in both(fleet(path(3))) {
        let (first, second, third) = ((0, 50), (SECOND.0, 61), (THIRD.0, 61));
        for places in [
            [second, first, first],
            [first, second, first],
            [second, second, first],
            [third, second, first],
            [second, third, third],
            [first, third, second],
            // Even of the same round.
            [second, third, second],
        ] {
            let mut network = woken(&fleet, &places, fleet.plain(Wiring::Direct));
            ends_well(&fleet, &mut network);
            assert!(network.exchange(0).epoch().is_later_than(places.iter().max().unwrap().0));
        }
    }
}

#[test]
fn a_node_that_boots_later_in_another_round_joins() {
    for fleet in both(fleet(path(3))) {
        let Timing { silence, patience, .. } = fleet.plain(Wiring::Direct).timing;
        for late in [(0, 50), (0, 61), (0, 0), (SECOND.0, 61)] {
            // The others meet, and may mix or give it up.
            for pause in [100, 5_000, silence / 2, 3 * silence, patience + silence / 4] {
                for sleeper in 0..3 {
                    let mut network = woken(&fleet, &[(0, 50); 3], fleet.plain(Wiring::Direct));
                    network.kill(sleeper);
                    network.run_for(pause).unwrap();
                    network.revive(sleeper, checkpointed(&fleet, sleeper, late)).unwrap();
                    ends_well(&fleet, &mut network);
                }
            }
        }
    }
}

#[test]
fn rebooted_nodes_rejoin_a_survivor_in_a_later_epoch() {
    for fleet in both(fleet(path(3))) {
        let silence = fleet.plain(Wiring::Direct).timing.silence;
        for survivor in 0..3 {
            let mut network = woken(&fleet, &[(0, 0); 3], fleet.plain(Wiring::Direct));
            network.run_to_round(0, 70, LONG).unwrap();
            let others = (0..3).filter(|&number| number != survivor);
            others.clone().for_each(|number| network.kill(number));
            network.run_for(2 * silence).unwrap();
            for (number, round) in others.zip([61, 50]) {
                network.revive(number, checkpointed(&fleet, number, (0, round))).unwrap();
            }
            ends_well(&fleet, &mut network);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 90,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(0x2eb0),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_checkpoints_over_any_lines_reach_the_optimum(
        topology in topologies(2..6),
        picks in prop::collection::vec((0..3_usize, 0_u64..90), 6),
        late in prop::collection::vec(prop::option::of(0_u64..60_000), 6),
        [drop, corrupt, duplicate, reorder] in [0.0_f32..0.3, 0.0..0.1, 0.0..0.1, 0.0..0.1],
        delay in 0_u64..5_000,
        seed in any::<u64>(),
        few in prop::sample::select(vec![None, None, Some(8), Some(4), Some(3)]),
    ) {
        let floats = fleet(topology);
        let fleet = match few {
            Some(bits) => floats.coded(bits),
            None => floats,
        };
        let nodes = fleet.topology.nodes();
        let place = |(epoch, round): (usize, u64)| {
            let (epoch, begun) = [(0, 0), SECOND, THIRD][epoch];
            (epoch, round.max(begun))
        };
        let places: Vec<Place> = picks.into_iter().map(place).take(nodes).collect();
        let faults = Faults { drop, corrupt, duplicate, reorder, delay, cut: Vec::new() };
        let mut network = woken(&fleet, &places, Linking { faults, seed, ..fleet.plain(Wiring::Direct) });
        // Some boot later than others.
        let mut sleepers: Vec<(u64, usize)> =
            late.into_iter().take(nodes).enumerate().filter_map(|(i, at)| Some((at?, i))).collect();
        sleepers.sort_unstable();
        sleepers.iter().for_each(|&(_, number)| network.kill(number));
        for (at, number) in sleepers {
            network.run_for(at.saturating_sub(network.now()).max(1)).unwrap();
            network.revive(number, checkpointed(&fleet, number, places[number])).unwrap();
        }
        ends_well(&fleet, &mut network);
    }
}
