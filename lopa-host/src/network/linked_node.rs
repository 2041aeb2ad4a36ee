//! What a network over links needs from a node, whichever way its vectors travel.

use lopa_core::codec::{CodedNode, Integers};
use lopa_core::exchange::{Learner, Settings, Timing};
use lopa_core::node::{Node, NodeError, Scratch};
use lopa_core::problem::{Dimensions, Problem};
use lopa_core::vector::Storage;

/// A node of a network over links.
pub trait LinkedNode: Learner {
    /// The settings of its exchange, for `rounds` rounds and chunks of `chunk` elements.
    fn settings(&self, rounds: u64, chunk: u32, timing: Timing) -> Settings;

    /// The dimensions of its problem.
    fn dimensions(&self) -> Dimensions;

    /// Its half of a round.
    ///
    /// # Errors
    /// Refuses out of turn, and if the node has stopped.
    fn compute(&mut self, scratch: &mut Scratch<Box<[f32]>, Box<[f32]>>) -> Result<(), NodeError>;
}

impl<P: Problem, X: Storage, T: Storage, D: Storage> LinkedNode for Node<P, X, T, D> {
    fn settings(&self, rounds: u64, chunk: u32, timing: Timing) -> Settings {
        Settings::of(self, rounds, chunk, timing)
    }

    fn dimensions(&self) -> Dimensions {
        self.problem().dimensions()
    }

    fn compute(&mut self, scratch: &mut Scratch<Box<[f32]>, Box<[f32]>>) -> Result<(), NodeError> {
        self.compute(scratch)
    }
}

impl<P: Problem, X: Storage, T: Storage, D: Storage, I: Integers, J: Integers> LinkedNode
    for CodedNode<P, X, T, D, I, J>
{
    fn settings(&self, rounds: u64, chunk: u32, timing: Timing) -> Settings {
        Settings::coded(self, rounds, chunk, timing)
    }

    fn dimensions(&self) -> Dimensions {
        self.node().problem().dimensions()
    }

    fn compute(&mut self, scratch: &mut Scratch<Box<[f32]>, Box<[f32]>>) -> Result<(), NodeError> {
        self.compute(scratch)
    }
}
