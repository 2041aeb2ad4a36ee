//! `lopa fleet monitor`: the progress of a fleet, live.

use std::sync::atomic::Ordering;

use lopa_core::wire::Counters;
use lopa_host::fleet::Connected;
use lopa_host::run::Prepared;

use super::hardware::{LOOK, done, each};
use super::progress::{Progress, damaged};
use crate::command::{Failure, interrupts, print};

/// What is known about a board besides its status.
#[derive(Debug, Clone, Copy, Default)]
struct Health {
    counters: Option<Counters>,
    loss: Option<f64>,
    /// Neighbours met, dead and refused.
    neighbours: Option<[u8; 3]>,
}

impl Health {
    fn words(&self) -> String {
        let mut words = String::new();
        if let Some([met, dead, refused]) = self.neighbours {
            words += &format!(", {met} met");
            for (count, what) in [(dead, "dead"), (refused, "refused")] {
                if count > 0 {
                    words += &format!(", {count} {what}");
                }
            }
        }
        if let Some(loss) = self.loss {
            words += &format!(", loss {loss:.5}");
        }
        if let Some(counters) = self.counters {
            words += &format!(", repaired {}, damaged {}", counters.repaired, damaged(&counters));
        }
        words
    }
}

/// Shows the progress of all boards until they have finished or Ctrl-C is pressed.
pub(super) fn monitor(prepared: &Prepared) -> Result<(), Failure> {
    let experiment = prepared.experiment();
    let (nodes, rounds) = (experiment.network.nodes, experiment.run.iterations);
    let mut fleet = Connected::open(prepared)?;
    let stop = interrupts()?;
    let router = if fleet.routed() { ", this host is the router" } else { "" };
    eprintln!("{nodes} nodes, {}, {rounds} rounds{router}", experiment.network.topology);
    let mut bars = Progress::new(nodes as usize, rounds);
    let mut health = vec![Health::default(); nodes as usize];
    // More is requested from one board per turn: lines are slow, and busy.
    for turn in (0..nodes).cycle() {
        let statuses = fleet.statuses();
        for (health, status) in health.iter_mut().zip(&statuses) {
            health.neighbours = status.map(|status| [status.met, status.dead, status.refused]);
        }
        let own = &mut health[turn as usize];
        if statuses[turn as usize].is_some() {
            own.counters = fleet.client(turn).and_then(|client| client.counters().ok());
            own.loss = fleet.loss(prepared, turn);
        }
        bars.show(&statuses, &|node| health[node].words());
        if done(&statuses) {
            bars.clear();
            break;
        }
        if stop.load(Ordering::Relaxed) {
            bars.clear();
            if fleet.routed() {
                // Without a router they would consider each other dead, and learn alone.
                return each(&mut fleet, |client| client.stop(), "pause");
            }
            return print("the boards continue unwatched\n");
        }
        std::thread::sleep(LOOK);
    }
    // One last request to all, so that the final report is complete.
    let mut text = String::new();
    for node in 0..nodes {
        let loss = fleet.loss(prepared, node);
        let client = fleet.client(node);
        let counters = client.and_then(|client| client.counters().ok());
        let words = Health { counters, loss, neighbours: health[node as usize].neighbours }.words();
        text += &format!("node {node}: done{words}\n");
    }
    print(&text)
}
