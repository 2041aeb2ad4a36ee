//! The memory of a node.

use crate::epoch::Epoch;
#[cfg(feature = "defmt")]
use crate::vector::Storage;

/// A node's vectors. `x` is the starting point; everything else is overwritten.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffers<X, T, D> {
    /// x₀, the same on all nodes (length n).
    pub x: X,
    /// For y (length n).
    pub y: X,
    /// For z (length n).
    pub z: X,
    /// For θ (length p).
    pub theta: T,
    /// For v (length p).
    pub v: T,
    /// For δ: length n with gradient tracking, any length (such as `[f32; 0]`) without.
    pub delta: D,
}

/// Memory for one evaluation, free between calls of [`Node::compute`](super::Node::compute).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scratch<T, W> {
    /// For d, then for h (length p).
    pub direction: T,
    /// The problem's workspace.
    pub workspace: W,
}

impl<const P: usize, const W: usize> Scratch<[f32; P], [f32; W]> {
    /// Scratch of fixed size.
    #[must_use]
    pub const fn new() -> Self {
        Self { direction: [0.0; P], workspace: [0.0; W] }
    }
}

impl<const P: usize, const W: usize> Default for Scratch<[f32; P], [f32; W]> {
    fn default() -> Self {
        Self::new()
    }
}

/// A node's variables, for reading.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
pub struct State<'a> {
    /// Rounds completed.
    pub round: u64,
    /// The epoch: which nodes take part.
    pub epoch: Epoch,
    /// The outer variable.
    pub x: &'a [f32],
    /// The inner variable: the node's own model.
    pub theta: &'a [f32],
    /// The Hessian-inverse-vector estimate.
    pub v: &'a [f32],
    /// The smoothed hypergradient.
    pub z: &'a [f32],
    /// The descent direction.
    pub y: &'a [f32],
}

#[cfg(feature = "defmt")]
impl<X: Storage, T: Storage, D: Storage> defmt::Format for Buffers<X, T, D> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(
            f,
            "Buffers(n = {}, p = {})",
            self.x.as_ref().len(),
            self.theta.as_ref().len()
        );
    }
}

#[cfg(feature = "defmt")]
impl<T: Storage, W: Storage> defmt::Format for Scratch<T, W> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let (p, w) = (self.direction.as_ref().len(), self.workspace.as_ref().len());
        defmt::write!(f, "Scratch(p = {}, workspace = {})", p, w);
    }
}
