//! A problem asked over all samples, with answers as f64.

use lopa_core::batch::Batch;
use lopa_core::oracles::Evaluations;
use lopa_core::problem::{Dimensions, Point, Problem};

/// What the oracles work in; allocated once.
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

fn widen(out: &mut [f64], answer: &[f32]) {
    out.iter_mut().zip(answer).for_each(|(out, &answer)| *out = f64::from(answer));
}

impl<'a, P: Problem + ?Sized> Oracle<'a, P> {
    pub(crate) fn new(problem: &'a P, x: &'a [f32], memory: &'a mut Memory) -> Self {
        let population = problem.population();
        problem.prepare(x, &mut memory.workspace);
        let (inner, outer) = (Batch::full(population.inner), Batch::full(population.outer));
        Self { problem, x, inner, outer, memory }
    }

    /// Writes ∇θ g to `out`.
    pub(crate) fn inner_gradient(&mut self, theta: &[f32], out: &mut [f64]) {
        let Memory { workspace, inner, evaluations, .. } = &mut *self.memory;
        inner.fill(0.0);
        let at = Point { x: self.x, theta };
        self.problem.inner_gradient(at, &self.inner, 1.0, inner, workspace);
        evaluations.inner_gradient += 1;
        widen(out, inner);
    }

    /// Writes ∇²θθ g · v to `out`.
    pub(crate) fn hessian_vector(&mut self, theta: &[f32], v: &[f32], out: &mut [f64]) {
        let Memory { workspace, inner, evaluations, .. } = &mut *self.memory;
        inner.fill(0.0);
        let at = Point { x: self.x, theta };
        self.problem.hessian_vector(at, v, &self.inner, 1.0, inner, workspace);
        evaluations.hessian_vector += 1;
        widen(out, inner);
    }

    /// Writes ∇²xθ g · v to `out`.
    pub(crate) fn cross_vector(&mut self, theta: &[f32], v: &[f32], out: &mut [f64]) {
        let Memory { workspace, outer, evaluations, .. } = &mut *self.memory;
        outer.fill(0.0);
        let at = Point { x: self.x, theta };
        self.problem.cross_vector(at, v, &self.inner, 1.0, outer, workspace);
        evaluations.cross_vector += 1;
        widen(out, outer);
    }

    /// Writes ∇θ f to `out`.
    pub(crate) fn outer_gradient_inner(&mut self, theta: &[f32], out: &mut [f64]) {
        let Memory { workspace, inner, evaluations, .. } = &mut *self.memory;
        inner.fill(0.0);
        let at = Point { x: self.x, theta };
        self.problem.outer_gradient_inner(at, &self.outer, 1.0, inner, workspace);
        evaluations.outer_gradient_inner += 1;
        widen(out, inner);
    }

    /// Writes ∇x f to `out`.
    pub(crate) fn outer_gradient_outer(&mut self, theta: &[f32], out: &mut [f64]) {
        let Memory { workspace, outer, evaluations, .. } = &mut *self.memory;
        outer.fill(0.0);
        let at = Point { x: self.x, theta };
        self.problem.outer_gradient_outer(at, &self.outer, 1.0, outer, workspace);
        evaluations.outer_gradient_outer += 1;
        widen(out, outer);
    }

    /// Writes ∇x f - ∇²xθ g · v to `out`; the difference is taken in f64.
    pub(crate) fn hypergradient(&mut self, theta: &[f32], v: &[f32], out: &mut [f64]) {
        self.cross_vector(theta, v, out);
        out.iter_mut().for_each(|out| *out = -*out);
        let Memory { workspace, outer, evaluations, .. } = &mut *self.memory;
        outer.fill(0.0);
        let at = Point { x: self.x, theta };
        self.problem.outer_gradient_outer(at, &self.outer, 1.0, outer, workspace);
        evaluations.outer_gradient_outer += 1;
        out.iter_mut().zip(&*outer).for_each(|(out, &a)| *out += f64::from(a));
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
