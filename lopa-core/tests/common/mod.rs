//! A small quadratic for the tests of the node, and ways to break it.

use lopa_core::batch::{Batch, Sampler};
use lopa_core::node::{Config, GtNode, LgNode, Scratch};
use lopa_core::problem::{Dimensions, Point, Population, Problem};
use lopa_core::problems::{Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;

pub const N: usize = 5;
pub const P: usize = 3;

/// Scratch for it.
pub fn scratch() -> Scratch<[f32; P], [f32; 0]> {
    Scratch::new()
}

/// Node `id`'s quadratic: the same for all nodes except for its optimum.
pub fn quadratic(id: u32) -> Quadratic<'static> {
    const COUPLING: [f32; N * P] = [
        0.3, -0.2, 0.5, 0.1, 0.0, //
        0.4, 0.1, -0.3, 0.2, 0.6, //
        -0.5, 0.2, 0.1, 0.7, -0.1,
    ];
    const TARGETS: [[f32; P]; 4] =
        [[1.0, -1.0, 0.5], [-0.5, 0.2, 2.0], [0.0, 1.5, -1.0], [2.0, 0.1, 0.3]];
    const CENTRES: [[f32; N]; 4] = [
        [0.1, 0.2, 0.3, 0.4, 0.5],
        [-0.3, 0.8, 0.0, 1.0, -1.0],
        [1.0, -1.0, 0.5, 0.2, 0.0],
        [0.0, 0.0, 2.0, -0.7, 0.9],
    ];
    Quadratic::new(QuadraticParts {
        diagonal: &[1.0, 1.5, 2.0],
        spike: &[0.4, -0.3, 0.2],
        coupling: &COUPLING,
        shift: &[0.1, -0.2, 0.3],
        target: &TARGETS[id as usize % 4],
        centre: &CENTRES[id as usize % 4],
        rigidity: 0.3,
    })
    .unwrap()
}

pub fn config(id: u32) -> Config {
    let steps = StepSizes::new(0.2, 0.3, 0.3, 0.5, 0.6).unwrap();
    Config { steps, sampler: Sampler::full(id) }
}

pub fn lg(id: u32) -> LgNode<Quadratic<'static>, N, P> {
    LgNode::local_gradient(quadratic(id), config(id), [0.5; N]).unwrap()
}

pub fn gt(id: u32) -> GtNode<Quadratic<'static>, N, P> {
    GtNode::gradient_tracking(quadratic(id), config(id), [0.5; N]).unwrap()
}

/// A problem with one oracle that breaks in a given round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bad {
    Nothing,
    InnerGradient(f32),
    HessianVector(f32),
    CrossVector(f32),
    OuterGradientInner(f32),
    OuterGradientOuter(f32),
}

#[derive(Debug, Clone, Copy)]
pub struct Broken(pub Quadratic<'static>, pub Bad);

#[rustfmt::skip]
impl Problem for Broken {
    fn dimensions(&self) -> Dimensions { self.0.dimensions() }
    fn population(&self) -> Population { self.0.population() }
    fn inner_gradient(&self, at: Point<'_>, b: &Batch, s: f32, out: &mut [f32], w: &mut [f32]) {
        if let Bad::InnerGradient(bad) = self.1 { out[1] = bad } else { self.0.inner_gradient(at, b, s, out, w) }
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], b: &Batch, s: f32, out: &mut [f32], w: &mut [f32]) {
        if let Bad::HessianVector(bad) = self.1 { out[2] = bad } else { self.0.hessian_vector(at, v, b, s, out, w) }
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], b: &Batch, s: f32, out: &mut [f32], w: &mut [f32]) {
        if let Bad::CrossVector(bad) = self.1 { out[4] = bad } else { self.0.cross_vector(at, v, b, s, out, w) }
    }
    fn outer_gradient_inner(&self, at: Point<'_>, b: &Batch, s: f32, out: &mut [f32], w: &mut [f32]) {
        if let Bad::OuterGradientInner(bad) = self.1 { out[0] = bad } else { self.0.outer_gradient_inner(at, b, s, out, w) }
    }
    fn outer_gradient_outer(&self, at: Point<'_>, b: &Batch, s: f32, out: &mut [f32], w: &mut [f32]) {
        if let Bad::OuterGradientOuter(bad) = self.1 { out[0] = bad } else { self.0.outer_gradient_outer(at, b, s, out, w) }
    }
    fn inner_loss(&self, at: Point<'_>, b: &Batch, w: &mut [f32]) -> f32 { self.0.inner_loss(at, b, w) }
    fn outer_loss(&self, at: Point<'_>, b: &Batch, w: &mut [f32]) -> f32 { self.0.outer_loss(at, b, w) }
}
