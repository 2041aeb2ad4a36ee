//! `lopa fleet monitor`: the progress of a fleet, live.

use lopa_core::wire::{Counters, Status};
use lopa_host::fleet::Connected;
use lopa_host::run::Prepared;

use super::hardware::{each, watch};
use super::progress::damaged;
use crate::command::{Failure, print, tell};

/// What is known about a board besides its status.
#[derive(Debug, Clone, Copy, Default)]
struct Health {
    counters: Option<Counters>,
    loss: Option<f64>,
    /// Neighbours met, dead and refused.
    neighbours: Option<[u8; 3]>,
}

impl Health {
    /// Requests the counters and the loss of a board.
    fn ask(&mut self, fleet: &mut Connected, prepared: &Prepared, node: u32) {
        self.loss = fleet.loss(prepared, node);
        self.counters = fleet.client(node).and_then(|client| client.counters().ok());
    }

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
    let router = if fleet.routed() { ", this host is the router" } else { "" };
    tell(format_args!("{nodes} nodes, {}, {rounds} rounds{router}", experiment.network.topology));
    let mut health = vec![Health::default(); nodes as usize];
    let mut turns = (0..nodes).cycle();
    let done = watch(&mut fleet, prepared, |fleet, statuses| {
        for (health, status) in health.iter_mut().zip(statuses) {
            let known = |status: &Status| [status.met, status.dead, status.refused];
            health.neighbours = status.as_ref().ok().map(known);
        }
        // More is requested from one board per turn: lines are slow, and busy.
        let turn = turns.next().unwrap_or(0);
        if statuses[turn as usize].is_ok() {
            health[turn as usize].ask(fleet, prepared, turn);
        }
        health.iter().map(Health::words).collect()
    })?;
    if !done && fleet.routed() {
        // Without a router they would consider each other dead, and learn alone.
        return each(&mut fleet, |client| client.stop(), "pause");
    }
    if !done {
        return print("the boards continue unwatched\n");
    }
    // One last request to all, so that the final report is complete.
    let mut text = String::new();
    for node in 0..nodes {
        let own = &mut health[node as usize];
        own.ask(&mut fleet, prepared, node);
        text += &format!("node {node}: done{}\n", own.words());
    }
    print(&text)
}
