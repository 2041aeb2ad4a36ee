//! The nodes of the tests: their vectors travel as floats, or in few bits.

use lopa_core::checkpoint::CheckpointError;
use lopa_core::codec::{CodedNeighbour, CodedNode, Outgoing, Pull, Share};
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{Learner, Settings, Timing};
use lopa_core::network::Edge;
use lopa_core::node::{Neighbour, NodeError, Phase, Scratch, State, Variable};
use lopa_core::oracles::Evaluations;
use lopa_core::problem::Dimensions;
use lopa_core::problems::Quadratic;
use lopa_host::network::{LinkedNode, SimulatedNode};

type Boxed<A> = Box<[A]>;
/// A node whose vectors travel in few bits.
pub type Coded =
    CodedNode<Quadratic<'static>, Boxed<f32>, Boxed<f32>, Boxed<f32>, Boxed<i32>, Boxed<i32>>;
/// Memory for one node after the other.
pub type Room = Scratch<Boxed<f32>, Boxed<f32>>;

/// A node on a quadratic.
#[derive(Debug, Clone)]
pub enum QuadraticNode {
    Floats(SimulatedNode<Quadratic<'static>>),
    Coded(Coded),
}

/// The same call on either.
macro_rules! each {
    ($node:expr, $inner:ident => $call:expr) => {
        match $node {
            QuadraticNode::Floats($inner) => $call,
            QuadraticNode::Coded($inner) => $call,
        }
    };
}

impl QuadraticNode {
    pub fn state(&self) -> State<'_> {
        each!(self, node => node.state())
    }

    pub fn phase(&self) -> Phase {
        each!(self, node => node.phase())
    }

    pub fn checkpoint_len(&self) -> usize {
        each!(self, node => node.checkpoint_len())
    }

    pub fn save(&self, bytes: &mut [u8]) -> Result<usize, CheckpointError> {
        each!(self, node => node.save(bytes))
    }

    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        each!(self, node => node.restore(bytes))
    }

    pub fn restart(&mut self, epoch: Epoch, round: u64) {
        each!(self, node => node.restart(epoch, round));
    }

    pub fn evaluations(&self) -> Evaluations {
        each!(self, node => Learner::evaluations(node))
    }

    fn sent(&self) -> Sent {
        match self {
            Self::Floats(node) => Sent::Floats(node.state().x.to_vec(), node.state().y.to_vec()),
            Self::Coded(node) => {
                let len = node.state().x.len();
                let (mut x, mut y) = (vec![0; len], vec![0; len]);
                node.changes(&mut x, &mut y);
                Sent::Changes(x, y)
            }
        }
    }
}

impl Learner for QuadraticNode {
    fn state(&self) -> State<'_> {
        self.state()
    }
    fn phase(&self) -> Phase {
        self.phase()
    }
    fn mix(&mut self, x_gap: &[f32], y_gap: &[f32]) -> Result<(), NodeError> {
        each!(self, node => Learner::mix(node, x_gap, y_gap))
    }
    fn outgoing(&self) -> Option<Outgoing<'_>> {
        each!(self, node => Learner::outgoing(node))
    }
    fn mix_changes(&mut self, pull: &mut dyn FnMut(Variable, &mut Pull)) -> Result<(), NodeError> {
        each!(self, node => Learner::mix_changes(node, pull))
    }
    fn restart(&mut self, epoch: Epoch, round: u64) {
        self.restart(epoch, round);
    }
    fn evaluations(&self) -> Evaluations {
        self.evaluations()
    }
}

impl LinkedNode for QuadraticNode {
    fn settings(&self, rounds: u64, chunk: u32, timing: Timing) -> Settings {
        each!(self, node => node.settings(rounds, chunk, timing))
    }
    fn dimensions(&self) -> Dimensions {
        each!(self, node => node.dimensions())
    }
    fn compute(&mut self, scratch: &mut Room) -> Result<(), NodeError> {
        each!(self, node => node.compute(scratch))
    }
}

/// What a node sends in a round.
enum Sent {
    Floats(Vec<f32>, Vec<f32>),
    Changes(Vec<i32>, Vec<i32>),
}

/// Every bit of a node's state.
pub fn bits(node: &QuadraticNode) -> Vec<u32> {
    let s = node.state();
    let floats = [s.x, s.theta, s.v, s.z, s.y].concat().into_iter().map(f32::to_bits);
    let ledgers = match node {
        QuadraticNode::Floats(_) => Vec::new(),
        QuadraticNode::Coded(node) => {
            let ledgers = node.ledgers();
            [&ledgers.x_known, &ledgers.x_gap, &ledgers.y_known, &ledgers.y_gap]
                .into_iter()
                .flatten()
                .map(|a| *a as u32)
                .collect()
        }
    };
    floats.chain(ledgers).collect()
}

/// A round of all nodes in-process, without any links.
pub fn round(nodes: &mut [QuadraticNode], edges: &[Edge]) {
    let inner = nodes.iter().map(|node| node.dimensions().inner).max().unwrap_or(0);
    let mut scratch = Scratch { direction: vec![0.0; inner].into(), workspace: Box::default() };
    nodes.iter_mut().for_each(|node| node.compute(&mut scratch).unwrap());
    let sent: Vec<Sent> = nodes.iter().map(QuadraticNode::sent).collect();
    for (number, node) in nodes.iter_mut().enumerate() {
        let own = edges.iter().filter(|edge| edge.node as usize == number);
        match node {
            QuadraticNode::Floats(node) => node
                .mix_with(own.map(|edge| match &sent[edge.neighbour as usize] {
                    Sent::Floats(x, y) => Neighbour { weight: edge.weight, x, y },
                    Sent::Changes(..) => panic!("a neighbour sends changes"),
                }))
                .unwrap(),
            QuadraticNode::Coded(node) => node
                .mix_with(own.map(|edge| match &sent[edge.neighbour as usize] {
                    Sent::Changes(x, y) => {
                        let share = Share::of(edge.weight).expect("a multiple of 1/256");
                        CodedNeighbour { share, x, y }
                    }
                    Sent::Floats(..) => panic!("a neighbour sends floats"),
                }))
                .unwrap(),
        }
    }
}
