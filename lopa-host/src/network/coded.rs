//! LoPA's nodes with few bits on the wire, on a host: the core's own, with vectors on the heap.

use lopa_core::codec::{BLOCK, Bits, Block, Codec, CodedNeighbour, CodedNode, Ledgers, Share};
use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::{NodeError, Scheme};
use lopa_core::problem::{Dimensions, Problem};

use super::{InProcess, Member, Outbox, SimulatedNode, Vectors};

/// A LoPA node of a simulation whose vectors travel in few bits.
pub type CodedSimulatedNode<P> =
    CodedNode<P, Box<[f32]>, Box<[f32]>, Box<[f32]>, Box<[i32]>, Box<[i32]>>;

/// A LoPA network with few bits on the wire, in one process.
pub type CodedSimulation<P> = InProcess<CodedSimulatedNode<P>>;

impl<P: Problem + Send + Sync> Member for CodedSimulatedNode<P> {
    type Scratch = <SimulatedNode<P> as Member>::Scratch;
    type Sent = i32;

    fn dimensions(&self) -> Dimensions {
        self.node().dimensions()
    }

    fn scratch(inner: usize, workspace: usize) -> Self::Scratch {
        SimulatedNode::<P>::scratch(inner, workspace)
    }

    fn compute(&mut self, scratch: &mut Self::Scratch) -> Result<(), NodeError> {
        Self::compute(self, scratch)
    }

    fn lengths(&self) -> [usize; 2] {
        self.node().lengths()
    }

    fn send(&mut self, [x, y]: &mut Outbox<i32>) -> usize {
        self.changes(x, y);
        // Over lines each chunk of zeros is left out; here only a whole round of them, as silent as any other.
        if self.is_opening() && x.iter().chain(&**y).any(|&number| number != 0) {
            return size_of::<f32>() * (x.len() + y.len());
        }
        bytes(self.codec().bits(), x) + bytes(self.codec().bits(), y)
    }

    fn mix<'a>(
        &mut self,
        _: Vectors<'a, i32>,
        neighbours: impl Iterator<Item = (f32, Vectors<'a, i32>)> + Clone,
        _: [&mut [f32]; 2],
    ) -> Result<(), NodeError> {
        // The weights of all links were checked when the network was joined.
        let share = |(weight, [x, y]): (f32, Vectors<'a, i32>)| {
            Some(CodedNeighbour { share: Share::of(weight)?, x, y })
        };
        self.mix_with(neighbours.filter_map(share))
    }

    fn takes(weight: f32) -> bool {
        Share::of(weight).is_some()
    }
}

/// The bytes of a vector's changes, block by block.
fn bytes(bits: Bits, changes: &[i32]) -> usize {
    // Only the first byte of a block that does not change is sent.
    let changed = |block: &[i32]| if block.iter().all(|&a| a == 0) { 0 } else { block.len() };
    changes.chunks(BLOCK).map(|block| Block::bytes(bits, changed(block))).sum()
}

impl<P: Problem + Send + Sync> InProcess<CodedSimulatedNode<P>> {
    /// Nodes between two rounds, of which their neighbours know nothing yet, as [`CodedNode::new`] makes them. Weights must be
    /// multiples of 1/256: see [`Weights::in_256ths`](crate::topology::Weights::in_256ths).
    ///
    /// # Errors
    /// Names the node whose values are out of the codec's range, or the edge that is wrong.
    pub fn coded(
        nodes: Vec<SimulatedNode<P>>,
        edges: Vec<Edge>,
        codec: Codec,
    ) -> Result<Self, NetworkError> {
        Self::join(Self::with_codec(nodes, codec)?, edges)
    }

    /// The nodes of such a network.
    pub(crate) fn with_codec(
        nodes: Vec<SimulatedNode<P>>,
        codec: Codec,
    ) -> Result<Vec<CodedSimulatedNode<P>>, NetworkError> {
        let coded = |(number, node)| {
            let refused = |error| NetworkError::Node { node: number, error };
            with_codec(node, codec).map_err(refused)
        };
        nodes.into_iter().enumerate().map(coded).collect()
    }
}

/// A node that sends few bits from now on, beginning with an epoch.
fn with_codec<P: Problem>(
    node: SimulatedNode<P>,
    codec: Codec,
) -> Result<CodedSimulatedNode<P>, NodeError> {
    let outer = node.state().x.len();
    let tracked = if node.scheme() == Scheme::GradientTracking { outer } else { 0 };
    let zeros = |len: usize| vec![0; len].into_boxed_slice();
    let ledgers = Ledgers {
        x_known: zeros(outer),
        x_gap: zeros(outer),
        y_known: zeros(tracked),
        y_gap: zeros(tracked),
    };
    CodedNode::new(node, codec, ledgers)
}
