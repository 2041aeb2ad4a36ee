//! Exact solutions, the constants of the assumptions and the Lyapunov function, against f64 and closed forms.

mod networks;
mod solutions;

use crate::reference::fixtures::{Encoding, Instance, Kind, Rng, Shape};
use crate::reference::matrix::solve;
use crate::reference::{distance, largest, losses, oracles};
use lopa_core::batch::Batch;
use lopa_core::problem::{Dimensions, Point, Population, Problem};

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

fn instance(kind: Kind, seed: u64) -> Instance {
    let mut rng = Rng(seed);
    let encoding = [Encoding::U8, Encoding::I8, Encoding::F32][rng.below(3)];
    let shape =
        Shape { kind, encoding, width: 7, hidden: 4, classes: 3, train: 23, validation: 17 };
    Instance::random(&mut rng, shape)
}

/// An instance that threads can share.
struct Shared<'a>(&'a Instance);

#[rustfmt::skip]
impl Problem for Shared<'_> {
    fn dimensions(&self) -> Dimensions {
        self.0.core().dimensions()
    }
    fn population(&self) -> Population {
        self.0.core().population()
    }
    fn prepare(&self, x: &[f32], ws: &mut [f32]) {
        self.0.core().prepare(x, ws);
    }
    fn inner_gradient(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().inner_gradient(at, batch, scale, out, ws);
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().hessian_vector(at, v, batch, scale, out, ws);
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().cross_vector(at, v, batch, scale, out, ws);
    }
    fn outer_gradient_inner(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().outer_gradient_inner(at, batch, scale, out, ws);
    }
    fn outer_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().outer_gradient_outer(at, batch, scale, out, ws);
    }
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, ws: &mut [f32]) -> f32 {
        self.0.core().inner_loss(at, batch, ws)
    }
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, ws: &mut [f32]) -> f32 {
        self.0.core().outer_loss(at, batch, ws)
    }
}

/// θ*(x) in f64, by Newton's method on whole matrices.
fn inner_solution(problem: &losses::Problem, x: &[f64], train: &[usize]) -> Vec<f64> {
    let mut theta = vec![0.0; problem.sizes().1];
    for _ in 0..60 {
        let gradient = oracles::inner_gradient(problem, x, &theta, train);
        let step = solve(&oracles::hessian(problem, x, &theta, train), &gradient);
        theta.iter_mut().zip(&step).for_each(|(theta, step)| *theta -= step);
        if largest(&step) < 1.0e-14 {
            break;
        }
    }
    let left = largest(&oracles::inner_gradient(problem, x, &theta, train));
    assert!(left < 1.0e-12, "the reference itself is off by {left:e}");
    theta
}

fn relative(found: &[f64], wanted: &[f64]) -> f64 {
    distance(found, wanted) / largest(wanted)
}
