//! What carries vectors from node to node: one memory, or links.

use std::collections::VecDeque;

use lopa_core::exchange::{Micros, Timing};
use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::{NodeError, Phase, Scheme};
use lopa_core::problems::AnyProblem;
use lopa_core::wire::{Seal, message_len};

use super::{RunError, input};
use crate::algorithms::{Algorithm, NodeView, Sent, lopa_checkpoint};
use crate::config::{LinksTable, Wires};
use crate::fault::Faults;
use crate::linked::{LINKS, LinkedError, LinkedNetwork, Linking, Wiring};
use crate::metrics::Traffic;
use crate::simulation::{SimulatedNode, Simulation};

/// Chunks under way to a neighbour at a time.
const WINDOW: usize = 4;
/// The most floats of a frame, y behind x with gradient tracking.
const VALUES: usize = 256;

/// A network that moves round by round, one way or the other.
#[derive(Debug)]
pub(super) enum Engine<'a> {
    Memory(Box<dyn Algorithm<AnyProblem<'a>> + 'a>),
    Links(Box<Links<'a>>),
}

/// An algorithm before it is known how vectors travel.
#[derive(Debug)]
pub(super) enum Nodes<'a> {
    Lopa(Simulation<AnyProblem<'a>>),
    Other(Box<dyn Algorithm<AnyProblem<'a>> + 'a>),
}

impl<'a> Nodes<'a> {
    pub(super) fn algorithm(&mut self) -> &mut (dyn Algorithm<AnyProblem<'a>> + 'a) {
        match self {
            Self::Lopa(simulation) => simulation,
            Self::Other(other) => &mut **other,
        }
    }
}

impl<'a> Engine<'a> {
    /// Over links if there are any, with frames sealed in some way. `before` is what had been sent when the nodes' rounds were done.
    pub(super) fn new(
        nodes: Nodes<'a>,
        edges: &[Edge],
        rounds: u64,
        links: Option<(&LinksTable, Seal)>,
        before: Traffic,
    ) -> Result<Self, RunError> {
        Ok(match (nodes, links) {
            (Nodes::Lopa(simulation), Some(links)) => {
                Self::Links(Box::new(Links::new(simulation, edges, rounds, links, before)?))
            }
            (Nodes::Lopa(simulation), None) => Self::Memory(Box::new(simulation)),
            // A file with links and another algorithm was refused.
            (Nodes::Other(other), _) => Self::Memory(other),
        })
    }

    /// One round of every node.
    pub(super) fn round(&mut self) -> Result<(), RunError> {
        match self {
            Self::Memory(algorithm) => algorithm.step().map_err(RunError::Diverged),
            Self::Links(links) => links.round(),
        }
    }

    /// The nodes, all between the same two rounds.
    pub(super) fn nodes(&self) -> Vec<NodeView<'_, AnyProblem<'a>>> {
        match self {
            Self::Memory(algorithm) => algorithm.nodes(),
            Self::Links(links) => links.nodes.iter().map(NodeView::from).collect(),
        }
    }

    /// Rounds completed.
    pub(super) fn completed(&self) -> u64 {
        match self {
            Self::Memory(algorithm) => algorithm.round(),
            Self::Links(links) => links.round,
        }
    }

    /// What a node had sent to each of its neighbours, all repeats left out.
    pub(super) fn sent(&self) -> Sent {
        match self {
            Self::Memory(algorithm) => algorithm.sent(),
            Self::Links(links) => Sent::of_lopa(links.nodes.first()),
        }
    }

    /// Everything nodes need to go on; nothing in the middle of a round.
    pub(super) fn checkpoint(&self) -> Option<Vec<u8>> {
        match self {
            Self::Memory(algorithm) => algorithm.checkpoint(),
            Self::Links(links) => lopa_checkpoint(&links.nodes),
        }
    }

    /// What nodes had sent when they got there.
    pub(super) fn traffic(&self) -> Option<Traffic> {
        match self {
            Self::Memory(_) => None,
            Self::Links(links) => {
                let sum = |of: fn(&Traffic) -> u64| links.sent.iter().map(of).sum::<u64>();
                let (bytes, frames) = (sum(|sent| sent.bytes), sum(|sent| sent.frames));
                let before = links.before;
                Some(Traffic { bytes: before.bytes + bytes, frames: before.frames + frames })
            }
        }
    }

    /// How often the network lost a node, or thought so.
    pub(super) fn losses(&self) -> u64 {
        let Self::Links(links) = self else { return 0 };
        links.nodes.iter().map(|node| node.state().epoch.generation()).max().unwrap_or(0)
    }
}

/// A node's state between two rounds, and what it had sent.
type Past<'a> = (SimulatedNode<AnyProblem<'a>>, Traffic);

/// Nodes over links. Some run ahead of others, so what they were is kept until all have been there.
#[derive(Debug)]
pub(super) struct Links<'a> {
    network: LinkedNetwork<AnyProblem<'a>, WINDOW, VALUES>,
    /// The nodes between the same two rounds, and what each had sent.
    nodes: Vec<SimulatedNode<AnyProblem<'a>>>,
    sent: Vec<Traffic>,
    before: Traffic,
    /// Where nodes were after that.
    ahead: Vec<VecDeque<Past<'a>>>,
    round: u64,
}

impl<'a> Links<'a> {
    fn new(
        simulation: Simulation<AnyProblem<'a>>,
        edges: &[Edge],
        rounds: u64,
        (table, seal): (&LinksTable, Seal),
        before: Traffic,
    ) -> Result<Self, RunError> {
        let nodes = simulation.into_nodes();
        let scheme = nodes.first().map_or(Scheme::LocalGradient, SimulatedNode::scheme);
        let count = nodes.len();
        let mut degrees = vec![0; count];
        edges.iter().for_each(|edge| degrees[edge.node as usize] += 1);
        if let Some(node) = degrees.iter().position(|degree| *degree > LINKS) {
            let found = degrees[node];
            return Err(RunError::Input(format!(
                "links: node {node} has {found} neighbours, at most {LINKS} can be simulated over links: \
                 choose another topology, or leave out the table [links]"
            )));
        }
        let linking = linking(table, scheme, &degrees, seal);
        let network = LinkedNetwork::new(nodes.clone(), edges, rounds, linking);
        let network = network.map_err(|error| RunError::Input(format!("links: {error}")))?;
        let round = nodes.first().map_or(0, |node| node.state().round);
        let sent = vec![Traffic::default(); count];
        let ahead = vec![VecDeque::new(); count];
        Ok(Self { network, nodes, sent, before, ahead, round })
    }

    fn round(&mut self) -> Result<(), RunError> {
        let goal = self.round + 1;
        while self.ahead.iter().any(VecDeque::is_empty) {
            self.network.turn(Micros::MAX).map_err(failed)?;
            for (number, ahead) in self.ahead.iter_mut().enumerate() {
                let node = self.network.node(number);
                let round = node.state().round;
                let last = ahead.back().map_or(self.round, |(past, _)| past.state().round);
                if node.phase() == Phase::Ready && round > last {
                    let counters = self.network.exchange(number).counters();
                    let (bytes, frames) = (counters.sent_bytes, counters.sent);
                    ahead.push_back((node.clone(), Traffic { bytes, frames }));
                }
            }
        }
        self.round = goal;
        for (number, ahead) in self.ahead.iter_mut().enumerate() {
            // A node that was lost may come back some rounds later: then it is taken as it is until the others are there.
            if ahead.front().is_some_and(|(node, _)| node.state().round <= goal)
                && let Some((node, sent)) = ahead.pop_front()
            {
                (self.nodes[number], self.sent[number]) = (node, sent);
            }
        }
        Ok(())
    }
}

fn failed(error: LinkedError) -> RunError {
    match error {
        LinkedError::Node { node, error: error @ NodeError::Diverged(_) } => {
            RunError::Diverged(NetworkError::Node { node, error })
        }
        other => input(other),
    }
}

/// How a file wants nodes to be linked.
pub(crate) fn linking(
    table: &LinksTable,
    scheme: Scheme,
    degrees: &[usize],
    seal: Seal,
) -> Linking {
    let vectors = if scheme == Scheme::GradientTracking { 2 } else { 1 };
    let frame = message_len(table.chunk as usize * vectors) + seal.overhead();
    // How many share a line, each with a window full of frames.
    let (wiring, share) = match table.wiring {
        Wires::Direct => (Wiring::Direct, 2),
        Wires::Routed => (Wiring::Routed, 1 + degrees.iter().max().copied().unwrap_or(0)),
        Wires::Bus => (Wiring::Bus, degrees.len()),
    };
    let patience = table.compute.saturating_add(table.delay.saturating_mul(2));
    Linking {
        wiring,
        baud: table.baud,
        compute: [table.compute, table.compute],
        chunk: table.chunk,
        timing: Timing::uart(table.baud, frame, (share * WINDOW) as u32, patience),
        seal,
        faults: Faults {
            drop: table.drop,
            corrupt: table.corrupt,
            duplicate: table.duplicate,
            reorder: table.reorder,
            delay: table.delay,
            cut: Vec::new(),
        },
        seed: table.seed,
        clocks: Vec::new(),
    }
}
