//! The memory a node needs, known before anything runs.

use core::mem::size_of;

use crate::checkpoint;
use crate::codec::{self, CodedNode};
use crate::node::{Buffers, Node, Scheme};

/// The bytes of a node and of everything it needs besides.
///
/// ```
/// use lopa_core::footprint::Footprint;
/// use lopa_core::node::Scheme;
/// use lopa_core::problems::Logistic;
///
/// // MNIST 0 against 1 on a chip with 64 KiB: does it fit?
/// const MNIST: Footprint =
///     Footprint::new(Scheme::GradientTracking, 784, 784, Logistic::workspace(784));
/// const _: () = assert!(MNIST.state + MNIST.overhead + MNIST.scratch < 32 * 1024);
/// assert_eq!(MNIST.state, 4 * (4 * 784 + 2 * 784));
/// assert_eq!(MNIST.scratch, 4 * (2 * 784));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Footprint {
    /// The node's vectors: 4n + 2p floats with gradient tracking, 3n + 2p without.
    pub state: usize,
    /// What a node holds besides its vectors, if it holds its problem by reference.
    pub overhead: usize,
    /// Scratch for one evaluation, free between rounds: p floats and the problem's workspace.
    pub scratch: usize,
    /// A checkpoint, in flash.
    pub checkpoint: usize,
}

impl Footprint {
    /// The footprint for outer dimension n, inner dimension p, and a problem's workspace, in floats.
    #[must_use]
    pub const fn new(scheme: Scheme, outer: usize, inner: usize, workspace: usize) -> Self {
        let outer_vectors = match scheme {
            Scheme::LocalGradient => 3,
            Scheme::GradientTracking => 4,
        };
        let float = size_of::<f32>();
        Self {
            state: float * (outer_vectors * outer + 2 * inner),
            overhead: size_of::<Node<&(), [f32; 0], [f32; 0], [f32; 0]>>()
                - size_of::<Buffers<[f32; 0], [f32; 0], [f32; 0]>>(),
            scratch: float * (inner + workspace),
            checkpoint: checkpoint::len(scheme, outer, inner),
        }
    }

    /// The footprint of a node whose vectors travel in few bits, a [`CodedNode`]: 8n + 2p words with gradient tracking, 5n + 2p
    /// without.
    ///
    /// ```
    /// use lopa_core::footprint::Footprint;
    /// use lopa_core::node::Scheme;
    /// let coded = Footprint::coded(Scheme::GradientTracking, 784, 784, 0);
    /// assert_eq!(coded.state, 4 * (8 * 784 + 2 * 784));
    /// ```
    #[must_use]
    pub const fn coded(scheme: Scheme, outer: usize, inner: usize, workspace: usize) -> Self {
        let plain = Self::new(scheme, outer, inner, workspace);
        Self {
            state: plain.state + size_of::<i32>() * codec::vectors(scheme) * outer,
            overhead: size_of::<CodedNode<&(), [f32; 0], [f32; 0], [f32; 0], [i32; 0], [i32; 0]>>()
                - size_of::<Buffers<[f32; 0], [f32; 0], [f32; 0]>>(),
            checkpoint: codec::checkpoint_len(scheme, outer, inner),
            ..plain
        }
    }

    /// RAM while a round is computed.
    #[must_use]
    pub const fn ram(&self) -> usize {
        self.state + self.overhead + self.scratch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{GtNode, LgNode};
    use crate::problems::{Logistic, Meta, SharedLayer, SquaredLoss};
    use crate::samples::Arithmetic;

    #[test]
    fn a_node_is_as_large_as_predicted() {
        let gt = Footprint::new(Scheme::GradientTracking, 784, 290, 0);
        let lg = Footprint::new(Scheme::LocalGradient, 784, 290, 0);
        assert_eq!(gt.state, 4 * (4 * 784 + 2 * 290));
        assert_eq!(lg.state, 4 * (3 * 784 + 2 * 290));
        // Only padding to eight bytes may differ.
        let real = size_of::<GtNode<&Logistic<'_>, 784, 290>>();
        assert!(real.abs_diff(gt.state + gt.overhead) < 8, "{real} {gt:?}");
        let real = size_of::<LgNode<&Logistic<'_>, 784, 290>>();
        assert!(real.abs_diff(lg.state + lg.overhead) < 8, "{real} {lg:?}");
        assert!(gt.overhead <= 256, "{gt:?}");
    }

    #[test]
    fn a_node_with_few_bits_is_as_large_as_predicted() {
        use crate::codec::{CodedGtNode, CodedLgNode};
        let gt = Footprint::coded(Scheme::GradientTracking, 784, 290, 0);
        let lg = Footprint::coded(Scheme::LocalGradient, 784, 290, 0);
        assert_eq!((gt.state, lg.state), (4 * (8 * 784 + 2 * 290), 4 * (5 * 784 + 2 * 290)));
        let real = size_of::<CodedGtNode<&Logistic<'_>, 784, 290>>();
        assert!(real.abs_diff(gt.state + gt.overhead) < 8, "{real} {gt:?}");
        let real = size_of::<CodedLgNode<&Logistic<'_>, 784, 290>>();
        assert!(real.abs_diff(lg.state + lg.overhead) < 8, "{real} {lg:?}");
        // A codec, and two flags.
        let plain = Footprint::new(Scheme::GradientTracking, 784, 290, 0);
        assert!(gt.overhead <= plain.overhead + 8, "{gt:?} {plain:?}");
    }

    #[test]
    fn a_node_that_owns_its_problem_stays_small_too() {
        // Marks, which only hosts have, are two slices.
        let besides = if cfg!(feature = "simd") { 320 + 2 * size_of::<&[u64]>() } else { 320 };
        assert!(size_of::<GtNode<Logistic<'_>, 100, 100>>() <= 4 * 600 + besides);
        assert!(size_of::<GtNode<Meta<'_, SquaredLoss>, 100, 100>>() <= 4 * 600 + besides);
    }

    #[test]
    fn scratch_is_at_most_two_inner_vectors() {
        assert!(Logistic::workspace(784) <= 784);
        for (hidden, classes) in [(28, 10), (2, 2), (2, 10), (100, 2)] {
            let inner = SharedLayer::inner(hidden, classes);
            assert!(SharedLayer::workspace(hidden, classes) <= inner);
        }
        // In integers a shared layer needs more: the activations of 32 samples.
        let more = SharedLayer::workspace_in(Arithmetic::Integer, 28, 10);
        assert_eq!(more, SharedLayer::workspace(28, 10) + 32 * 28);
        assert_eq!((SharedLayer::outer(784, 28), SharedLayer::inner(28, 10)), (21_980, 290));
    }
}
