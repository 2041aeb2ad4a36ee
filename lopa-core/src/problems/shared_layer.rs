//! A shared layer of features, with a classifier of its own for each node.

use super::{layer, linear, rows, rows_mut};
use crate::batch::Batch;
use crate::math;
use crate::problem::{Dimensions, Point, Population, Predict, Problem, ProblemError};
use crate::samples::{Arithmetic, LabelKind, Row, Samples};
use crate::vector::{add_scaled, dot, norm_squared};

/// A shared sigmoid layer with a personal softmax head (paper, section 5.1).
///
/// ```text
/// s = sigmoid(W a + w₀)      x = (W, w₀), row after row, then the biases: n = hidden (width + 1)
/// l = T s + t₀               θ = (T, t₀), row after row, then the biases: p = classes (hidden + 1)
/// f(x, θ) = mean over validation samples of  log-sum-exp(l) - l_label
/// g(x, θ) = mean over training samples of the same + μ/2 ‖θ‖²
/// ```
///
/// The paper uses one set for both levels; to do so, pass the same samples twice.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SharedLayer<'a> {
    pub(super) train: Samples<'a>,
    pub(super) validation: Samples<'a>,
    pub(super) hidden: usize,
    pub(super) classes: usize,
    pub(super) mu: f32,
}

impl<'a> SharedLayer<'a> {
    /// A network with `hidden` shared units and `classes` outputs, its head regularised by `mu`.
    ///
    /// # Errors
    /// Refuses labels that are not classes or not below `classes`, sets of different widths, sizes of zero, and a `mu` that
    /// is not positive.
    pub fn new(
        train: Samples<'a>,
        validation: Samples<'a>,
        hidden: usize,
        classes: usize,
        mu: f32,
    ) -> Result<Self, ProblemError> {
        super::check_samples(&train, &validation, LabelKind::Class)?;
        if train.arithmetic() != Arithmetic::Float {
            return Err(ProblemError::Arithmetic);
        }
        for samples in [&train, &validation] {
            if let Some(row) = samples.class_beyond(classes) {
                return Err(ProblemError::Class { row });
            }
        }
        let fits =
            |a: usize, b: usize| a > 0 && b.checked_add(1).and_then(|b| a.checked_mul(b)).is_some();
        if !fits(hidden, train.width()) {
            return Err(ProblemError::Size { name: "hidden" });
        }
        if !fits(classes, hidden) {
            return Err(ProblemError::Size { name: "classes" });
        }
        if !(mu > 0.0 && mu.is_finite()) {
            return Err(ProblemError::Parameter { name: "mu" });
        }
        Ok(Self { train, validation, hidden, classes, mu })
    }

    /// n: the length of x for samples of `width` features.
    #[must_use]
    pub const fn outer(width: usize, hidden: usize) -> usize {
        hidden * (width + 1)
    }

    /// p: the length of θ.
    #[must_use]
    pub const fn inner(hidden: usize, classes: usize) -> usize {
        classes * (hidden + 1)
    }

    /// The workspace, in floats: activations, probabilities, and the change of the logits along v.
    #[must_use]
    pub const fn workspace(hidden: usize, classes: usize) -> usize {
        hidden + 2 * classes
    }

    /// Splits the workspace into activations s, probabilities π, and the change of the logits.
    fn cut<'w>(&self, workspace: &'w mut [f32]) -> (&'w mut [f32], &'w mut [f32], &'w mut [f32]) {
        let Some((hidden, rest)) = workspace.split_at_mut_checked(self.hidden) else {
            return Default::default();
        };
        let Some((output, change)) = rest.split_at_mut_checked(self.classes) else {
            return Default::default();
        };
        (hidden, output, change)
    }

    /// The activations of the shared layer.
    fn activate(&self, x: &[f32], row: Row<'_>, hidden: &mut [f32]) {
        let width = self.train.width();
        let (weights, biases) = layer(x, self.hidden.wrapping_mul(width));
        row.dot_each(rows(weights, width), hidden);
        for (hidden, bias) in hidden.iter_mut().zip(biases) {
            *hidden = math::sigmoid(*hidden + bias);
        }
    }

    /// The head's linear map: the logits for parameters θ, their change for parameters v.
    fn head(&self, parameters: &[f32], hidden: &[f32], out: &mut [f32]) {
        let (weights, biases) = layer(parameters, self.classes.wrapping_mul(self.hidden));
        for (out, (weights, bias)) in out.iter_mut().zip(rows(weights, self.hidden).zip(biases)) {
            *out = dot(weights, hidden) + bias;
        }
    }

    /// The change of the softmax for a change of the logits: π ∘ (q - ⟨π, q⟩), in place.
    fn change_of_softmax(probabilities: &[f32], change: &mut [f32]) {
        let mean = dot(probabilities, change);
        for (change, probability) in change.iter_mut().zip(probabilities) {
            *change = probability * (*change - mean);
        }
    }

    /// Adds share · coefficient ⊗ (s, 1) to a vector shaped like θ.
    fn add_to_head(&self, share: f32, coefficients: &[f32], hidden: &[f32], out: &mut [f32]) {
        let at = self.classes.wrapping_mul(self.hidden);
        let Some((weights, biases)) = out.split_at_mut_checked(at) else { return };
        for ((weights, bias), coefficient) in
            rows_mut(weights, self.hidden).zip(biases).zip(coefficients)
        {
            add_scaled(weights, share * coefficient, hidden);
            *bias += share * coefficient;
        }
    }

    /// Adds share · (∂/∂s ∘ s' ) ⊗ (a, 1) to a vector shaped like x; `pull` is ∂/∂s for each unit.
    fn add_to_layer(
        &self,
        share: f32,
        row: Row<'_>,
        hidden: &[f32],
        pull: impl Fn(usize) -> f32,
        out: &mut [f32],
    ) {
        let width = self.train.width();
        let Some((weights, biases)) = out.split_at_mut_checked(self.hidden.wrapping_mul(width))
        else {
            return;
        };
        for (unit, ((weights, bias), &s)) in
            rows_mut(weights, width).zip(biases).zip(hidden).enumerate()
        {
            let slope = share * (pull(unit) * (s * (1.0 - s)));
            row.add_scaled(slope, weights);
            *bias += slope;
        }
    }

    /// Column `unit` of the head's weights times a vector over the classes.
    fn through_head(&self, parameters: &[f32], unit: usize, over_classes: &[f32]) -> f32 {
        let (weights, _) = layer(parameters, self.classes.wrapping_mul(self.hidden));
        rows(weights, self.hidden)
            .zip(over_classes)
            .fold(0.0, |sum, (weights, c)| sum + weights.get(unit).copied().unwrap_or(0.0) * c)
    }

    /// Forward pass for one sample: fills activations and π - e_label.
    fn residual(
        &self,
        at: Point<'_>,
        samples: &Samples<'_>,
        index: usize,
        hidden: &mut [f32],
        output: &mut [f32],
    ) {
        self.probabilities(at, samples.row(index), hidden, output);
        if let Some(own) = output.get_mut(samples.class(index)) {
            *own -= 1.0;
        }
    }

    /// Forward pass for one sample: fills activations and π.
    fn probabilities(
        &self,
        at: Point<'_>,
        row: Row<'_>,
        hidden: &mut [f32],
        output: &mut [f32],
    ) -> f32 {
        self.activate(at.x, row, hidden);
        self.head(at.theta, hidden, output);
        math::softmax(output)
    }

    /// The mean cross-entropy over a batch.
    fn cross_entropy(
        &self,
        samples: &Samples<'_>,
        at: Point<'_>,
        batch: &Batch,
        workspace: &mut [f32],
    ) -> f32 {
        let (hidden, output, _) = self.cut(workspace);
        linear::mean(batch, |index| {
            self.activate(at.x, samples.row(index), hidden);
            self.head(at.theta, hidden, output);
            let own = output.get(samples.class(index)).copied().unwrap_or(0.0);
            math::log_sum_exp(output) - own
        })
    }

    fn add_head_gradient(
        &self,
        samples: &Samples<'_>,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        let share = scale * batch.weight();
        let (hidden, output, _) = self.cut(workspace);
        for index in batch.indices() {
            self.residual(at, samples, index, hidden, output);
            self.add_to_head(share, output, hidden, out);
        }
    }
}

impl Problem for SharedLayer<'_> {
    fn dimensions(&self) -> Dimensions {
        Dimensions {
            outer: Self::outer(self.train.width(), self.hidden),
            inner: Self::inner(self.hidden, self.classes),
            workspace: Self::workspace(self.hidden, self.classes),
        }
    }

    fn population(&self) -> Population {
        Population { inner: self.train.len(), outer: self.validation.len() }
    }

    fn inner_gradient(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        self.add_head_gradient(&self.train, at, batch, scale, out, workspace);
        add_scaled(out, scale * self.mu, at.theta);
    }

    fn hessian_vector(
        &self,
        at: Point<'_>,
        v: &[f32],
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        let share = scale * batch.weight();
        let (hidden, output, change) = self.cut(workspace);
        for index in batch.indices() {
            self.probabilities(at, self.train.row(index), hidden, output);
            self.head(v, hidden, change);
            Self::change_of_softmax(output, change);
            self.add_to_head(share, change, hidden, out);
        }
        add_scaled(out, scale * self.mu, v);
    }

    fn cross_vector(
        &self,
        at: Point<'_>,
        v: &[f32],
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        // ⟨∇θ g, v⟩ = ⟨π - e_label, V s + v₀⟩ + …, so its derivative in s is V'(π - e) + T'(change of π).
        let share = scale * batch.weight();
        let (hidden, output, change) = self.cut(workspace);
        for index in batch.indices() {
            let row = self.train.row(index);
            self.probabilities(at, row, hidden, output);
            self.head(v, hidden, change);
            Self::change_of_softmax(output, change);
            if let Some(own) = output.get_mut(self.train.class(index)) {
                *own -= 1.0;
            }
            let pull = |unit| {
                self.through_head(v, unit, output) + self.through_head(at.theta, unit, change)
            };
            self.add_to_layer(share, row, hidden, pull, out);
        }
    }

    fn outer_gradient_inner(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        self.add_head_gradient(&self.validation, at, batch, scale, out, workspace);
    }

    fn outer_gradient_outer(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        let share = scale * batch.weight();
        let (hidden, output, _) = self.cut(workspace);
        for index in batch.indices() {
            self.residual(at, &self.validation, index, hidden, output);
            let pull = |unit| self.through_head(at.theta, unit, output);
            self.add_to_layer(share, self.validation.row(index), hidden, pull, out);
        }
    }

    fn inner_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        self.cross_entropy(&self.train, at, batch, workspace)
            + 0.5 * self.mu * norm_squared(at.theta)
    }

    fn outer_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        self.cross_entropy(&self.validation, at, batch, workspace)
    }
}

impl Predict for SharedLayer<'_> {
    fn predict(&self, at: Point<'_>, row: Row<'_>, workspace: &mut [f32]) -> f32 {
        let (hidden, output, _) = self.cut(workspace);
        self.activate(at.x, row, hidden);
        self.head(at.theta, hidden, output);
        let mut best = (0, f32::NEG_INFINITY);
        for (class, &logit) in output.iter().enumerate() {
            if logit > best.1 {
                best = (class, logit);
            }
        }
        best.0 as f32
    }
}
