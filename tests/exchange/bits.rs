//! Links change no bit, whatever they do; and what that costs.

use super::fleet::{Fleet, LONG, QuadraticNode, bits, codec, linking, star, topologies};
use lopa_core::node::{Scheme, Scratch};
use lopa_core::wire::Counters;
use lopa_host::network::{Faults, Linking, Wiring};
use lopa_host::topology::Topology;
use proptest::prelude::*;

/// Runs a fleet over links and compares every bit with an in-process run. Returns the nodes' counters.
pub fn same_bits<const WINDOW: usize, const VALUES: usize>(
    fleet: &Fleet,
    linking: Linking,
) -> Vec<Counters> {
    let mut network = fleet.linked::<WINDOW, VALUES>(linking);
    network.run(LONG).unwrap();
    for (number, want) in fleet.states().iter().enumerate() {
        assert_eq!(&bits(network.node(number)), want, "node {number}");
        let counters = network.exchange(number).counters();
        assert_eq!(counters.epochs, 0, "an epoch began: {counters:?}");
        assert_eq!((counters.malformed, counters.refused, counters.non_finite), (0, 0, 0));
    }
    (0..network.len()).map(|number| *network.exchange(number).counters()).collect()
}

prop_compose! {
    /// Up to the worst supported lines.
    fn faults()(
        drop in 0.0_f32..0.3,
        corrupt in 0.0_f32..0.1,
        duplicate in 0.0_f32..0.1,
        reorder in 0.0_f32..0.1,
        delay in 0_u64..5_000,
    ) -> Faults {
        Faults { drop, corrupt, duplicate, reorder, delay, cut: Vec::new() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(0x10fa),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_network_over_any_lines_ends_with_the_same_bits(
        topology in topologies(1..7),
        faults in faults(),
        tracking in any::<bool>(),
        wiring in prop::sample::select(vec![Wiring::Direct, Wiring::Routed, Wiring::Bus]),
        room in 0..5_usize,
        chunk in 1_u32..9,
        outer in 1..30_usize,
        most in 2_000_u64..40_000,
        seed in any::<u64>(),
    ) {
        let scheme = if tracking { Scheme::GradientTracking } else { Scheme::LocalGradient };
        let fleet = Fleet { topology, scheme, outer, inner: 3, rounds: 12, seed: seed % 100, codec: None };
        let at = |values: usize| {
            // The chunk must fit the room, with y after x.
            let chunk = chunk.min(values as u32 / 2);
            let mut linking = linking(wiring, chunk, values);
            linking.compute = [500, most];
            linking.timing.silence += 100 * most;
            Linking { faults: faults.clone(), seed, ..linking }
        };
        match room {
            0 => same_bits::<1, 8>(&fleet, at(2)),
            1 => same_bits::<2, 8>(&fleet, at(6)),
            2 => same_bits::<3, 8>(&fleet, at(8)),
            3 => same_bits::<8, 16>(&fleet, at(16)),
            _ => same_bits::<32, 16>(&fleet, at(16)),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(0xc0dec),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_network_with_few_bits_over_any_lines_ends_with_the_same_bits(
        topology in topologies(1..7),
        faults in faults(),
        tracking in any::<bool>(),
        wiring in prop::sample::select(vec![Wiring::Direct, Wiring::Routed, Wiring::Bus]),
        few in prop::sample::select(vec![8, 4, 3]),
        room in 0..5_usize,
        outer in 1..400_usize,
        most in 2_000_u64..40_000,
        seed in any::<u64>(),
    ) {
        let scheme = if tracking { Scheme::GradientTracking } else { Scheme::LocalGradient };
        let codec = Some(codec(few));
        let fleet = Fleet { topology, scheme, outer, inner: 3, rounds: 12, seed: seed % 100, codec };
        let at = |chunk: u32| {
            let mut linking = linking(wiring, chunk, 2 * chunk as usize);
            linking.compute = [500, most];
            linking.timing.silence += 100 * most;
            Linking { faults: faults.clone(), seed, ..linking }
        };
        match room {
            0 => same_bits::<1, 64>(&fleet, at(32)),
            1 => same_bits::<3, 64>(&fleet, at(32)),
            2 => same_bits::<32, 64>(&fleet, at(32)),
            3 => same_bits::<2, 128>(&fleet, at(64)),
            // A round is one chunk, of any length.
            _ => same_bits::<2, 802>(&fleet, at(outer as u32 + 1)),
        };
    }
}

#[test]
fn the_parallel_simulation_mixes_the_bits_of_the_core() {
    for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
        let topology = Topology::new(6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (1, 5)]).unwrap();
        let fleet =
            Fleet { topology, scheme, outer: 37, inner: 5, rounds: 40, seed: 3, codec: None };
        let edges = fleet.topology.metropolis();
        let floats = |node| match node {
            QuadraticNode::Floats(node) => node,
            QuadraticNode::Coded(_) => panic!("the fleet has a codec"),
        };
        let mut nodes: Vec<_> = fleet.nodes().into_iter().map(floats).collect();
        let mut scratch = Scratch { direction: vec![0.0; fleet.inner], workspace: vec![] };
        for _ in 0..fleet.rounds {
            nodes.iter_mut().for_each(|node| node.compute(&mut scratch).unwrap());
            lopa_core::network::exchange(&mut nodes, &edges, &mut [0.0; 100]).unwrap();
        }
        let nodes = nodes.into_iter().map(QuadraticNode::Floats);
        assert_eq!(nodes.map(|node| bits(&node)).collect::<Vec<_>>(), fleet.states());
    }
}

#[test]
fn the_worst_supported_lines_change_no_bit() {
    let worst =
        Faults { drop: 0.3, corrupt: 0.1, duplicate: 0.1, reorder: 0.1, delay: 3_000, cut: vec![] };
    for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
        for wiring in [Wiring::Direct, Wiring::Routed, Wiring::Bus] {
            let topology = Topology::ring(5);
            let fleet =
                Fleet { topology, scheme, outer: 37, inner: 5, rounds: 40, seed: 3, codec: None };
            let faulty = Linking { faults: worst.clone(), ..linking(wiring, 8, 16) };
            let counters = same_bits::<2, 16>(&fleet, faulty.clone());
            assert!(counters.iter().all(|c| c.repaired > 50 && c.corrupt > 10), "{counters:?}");
            for few in [8, 4, 3] {
                // The first round is 19 chunks; the others are seven with 8 bits, and three with fewer.
                let fleet = Fleet { codec: Some(codec(few)), outer: 600, ..fleet.clone() };
                let linking = Linking { faults: worst.clone(), ..linking(wiring, 32, 64) };
                let counters = same_bits::<2, 64>(&fleet, linking);
                assert!(counters.iter().all(|c| c.repaired > 20 && c.corrupt > 5), "{counters:?}");
            }
        }
    }
}

/// Bytes sent divided by bytes of payload, for the worst node.
fn overhead(fleet: &Fleet, wiring: Wiring, counters: &[Counters]) -> f64 {
    let vectors = if fleet.scheme == Scheme::GradientTracking { 2 } else { 1 };
    let degree =
        |node: u32| fleet.topology.links().filter(|&(a, b)| a == node || b == node).count() as u64;
    let links = |node: u32| if wiring == Wiring::Direct { degree(node) } else { 1 };
    let ratio = |(node, counters): (u32, &Counters)| {
        let payload = fleet.rounds * links(node) * fleet.outer as u64 * 4 * vectors;
        counters.sent_bytes as f64 / payload as f64
    };
    (0..).zip(counters).map(ratio).fold(0.0, f64::max)
}

#[test]
fn without_loss_overhead_is_at_most_five_percent() {
    // n = 784, as for images of 28 by 28. A chunk is a quarter of it, or half of it on a shared line.
    println!("scheme            wiring   nodes  chunk  bytes / payload");
    for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
        for (wiring, topology, chunk) in [
            (Wiring::Direct, Topology::ring(5), 196),
            (Wiring::Routed, star(5), 392),
            (Wiring::Bus, Topology::ring(4), 392),
        ] {
            let fleet =
                Fleet { topology, scheme, outer: 784, inner: 2, rounds: 60, seed: 4, codec: None };
            let counters = same_bits::<4, 784>(&fleet, linking(wiring, chunk, 784));
            let ratio = overhead(&fleet, wiring, &counters);
            let nodes = fleet.topology.nodes();
            println!("{scheme:<17?} {wiring:<8?} {nodes:>5} {chunk:>6}  {ratio:.4}");
            assert!(ratio <= 1.05, "{scheme:?} {wiring:?}: {ratio}");
            assert!(counters.iter().all(|c| c.repaired == 0), "{counters:?}");
        }
    }
}

/// The bytes of a round are few from the second round on, frames included.
#[test]
fn few_bits_are_few_bytes() {
    let scheme = Scheme::GradientTracking;
    let topology = Topology::ring(3);
    let plain =
        Fleet { topology, scheme, outer: 784, inner: 64, rounds: 100, seed: 4, codec: None };
    let bytes = |codec| {
        let fleet = Fleet { codec, ..plain.clone() };
        let counters = same_bits::<4, 768>(&fleet, linking(Wiring::Direct, 384, 768));
        let sent: u64 = counters.iter().map(|c| c.sent_bytes).sum();
        // Two neighbours each.
        sent as f64 / (2 * 3 * fleet.rounds) as f64
    };
    let floats = bytes(None);
    for (few, fewer) in [(8, 3.5), (4, 6.5), (3, 8.0)] {
        let bytes = bytes(Some(codec(few)));
        println!("{few} bits: {bytes:.0} bytes per neighbour and round, floats {floats:.0}");
        assert!(floats > fewer * bytes, "{few} bits: {bytes} instead of {floats}");
    }
}

#[test]
fn a_window_keeps_a_line_busy() {
    // Two nodes whose bytes take up to 4 ms to arrive, as over USB: for how much of the time does the line carry values?
    let fleet = Fleet {
        topology: Topology::ring(2),
        scheme: Scheme::LocalGradient,
        outer: 784,
        inner: 2,
        rounds: 30,
        seed: 4,
        codec: None,
    };
    let faults = Faults { delay: 4_000, ..Faults::NONE };
    let linking = Linking { faults, ..linking(Wiring::Direct, 49, 49) };
    let busy = |now: u64| (fleet.rounds * 784 * 40) as f64 / now as f64;
    let mut narrow = fleet.linked::<1, 49>(linking.clone());
    narrow.run(LONG).unwrap();
    let mut wide = fleet.linked::<8, 49>(linking);
    wide.run(LONG).unwrap();
    let (narrow, wide) = (busy(narrow.now()), busy(wide.now()));
    println!("values on the line: {narrow:.3} of the time with a window of 1, {wide:.3} with 8");
    assert!(wide > 0.6 && wide > 3.0 * narrow, "{narrow} {wide}");
}

/// Frames, bytes and repairs by loss rate, for three networks. The table is recorded to detect changes of the protocol's
/// behaviour.
#[test]
fn the_cost_of_loss_matches_its_table() {
    let mut table =
        String::from("loss   network            frames/round     bytes/round     repairs/round\n");
    for drop in [0.0, 0.01, 0.05, 0.1, 0.2, 0.3] {
        for (name, wiring, topology) in [
            ("ring of 5", Wiring::Direct, Topology::ring(5)),
            ("routed star of 5", Wiring::Routed, star(5)),
            ("bus of 4", Wiring::Bus, Topology::ring(4)),
        ] {
            let scheme = Scheme::GradientTracking;
            let fleet =
                Fleet { topology, scheme, outer: 64, inner: 2, rounds: 100, seed: 5, codec: None };
            let faults = Faults { drop, ..Faults::NONE };
            let linking = Linking { faults, ..linking(wiring, 16, 32) };
            let counters = same_bits::<4, 32>(&fleet, linking);
            let mean = |of: fn(&Counters) -> u64| {
                let sum: u64 = counters.iter().map(of).sum();
                sum as f64 / counters.len() as f64 / fleet.rounds as f64
            };
            let (frames, bytes, repairs) =
                (mean(|c| c.sent), mean(|c| c.sent_bytes), mean(|c| c.repaired));
            let loss = format!("{:.0} %", 100.0 * drop);
            table +=
                &format!("{loss:<6} {name:<16} {frames:>14.2}  {bytes:>14.1}  {repairs:>16.2}\n");
        }
    }
    println!("{table}");
    let frozen = include_str!("loss.table");
    assert!(table == frozen, "the table changed; if that is intended, loss.table is now:\n{table}");
}
