//! A problem evaluated over all samples, with answers in f64.

use lopa_core::batch::Batch;
use lopa_core::oracles::Evaluations;
use lopa_core::problem::{Dimensions, Point, Problem};

/// The memory of the oracles; allocated once.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    workspace: Vec<f32>,
    inner: Vec<f32>,
    outer: Vec<f32>,
    pub(crate) evaluations: Evaluations,
}

impl Memory {
    pub(crate) fn new(size: Dimensions) -> Self {
        Self {
            workspace: vec![0.0; size.workspace],
            inner: vec![0.0; size.inner],
            outer: vec![0.0; size.outer],
            evaluations: Evaluations::default(),
        }
    }
}

/// A problem at one x.
pub(crate) struct Oracle<'a, P: ?Sized> {
    problem: &'a P,
    x: &'a [f32],
    inner: Batch,
    outer: Batch,
    memory: &'a mut Memory,
}

/// Methods that evaluate the problem's function of that name over all samples of a level, count it, and widen the
/// answer, which has the length of θ or x.
macro_rules! oracles {
    ($($(#[$doc:meta])* $name:ident($($v:ident)?) of $samples:ident, as long as $answer:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(&mut self, theta: &[f32], $($v: &[f32],)? out: &mut [f64]) {
            let Memory { workspace, $answer: answer, evaluations, .. } = &mut *self.memory;
            answer.fill(0.0);
            let at = Point { x: self.x, theta };
            self.problem.$name(at, $($v,)? &self.$samples, 1.0, answer, workspace);
            evaluations.$name += 1;
            out.iter_mut().zip(answer).for_each(|(out, answer)| *out = f64::from(*answer));
        }
    )*};
}

impl<'a, P: Problem + ?Sized> Oracle<'a, P> {
    pub(crate) fn new(problem: &'a P, x: &'a [f32], memory: &'a mut Memory) -> Self {
        let population = problem.population();
        problem.prepare(x, &mut memory.workspace);
        let (inner, outer) = (Batch::full(population.inner), Batch::full(population.outer));
        Self { problem, x, inner, outer, memory }
    }

    oracles! {
        /// Writes ∇θ g to `out`.
        inner_gradient() of inner, as long as inner;
        /// Writes ∇²θθ g · v to `out`.
        hessian_vector(v) of inner, as long as inner;
        /// Writes ∇²xθ g · v to `out`.
        cross_vector(v) of inner, as long as outer;
        /// Writes ∇θ f to `out`.
        outer_gradient_inner() of outer, as long as inner;
        /// Writes ∇x f to `out`.
        outer_gradient_outer() of outer, as long as outer;
    }

    /// Writes ∇x f - ∇²xθ g · v to `out`; the difference is taken in f64.
    pub(crate) fn hypergradient(&mut self, theta: &[f32], v: &[f32], out: &mut [f64]) {
        let mut product = vec![0.0; out.len()];
        self.cross_vector(theta, v, &mut product);
        self.outer_gradient_outer(theta, out);
        out.iter_mut().zip(product).for_each(|(out, product)| *out -= product);
    }

    /// g.
    pub(crate) fn inner_loss(&mut self, theta: &[f32]) -> f64 {
        let at = Point { x: self.x, theta };
        self.problem.inner_loss(at, &self.inner, &mut self.memory.workspace).into()
    }

    /// f.
    pub(crate) fn outer_loss(&mut self, theta: &[f32]) -> f64 {
        let at = Point { x: self.x, theta };
        self.problem.outer_loss(at, &self.outer, &mut self.memory.workspace).into()
    }
}
