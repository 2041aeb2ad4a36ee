//! What a node learns: a bilevel problem and its five oracles.
//!
//! Node `i` has an inner objective g(x, θ), strongly convex in its own model θ, and an outer objective
//! f(x, θ) that evaluates the model. The network looks for the shared x for which the mean of f is smallest:
//!
//! ```text
//! minimise over x   mean over i of  f_i(x, θ_i*(x))     with  θ_i*(x) = argmin over θ of  g_i(x, θ)
//! ```
//!
//! LoPA never solves the inner problem. In each round it evaluates five oracles, each on a batch of samples; a [`Problem`]
//! provides them.
//!
//! # Writing a problem of your own
//!
//! Implement [`Problem`] for a type that holds its data. Every oracle takes the mean over the batch and *adds* `scale`
//! times the result to `out`, so that sums of oracles need no buffer. Here is a thermostat network: each room i learns a
//! heating power θ, and the house agrees on a price x for comfort.
//!
//! ```
//! use lopa_core::batch::Batch;
//! use lopa_core::check;
//! use lopa_core::problem::{Dimensions, Point, Population, Problem};
//!
//! /// g = mean ½(θ + loss_k - wish)² + ½ e^x θ²     f = mean ½(θ + loss_k - wish)² + ½ x²
//! struct Room<'a> {
//!     wish: f32,
//!     losses: &'a [f32],
//! }
//!
//! impl Room<'_> {
//!     /// The mean of θ + loss - wish over a batch.
//!     fn discomfort(&self, theta: f32, batch: &Batch) -> f32 {
//!         let loss = |k: usize| self.losses.get(k).copied().unwrap_or(0.0);
//!         batch.indices().map(|k| theta + loss(k) - self.wish).sum::<f32>() * batch.weight()
//!     }
//! }
//!
//! impl Problem for Room<'_> {
//!     fn dimensions(&self) -> Dimensions {
//!         Dimensions { outer: 1, inner: 1, workspace: 1 }
//!     }
//!     fn population(&self) -> Population {
//!         Population { inner: self.losses.len(), outer: self.losses.len() }
//!     }
//!     // Called once before the oracles of a round: what they share goes into the workspace.
//!     fn prepare(&self, x: &[f32], workspace: &mut [f32]) {
//!         workspace[0] = lopa_core::math::exp(x[0]);
//!     }
//!     fn inner_gradient(&self, at: Point, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
//!         out[0] += scale * (self.discomfort(at.theta[0], batch) + ws[0] * at.theta[0]);
//!     }
//!     fn hessian_vector(
//!         &self, _: Point, v: &[f32], _: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32],
//!     ) {
//!         out[0] += scale * (1.0 + ws[0]) * v[0];
//!     }
//!     fn cross_vector(
//!         &self, at: Point, v: &[f32], _: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32],
//!     ) {
//!         out[0] += scale * ws[0] * at.theta[0] * v[0];
//!     }
//!     fn outer_gradient_inner(
//!         &self, at: Point, batch: &Batch, scale: f32, out: &mut [f32], _: &mut [f32],
//!     ) {
//!         out[0] += scale * self.discomfort(at.theta[0], batch);
//!     }
//!     fn outer_gradient_outer(
//!         &self, at: Point, _: &Batch, scale: f32, out: &mut [f32], _: &mut [f32],
//!     ) {
//!         out[0] += scale * at.x[0];
//!     }
//!     // The two losses are for reports and for the checker; a node never needs them.
//!     fn inner_loss(&self, at: Point, batch: &Batch, ws: &mut [f32]) -> f32 {
//!         self.outer_loss(at, batch, ws) - 0.5 * at.x[0] * at.x[0]
//!             + 0.5 * ws[0] * at.theta[0] * at.theta[0]
//!     }
//!     fn outer_loss(&self, at: Point, batch: &Batch, _: &mut [f32]) -> f32 {
//!         let square = |k: usize| {
//!             let d = at.theta[0] + self.losses[k] - self.wish;
//!             0.5 * d * d
//!         };
//!         batch.indices().map(square).sum::<f32>() * batch.weight() + 0.5 * at.x[0] * at.x[0]
//!     }
//! }
//!
//! // Does every derivative agree with finite differences?
//! let room = Room { wish: 1.5, losses: &[0.2, 0.1, 0.4] };
//! let point = Point { x: &[0.3], theta: &[0.8] };
//! let mut memory = [0.0; 16];
//! let report = check::derivatives(&room, point, &[1.1], &mut memory).unwrap();
//! assert!(report.worst() < 1.0e-3, "{report:?}");
//! ```

use crate::batch::Batch;
use crate::samples::{Arithmetic, LabelKind, Row, Samples};

/// The sizes of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Dimensions {
    /// n: the length of the shared outer variable x.
    pub outer: usize,
    /// p: the length of a node's own inner variable θ.
    pub inner: usize,
    /// How many floats the oracles need to work in.
    pub workspace: usize,
}

/// How many samples each level draws its batches from; zero if a level has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Population {
    /// Samples behind g.
    pub inner: usize,
    /// Samples behind f.
    pub outer: usize,
}

/// Where an oracle is evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Point<'a> {
    /// The shared outer variable.
    pub x: &'a [f32],
    /// The node's own inner variable.
    pub theta: &'a [f32],
}

/// A node's part of a bilevel problem. [The module's page](self) shows how to write one.
///
/// `workspace` is always the memory that [`Problem::prepare`] last saw, prepared for the same `x`. An oracle may use the
/// part that `prepare` left free, and must leave the rest as it was.
#[allow(clippy::too_many_arguments, reason = "five oracles with one shape are easier to read")]
pub trait Problem {
    /// The sizes; they never change.
    fn dimensions(&self) -> Dimensions;

    /// The number of samples of each level.
    fn population(&self) -> Population;

    /// How sums over its samples are computed: neighbours must agree on it.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::Float
    }

    /// Computes what all oracles at this `x` share, such as e^x.
    fn prepare(&self, x: &[f32], workspace: &mut [f32]) {
        let _ = (x, workspace);
    }

    /// Adds `scale` ∇θ g to `out` (length p).
    fn inner_gradient(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    );

    /// Adds `scale` ∇²θθ g · v to `out` (length p).
    fn hessian_vector(
        &self,
        at: Point<'_>,
        v: &[f32],
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    );

    /// Adds `scale` ∇²xθ g · v to `out` (length n).
    fn cross_vector(
        &self,
        at: Point<'_>,
        v: &[f32],
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    );

    /// Adds `scale` ∇θ f to `out` (length p).
    fn outer_gradient_inner(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    );

    /// Adds `scale` ∇x f to `out` (length n).
    fn outer_gradient_outer(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    );

    /// Writes the hypergradient ∇x f - ∇²xθ g · v to `out` (length n), on a batch for each of its terms.
    ///
    /// A problem may compute both terms together, if it gets the same bits.
    fn hypergradient(
        &self,
        at: Point<'_>,
        v: &[f32],
        [outer, cross]: [&Batch; 2],
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        out.fill(0.0);
        self.outer_gradient_outer(at, outer, 1.0, out, workspace);
        self.cross_vector(at, v, cross, -1.0, out, workspace);
    }

    /// Adds `scale` ∇x g to `out` (length n) and returns true; a problem that does not offer it returns false.
    ///
    /// LoPA never asks for it. Methods do that take differences of gradients in place of second-order products.
    fn inner_gradient_outer(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) -> bool {
        let _ = (at, batch, scale, out, workspace);
        false
    }

    /// g, for reports and checks.
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32;

    /// f, for reports and checks.
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32;
}

/// A problem whose model predicts the label of a new sample.
pub trait Predict: Problem {
    /// The predicted label, in the form of [`Samples::label`](crate::samples::Samples::label): -1 or +1, the class, or the
    /// value.
    fn predict(&self, at: Point<'_>, row: Row<'_>, workspace: &mut [f32]) -> f32;

    /// Calls `each` with the number and the predicted label of every sample, in order. A host may compute many at once, with
    /// the same bits.
    fn predict_all(
        &self,
        at: Point<'_>,
        samples: &Samples<'_>,
        workspace: &mut [f32],
        each: &mut dyn FnMut(usize, f32),
    ) {
        for index in 0..samples.len() {
            each(index, self.predict(at, samples.row(index), workspace));
        }
    }
}

#[rustfmt::skip]
impl<P: Problem + ?Sized> Problem for &P {
    fn dimensions(&self) -> Dimensions {
        (**self).dimensions()
    }
    fn population(&self) -> Population {
        (**self).population()
    }
    fn arithmetic(&self) -> Arithmetic {
        (**self).arithmetic()
    }
    fn prepare(&self, x: &[f32], workspace: &mut [f32]) {
        (**self).prepare(x, workspace);
    }
    fn inner_gradient(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        (**self).inner_gradient(at, batch, scale, out, workspace);
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        (**self).hessian_vector(at, v, batch, scale, out, workspace);
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        (**self).cross_vector(at, v, batch, scale, out, workspace);
    }
    fn outer_gradient_inner(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        (**self).outer_gradient_inner(at, batch, scale, out, workspace);
    }
    fn outer_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        (**self).outer_gradient_outer(at, batch, scale, out, workspace);
    }
    fn hypergradient(&self, at: Point<'_>, v: &[f32], batches: [&Batch; 2], out: &mut [f32], workspace: &mut [f32]) {
        (**self).hypergradient(at, v, batches, out, workspace);
    }
    fn inner_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) -> bool {
        (**self).inner_gradient_outer(at, batch, scale, out, workspace)
    }
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        (**self).inner_loss(at, batch, workspace)
    }
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        (**self).outer_loss(at, batch, workspace)
    }
}

impl<P: Predict + ?Sized> Predict for &P {
    fn predict(&self, at: Point<'_>, row: Row<'_>, workspace: &mut [f32]) -> f32 {
        (**self).predict(at, row, workspace)
    }
    fn predict_all(
        &self,
        at: Point<'_>,
        samples: &Samples<'_>,
        workspace: &mut [f32],
        each: &mut dyn FnMut(usize, f32),
    ) {
        (**self).predict_all(at, samples, workspace, each);
    }
}

/// Why a problem was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
#[non_exhaustive]
pub enum ProblemError {
    /// The labels are not of the kind that the problem learns from.
    Labels {
        /// The kind the problem needs.
        needed: LabelKind,
        /// The kind the samples have.
        found: LabelKind,
    },
    /// A sample's class is not one of the problem's.
    Class {
        /// Its row.
        row: usize,
    },
    /// Training and validation samples have different numbers of features.
    Widths {
        /// Features of a training sample.
        train: usize,
        /// Features of a validation sample.
        validation: usize,
    },
    /// A size is zero, or so large that a product of sizes overflows.
    Size {
        /// Which size.
        name: &'static str,
    },
    /// A vector or matrix of the problem has the wrong length.
    Length {
        /// Which one.
        name: &'static str,
        /// The length it must have.
        needed: usize,
        /// The length it has.
        found: usize,
    },
    /// A number of the problem is out of range or not finite.
    Parameter {
        /// Which one.
        name: &'static str,
    },
    /// Training and validation samples are computed in different arithmetic, or the problem has none but floats.
    Arithmetic,
}

impl core::fmt::Display for ProblemError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Labels { needed, found } => {
                write!(f, "this problem learns from {needed:?} labels, the samples have {found:?}")
            }
            Self::Class { row } => {
                write!(f, "the class of row {row} must be below the model's number of classes")
            }
            Self::Widths { train, validation } => write!(
                f,
                "training samples have {train} features, validation samples {validation}: make them equal"
            ),
            Self::Size { name } => write!(f, "{name} is zero or too large"),
            Self::Length { name, needed, found } => {
                write!(f, "{name} has {found} elements, {needed} are needed")
            }
            Self::Parameter { name } => write!(f, "{name} is out of range or not finite"),
            Self::Arithmetic => write!(
                f,
                "this problem cannot be computed in integers, or one of its sets of samples is and the other is not"
            ),
        }
    }
}

impl core::error::Error for ProblemError {}
