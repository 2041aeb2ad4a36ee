//! Any of the problems, chosen when a file or a blob is read, so that one image serves them all.

use super::{Logistic, LogisticLoss, Meta, Quadratic, Ridge, SharedLayer, SquaredLoss};
use crate::batch::Batch;
use crate::problem::{Dimensions, Point, Population, Predict, Problem};
use crate::samples::{Arithmetic, Row, Samples};

/// One of the problems that come with the crate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AnyProblem<'a> {
    /// Hyper-parameters of logistic regression.
    Logistic(Logistic<'a>),
    /// Hyper-parameters of ridge regression.
    Ridge(Ridge<'a>),
    /// A shared sigmoid layer with a personal softmax head.
    SharedLayer(SharedLayer<'a>),
    /// Meta-learning of a classifier's initialisation.
    MetaLogistic(Meta<'a, LogisticLoss>),
    /// Meta-learning of a regression's initialisation.
    MetaSquared(Meta<'a, SquaredLoss>),
    /// The reference problem with a closed form.
    Quadratic(Quadratic<'a>),
}

/// Forwards a call to the problem.
macro_rules! each {
    ($any:expr, $problem:ident => $call:expr) => {
        match $any {
            AnyProblem::Logistic($problem) => $call,
            AnyProblem::Ridge($problem) => $call,
            AnyProblem::SharedLayer($problem) => $call,
            AnyProblem::MetaLogistic($problem) => $call,
            AnyProblem::MetaSquared($problem) => $call,
            AnyProblem::Quadratic($problem) => $call,
        }
    };
}

#[rustfmt::skip]
impl Problem for AnyProblem<'_> {
    fn dimensions(&self) -> Dimensions {
        each!(self, p => p.dimensions())
    }
    fn population(&self) -> Population {
        each!(self, p => p.population())
    }
    fn arithmetic(&self) -> Arithmetic {
        each!(self, p => p.arithmetic())
    }
    fn prepare(&self, x: &[f32], workspace: &mut [f32]) {
        each!(self, p => p.prepare(x, workspace));
    }
    fn inner_gradient(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        each!(self, p => p.inner_gradient(at, batch, scale, out, workspace));
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        each!(self, p => p.hessian_vector(at, v, batch, scale, out, workspace));
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        each!(self, p => p.cross_vector(at, v, batch, scale, out, workspace));
    }
    fn outer_gradient_inner(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        each!(self, p => p.outer_gradient_inner(at, batch, scale, out, workspace));
    }
    fn outer_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
        each!(self, p => p.outer_gradient_outer(at, batch, scale, out, workspace));
    }
    // On a chip both terms go through the oracles above, which are there in any case.
    #[cfg(feature = "simd")]
    fn hypergradient(&self, at: Point<'_>, v: &[f32], batches: [&Batch; 2], out: &mut [f32], workspace: &mut [f32]) {
        each!(self, p => Problem::hypergradient(p, at, v, batches, out, workspace));
    }
    fn inner_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], workspace: &mut [f32]) -> bool {
        each!(self, p => p.inner_gradient_outer(at, batch, scale, out, workspace))
    }
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        each!(self, p => p.inner_loss(at, batch, workspace))
    }
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        each!(self, p => p.outer_loss(at, batch, workspace))
    }
}

impl<'a> AnyProblem<'a> {
    /// The number of the kind, as blobs and greetings contain it.
    ///
    /// | 0 | 1 | 2 | 3 | 4 | 5 |
    /// |---|---|---|---|---|---|
    /// | logistic | ridge | shared layer | meta-logistic | meta-squared | quadratic |
    #[must_use]
    pub const fn kind(&self) -> u32 {
        match self {
            Self::Logistic(_) => 0,
            Self::Ridge(_) => 1,
            Self::SharedLayer(_) => 2,
            Self::MetaLogistic(_) => 3,
            Self::MetaSquared(_) => 4,
            Self::Quadratic(_) => 5,
        }
    }

    /// The samples for training and for validation; `None` for a quadratic, which has no samples.
    #[must_use]
    pub const fn samples(&self) -> Option<[Samples<'a>; 2]> {
        match self {
            Self::Logistic(p) => Some([p.train, p.validation]),
            Self::Ridge(p) => Some([p.train, p.validation]),
            Self::SharedLayer(p) => Some([p.train, p.validation]),
            Self::MetaLogistic(p) => Some([p.train, p.validation]),
            Self::MetaSquared(p) => Some([p.train, p.validation]),
            Self::Quadratic(_) => None,
        }
    }

    /// What to add to an element of x for the logarithm of a strength: see [`Regularised::around`]. Zero for problems that
    /// learn no strengths.
    ///
    /// [`Regularised::around`]: super::Regularised::around
    #[must_use]
    pub const fn base(&self) -> f32 {
        match self {
            Self::Logistic(p) => p.base,
            Self::Ridge(p) => p.base,
            _ => 0.0,
        }
    }

    /// The same problem computed in floats, for measurements that must not depend on how a fleet computes.
    #[must_use]
    pub fn in_floats(mut self) -> Self {
        let sets = match &mut self {
            Self::Logistic(p) => [&mut p.train, &mut p.validation],
            Self::Ridge(p) => [&mut p.train, &mut p.validation],
            Self::SharedLayer(p) => [&mut p.train, &mut p.validation],
            Self::MetaLogistic(p) => [&mut p.train, &mut p.validation],
            Self::MetaSquared(p) => [&mut p.train, &mut p.validation],
            Self::Quadratic(_) => return self,
        };
        for set in sets {
            *set = set.computed_in(Arithmetic::Float).unwrap_or(*set);
        }
        self
    }

    /// Hidden units, classes, and the base, μ, ν or r; zero for those that the problem does not have.
    pub(crate) const fn parameters(&self) -> (usize, usize, f32) {
        match self {
            Self::Logistic(p) => (0, 0, p.base),
            Self::Ridge(p) => (0, 0, p.base),
            Self::SharedLayer(p) => (p.hidden, p.classes, p.mu),
            Self::MetaLogistic(p) => (0, 0, p.nu),
            Self::MetaSquared(p) => (0, 0, p.nu),
            Self::Quadratic(p) => (0, 0, p.parts().rigidity),
        }
    }

    /// The label that the model predicts for a sample; `None` for a quadratic, which has no samples.
    #[must_use]
    pub fn predict(&self, at: Point<'_>, row: Row<'_>, workspace: &mut [f32]) -> Option<f32> {
        Some(match self {
            Self::Logistic(p) => p.predict(at, row, workspace),
            Self::Ridge(p) => p.predict(at, row, workspace),
            Self::SharedLayer(p) => p.predict(at, row, workspace),
            Self::MetaLogistic(p) => p.predict(at, row, workspace),
            Self::MetaSquared(p) => p.predict(at, row, workspace),
            Self::Quadratic(_) => return None,
        })
    }

    /// Calls `each` with the number and the predicted label of every sample, in order; `None` for a quadratic.
    pub fn predict_all(
        &self,
        at: Point<'_>,
        samples: &Samples<'_>,
        workspace: &mut [f32],
        each: &mut dyn FnMut(usize, f32),
    ) -> Option<()> {
        match self {
            Self::Logistic(p) => p.predict_all(at, samples, workspace, each),
            Self::Ridge(p) => p.predict_all(at, samples, workspace, each),
            Self::SharedLayer(p) => p.predict_all(at, samples, workspace, each),
            Self::MetaLogistic(p) => p.predict_all(at, samples, workspace, each),
            Self::MetaSquared(p) => p.predict_all(at, samples, workspace, each),
            Self::Quadratic(_) => return None,
        }
        Some(())
    }
}
