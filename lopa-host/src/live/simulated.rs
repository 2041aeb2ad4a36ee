//! A simulation that is watched.

use super::feed::Feed;
use super::state::{Node, State};
use crate::network::Health;
use crate::run::{Seen, Watch};

impl Watch for Feed {
    fn see(&self, seen: &Seen<'_, '_>) {
        self.round(seen.round);
        let wanted = self.wants_nodes() || seen.ends;
        let fresh = self.lacks(seen.record);
        if !wanted && !fresh {
            return;
        }
        let health = seen.network.health();
        if wanted {
            self.look(seen, health.as_ref());
        }
        if fresh {
            let repaired = |health: Health| {
                health.nodes.iter().map(|node| node.counters.repaired).sum::<u64>()
            };
            self.record(seen.record, health.map(repaired));
        }
    }
}

impl Feed {
    fn look(&self, seen: &Seen<'_, '_>, health: Option<&Health>) {
        let nodes = seen.network.nodes();
        let rounds = self.rounds();
        let own = nodes.iter().enumerate().map(|(number, view)| {
            let done = view.round >= rounds;
            let state = if done { State::Done } else { State::Learning };
            let mut node = Node::new(state, view.round);
            node.values = seen.values.get(number).copied().unwrap_or_default();
            if let Some(health) = health.and_then(|health| health.nodes.get(number)) {
                let neighbours = [health.met, health.dead, health.refused];
                node.state = State::of(health.round, rounds, neighbours);
                (node.round, node.neighbours) = (health.round, Some(neighbours));
                node.counters = Some(health.counters);
            }
            node
        });
        let lines = health.map_or(&[][..], |health| &health.lines);
        self.nodes(own, lines.iter().copied(), nodes.iter().map(|node| node.x));
    }
}
