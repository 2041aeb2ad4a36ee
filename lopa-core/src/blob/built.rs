//! The node of a blob, with its vectors in memory that it was given.

#[cfg(feature = "codec")]
use bytemuck::try_cast_slice_mut;

use super::{Blob, BlobError, Start};
use crate::checkpoint::CheckpointError;
#[cfg(feature = "codec")]
use crate::codec::{CodedNode, Ledgers};
use crate::codec::{Outgoing, Pull, Words};
use crate::epoch::Epoch;
use crate::exchange::Learner;
use crate::node::{Buffers, Node, NodeError, Phase, Scheme, Scratch, State, Variable};
use crate::oracles::Evaluations;
use crate::problem::{Dimensions, Problem};
use crate::problems::AnyProblem;
use crate::vector::Storage;

/// A node built from a blob.
pub type BlobNode<'a, 'm> = BuiltNode<'m, AnyProblem<'a>>;

/// Its scratch.
pub type BlobScratch<'m> = Scratch<&'m mut [f32], &'m mut [f32]>;

/// A node with its vectors in slices, which travel as floats.
pub type SlicedNode<'m, P> = Node<P, &'m mut [f32], &'m mut [f32], &'m mut [f32]>;

/// The same for vectors that travel in few bits.
#[cfg(feature = "codec")]
pub type CodedSlicedNode<'m, P> =
    CodedNode<P, &'m mut [f32], &'m mut [f32], &'m mut [f32], &'m mut [i32], &'m mut [i32]>;

/// A node as its blob describes it: its vectors travel as floats or, with the feature `codec`, in few bits.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum BuiltNode<'m, P: Problem> {
    /// As floats.
    Floats(SlicedNode<'m, P>),
    /// In few bits.
    #[cfg(feature = "codec")]
    Coded(CodedSlicedNode<'m, P>),
}

/// The same call for both kinds of node.
macro_rules! each {
    ($built:expr, $node:ident => $call:expr) => {
        match $built {
            BuiltNode::Floats($node) => $call,
            #[cfg(feature = "codec")]
            BuiltNode::Coded($node) => $call,
        }
    };
}

impl<'m, P: Problem> BuiltNode<'m, P> {
    /// The node itself, without what its neighbours know of it.
    pub const fn node(&self) -> &SlicedNode<'m, P> {
        match self {
            Self::Floats(node) => node,
            #[cfg(feature = "codec")]
            Self::Coded(coded) => coded.node(),
        }
    }

    /// The problem.
    pub const fn problem(&self) -> &P {
        self.node().problem()
    }

    /// The problem, for data that change while the node learns. Its dimensions must not change.
    pub const fn problem_mut(&mut self) -> &mut P {
        each!(self, node => node.problem_mut())
    }

    /// The node's half of a round: see [`Node::compute`].
    ///
    /// # Errors
    /// As there.
    pub fn compute<S: Storage, W: Storage>(
        &mut self,
        scratch: &mut Scratch<S, W>,
    ) -> Result<(), NodeError> {
        each!(self, node => node.compute(scratch))
    }

    /// The node's variables.
    pub fn state(&self) -> State<'_> {
        self.node().state()
    }

    /// Where the node stands in its round.
    pub const fn phase(&self) -> Phase {
        self.node().phase()
    }

    /// The node's state between two rounds, word by word.
    ///
    /// # Errors
    /// Refuses in the middle of a round.
    pub fn checkpoint(&self) -> Result<Words<'_>, CheckpointError> {
        match self {
            Self::Floats(node) => node.checkpoint().map(Words::from),
            #[cfg(feature = "codec")]
            Self::Coded(node) => node.checkpoint(),
        }
    }

    /// The length of this node's checkpoint in bytes.
    pub fn checkpoint_len(&self) -> usize {
        each!(self, node => node.checkpoint_len())
    }

    /// Writes the checkpoint into `bytes` and returns its length.
    ///
    /// # Errors
    /// Refuses in the middle of a round, and if `bytes` is too short.
    pub fn save(&self, bytes: &mut [u8]) -> Result<usize, CheckpointError> {
        each!(self, node => node.save(bytes))
    }

    /// Restores a checkpoint of this node. Everything is checked before anything changes.
    ///
    /// # Errors
    /// Refuses bytes that are not a complete and undamaged checkpoint of this node.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        each!(self, node => node.restore(bytes))
    }
}

impl<P: Problem> Learner for BuiltNode<'_, P> {
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
        each!(self, node => node.restart(epoch, round));
    }
    fn evaluations(&self) -> Evaluations {
        self.node().evaluations()
    }
}

impl<'a> Blob<'a> {
    /// Builds the node, with its vectors and scratch in the first [`Blob::floats`] elements of `memory`.
    ///
    /// # Errors
    /// Refuses too little memory.
    pub fn build<'m>(
        &self,
        memory: &'m mut [f32],
    ) -> Result<(BlobNode<'a, 'm>, BlobScratch<'m>), BlobError> {
        self.build_for(self.problem(), memory)
    }

    /// [`Blob::build`] for the blob's problem as a type of its own, so that an image need not contain the others:
    ///
    /// ```
    /// # use lopa_core::blob::{Blob, BlobError};
    /// use lopa_core::problems::AnyProblem;
    /// # fn example(blob: Blob<'_>, memory: &mut [f32]) -> Result<(), BlobError> {
    /// if let AnyProblem::Logistic(problem) = blob.problem() {
    ///     let (node, scratch) = blob.build_for(problem, memory)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Refuses too little memory, and a problem with other dimensions than the blob's.
    pub fn build_for<'m, P: Problem>(
        &self,
        problem: P,
        memory: &'m mut [f32],
    ) -> Result<(BuiltNode<'m, P>, BlobScratch<'m>), BlobError> {
        let (needed, room) = (self.floats(), memory.len());
        let Dimensions { outer, inner, workspace } = self.dimensions();
        let tracked = if self.scheme() == Scheme::GradientTracking { outer } else { 0 };
        let mut memory = memory;
        let mut take = |len| {
            let (taken, rest) = core::mem::take(&mut memory)
                .split_at_mut_checked(len)
                .ok_or(BlobError::Capacity { name: "floats of memory", needed, room })?;
            memory = rest;
            Ok(taken)
        };
        let (x, y, z, delta) = (take(outer)?, take(outer)?, take(outer)?, take(tracked)?);
        let (theta, v) = (take(inner)?, take(inner)?);
        let scratch = Scratch { direction: take(inner)?, workspace: take(workspace)? };
        match self.start() {
            Start::Number(x0) => x.fill(x0),
            Start::Vector(x0) => x.iter_mut().zip(x0).for_each(|(x, x0)| *x = *x0),
        }
        let buffers = Buffers { x, y, z, theta, v, delta };
        let node = Node::new(problem, self.scheme(), self.config(), buffers);
        let node = node.map_err(BlobError::Node)?;
        #[cfg(feature = "codec")]
        if let Some(codec) = self.codec() {
            let mut take = |len| try_cast_slice_mut(take(len)?).map_err(|_| BlobError::Memory);
            let (x_known, x_gap) = (take(outer)?, take(outer)?);
            let (y_known, y_gap) = (take(tracked)?, take(tracked)?);
            let ledgers = Ledgers { x_known, x_gap, y_known, y_gap };
            let coded = CodedNode::new(node, codec, ledgers).map_err(BlobError::Node)?;
            return Ok((BuiltNode::Coded(coded), scratch));
        }
        Ok((BuiltNode::Floats(node), scratch))
    }
}
