//! One sample after the other, in the workspace of a chip.

use super::Pass;
use crate::math;
use crate::problems::{linear, rows_mut};

/// Adds `scale` times the mean over the batch of coefficients ⊗ (s, 1) to a vector shaped like θ.
pub(super) fn add_to_head(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    let model = pass.model;
    let share = scale * pass.batch.weight();
    let (hidden, output, change) = model.cut(workspace);
    let Some((weights, biases)) =
        out.split_at_mut_checked(model.classes.wrapping_mul(model.hidden))
    else {
        return;
    };
    for index in pass.batch.indices() {
        model.activate(pass.at.x, pass.samples.row(index), hidden);
        pass.respond(pass.samples.class(index), hidden, output, change);
        let coefficients = if pass.v.is_some() { &*change } else { &*output };
        pass.add_to_head(share, hidden, coefficients, (weights, biases));
    }
}

/// Adds `scale` times the mean over the batch of (∂/∂s ∘ s') ⊗ (a, 1) to a vector shaped like x.
pub(super) fn add_to_layer(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    let model = pass.model;
    let share = scale * pass.batch.weight();
    let width = model.train.width();
    let (hidden, output, change) = model.cut(workspace);
    let Some((weights, biases)) = out.split_at_mut_checked(model.hidden.wrapping_mul(width)) else {
        return;
    };
    for index in pass.batch.indices() {
        let row = pass.samples.row(index);
        model.activate(pass.at.x, row, hidden);
        pass.respond(pass.samples.class(index), hidden, output, change);
        for (unit, (s, bias)) in hidden.iter_mut().zip(&mut *biases).enumerate() {
            *s = share * pass.pull(unit, *s, output, change);
            *bias += *s;
        }
        row.add_to_each(hidden, rows_mut(weights, width));
    }
}

/// The mean cross-entropy over the batch.
pub(super) fn cross_entropy(pass: Pass<'_>, workspace: &mut [f32]) -> f32 {
    let model = pass.model;
    let (hidden, output, _) = model.cut(workspace);
    linear::mean(pass.batch, |index| {
        model.activate(pass.at.x, pass.samples.row(index), hidden);
        model.through(pass.at.theta, hidden, output);
        let own = output.get(pass.samples.class(index)).copied().unwrap_or(0.0);
        math::log_sum_exp(output) - own
    })
}
