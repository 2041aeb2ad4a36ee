//! One sample after the other, in the workspace of a chip.

use super::Pass;
use crate::math;
use crate::problems::{linear, rows, rows_mut};
use crate::samples::Row;
use crate::vector::{add_scaled, dot};

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
        pass.evaluate(index, hidden, output, change);
        let coefficients = if pass.v.is_some() { &*change } else { &*output };
        for ((weights, bias), coefficient) in
            rows_mut(weights, model.hidden).zip(&mut *biases).zip(coefficients)
        {
            add_scaled(weights, share * coefficient, hidden);
            *bias += share * coefficient;
        }
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
        let row = pass.evaluate(index, hidden, output, change);
        for (unit, (s, bias)) in hidden.iter_mut().zip(&mut *biases).enumerate() {
            let back = |parameters, over_classes| pass.back(parameters, unit, over_classes);
            let pull = match pass.v {
                None => back(pass.at.theta, output),
                // ⟨∇θ g, v⟩ = ⟨π - e_label, V s + v₀⟩ + …, so its derivative in s is V'(π - e) + T'(change of π).
                Some(v) => back(v, output) + back(pass.at.theta, change),
            };
            *s = share * (pull * (*s * (1.0 - *s)));
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

impl<'a> Pass<'a> {
    /// For one sample, the activations, the residual π - e_label and, with `v`, the change of π along it.
    fn evaluate(
        &self,
        index: usize,
        hidden: &mut [f32],
        output: &mut [f32],
        change: &mut [f32],
    ) -> Row<'a> {
        let row = self.samples.row(index);
        self.model.activate(self.at.x, row, hidden);
        self.model.through(self.at.theta, hidden, output);
        math::softmax(output);
        if let Some(v) = self.v {
            // π ∘ (q - ⟨π, q⟩) for a change q of the logits.
            self.model.through(v, hidden, change);
            let mean = dot(output, change);
            for (change, probability) in change.iter_mut().zip(&*output) {
                *change = probability * (*change - mean);
            }
        }
        if let Some(own) = output.get_mut(self.samples.class(index)) {
            *own -= 1.0;
        }
        row
    }

    /// Column `unit` of the head's weights times a vector over the classes.
    fn back(&self, parameters: &[f32], unit: usize, over_classes: &[f32]) -> f32 {
        let (weights, _) = self.model.head(parameters);
        rows(weights, self.model.hidden)
            .zip(over_classes)
            .fold(0.0, |sum, (weights, c)| sum + weights.get(unit).copied().unwrap_or(0.0) * c)
    }
}
