//! Evaluates a problem's oracles with the right batches, and counts the evaluations.

use crate::batch::Sampler;
use crate::draw::Purpose;
use crate::problem::{Point, Problem};

/// How often each oracle was evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Evaluations {
    /// ∇θ g. Methods that take differences of gradients count those here, of θ and of x alike.
    pub inner_gradient: u64,
    /// ∇²θθ g · v.
    pub hessian_vector: u64,
    /// ∇²xθ g · v.
    pub cross_vector: u64,
    /// ∇θ f.
    pub outer_gradient_inner: u64,
    /// ∇x f.
    pub outer_gradient_outer: u64,
}

impl Evaluations {
    /// The counters in the order of the paper's draws ξ₁, ξ₂, ξ₃, ς₁, ς₂.
    #[must_use]
    pub const fn to_array(self) -> [u64; 5] {
        [
            self.inner_gradient,
            self.hessian_vector,
            self.cross_vector,
            self.outer_gradient_inner,
            self.outer_gradient_outer,
        ]
    }

    /// The counters from that order.
    #[must_use]
    pub const fn from_array(counts: [u64; 5]) -> Self {
        let [
            inner_gradient,
            hessian_vector,
            cross_vector,
            outer_gradient_inner,
            outer_gradient_outer,
        ] = counts;
        Self {
            inner_gradient,
            hessian_vector,
            cross_vector,
            outer_gradient_inner,
            outer_gradient_outer,
        }
    }
}

/// A problem and a sampler, in one round, at one outer variable.
///
/// Every algorithm on every [`Problem`] draws and counts through this; nothing else calls the oracles.
#[derive(Debug)]
pub struct Oracles<'a, P: ?Sized> {
    problem: &'a P,
    sampler: Sampler,
    round: u64,
    repeat: u32,
    evaluations: &'a mut Evaluations,
    workspace: &'a mut [f32],
}

impl<'a, P: Problem + ?Sized> Oracles<'a, P> {
    /// Prepares the problem's workspace for the outer variable `x`, at which all oracles will be evaluated.
    pub fn new(
        problem: &'a P,
        sampler: Sampler,
        round: u64,
        x: &[f32],
        evaluations: &'a mut Evaluations,
        workspace: &'a mut [f32],
    ) -> Self {
        problem.prepare(x, workspace);
        Self { problem, sampler, round, repeat: 0, evaluations, workspace }
    }

    /// Makes the evaluations that follow draw fresh batches: the `n`-th step of an inner loop.
    pub fn repeat(&mut self, n: u32) {
        self.repeat = n;
    }

    fn batch(&self, purpose: Purpose, population: usize) -> crate::batch::Batch {
        let purpose = if self.repeat == 0 { purpose } else { purpose.repeat(self.repeat) };
        self.sampler.batch(self.round, purpose, population)
    }

    /// d: writes ∇θ g to `out`.
    pub fn inner_gradient(&mut self, at: Point<'_>, out: &mut [f32]) {
        let batch = self.batch(Purpose::INNER_GRADIENT, self.problem.population().inner);
        out.fill(0.0);
        self.problem.inner_gradient(at, &batch, 1.0, out, self.workspace);
        self.evaluations.inner_gradient = self.evaluations.inner_gradient.wrapping_add(1);
    }

    /// h: writes ∇²θθ g · v - ∇θ f to `out`.
    pub fn hv_residual(&mut self, at: Point<'_>, v: &[f32], out: &mut [f32]) {
        self.hessian_vector(at, v, out);
        self.add_outer_gradient_inner(at, -1.0, out);
    }

    /// s: writes ∇x f - ∇²xθ g · v to `out`.
    pub fn hypergradient(&mut self, at: Point<'_>, v: &[f32], out: &mut [f32]) {
        let population = self.problem.population();
        let outer = self.batch(Purpose::OUTER_GRADIENT_OUTER, population.outer);
        let cross = self.batch(Purpose::CROSS_VECTOR, population.inner);
        self.problem.hypergradient(at, v, [&outer, &cross], out, self.workspace);
        let counts = &mut self.evaluations;
        counts.outer_gradient_outer = counts.outer_gradient_outer.wrapping_add(1);
        counts.cross_vector = counts.cross_vector.wrapping_add(1);
    }

    /// Adds ∇x f to `out`.
    pub fn add_outer_gradient_outer(&mut self, at: Point<'_>, out: &mut [f32]) {
        let batch = self.batch(Purpose::OUTER_GRADIENT_OUTER, self.problem.population().outer);
        self.problem.outer_gradient_outer(at, &batch, 1.0, out, self.workspace);
        self.evaluations.outer_gradient_outer =
            self.evaluations.outer_gradient_outer.wrapping_add(1);
    }

    /// Adds ∇θ g to `inner` and ∇x g to `outer`, and returns whether the problem offers ∇x g. They are on the batches of
    /// ∇²θθ g · v and ∇²xθ g · v, whose place their differences take; two gradients are counted.
    pub fn add_gradients_for_products(
        &mut self,
        at: Point<'_>,
        inner: &mut [f32],
        outer: &mut [f32],
    ) -> bool {
        let population = self.problem.population().inner;
        let batch = self.batch(Purpose::HESSIAN_VECTOR, population);
        self.problem.inner_gradient(at, &batch, 1.0, inner, self.workspace);
        let batch = self.batch(Purpose::CROSS_VECTOR, population);
        let offered = self.problem.inner_gradient_outer(at, &batch, 1.0, outer, self.workspace);
        self.evaluations.inner_gradient = self.evaluations.inner_gradient.wrapping_add(2);
        offered
    }

    /// Writes ∇²θθ g · v to `out`.
    pub fn hessian_vector(&mut self, at: Point<'_>, v: &[f32], out: &mut [f32]) {
        let batch = self.batch(Purpose::HESSIAN_VECTOR, self.problem.population().inner);
        out.fill(0.0);
        self.problem.hessian_vector(at, v, &batch, 1.0, out, self.workspace);
        self.evaluations.hessian_vector = self.evaluations.hessian_vector.wrapping_add(1);
    }

    /// Adds `scale` ∇θ f to `out`.
    pub fn add_outer_gradient_inner(&mut self, at: Point<'_>, scale: f32, out: &mut [f32]) {
        let batch = self.batch(Purpose::OUTER_GRADIENT_INNER, self.problem.population().outer);
        self.problem.outer_gradient_inner(at, &batch, scale, out, self.workspace);
        self.evaluations.outer_gradient_inner =
            self.evaluations.outer_gradient_inner.wrapping_add(1);
    }
}

#[cfg(feature = "defmt")]
impl<P: ?Sized> defmt::Format for Oracles<'_, P> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Oracles(round {}, {})", self.round, self.sampler);
    }
}
