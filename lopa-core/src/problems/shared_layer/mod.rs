//! A shared layer of features, with a classifier of its own for each node.

#[cfg(feature = "integer")]
mod grouped;
#[cfg(feature = "simd")]
mod many;
#[cfg(any(not(feature = "simd"), test))]
mod one;
#[cfg(any(not(feature = "simd"), feature = "integer", test))]
mod sample;

use super::{layer, rows};
use crate::batch::Batch;
use crate::math;
use crate::problem::{Dimensions, Point, Population, Predict, Problem, ProblemError};
use crate::samples::{Arithmetic, LabelKind, Row, Samples};
use crate::vector::{add_scaled, dot_each, norm_squared};

// A host computes many samples at once, a chip one after the other, in little memory: with the same bits.
#[cfg(feature = "simd")]
use many as floats;
#[cfg(not(feature = "simd"))]
use one as floats;

/// Samples of a group in integers: all of them have their activations in the workspace.
const GROUP: usize = 32;

#[cfg(feature = "integer")]
const _: () = assert!(GROUP == super::integer::GROUP);

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

    /// The workspace in this arithmetic, in floats: [in integers](crate#integer-arithmetic) also the activations of a group of
    /// 32 samples.
    #[must_use]
    pub const fn workspace_in(arithmetic: Arithmetic, hidden: usize, classes: usize) -> usize {
        Self::workspace(hidden, classes)
            + match arithmetic {
                Arithmetic::Float => 0,
                Arithmetic::Integer => GROUP * hidden,
            }
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

    /// The weights and the biases of x.
    fn layer<'x>(&self, x: &'x [f32]) -> (&'x [f32], &'x [f32]) {
        layer(x, self.hidden.wrapping_mul(self.train.width()))
    }

    /// The weights and the biases of θ, or of a vector shaped like it.
    fn head<'p>(&self, parameters: &'p [f32]) -> (&'p [f32], &'p [f32]) {
        layer(parameters, self.classes.wrapping_mul(self.hidden))
    }

    /// The activations of the shared layer for one sample.
    fn activate(&self, x: &[f32], row: Row<'_>, hidden: &mut [f32]) {
        let (weights, biases) = self.layer(x);
        row.dot_each(rows(weights, self.train.width()), hidden);
        for (hidden, bias) in hidden.iter_mut().zip(biases) {
            *hidden = math::sigmoid(*hidden + bias);
        }
    }

    /// The head's linear map for one sample: the logits for parameters θ, their change for parameters v.
    fn through(&self, parameters: &[f32], hidden: &[f32], out: &mut [f32]) {
        let (weights, biases) = self.head(parameters);
        dot_each(hidden, rows(weights, self.hidden), out);
        for (out, bias) in out.iter_mut().zip(biases) {
            *out += bias;
        }
    }
}

/// A batch, and where an oracle evaluates it.
///
/// Without `v`, the derivative of the mean loss: its coefficients are the residuals π - e_label. With `v`, the derivative of
/// ⟨∇θ g, v⟩.
#[derive(Clone, Copy)]
struct Pass<'a> {
    model: &'a SharedLayer<'a>,
    samples: &'a Samples<'a>,
    batch: &'a Batch,
    at: Point<'a>,
    v: Option<&'a [f32]>,
}

impl<'a> Pass<'a> {
    fn new(
        model: &'a SharedLayer<'a>,
        samples: &'a Samples<'a>,
        batch: &'a Batch,
        at: Point<'a>,
    ) -> Self {
        Self { model, samples, batch, at, v: None }
    }

    fn along(self, v: &'a [f32]) -> Self {
        Self { v: Some(v), ..self }
    }

    /// Whether this host computes many of these samples at once in integers, too.
    #[cfg(feature = "integer")]
    #[allow(clippy::unused_self, reason = "elsewhere it depends on the samples")]
    fn is_for_many(&self) -> bool {
        #[cfg(feature = "simd")]
        return super::integer::Layer::takes(self.samples);
        #[cfg(not(feature = "simd"))]
        false
    }
}

/// Adds `scale` times the mean over the batch of coefficients ⊗ (s, 1) to a vector shaped like θ.
fn add_to_head(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    #[cfg(feature = "integer")]
    if pass.samples.arithmetic() == Arithmetic::Integer && !pass.is_for_many() {
        return grouped::add_to_head(pass, scale, out, workspace);
    }
    floats::add_to_head(pass, scale, out, workspace);
}

/// Adds `scale` times the mean over the batch of (∂/∂s ∘ s') ⊗ (a, 1) to a vector shaped like x.
fn add_to_layer(pass: Pass<'_>, scale: f32, out: &mut [f32], workspace: &mut [f32]) {
    #[cfg(feature = "integer")]
    if pass.samples.arithmetic() == Arithmetic::Integer && !pass.is_for_many() {
        return grouped::add_to_layer(pass, scale, out, workspace);
    }
    floats::add_to_layer(pass, scale, out, workspace);
}

impl Problem for SharedLayer<'_> {
    fn dimensions(&self) -> Dimensions {
        let arithmetic = self.train.arithmetic();
        Dimensions {
            outer: Self::outer(self.train.width(), self.hidden),
            inner: Self::inner(self.hidden, self.classes),
            workspace: Self::workspace_in(arithmetic, self.hidden, self.classes),
        }
    }

    fn arithmetic(&self) -> Arithmetic {
        self.train.arithmetic()
    }

    #[cfg(feature = "simd")]
    fn prepare(&self, _: &[f32], workspace: &mut [f32]) {
        many::prepare(self, workspace);
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
        add_to_head(Pass::new(self, &self.train, batch, at), scale, out, workspace);
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
        add_to_head(Pass::new(self, &self.train, batch, at).along(v), scale, out, workspace);
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
        add_to_layer(Pass::new(self, &self.train, batch, at).along(v), scale, out, workspace);
    }

    fn outer_gradient_inner(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        add_to_head(Pass::new(self, &self.validation, batch, at), scale, out, workspace);
    }

    fn outer_gradient_outer(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        add_to_layer(Pass::new(self, &self.validation, batch, at), scale, out, workspace);
    }

    #[cfg(feature = "simd")]
    fn hypergradient(
        &self,
        at: Point<'_>,
        v: &[f32],
        [outer, cross]: [&Batch; 2],
        out: &mut [f32],
        workspace: &mut [f32],
    ) {
        let outer = Pass::new(self, &self.validation, outer, at);
        let cross = Pass::new(self, &self.train, cross, at).along(v);
        many::sum_to_layer([(outer, 1.0), (cross, -1.0)], out, workspace);
    }

    fn inner_gradient_outer(
        &self,
        at: Point<'_>,
        batch: &Batch,
        scale: f32,
        out: &mut [f32],
        workspace: &mut [f32],
    ) -> bool {
        add_to_layer(Pass::new(self, &self.train, batch, at), scale, out, workspace);
        true
    }

    fn inner_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        floats::cross_entropy(Pass::new(self, &self.train, batch, at), workspace)
            + 0.5 * self.mu * norm_squared(at.theta)
    }

    fn outer_loss(&self, at: Point<'_>, batch: &Batch, workspace: &mut [f32]) -> f32 {
        floats::cross_entropy(Pass::new(self, &self.validation, batch, at), workspace)
    }
}

impl Predict for SharedLayer<'_> {
    fn predict(&self, at: Point<'_>, row: Row<'_>, workspace: &mut [f32]) -> f32 {
        let (hidden, output, _) = self.cut(workspace);
        self.activate(at.x, row, hidden);
        self.through(at.theta, hidden, output);
        let mut best = (0, f32::NEG_INFINITY);
        for (class, &logit) in output.iter().enumerate() {
            if logit > best.1 {
                best = (class, logit);
            }
        }
        best.0 as f32
    }

    #[cfg(feature = "simd")]
    fn predict_all(
        &self,
        at: Point<'_>,
        samples: &Samples<'_>,
        workspace: &mut [f32],
        each: &mut dyn FnMut(usize, f32),
    ) {
        // Groups of samples are made for those of this problem's own form.
        let alike =
            samples.width() == self.train.width() && samples.labels().kind() == LabelKind::Class;
        if alike {
            return many::classify(Pass::new(self, samples, &Batch::full(samples.len()), at), each);
        }
        for index in 0..samples.len() {
            each(index, self.predict(at, samples.row(index), workspace));
        }
    }
}
