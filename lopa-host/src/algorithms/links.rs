//! LoPA over links, in simulated time, behind the same trait as in-process.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Add;

use lopa_core::exchange::Micros;
use lopa_core::network::Edge;
use lopa_core::node::Phase;

use super::{
    Algorithm, NodeView, Participant, RestoreError, Sent, StepError, restore_all, save_all,
};
use crate::network::{Health, LinkedError, LinkedNetwork, LinkedNode, Linking, Traffic};

/// Chunks under way to a neighbour at a time.
pub(crate) const WINDOW: usize = 4;
/// The most floats of a frame, y behind x with gradient tracking.
const VALUES: usize = 256;

/// A node between two rounds, what it had sent by then, and when that was.
type Past<N> = (N, Traffic, Micros);

/// LoPA's nodes over links, whichever way their vectors travel. Some run ahead of others, so their past states are kept until all have been there.
#[derive(Debug)]
pub struct Links<N> {
    network: LinkedNetwork<N, WINDOW, VALUES>,
    edges: Vec<Edge>,
    rounds: u64,
    linking: Linking,
    /// The nodes between the same two rounds, what each had sent, and when it had completed the first of them.
    nodes: Vec<N>,
    sent: Vec<Traffic>,
    completed: Vec<Micros>,
    /// Where nodes were after that.
    ahead: Vec<VecDeque<Past<N>>>,
    round: u64,
}

impl<N: LinkedNode + Clone> Links<N> {
    /// Links nodes by weighted edges (both directions, sorted), to run `rounds` rounds.
    ///
    /// # Errors
    /// Names the node whose exchange refuses its settings.
    pub fn new(
        nodes: Vec<N>,
        edges: Vec<Edge>,
        rounds: u64,
        linking: Linking,
    ) -> Result<Self, LinkedError> {
        let network = LinkedNetwork::new(nodes.clone(), &edges, rounds, linking.clone())?;
        let round = nodes.first().map_or(0, |node| node.state().round);
        let sent = vec![Traffic::default(); nodes.len()];
        let completed = vec![0; nodes.len()];
        let ahead = vec![VecDeque::new(); nodes.len()];
        Ok(Self { network, edges, rounds, linking, nodes, sent, completed, ahead, round })
    }
}

impl<P, N> Algorithm<P> for Links<N>
where
    N: LinkedNode + Participant<P> + Clone + fmt::Debug + Send,
{
    fn step(&mut self) -> Result<(), StepError> {
        let goal = self.round + 1;
        while self.ahead.iter().any(VecDeque::is_empty) {
            // A turn ends when something happens next: what it did, it did before.
            let now = self.network.now();
            self.network.turn(Micros::MAX)?;
            for (number, ahead) in self.ahead.iter_mut().enumerate() {
                let node = self.network.node(number);
                let last = ahead.back().map_or(self.round, |(past, ..)| past.state().round);
                if node.phase() == Phase::Ready && node.state().round > last {
                    let counters = self.network.exchange(number).counters();
                    let (bytes, frames) = (counters.sent_bytes, Some(counters.sent));
                    ahead.push_back((node.clone(), Traffic { bytes, frames }, now));
                }
            }
        }
        self.round = goal;
        for (number, ahead) in self.ahead.iter_mut().enumerate() {
            // A node that was lost may come back some rounds later: it stays as it is until the others are there.
            if ahead.front().is_some_and(|(node, ..)| node.state().round <= goal)
                && let Some(past) = ahead.pop_front()
            {
                (self.nodes[number], self.sent[number], self.completed[number]) = past;
            }
        }
        Ok(())
    }

    fn round(&self) -> u64 {
        self.round
    }

    fn nodes(&self) -> Vec<NodeView<'_, P>> {
        self.nodes.iter().map(Participant::view).collect()
    }

    fn sent(&self) -> Sent {
        Sent::of(self.nodes.first())
    }

    fn traffic(&self) -> Traffic {
        self.sent.iter().copied().fold(Traffic { bytes: 0, frames: Some(0) }, Add::add)
    }

    fn fleet_time(&self) -> Option<Micros> {
        self.completed.iter().copied().max()
    }

    fn losses(&self) -> u64 {
        self.nodes.iter().map(|node| node.state().epoch.losses()).max().unwrap_or(0)
    }

    fn health(&self) -> Option<Health> {
        Some(self.network.health())
    }

    fn checkpoint(&self) -> Option<Vec<u8>> {
        save_all(&self.nodes)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        let mut nodes = self.nodes.clone();
        restore_all(&mut nodes, bytes)?;
        let (edges, linking) = (self.edges.clone(), self.linking.clone());
        *self = Self::new(nodes, edges, self.rounds, linking).map_err(RestoreError::Links)?;
        Ok(())
    }
}
