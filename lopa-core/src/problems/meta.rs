//! A starting point from which every node's tasks are one gradient step away.

use core::marker::PhantomData;

use super::linear::{self, LinearLoss};
use crate::batch::Batch;
use crate::problem::{Dimensions, Point, Population, Predict, Problem, ProblemError};
use crate::samples::{Arithmetic, Row, Samples};
use crate::vector::CompensatedSum;

/// Meta-learning of a linear model's initialisation (paper, introduction).
///
/// With F the mean loss over the samples of the node's tasks:
///
/// ```text
/// f(x, θ) = F(θ) over validation samples
/// g(x, θ) = ⟨θ, ∇F(x)⟩ over training samples + ν/2 ‖x - θ‖²      so  θ*(x) = x - ∇F(x) / ν
/// ```
///
/// The paper sums over tasks; with the mean over their pooled samples, a step size means the same for any number of
/// tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Meta<'a, L> {
    pub(super) train: Samples<'a>,
    pub(super) validation: Samples<'a>,
    pub(super) nu: f32,
    loss: PhantomData<L>,
}

impl<'a, L: LinearLoss> Meta<'a, L> {
    /// A problem over the pooled samples of the node's tasks, adapted with a step of 1 / `nu`.
    ///
    /// # Errors
    /// Refuses sets of different widths, labels of the wrong kind, and a `nu` that is not positive.
    pub fn new(train: Samples<'a>, validation: Samples<'a>, nu: f32) -> Result<Self, ProblemError> {
        super::check_samples(&train, &validation, L::LABELS)?;
        if !(nu > 0.0 && nu.is_finite()) {
            return Err(ProblemError::Parameter { name: "nu" });
        }
        Ok(Self { train, validation, nu, loss: PhantomData })
    }
}

impl<L: LinearLoss> Problem for Meta<'_, L> {
    fn dimensions(&self) -> Dimensions {
        let width = self.train.width();
        Dimensions { outer: width, inner: width, workspace: 0 }
    }

    fn population(&self) -> Population {
        Population { inner: self.train.len(), outer: self.validation.len() }
    }

    fn arithmetic(&self) -> Arithmetic {
        self.train.arithmetic()
    }

    fn inner_gradient(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        linear::add_gradient::<L>(&self.train, batch, at.x, scale, out);
        let pull = scale * self.nu;
        for (out, (&x, &theta)) in out.iter_mut().zip(at.x.iter().zip(at.theta)) {
            *out += pull * (theta - x);
        }
    }

    fn hessian_vector(
        &self,
        _: Point<'_>,
        v: &[f32],
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        crate::vector::add_scaled(out, scale * self.nu, v);
    }

    fn cross_vector(
        &self,
        at: Point<'_>,
        v: &[f32],
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        linear::add_hessian_vector::<L>(&self.train, batch, at.x, v, scale, out);
        crate::vector::add_scaled(out, -(scale * self.nu), v);
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

    fn inner_gradient_outer(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) -> bool {
        // g has a gradient in it, so its own gradient takes a product with the loss's Hessian.
        linear::add_hessian_vector::<L>(&self.train, batch, at.x, at.theta, scale, out);
        let pull = scale * self.nu;
        for (out, (&x, &theta)) in out.iter_mut().zip(at.x.iter().zip(at.theta)) {
            *out += pull * (x - theta);
        }
        true
    }

    fn inner_loss(&self, at: Point<'_>, batch: &Batch, _: &mut [f32]) -> f32 {
        let along = linear::mean(batch, |index| {
            let row = self.train.row(index);
            L::slope(row.dot(at.x), self.train.label(index)) * row.dot(at.theta)
        });
        let mut distance = CompensatedSum::default();
        for (&x, &theta) in at.x.iter().zip(at.theta) {
            distance.add((x - theta) * (x - theta));
        }
        along + 0.5 * self.nu * distance.value()
    }

    fn outer_loss(&self, at: Point<'_>, batch: &Batch, _: &mut [f32]) -> f32 {
        linear::mean_loss::<L>(&self.validation, batch, at.theta)
    }
}

impl<L: LinearLoss> Predict for Meta<'_, L> {
    fn predict(&self, at: Point<'_>, row: Row<'_>, _: &mut [f32]) -> f32 {
        L::decide(row.dot(at.theta))
    }
}
