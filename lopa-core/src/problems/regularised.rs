//! Logistic and ridge regression that learn how strongly to regularise each feature.

use core::marker::PhantomData;

use super::linear::{self, LinearLoss, LogisticLoss, SquaredLoss};
use crate::batch::Batch;
use crate::math;
use crate::problem::{Dimensions, Point, Population, Predict, Problem, ProblemError};
use crate::samples::{Arithmetic, Row, Samples};
use crate::vector::{CompensatedSum, Number, SOFT_FLOATS, WRITTEN_OUT, plus, update};

/// The hyper-parameters of an l2-regularised linear model, one per feature (paper, section 5.2).
///
/// ```text
/// f(x, θ) = mean of loss(s·θ, label) over validation samples
/// g(x, θ) = mean of loss(s·θ, label) over training samples + Σ_t e^(base + x_t) θ_t²
/// ```
///
/// The logarithm of a feature's strength is base + x_t. The base is 0 unless [`around`](Self::around) sets it, which you
/// should do if strengths do not start near 1. The regulariser has no factor ½, as in the paper. For an intercept, give every
/// sample a constant feature; its strength is learned like the others.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Regularised<'a, L> {
    pub(super) train: Samples<'a>,
    pub(super) validation: Samples<'a>,
    pub(super) base: f32,
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
        Ok(Self { train, validation, base: 0.0, loss: PhantomData })
    }
}

impl<L> Regularised<'_, L> {
    /// The same with strengths around e^base: x_t = 0 means that strength. All nodes of a network must have the same base; those
    /// made from [blobs](crate::blob) refuse neighbours with another one.
    ///
    /// Start x at 0 and let the base say where strengths start:
    ///
    /// ```
    /// # use lopa_core::batch::Sampler;
    /// # use lopa_core::node::{Config, GtNode};
    /// # use lopa_core::problems::Logistic;
    /// # use lopa_core::samples::{Features, Labels, Samples};
    /// # use lopa_core::steps::StepSizes;
    /// # let config = Config { steps: StepSizes::new(0.1, 0.1, 0.1, 0.4, 0.4)?, sampler: Sampler::full(0) };
    /// # let samples = Samples::new(Features::U8(&[0, 9, 7, 1]), 2, Labels::Binary(&[0, 1]))?;
    /// let problem = Logistic::new(samples, samples)?.around(-6.0)?;
    /// let node = GtNode::<_, 2, 2>::gradient_tracking(problem, config, [0.0; 2])?;
    /// let logarithm = problem.base() + node.state().x[0];     // of the strength of feature 0
    /// # assert_eq!(logarithm, -6.0);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// LoPA uses only differences of x between nodes and rounds, so a base changes only how x is rounded. Near -6, floats are
    /// 4.8e-7 apart, and steps of less than half of that are lost. On zeros and ones of MNIST, with ten nodes in a ring,
    /// gradient tracking and α = 0.1, x that starts at -6 is off by 4.9 % of its way after 2,000 rounds. If it starts at 0
    /// around a base of -6, it is off by 3e-7 of its way. The sum base + x is rounded too, but that does not add up over rounds.
    ///
    /// # Errors
    /// Refuses a base that is infinite or NaN.
    pub fn around(self, base: f32) -> Result<Self, ProblemError> {
        if !base.is_finite() {
            return Err(ProblemError::Parameter { name: "base" });
        }
        // Not -0: neighbours compare bits.
        Ok(Self { base: base + 0.0, ..self })
    }

    /// What to add to an element of x for the logarithm of that feature's strength.
    #[must_use]
    pub const fn base(&self) -> f32 {
        self.base
    }

    /// The workspace for `features` features: it holds their strengths, doubled.
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
        #[cfg(feature = "simd")]
        for samples in [&self.train, &self.validation] {
            samples.fetch_small();
        }
        #[cfg(feature = "integer")]
        if self.train.arithmetic() == Arithmetic::Integer {
            return crate::fixed::twice_exp_all(self.base, x, workspace);
        }
        math::twice_exp_all(self.base, x, workspace);
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
        let terms = strengths.iter().zip(at.theta.iter().zip(v));
        let pairs = out.iter_mut().zip(terms);
        // A node's scale is minus one, and without an FPU a product costs as much as the rest.
        if SPECIALISED && scale == -1.0 {
            update(pairs, |out, (twice, (theta, v))| {
                Number(plus(out.0, -(Number(*twice) * theta * v).0))
            });
        } else {
            update(pairs, move |out, (twice, (theta, v))| {
                out + Number(scale) * (Number(*twice) * theta * v)
            });
        }
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
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        strengths: &mut [f32],
    ) -> bool {
        let pairs = out.iter_mut().zip(strengths.iter().zip(at.theta));
        update(pairs, move |out, (twice, theta)| {
            out + Number(0.5 * scale) * (Number(*twice) * theta * theta)
        });
        true
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

/// Whether scales of one have loops of their own: not in small images for chips with an FPU.
const SPECIALISED: bool = SOFT_FLOATS || WRITTEN_OUT;

/// Adds `scale` · 2 e^(base + x) a, which is the penalty's gradient at a = θ and its Hessian times a = v.
fn add_penalty(scale: f32, a: &[f32], strengths: &[f32], out: &mut [f32]) {
    let pairs = out.iter_mut().zip(strengths.iter().zip(a));
    if SPECIALISED && scale == 1.0 {
        update(pairs, |out, (twice, a)| out + Number(*twice) * a);
    } else {
        update(pairs, move |out, (twice, a)| out + Number(scale) * (Number(*twice) * a));
    }
}
