//! The five derivatives by formula: gradients as vectors, second derivatives as dense matrices.

use super::losses::{Loss, Problem, Samples, layer, sigmoid};
use super::matrix::{
    Matrix, add, add_outer, dot, identity, product, solve, times, transpose, zeros,
};
use super::{Answers, At, Lists};

impl Loss {
    fn curvature(self, output: f64) -> f64 {
        match self {
            Self::Logistic => sigmoid(output) * sigmoid(-output),
            Self::Squared => 1.0,
        }
    }

    /// The gradient of the mean loss.
    fn gradient(self, samples: &Samples, batch: &[usize], weights: &[f64]) -> Vec<f64> {
        let mut out = zeros(1, weights.len());
        for &k in batch {
            let slope = self.slope(dot(&samples.rows[k], weights), samples.labels[k]);
            add_outer(&mut out, 1.0 / batch.len() as f64, &[slope], &samples.rows[k]);
        }
        out.remove(0)
    }

    /// The Hessian of the mean loss.
    fn hessian(self, samples: &Samples, batch: &[usize], weights: &[f64]) -> Matrix {
        let mut out = zeros(weights.len(), weights.len());
        for &k in batch {
            let row = &samples.rows[k];
            let curvature = self.curvature(dot(row, weights));
            add_outer(&mut out, curvature / batch.len() as f64, row, row);
        }
        out
    }
}

/// All five derivatives.
pub fn answers(problem: &Problem, at: &At, lists: &Lists) -> Answers {
    let At { x, theta, v } = at;
    let outer_gradient = outer(problem, x, theta);
    Answers {
        inner_gradient: inner_gradient(problem, x, theta, &lists.inner_gradient),
        hessian_vector: times(&hessian(problem, x, theta, &lists.hessian_vector), v),
        cross_vector: times(&cross(problem, x, theta, &lists.cross_vector), v),
        outer_gradient_inner: outer_gradient(&lists.outer_gradient_inner).0,
        outer_gradient_outer: outer_gradient(&lists.outer_gradient_outer).1,
    }
}

/// ∇θ g.
pub fn inner_gradient(problem: &Problem, x: &[f64], theta: &[f64], batch: &[usize]) -> Vec<f64> {
    let (mut out, extra): (Vec<f64>, Vec<f64>) = match problem {
        Problem::Quadratic { a, b, c, .. } => {
            let pull = times(b, x).into_iter().zip(c).map(|(bx, c)| -bx - c).collect();
            (times(a, theta), pull)
        }
        Problem::Regularised { loss, train, base, .. } => {
            let penalty = x.iter().zip(theta).map(|(x, t)| 2.0 * (base + x).exp() * t).collect();
            (loss.gradient(train, batch, theta), penalty)
        }
        Problem::SharedLayer { train, hidden, classes, mu, .. } => {
            let penalty = theta.iter().map(|t| mu * t).collect();
            (Pass::mean(train, *hidden, *classes, x, theta, batch, Pass::in_theta), penalty)
        }
        Problem::Meta { loss, train, nu, .. } => {
            let pull = x.iter().zip(theta).map(|(x, t)| nu * (t - x)).collect();
            (loss.gradient(train, batch, x), pull)
        }
    };
    out.iter_mut().zip(extra).for_each(|(out, extra)| *out += extra);
    out
}

/// ∇²θθ g, p times p.
pub fn hessian(problem: &Problem, x: &[f64], theta: &[f64], batch: &[usize]) -> Matrix {
    match problem {
        Problem::Quadratic { a, .. } => a.clone(),
        Problem::Regularised { loss, train, base, .. } => {
            let mut out = loss.hessian(train, batch, theta);
            x.iter().enumerate().for_each(|(i, x)| out[i][i] += 2.0 * (base + x).exp());
            out
        }
        Problem::SharedLayer { train, hidden, classes, mu, .. } => {
            let mut out = identity(theta.len());
            out.iter_mut().flatten().for_each(|cell| *cell *= mu);
            for &k in batch {
                let pass = Pass::new(train, *hidden, *classes, x, theta, k);
                let jacobian = pass.logits_in_theta();
                let bent = product(&pass.softmax_jacobian(), &jacobian);
                let share = 1.0 / batch.len() as f64;
                add(&mut out, share, &product(&transpose(&jacobian), &bent));
            }
            out
        }
        Problem::Meta { nu, .. } => {
            let mut out = identity(theta.len());
            out.iter_mut().flatten().for_each(|cell| *cell *= nu);
            out
        }
    }
}

/// ∇²xθ g, n times p.
pub fn cross(problem: &Problem, x: &[f64], theta: &[f64], batch: &[usize]) -> Matrix {
    match problem {
        Problem::Quadratic { b, .. } => {
            let mut out = transpose(b);
            out.iter_mut().flatten().for_each(|cell| *cell = -*cell);
            out
        }
        Problem::Regularised { base, .. } => {
            let mut out = zeros(x.len(), x.len());
            for (i, (x, theta)) in x.iter().zip(theta).enumerate() {
                out[i][i] = 2.0 * (base + x).exp() * theta;
            }
            out
        }
        Problem::SharedLayer { train, hidden, classes, .. } => {
            let mut out = zeros(x.len(), theta.len());
            for &k in batch {
                let pass = Pass::new(train, *hidden, *classes, x, theta, k);
                let share = 1.0 / batch.len() as f64;
                // ∇θ = J'r with J the logits in θ: r moves with the logits, J with the activations.
                let moved = product(&pass.softmax_jacobian(), &pass.logits_in_theta());
                add(&mut out, share, &product(&transpose(&pass.logits_in_x()), &moved));
                let activations = pass.activations_in_x();
                for (class, residual) in pass.residual().into_iter().enumerate() {
                    for (unit, gradient) in activations.iter().enumerate() {
                        for (row, gradient) in out.iter_mut().zip(gradient) {
                            row[class * hidden + unit] += share * residual * gradient;
                        }
                    }
                }
            }
            out
        }
        Problem::Meta { loss, train, nu, .. } => {
            let mut out = loss.hessian(train, batch, x);
            (0..x.len()).for_each(|i| out[i][i] -= nu);
            out
        }
    }
}

/// ∇θ f and ∇x f over a batch.
fn outer<'a>(
    problem: &'a Problem,
    x: &'a [f64],
    theta: &'a [f64],
) -> impl Fn(&[usize]) -> (Vec<f64>, Vec<f64>) + 'a {
    move |batch| match problem {
        Problem::Quadratic { t, q, r, .. } => (
            theta.iter().zip(t).map(|(theta, t)| theta - t).collect(),
            x.iter().zip(q).map(|(x, q)| r * (x - q)).collect(),
        ),
        Problem::Regularised { loss, validation, .. } | Problem::Meta { loss, validation, .. } => {
            (loss.gradient(validation, batch, theta), vec![0.0; x.len()])
        }
        Problem::SharedLayer { validation, hidden, classes, .. } => {
            let mean = |part| Pass::mean(validation, *hidden, *classes, x, theta, batch, part);
            (mean(Pass::in_theta), mean(Pass::in_x))
        }
    }
}

/// The hypergradient ∇Φ(x) of a node whose inner problem is solved: exact for the quadratic.
pub fn hypergradient(problem: &Problem, x: &[f64]) -> Vec<f64> {
    let Problem::Quadratic { a, b, c, .. } = problem else { panic!("only with a closed form") };
    let pull: Vec<f64> = times(b, x).iter().zip(c).map(|(bx, c)| bx + c).collect();
    let theta = solve(a, &pull);
    let (in_theta, in_x) = outer(problem, x, &theta)(&[]);
    let through = times(&cross(problem, x, &theta, &[]), &solve(a, &in_theta));
    in_x.iter().zip(through).map(|(in_x, through)| in_x - through).collect()
}

/// One sample through the shared layer and the head.
struct Pass<'a> {
    input: &'a [f64],
    theta: &'a [f64],
    activations: Vec<f64>,
    probabilities: Vec<f64>,
    label: usize,
}

impl<'a> Pass<'a> {
    fn new(
        samples: &'a Samples,
        hidden: usize,
        classes: usize,
        x: &[f64],
        theta: &'a [f64],
        k: usize,
    ) -> Self {
        let input = &samples.rows[k];
        let activations: Vec<f64> = layer(x, hidden, input).into_iter().map(sigmoid).collect();
        let logits = layer(theta, classes, &activations);
        let share = |own: &f64| 1.0 / logits.iter().map(|l| (l - own).exp()).sum::<f64>();
        let probabilities = logits.iter().map(share).collect();
        let label = samples.labels[k] as usize;
        Self { input, theta, activations, probabilities, label }
    }

    /// The mean over a batch of one of its gradients.
    fn mean(
        samples: &'a Samples,
        hidden: usize,
        classes: usize,
        x: &[f64],
        theta: &'a [f64],
        batch: &[usize],
        part: fn(&Self) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut rows = Vec::new();
        for &k in batch {
            rows.push(part(&Self::new(samples, hidden, classes, x, theta, k)));
        }
        transpose(&rows).iter().map(|a| a.iter().sum::<f64>() / batch.len() as f64).collect()
    }

    /// π - e_label.
    fn residual(&self) -> Vec<f64> {
        let mut out = self.probabilities.clone();
        out[self.label] -= 1.0;
        out
    }

    /// diag(π) - ππ'.
    fn softmax_jacobian(&self) -> Matrix {
        let pi = &self.probabilities;
        let mut out = zeros(pi.len(), pi.len());
        add_outer(&mut out, -1.0, pi, pi);
        (0..pi.len()).for_each(|i| out[i][i] += pi[i]);
        out
    }

    /// The logits' derivatives in θ: classes times p.
    fn logits_in_theta(&self) -> Matrix {
        let (classes, hidden) = (self.probabilities.len(), self.activations.len());
        let mut out = zeros(classes, classes * (hidden + 1));
        for (class, row) in out.iter_mut().enumerate() {
            row[class * hidden..][..hidden].copy_from_slice(&self.activations);
            row[classes * hidden + class] = 1.0;
        }
        out
    }

    /// The activations' derivatives in x: hidden times n.
    fn activations_in_x(&self) -> Matrix {
        let (hidden, width) = (self.activations.len(), self.input.len());
        let mut out = zeros(hidden, hidden * (width + 1));
        for (unit, (row, s)) in out.iter_mut().zip(&self.activations).enumerate() {
            for (cell, a) in row[unit * width..].iter_mut().zip(self.input) {
                *cell = s * (1.0 - s) * a;
            }
            row[hidden * width + unit] = s * (1.0 - s);
        }
        out
    }

    /// The logits' derivatives in x: classes times n.
    fn logits_in_x(&self) -> Matrix {
        let hidden = self.activations.len();
        let head = self.theta.chunks(hidden).take(self.probabilities.len()).map(<[f64]>::to_vec);
        product(&head.collect(), &self.activations_in_x())
    }

    fn in_theta(&self) -> Vec<f64> {
        times(&transpose(&self.logits_in_theta()), &self.residual())
    }

    fn in_x(&self) -> Vec<f64> {
        times(&transpose(&self.logits_in_x()), &self.residual())
    }
}
