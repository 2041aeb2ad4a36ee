//! f and g of the five problems, for plain data.

use super::matrix::{Matrix, dot, times};

/// Samples: features, and labels as -1 or +1, as a class, or as a value.
#[derive(Debug, Clone)]
pub struct Samples {
    pub rows: Matrix,
    pub labels: Vec<f64>,
}

/// The loss of a linear model's output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// ln(1 + e^(-label output)).
    Logistic,
    /// ½ (output - label)².
    Squared,
}

impl Loss {
    pub fn value(self, output: f64, label: f64) -> f64 {
        match self {
            Self::Logistic => {
                let a = -label * output;
                a.max(0.0) + (-a.abs()).exp().ln_1p()
            }
            Self::Squared => 0.5 * (output - label) * (output - label),
        }
    }

    /// The derivative in the output: the meta-learning loss is made of it.
    pub fn slope(self, output: f64, label: f64) -> f64 {
        match self {
            Self::Logistic => -label / (1.0 + (label * output).exp()),
            Self::Squared => output - label,
        }
    }

    /// The mean over samples.
    pub fn mean(self, samples: &Samples, batch: &[usize], weights: &[f64]) -> f64 {
        mean(batch, |k| self.value(dot(&samples.rows[k], weights), samples.labels[k]))
    }
}

/// A node's problem.
#[derive(Debug, Clone)]
pub enum Problem {
    /// g = ½ θ'Aθ - θ'(Bx + c), f = ½ ‖θ - t‖² + r/2 ‖x - q‖².
    Quadratic { a: Matrix, b: Matrix, c: Vec<f64>, t: Vec<f64>, q: Vec<f64>, r: f64 },
    /// g = mean loss over training samples + Σ e^(base + x) θ², f = mean loss over validation samples.
    Regularised { loss: Loss, train: Samples, validation: Samples, base: f64 },
    /// Sigmoid layer x, softmax head θ; g = cross-entropy over training samples + μ/2 ‖θ‖², f without.
    SharedLayer { train: Samples, validation: Samples, hidden: usize, classes: usize, mu: f64 },
    /// g = ⟨θ, ∇F(x)⟩ over training samples + ν/2 ‖x - θ‖², f = F(θ) over validation samples.
    Meta { loss: Loss, train: Samples, validation: Samples, nu: f64 },
}

impl Problem {
    /// n and p.
    pub fn sizes(&self) -> (usize, usize) {
        match self {
            Self::Quadratic { c, q, .. } => (q.len(), c.len()),
            Self::SharedLayer { train, hidden, classes, .. } => {
                (hidden * (train.rows[0].len() + 1), classes * (hidden + 1))
            }
            Self::Regularised { train, .. } | Self::Meta { train, .. } => {
                (train.rows[0].len(), train.rows[0].len())
            }
        }
    }

    /// The outer objective over a batch.
    pub fn f(&self, x: &[f64], theta: &[f64], batch: &[usize]) -> f64 {
        match self {
            Self::Quadratic { t, q, r, .. } => {
                0.5 * squared_distance(theta, t) + 0.5 * r * squared_distance(x, q)
            }
            Self::Regularised { loss, validation, .. } | Self::Meta { loss, validation, .. } => {
                loss.mean(validation, batch, theta)
            }
            Self::SharedLayer { validation, hidden, classes, .. } => {
                cross_entropy(validation, *hidden, *classes, x, theta, batch)
            }
        }
    }

    /// The inner objective over a batch.
    pub fn g(&self, x: &[f64], theta: &[f64], batch: &[usize]) -> f64 {
        match self {
            Self::Quadratic { a, b, c, .. } => {
                let pull = times(b, x);
                0.5 * dot(theta, &times(a, theta)) - dot(theta, &pull) - dot(theta, c)
            }
            Self::Regularised { loss, train, base, .. } => {
                let penalty: f64 = x.iter().zip(theta).map(|(x, t)| (base + x).exp() * t * t).sum();
                loss.mean(train, batch, theta) + penalty
            }
            Self::SharedLayer { train, hidden, classes, mu, .. } => {
                let penalty = 0.5 * mu * dot(theta, theta);
                cross_entropy(train, *hidden, *classes, x, theta, batch) + penalty
            }
            Self::Meta { loss, train, nu, .. } => {
                let along = mean(batch, |k| {
                    let slope = loss.slope(dot(&train.rows[k], x), train.labels[k]);
                    slope * dot(&train.rows[k], theta)
                });
                along + 0.5 * nu * squared_distance(x, theta)
            }
        }
    }
}

/// The mean of a term over a batch.
pub fn mean(batch: &[usize], term: impl FnMut(usize) -> f64) -> f64 {
    batch.iter().copied().map(term).sum::<f64>() / batch.len() as f64
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The outputs of a layer with `units` rows of weights and then its biases.
pub fn layer(parameters: &[f64], units: usize, input: &[f64]) -> Vec<f64> {
    let (weights, biases) = parameters.split_at(units * input.len());
    weights.chunks(input.len()).zip(biases).map(|(w, bias)| dot(w, input) + bias).collect()
}

pub fn sigmoid(a: f64) -> f64 {
    1.0 / (1.0 + (-a).exp())
}

/// The mean of log-sum-exp(l) - l_label.
fn cross_entropy(
    samples: &Samples,
    hidden: usize,
    classes: usize,
    x: &[f64],
    theta: &[f64],
    batch: &[usize],
) -> f64 {
    mean(batch, |k| {
        let s: Vec<f64> = layer(x, hidden, &samples.rows[k]).into_iter().map(sigmoid).collect();
        let logits = layer(theta, classes, &s);
        let own = logits[samples.labels[k] as usize];
        // Relative to the label's logit, so that it overflows only if the result does.
        let rest: f64 = logits.iter().map(|l| (l - own).exp()).sum();
        rest.ln()
    })
}
