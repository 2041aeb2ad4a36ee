//! Regression tests: each of these once made the exchange stall, flood the line, or silently miss the optimum.

use lopa_core::exchange::Standing;
use lopa_core::node::{Config, Phase};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{Acks, Body, FrameWriter, Seal, VERSION};
use lopa_host::network::{Faults, Wiring};
use lopa_host::topology::Topology;

use super::fleet::{
    Fleet, LONG, Network, bits, both, distance, drift, path, rebooted, restored, saved, standing,
    tracking,
};
use super::forge::{Forged, attack, head, refusal};

fn network(fleet: &Fleet) -> Network {
    let mut network: Network = fleet.linked(fleet.plain(Wiring::Direct));
    network.record(64);
    network
}

/// Runs to the end and checks that `nodes` are at their own optimum, with Σy = Σz, in one epoch.
fn ends_well(fleet: &Fleet, network: &mut Network, nodes: &[usize]) {
    network.run(LONG).unwrap();
    let epoch = network.exchange(nodes[0]).epoch();
    for &node in nodes {
        assert_eq!(network.exchange(node).epoch(), epoch, "node {node}");
    }
    let far = distance(network, fleet, nodes, nodes);
    let drift = drift(network, nodes);
    assert!(
        far < fleet.tolerance() && drift < 1e-5,
        "{far:e} from the optimum, sums {drift:e} apart"
    );
}

/// Runs until a node is between two rounds, having completed `round`.
fn reach(network: &mut Network, node: usize, round: u64) {
    network.run_to_round(node, round, LONG).unwrap();
    while network.node(node).phase() != Phase::Ready {
        network.run_for(100).unwrap();
    }
    assert_eq!(network.node(node).state().round, round);
}

#[test]
fn a_neighbour_reflashed_with_another_step_size_is_left_out_at_once() {
    for fleet in both(tracking(path(3), 1_500)) {
        let mut network = network(&fleet);
        network.run_to_round(0, 50, LONG).unwrap();
        let steps = StepSizes::new(0.1, 0.3, 0.3, 0.5, 0.7).unwrap();
        let other = fleet.node_with(2, Config { steps, ..Fleet::config(2) });
        network.revive(2, other).unwrap();
        ends_well(&fleet, &mut network, &[0, 1]);
        assert!(matches!(standing(&network, 1, 2), Standing::Refused(_)));
        // Reflashed with the right step size, it takes part again.
        network.revive(2, fleet.node(2)).unwrap();
        ends_well(&fleet, &mut network, &[0, 1, 2]);
    }
}

#[test]
fn checkpoints_of_two_histories_are_distinguished_after_power_cuts() {
    for fleet in both(tracking(path(3), 1_500)) {
        let (a, b, c) = (0, 1, 2);
        let mut network = network(&fleet);
        network.run_to_round(b, 10, LONG).unwrap();
        network.kill(c);
        reach(&mut network, a, 50);
        let first = saved(&network, a);
        let epoch = network.exchange(a).epoch();
        // Power fails before b saves; b and c return without a.
        (0..3).for_each(|node| network.kill(node));
        network.revive(b, fleet.node(b)).unwrap();
        network.revive(c, fleet.node(c)).unwrap();
        reach(&mut network, b, 50);
        let second = saved(&network, b);
        reach(&mut network, c, 50);
        let third = saved(&network, c);
        assert_ne!(network.exchange(b).epoch(), epoch, "an epoch must not begin twice");
        (0..3).for_each(|node| network.kill(node));
        for (node, checkpoint) in [(a, first), (b, second), (c, third)] {
            network.revive(node, restored(&fleet, node, &checkpoint)).unwrap();
        }
        ends_well(&fleet, &mut network, &[0, 1, 2]);
    }
}

#[test]
fn a_reboot_is_noticed_even_if_boots_are_not_counted() {
    for fleet in both(tracking(path(3), 1_500)) {
        let silence = fleet.silence();
        for pause in [0, silence / 8, silence - 1_000, 2 * silence] {
            for victim in 0..3 {
                let mut network = network(&fleet);
                network.revive_uncounted(victim, fleet.node(victim)).unwrap();
                network.run_to_round(victim, 50, LONG).unwrap();
                network.kill(victim);
                network.run_for(pause).unwrap();
                network.revive_uncounted(victim, fleet.node(victim)).unwrap();
                ends_well(&fleet, &mut network, &[0, 1, 2]);
            }
        }
    }
}

/// An acknowledgement that claims to have mixed all that was sent.
fn all_mixed(network: &Network, from: usize, to: usize) -> Forged {
    let (session, epoch) = head(network, from);
    let state = network.node(to).state();
    let computed = network.node(to).phase() != Phase::Ready;
    // Two chunks are a round.
    let next = 2 * (state.round + u64::from(computed));
    let acks = Acks { next, ..Acks::default() };
    Forged { from, to, session, epoch, body: Body::Ack(acks) }
}

#[test]
fn forged_acknowledgements_during_a_glitch_stop_no_node() {
    for fleet in both(tracking(path(2), 1_500)) {
        let mut network = network(&fleet);
        network.run_to_round(0, 50, LONG).unwrap();
        network.set_faults(|_, _| true, &Faults { drop: 1.0, ..Faults::NONE });
        network.run_for(20_000).unwrap();
        for (from, to) in [(0, 1), (1, 0)] {
            all_mixed(&network, from, to).send(&mut network);
        }
        network.run_for(100_000).unwrap();
        network.set_faults(|_, _| true, &Faults::NONE);
        ends_well(&fleet, &mut network, &[0, 1]);
    }
}

#[test]
fn a_frame_of_another_protocol_version_changes_nothing() {
    for fleet in both(tracking(path(3), 200)) {
        let mut network = network(&fleet);
        network.run_to_round(0, 50, LONG).unwrap();
        // The checksum covers the version too, so the frame is built from scratch.
        let mut frame = vec![0; 64];
        let mut writer = FrameWriter::new(&Seal::PLAIN, &mut frame);
        [VERSION + 1, 0, 7, 7, 7].into_iter().for_each(|byte| writer.push(byte));
        let len = writer.finish().unwrap();
        assert!(network.inject(0, 1, &frame[..len]));
        network.run(LONG).unwrap();
        assert_eq!(standing(&network, 1, 0), Standing::Met);
        for (number, want) in fleet.states().iter().enumerate() {
            assert_eq!(&bits(network.node(number)), want, "node {number}");
        }
    }
}

#[test]
fn nodes_recover_from_forged_refusals() {
    for fleet in both(tracking(path(2), 6_000)) {
        let mut network = network(&fleet);
        let silence = fleet.silence();
        // From the start, every greeting is answered with a forged refusal; the last one is replayed later.
        let mut last = [None, None];
        attack(&mut network, 2 * silence, &mut |greeting| {
            last[greeting.from] = Some(refusal(greeting));
            Some(refusal(greeting))
        });
        let refused = |network: &Network, node| network.exchange(node).counters().refused;
        assert!(refused(&network, 0) > 0 && refused(&network, 1) > 0, "the attack had no effect");
        let met = |network: &Network, a, b| standing(network, a, b) == Standing::Met;
        while !(met(&network, 0, 1) && met(&network, 1, 0)) {
            attack(&mut network, 1_000, &mut |greeting| {
                last[greeting.from] = Some(refusal(greeting));
                None
            });
        }
        network.run_for(10_000).unwrap();
        last.into_iter().flatten().for_each(|refusal| refusal.send(&mut network));
        ends_well(&fleet, &mut network, &[0, 1]);
    }
}

#[test]
fn a_forged_last_generation_locks_no_node_out() {
    for fleet in both(tracking(path(3), 3_000)) {
        // Numbers are compared around a circle: the first two are just behind, the others far ahead.
        for (generation, ahead) in [
            ((1_u64 << 48) - 2, false),
            ((1 << 48) - 1, false),
            ((1 << 47) - 1, true),
            (1 << 46, true),
        ] {
            let mut network = network(&fleet);
            reach(&mut network, 2, 20);
            let early = rebooted(&fleet, &network, 2);
            // A node that reboots greets; the attacker answers in the name of its neighbour.
            network.revive(0, fleet.node(0)).unwrap();
            let silence = fleet.silence();
            let mut done = 0;
            let mut recorded = None;
            attack(&mut network, 3 * silence, &mut |greeting| {
                if (greeting.from, greeting.to) == (1, 0) {
                    recorded = Some((greeting.session, greeting.hello));
                }
                let (session, mut hello) =
                    recorded.filter(|_| (greeting.from, greeting.to) == (0, 1))?;
                (hello.echo, hello.challenge) = (greeting.hello.challenge, 0x1234_5678 + done);
                done += 1;
                let epoch = (generation << 16) | 1;
                Some(Forged { from: 1, to: 0, session, epoch, body: Body::Hello(hello) })
            });
            let generation_of =
                |network: &Network, node| network.exchange(node).epoch().generation();
            let far = generation_of(&network, 0) > 1 << 40;
            assert!(done > 0 && far == ahead, "generation {}", generation_of(&network, 0));
            // A node restored from an old checkpoint can join, and so can a fresh one.
            network.revive(2, early).unwrap();
            network.run_for(3 * silence).unwrap();
            network.revive(1, fleet.node(1)).unwrap();
            ends_well(&fleet, &mut network, &[0, 1, 2]);
        }
    }
}

#[test]
fn a_recording_does_not_hide_that_a_node_has_died() {
    for fleet in both(tracking(path(3), 3_000)) {
        let mut network = network(&fleet);
        network.run_to_round(0, 50, LONG).unwrap();
        network.kill(2);
        let silence = fleet.silence();
        let last: Vec<Vec<u8>> = {
            let recorded = network.recorded().iter().filter(|recorded| recorded.from == 2);
            recorded.map(|recorded| recorded.bytes.clone()).collect()
        };
        assert!(last.len() > 10);
        let end = network.now() + 2 * silence;
        while network.now() < end {
            last.iter().for_each(|bytes| assert!(network.inject(2, 1, bytes)));
            network.run_for(silence / 100).unwrap();
        }
        assert_eq!(standing(&network, 1, 2), Standing::Dead);
        ends_well(&fleet, &mut network, &[0, 1]);
    }
}

#[test]
fn a_fresh_node_among_finished_ones_learns_before_it_finishes() {
    for fleet in both(tracking(Topology::ring(4), 800)) {
        let silence = fleet.silence();
        for pause in [0, 2 * silence] {
            let mut network = network(&fleet);
            network.run(LONG).unwrap();
            network.kill(2);
            network.run_for(pause).unwrap();
            network.revive(2, fleet.node(2)).unwrap();
            network.run_for(100).unwrap();
            ends_well(&fleet, &mut network, &[0, 1, 2, 3]);
        }
    }
}
