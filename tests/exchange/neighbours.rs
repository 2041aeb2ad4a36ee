//! The frames of a round, up to the most neighbours that a node can have.

use std::fmt::Write;

use lopa_core::exchange::Timing;
use lopa_core::node::Scheme;
use lopa_core::wire::Counters;
use lopa_host::network::{LINKS, Linking, Wiring};
use lopa_host::topology::Topology;

use super::bits::same_bits;
use super::fleet::{Fleet, frame, linking};

const WIRINGS: [Wiring; 3] = [Wiring::Direct, Wiring::Routed, Wiring::Bus];

/// All frames of a complete network over links.
fn frames(nodes: u32, wiring: Wiring, rounds: u64) -> u64 {
    let topology = Topology::complete(nodes).unwrap();
    let scheme = Scheme::GradientTracking;
    let fleet = Fleet { topology, scheme, outer: 24, inner: 3, rounds, seed: 6, codec: None };
    let plain = linking(wiring, 8, 16);
    let share = if wiring == Wiring::Direct { 2 } else { nodes };
    let timing = Timing::uart(plain.baud, frame(16), 2 * share, plain.compute[1]);
    let counters = same_bits::<2, 16>(&fleet, Linking { timing, ..plain });
    let sent = |c: &Counters| c.sent;
    counters.iter().map(sent).sum()
}

#[test]
fn twelve_nodes_on_a_bus_do_not_flood_it() {
    let frames = frames(12, Wiring::Bus, 20);
    // Three chunks per round: 720 frames carry values.
    assert!(frames < 5_000, "{frames} frames");
}

/// Frames per node and round by number of neighbours. The table is recorded to detect changes of the protocol's behaviour.
#[test]
fn frames_per_round_are_bounded_up_to_the_most_neighbours() {
    let mut table = String::from("neighbours   direct   routed      bus\n");
    for neighbours in 2..=LINKS as u32 {
        write!(table, "{neighbours:>10}").unwrap();
        for wiring in WIRINGS {
            let rounds = 20;
            let per_round = frames(neighbours + 1, wiring, rounds) as f64
                / (rounds * u64::from(neighbours + 1)) as f64;
            write!(table, "{per_round:>9.2}").unwrap();
            // Three chunks per round: for each neighbour on separate lines, once on a shared line. Acknowledgements and
            // greetings must not double that, nor exceed one for each neighbour.
            let lines = if wiring == Wiring::Direct { f64::from(neighbours) } else { 1.0 };
            let bound = 2.0 * 3.0 * lines + f64::from(neighbours);
            assert!(per_round < bound, "{wiring:?}, {neighbours} neighbours: {per_round} frames");
        }
        table.push('\n');
    }
    println!("{table}");
    let frozen = include_str!("neighbours.table");
    assert!(
        table == frozen,
        "the table changed; if that is intended, neighbours.table is now:\n{table}"
    );
}
