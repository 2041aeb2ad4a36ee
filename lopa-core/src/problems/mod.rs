//! The problems that come with the crate.
//!
//! | problem | shared x | own θ | from |
//! |---|---|---|---|
//! | [`Logistic`] | one regularisation strength per feature, as its logarithm less a [base](Regularised::around) | a binary classifier | paper, 5.2 |
//! | [`Ridge`] | the same | a linear regression, such as a sensor's calibration | |
//! | [`SharedLayer`] | a sigmoid layer that finds features | a softmax head | paper, 5.1 |
//! | [`Meta`] | a starting point | the model after one step from it on the node's tasks | paper, introduction |
//! | [`Quadratic`] | a vector | a vector | tests: everything has a closed form |
//!
//! [`AnyProblem`] is one of them, chosen at run time.

mod any;
#[cfg(feature = "integer")]
mod integer;
mod linear;
mod meta;
mod quadratic;
mod regularised;
mod shared_layer;

pub use any::AnyProblem;
pub use linear::{LinearLoss, LogisticLoss, SquaredLoss};
pub use meta::Meta;
pub use quadratic::{Quadratic, QuadraticParts};
pub use regularised::{Logistic, Regularised, Ridge};
pub use shared_layer::SharedLayer;

use crate::problem::ProblemError;
use crate::samples::{LabelKind, Samples};

/// Checks that training and validation samples are alike, and have the labels that the model learns from.
fn check_samples(
    train: &Samples<'_>,
    validation: &Samples<'_>,
    needed: LabelKind,
) -> Result<(), ProblemError> {
    for samples in [train, validation] {
        let found = samples.labels().kind();
        if found != needed {
            return Err(ProblemError::Labels { needed, found });
        }
    }
    if train.arithmetic() != validation.arithmetic() {
        return Err(ProblemError::Arithmetic);
    }
    if train.width() != validation.width() {
        let (train, validation) = (train.width(), validation.width());
        return Err(ProblemError::Widths { train, validation });
    }
    Ok(())
}

/// The rows of a matrix. No problem has zero columns; `max` proves to the compiler that nothing panics.
#[inline]
fn rows(matrix: &[f32], width: usize) -> core::slice::ChunksExact<'_, f32> {
    matrix.chunks_exact(width.max(1))
}

/// The rows of a matrix that is written to.
#[inline]
fn rows_mut(matrix: &mut [f32], width: usize) -> core::slice::ChunksExactMut<'_, f32> {
    matrix.chunks_exact_mut(width.max(1))
}

/// A layer's parameters: its weights, then its biases.
#[inline]
fn layer(parameters: &[f32], weights: usize) -> (&[f32], &[f32]) {
    parameters.split_at_checked(weights).unwrap_or((parameters, &[]))
}
