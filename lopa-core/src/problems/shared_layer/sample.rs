//! What follows from the activations of one sample.

use super::Pass;
use crate::math;
use crate::problems::{rows, rows_mut};
use crate::vector::{add_scaled, dot};

impl Pass<'_> {
    /// For one sample with these activations, the residual π - e_label and, with `v`, the change of π along it.
    pub(super) fn respond(
        &self,
        class: usize,
        hidden: &[f32],
        output: &mut [f32],
        change: &mut [f32],
    ) {
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
        if let Some(own) = output.get_mut(class) {
            *own -= 1.0;
        }
    }

    /// Adds `share` times coefficients ⊗ (s, 1) to the weights and biases of a vector shaped like θ.
    pub(super) fn add_to_head(
        &self,
        share: f32,
        hidden: &[f32],
        coefficients: &[f32],
        (weights, biases): (&mut [f32], &mut [f32]),
    ) {
        for ((weights, bias), coefficient) in
            rows_mut(weights, hidden.len()).zip(biases).zip(coefficients)
        {
            add_scaled(weights, share * coefficient, hidden);
            *bias += share * coefficient;
        }
    }

    /// The derivative in the input of a unit with activation `s`.
    pub(super) fn pull(&self, unit: usize, s: f32, output: &[f32], change: &[f32]) -> f32 {
        let back = |parameters, over_classes| self.back(parameters, unit, over_classes);
        let pull = match self.v {
            None => back(self.at.theta, output),
            // ⟨∇θ g, v⟩ = ⟨π - e_label, V s + v₀⟩ + …, so its derivative in s is V'(π - e) + T'(change of π).
            Some(v) => back(v, output) + back(self.at.theta, change),
        };
        pull * (s * (1.0 - s))
    }

    /// Column `unit` of the head's weights times a vector over the classes.
    fn back(&self, parameters: &[f32], unit: usize, over_classes: &[f32]) -> f32 {
        let (weights, _) = self.model.head(parameters);
        rows(weights, self.model.hidden)
            .zip(over_classes)
            .fold(0.0, |sum, (weights, c)| sum + weights.get(unit).copied().unwrap_or(0.0) * c)
    }
}
