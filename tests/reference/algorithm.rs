//! Algorithm 1 of the paper for a whole network, in the paper's own form.

use super::losses::Problem;
use super::matrix::Matrix;
use super::{At, Lists, oracles};

/// α, β, λ, γ and τ.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    pub alpha: f64,
    pub beta: f64,
    pub lambda: f64,
    pub gamma: f64,
    pub tau: f64,
}

/// The variables of one node.
#[derive(Debug, Clone)]
pub struct State {
    pub x: Vec<f64>,
    pub theta: Vec<f64>,
    pub v: Vec<f64>,
    pub z: Vec<f64>,
    pub y: Vec<f64>,
    d: Vec<f64>,
    h: Vec<f64>,
    s: Vec<f64>,
}

/// A network that runs Algorithm 1.
pub struct Network<'a> {
    pub nodes: Vec<State>,
    problems: &'a [Problem],
    weights: Matrix,
    steps: Steps,
    tracking: bool,
    /// The samples of node i in iteration k.
    lists: Box<dyn Fn(usize, u64) -> Lists + 'a>,
    k: u64,
}

impl<'a> Network<'a> {
    /// Iteration 0: x as given, all other variables zero, and d⁰, h⁰, s⁰ evaluated there.
    pub fn new(
        problems: &'a [Problem],
        weights: Matrix,
        steps: Steps,
        tracking: bool,
        x0: &[f64],
        lists: impl Fn(usize, u64) -> Lists + 'a,
    ) -> Self {
        let start = |problem: &Problem| {
            let (n, p) = problem.sizes();
            let (outer, inner) = (vec![0.0; n], vec![0.0; p]);
            State {
                x: x0.to_vec(),
                theta: inner.clone(),
                v: inner.clone(),
                z: outer.clone(),
                y: outer.clone(),
                d: inner.clone(),
                h: inner,
                s: outer,
            }
        };
        let nodes = problems.iter().map(start).collect();
        let lists = Box::new(lists);
        let mut network = Self { nodes, problems, weights, steps, tracking, lists, k: 0 };
        network.evaluate();
        network
    }

    /// d, h and s at the present point (EQ-ALG-d, e, f).
    fn evaluate(&mut self) {
        for (i, (node, problem)) in self.nodes.iter_mut().zip(self.problems).enumerate() {
            let at = At { x: node.x.clone(), theta: node.theta.clone(), v: node.v.clone() };
            let answers = oracles::answers(problem, &at, &(self.lists)(i, self.k));
            let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
            node.h = minus(&answers.hessian_vector, &answers.outer_gradient_inner);
            node.s = minus(&answers.outer_gradient_outer, &answers.cross_vector);
            node.d = answers.inner_gradient;
        }
    }

    /// From iteration k to k + 1.
    pub fn step(&mut self) {
        let Steps { alpha, beta, lambda, gamma, tau } = self.steps;
        let old = self.nodes.clone();
        let mixed = |i: usize, t: usize, of: fn(&State) -> &[f64]| -> f64 {
            old.iter().zip(&self.weights[i]).map(|(node, w)| w * of(node)[t]).sum()
        };
        for (i, (new, old)) in self.nodes.iter_mut().zip(&old).enumerate() {
            for t in 0..old.theta.len() {
                new.theta[t] = old.theta[t] - beta * old.d[t]; // EQ-ALG-a
                new.v[t] = old.v[t] - lambda * old.h[t]; // EQ-ALG-b
            }
            for t in 0..old.x.len() {
                // EQ-ALG-c, EQ-ALG-g
                new.x[t] =
                    (1.0 - tau) * old.x[t] + tau * (mixed(i, t, |node| &node.x) - alpha * old.y[t]);
                new.z[t] = old.s[t] + (1.0 - gamma) * (old.z[t] - old.s[t]);
                new.y[t] = if self.tracking {
                    mixed(i, t, |node| &node.y) + new.z[t] - old.z[t] // EQ-ALG-h2
                } else {
                    new.z[t] // EQ-ALG-h1
                };
            }
        }
        self.k += 1;
        self.evaluate();
    }
}
