//! Logistic and ridge regression that learn how strongly to regularise each feature.

use core::marker::PhantomData;

use super::linear::{self, LinearLoss, LogisticLoss, SquaredLoss};
use crate::batch::Batch;
use crate::math;
use crate::problem::{Dimensions, Point, Population, Predict, Problem, ProblemError};
use crate::samples::{Arithmetic, Row, Samples};
use crate::vector::CompensatedSum;

/// The hyper-parameters of an l2-regularised linear model, one per feature (paper, section 5.2).
///
/// ```text
/// f(x, θ) = mean of loss(s·θ, label) over validation samples
/// g(x, θ) = mean of loss(s·θ, label) over training samples + Σ_t e^(x_t) θ_t²
/// ```
///
/// The regulariser has no factor ½, as in the paper. For an intercept, give every sample a constant feature; its strength
/// is learned like the others.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Regularised<'a, L> {
    pub(super) train: Samples<'a>,
    pub(super) validation: Samples<'a>,
    loss: PhantomData<L>,
}

/// Hyper-parameters of logistic regression: binary labels.
pub type Logistic<'a> = Regularised<'a, LogisticLoss>;

/// Hyper-parameters of ridge regression: real labels.
pub type Ridge<'a> = Regularised<'a, SquaredLoss>;

impl<'a, L: LinearLoss> Regularised<'a, L> {
    /// A problem over two sets of samples; they may be the same set.
    ///
    /// # Errors
    /// Refuses sets of different widths and labels of the wrong kind.
    pub fn new(train: Samples<'a>, validation: Samples<'a>) -> Result<Self, ProblemError> {
        super::check_samples(&train, &validation, L::LABELS)?;
        Ok(Self { train, validation, loss: PhantomData })
    }
}

impl<L> Regularised<'_, L> {
    /// The workspace for `features` features: it holds 2 e^x.
    #[must_use]
    pub const fn workspace(features: usize) -> usize {
        features
    }
}

impl<L: LinearLoss> Problem for Regularised<'_, L> {
    fn dimensions(&self) -> Dimensions {
        let width = self.train.width();
        Dimensions { outer: width, inner: width, workspace: Self::workspace(width) }
    }

    fn population(&self) -> Population {
        Population { inner: self.train.len(), outer: self.validation.len() }
    }

    fn arithmetic(&self) -> Arithmetic {
        self.train.arithmetic()
    }

    fn prepare(&self, x: &[f32], workspace: &mut [f32]) {
        #[cfg(feature = "integer")]
        if self.train.arithmetic() == Arithmetic::Integer {
            return crate::fixed::twice_exp_all(x, workspace);
        }
        math::exp_all(x, workspace);
        workspace.iter_mut().for_each(|strength| *strength *= 2.0);
    }

    fn inner_gradient(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        strengths: &mut [f32],
    ) {
        linear::add_gradient::<L>(&self.train, batch, at.theta, scale, out);
        add_penalty(scale, at.theta, strengths, out);
    }

    fn hessian_vector(
        &self,
        at: Point<'_>,
        v: &[f32],
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        strengths: &mut [f32],
    ) {
        linear::add_hessian_vector::<L>(&self.train, batch, at.theta, v, scale, out);
        add_penalty(scale, v, strengths, out);
    }

    fn cross_vector(
        &self,
        at: Point<'_>,
        v: &[f32],
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        strengths: &mut [f32],
    ) {
        let pairs = at.theta.iter().zip(v);
        let terms = strengths.iter().zip(pairs).map(|(twice, (theta, v))| twice * theta * v);
        add_terms(scale, terms, out);
    }

    fn outer_gradient_inner(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        linear::add_gradient::<L>(&self.validation, batch, at.theta, scale, out);
    }

    fn outer_gradient_outer(&self, _: Point<'_>, _: &Batch, _: f32, _: &mut [f32], _: &mut [f32]) {
        // f does not depend on x.
    }

    fn inner_loss(&self, at: Point<'_>, batch: &Batch, strengths: &mut [f32]) -> f32 {
        let mut penalty = CompensatedSum::default();
        for (&theta, &twice) in at.theta.iter().zip(&*strengths) {
            penalty.add(0.5 * twice * theta * theta);
        }
        linear::mean_loss::<L>(&self.train, batch, at.theta) + penalty.value()
    }

    fn outer_loss(&self, at: Point<'_>, batch: &Batch, _: &mut [f32]) -> f32 {
        linear::mean_loss::<L>(&self.validation, batch, at.theta)
    }
}

impl<L: LinearLoss> Predict for Regularised<'_, L> {
    fn predict(&self, at: Point<'_>, row: Row<'_>, _: &mut [f32]) -> f32 {
        L::decide(row.dot(at.theta))
    }
}

/// Adds `scale` · 2 e^x a, which is the penalty's gradient at a = θ and its Hessian times a = v.
fn add_penalty(scale: f32, a: &[f32], strengths: &[f32], out: &mut [f32]) {
    add_terms(scale, strengths.iter().zip(a).map(|(twice, a)| twice * a), out);
}

/// Adds `scale` times each term. A node's scales are one and minus one, and without an FPU a product costs as much as a term.
#[inline]
fn add_terms(scale: f32, terms: impl Iterator<Item = f32>, out: &mut [f32]) {
    let out = out.iter_mut().zip(terms);
    match scale {
        1.0 => out.for_each(|(out, term)| *out += term),
        -1.0 => out.for_each(|(out, term)| *out -= term),
        _ => out.for_each(|(out, term)| *out += scale * term),
    }
}
