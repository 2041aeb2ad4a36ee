//! Derivatives from losses alone, by central differences of eighth order.
//!
//! With steps of about 0.01 the truncation error is below 1e-10 and the rounding error of a second
//! derivative about 1e-11: four digits better than the f32 values they are compared with.

use super::losses::Problem;
use super::matrix::dot;
use super::{Answers, At, largest};

/// The derivative of a function at zero.
pub fn slope(step: f64, f: impl Fn(f64) -> f64) -> f64 {
    const WEIGHTS: [f64; 4] = [4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0];
    let term = |(i, weight): (usize, f64)| {
        let at = step * (i + 1) as f64;
        weight * (f(at) - f(-at))
    };
    WEIGHTS.into_iter().enumerate().map(term).sum::<f64>() / step
}

/// The derivative of f at `at` along a direction; the step is measured in its largest element.
pub fn along(step: f64, at: &[f64], direction: &[f64], f: impl Fn(&[f64]) -> f64) -> f64 {
    let size = largest(direction);
    if size == 0.0 {
        return 0.0;
    }
    slope(step / size, |t| f(&at.iter().zip(direction).map(|(a, d)| a + t * d).collect::<Vec<_>>()))
}

/// The gradient of f at `at`.
pub fn gradient(step: f64, at: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    (0..at.len())
        .map(|i| {
            slope(step, |t| {
                let mut moved = at.to_vec();
                moved[i] += t;
                f(&moved)
            })
        })
        .collect()
}

/// Steps in x and in θ: the larger θ is, the more a loss curves in x.
fn steps(at: &At) -> (f64, f64) {
    (0.02 / (1.0 + largest(&at.theta)), 0.02)
}

/// All five derivatives, from the losses.
pub fn answers(problem: &Problem, at: &At, inner: &[usize], outer: &[usize]) -> Answers {
    let At { x, theta, v } = at;
    let (in_x, in_theta) = steps(at);
    let g = |x: &[f64], theta: &[f64]| problem.g(x, theta, inner);
    let f = |x: &[f64], theta: &[f64]| problem.f(x, theta, outer);
    let g_along_v = |x: &[f64], theta: &[f64]| along(in_theta, theta, v, |theta| g(x, theta));
    Answers {
        inner_gradient: gradient(in_theta, theta, |theta| g(x, theta)),
        hessian_vector: gradient(in_theta, theta, |theta| g_along_v(x, theta)),
        cross_vector: gradient(in_x, x, |x| g_along_v(x, theta)),
        outer_gradient_inner: gradient(in_theta, theta, |theta| f(x, theta)),
        outer_gradient_outer: gradient(in_x, x, |x| f(x, theta)),
    }
}

/// ∇x g, which no node evaluates.
pub fn inner_gradient_outer(problem: &Problem, at: &At, inner: &[usize]) -> Vec<f64> {
    gradient(steps(at).0, &at.x, |x| problem.g(x, &at.theta, inner))
}

/// ⟨w, ∇²xθ g · v⟩ with the differences in x inside those in θ: the other order than in [`answers`].
pub fn mixed(problem: &Problem, at: &At, w: &[f64], inner: &[usize]) -> f64 {
    let (in_x, in_theta) = steps(at);
    let in_x_of = |theta: &[f64]| gradient(in_x, &at.x, |x| problem.g(x, theta, inner));
    along(in_theta, &at.theta, &at.v, |theta| dot(&in_x_of(theta), w))
}
