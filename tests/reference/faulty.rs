//! Problems with a mistake in them, for the checker to find.

use std::cell::Cell;

use lopa_core::batch::Batch;
use lopa_core::problem::{Dimensions, Point, Population, Problem};

use super::{At, losses};

/// Mistakes in an oracle.
pub enum Fault {
    /// The answer times a factor: a wrong sign, a factor of two, nothing at all.
    Factor(f32),
    /// NaN in one element, in the first call only or in every call.
    Nan { again: bool, fresh: Cell<bool> },
    /// A term left out.
    Missing(Vec<f32>),
    /// A term left out that is linear in v, one factor per element.
    MissingInV(Vec<f32>),
}

/// A problem with a mistake in oracle number `which`; 5 and 6 are the losses g and f, 7 is ∇x g.
pub struct Faulty<'a> {
    pub problem: &'a dyn Problem,
    pub which: usize,
    pub fault: Fault,
}

impl Faulty<'_> {
    fn add(
        &self,
        which: usize,
        v: &[f32],
        scale: f32,
        out: &mut [f32],
        ask: impl FnOnce(f32, &mut [f32]),
    ) {
        if which != self.which {
            return ask(scale, out);
        }
        match &self.fault {
            Fault::Factor(factor) => ask(scale * factor, out),
            Fault::Nan { again, fresh } => {
                ask(scale, out);
                if fresh.replace(false) || *again {
                    out[0] = f32::NAN;
                }
            }
            Fault::Missing(term) => {
                ask(scale, out);
                out.iter_mut().zip(term).for_each(|(out, term)| *out -= scale * term);
            }
            Fault::MissingInV(factors) => {
                ask(scale, out);
                let terms = factors.iter().zip(v).map(|(factor, v)| factor * v);
                out.iter_mut().zip(terms).for_each(|(out, term)| *out -= scale * term);
            }
        }
    }

    fn loss(&self, which: usize, loss: f32) -> f32 {
        let mut out = [0.0];
        self.add(which, &[], 1.0, &mut out, |scale, out| out[0] += scale * loss);
        out[0]
    }
}

#[rustfmt::skip]
impl Problem for Faulty<'_> {
    fn dimensions(&self) -> Dimensions {
        self.problem.dimensions()
    }
    fn population(&self) -> Population {
        self.problem.population()
    }
    fn prepare(&self, x: &[f32], ws: &mut [f32]) {
        self.problem.prepare(x, ws);
    }
    fn inner_gradient(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.add(0, &[], scale, out, |scale, out| self.problem.inner_gradient(at, batch, scale, out, ws));
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.add(1, v, scale, out, |scale, out| self.problem.hessian_vector(at, v, batch, scale, out, ws));
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.add(2, v, scale, out, |scale, out| self.problem.cross_vector(at, v, batch, scale, out, ws));
    }
    fn outer_gradient_inner(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.add(3, &[], scale, out, |scale, out| self.problem.outer_gradient_inner(at, batch, scale, out, ws));
    }
    fn outer_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.add(4, &[], scale, out, |scale, out| self.problem.outer_gradient_outer(at, batch, scale, out, ws));
    }
    fn inner_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) -> bool {
        let mut offered = false;
        self.add(7, &[], scale, out, |scale, out| {
            offered = self.problem.inner_gradient_outer(at, batch, scale, out, ws);
        });
        offered
    }
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, ws: &mut [f32]) -> f32 {
        self.loss(5, self.problem.inner_loss(at, batch, ws))
    }
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, ws: &mut [f32]) -> f32 {
        self.loss(6, self.problem.outer_loss(at, batch, ws))
    }
}

/// The terms of an oracle that are easily forgotten: regularisers and constants.
pub fn terms(problem: &losses::Problem, at: &At) -> Vec<(usize, Fault)> {
    let floats = |a: &mut dyn Iterator<Item = f64>| a.map(|a| a as f32).collect::<Vec<_>>();
    let missing = |a: &mut dyn Iterator<Item = f64>| Fault::Missing(floats(a));
    let in_v = |a: &mut dyn Iterator<Item = f64>| Fault::MissingInV(floats(a));
    let (x, theta) = (at.x.iter(), at.theta.iter());
    let strengths = |base: f64| -> Vec<f64> {
        x.clone().map(|&x| 2.0 * f64::from(lopa_core::math::exp((base + x) as f32))).collect()
    };
    match problem {
        losses::Problem::Quadratic { a, c, t, q, r, .. } => vec![
            (0, missing(&mut c.iter().map(|c| -c))),
            (1, in_v(&mut (0..c.len()).map(|i| 0.5 * a[i][i]))),
            (3, missing(&mut t.iter().map(|t| -t))),
            (4, missing(&mut q.iter().map(|q| -r * q))),
        ],
        losses::Problem::Regularised { base, .. } => vec![
            (0, missing(&mut strengths(*base).into_iter().zip(theta).map(|(s, t)| s * t))),
            (1, in_v(&mut strengths(*base).into_iter())),
        ],
        losses::Problem::SharedLayer { mu, .. } => vec![
            (0, missing(&mut theta.clone().map(|t| mu * t))),
            (1, in_v(&mut theta.map(|_| *mu))),
        ],
        losses::Problem::Meta { nu, .. } => vec![
            (0, missing(&mut theta.zip(x.clone()).map(|(t, x)| nu * (t - x)))),
            (2, in_v(&mut x.map(|_| -nu))),
        ],
    }
}
