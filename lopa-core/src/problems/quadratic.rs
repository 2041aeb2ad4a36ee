//! A problem in which everything has a closed form: the reference of the tests.

use super::rows;
use crate::batch::Batch;
use crate::problem::{Dimensions, Point, Population, Problem, ProblemError};
use crate::vector::{add_scaled, all_finite, dot};

/// A quadratic bilevel problem.
///
/// ```text
/// g(x, θ) = ½ θ'Aθ - θ'(Bx + c)      A = diag(a) + uu'
/// f(x, θ) = ½ ‖θ - t‖² + r/2 ‖x - q‖²
/// ```
///
/// A is dense, yet its inverse is known (Sherman and Morrison), and so are θ*(x), v*(x) and the
/// hypergradient: [`Quadratic::solve`] and [`Quadratic::hypergradient`]. There are no samples, so batches have no
/// effect.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Quadratic<'a>(QuadraticParts<'a>);

/// The parts of a [`Quadratic`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct QuadraticParts<'a> {
    /// a: the positive diagonal of A (length p).
    pub diagonal: &'a [f32],
    /// u: the rank-one part of A (length p).
    pub spike: &'a [f32],
    /// B, row after row (p times n).
    pub coupling: &'a [f32],
    /// c (length p).
    pub shift: &'a [f32],
    /// t: the θ that f prefers (length p).
    pub target: &'a [f32],
    /// q: the x that f prefers (length n).
    pub centre: &'a [f32],
    /// r: how strongly f prefers that x; not negative.
    pub rigidity: f32,
}

impl<'a> Quadratic<'a> {
    /// Takes the parts of a problem with n = `centre.len()` and p = `diagonal.len()`.
    ///
    /// # Errors
    /// Refuses lengths that do not fit, non-finite numbers, and an A that is not positive definite.
    pub fn new(parts: QuadraticParts<'a>) -> Result<Self, ProblemError> {
        let (n, p) = (parts.centre.len(), parts.diagonal.len());
        let Some(cells) = n.checked_mul(p).filter(|&cells| cells > 0) else {
            return Err(ProblemError::Size { name: "centre or diagonal" });
        };
        for (name, vector, needed) in [
            ("diagonal", parts.diagonal, p),
            ("spike", parts.spike, p),
            ("coupling", parts.coupling, cells),
            ("shift", parts.shift, p),
            ("target", parts.target, p),
            ("centre", parts.centre, n),
        ] {
            if vector.len() != needed {
                return Err(ProblemError::Length { name, needed, found: vector.len() });
            }
            if !all_finite(vector) {
                return Err(ProblemError::Parameter { name });
            }
        }
        if parts.diagonal.iter().any(|&a| a <= 0.0) {
            return Err(ProblemError::Parameter { name: "diagonal" });
        }
        if !(parts.rigidity >= 0.0 && parts.rigidity.is_finite()) {
            return Err(ProblemError::Parameter { name: "rigidity" });
        }
        Ok(Self(parts))
    }

    /// The parts.
    #[must_use]
    pub const fn parts(&self) -> &QuadraticParts<'a> {
        &self.0
    }

    /// Replaces b with the solution a of A a = b.
    fn divide_by_a(&self, b: &mut [f32]) {
        let QuadraticParts { diagonal, spike, .. } = self.0;
        for (b, a) in b.iter_mut().zip(diagonal) {
            *b /= a;
        }
        let mut size = 1.0;
        for (u, a) in spike.iter().zip(diagonal) {
            size += u * u / a;
        }
        let along = dot(spike, b) / size;
        for (b, (u, a)) in b.iter_mut().zip(spike.iter().zip(diagonal)) {
            *b -= along * u / a;
        }
    }

    /// Writes the inner solution θ*(x) into `theta` (length p).
    pub fn solve(&self, x: &[f32], theta: &mut [f32]) {
        let rows = rows(self.0.coupling, self.0.centre.len());
        for (theta, (row, c)) in theta.iter_mut().zip(rows.zip(self.0.shift)) {
            *theta = dot(row, x) + c;
        }
        self.divide_by_a(theta);
    }

    /// Writes ∇Φ(x) of this node into `out` (length n); afterwards `v` (length p) is v*(x).
    pub fn hypergradient(&self, x: &[f32], v: &mut [f32], out: &mut [f32]) {
        self.solve(x, v);
        for (v, t) in v.iter_mut().zip(self.0.target) {
            *v -= t;
        }
        self.divide_by_a(v);
        for (out, (x, q)) in out.iter_mut().zip(x.iter().zip(self.0.centre)) {
            *out = self.0.rigidity * (x - q);
        }
        for (row, &v) in rows(self.0.coupling, self.0.centre.len()).zip(&*v) {
            add_scaled(out, v, row);
        }
    }

    /// Adds `scale` A a to `out`.
    fn add_a_times(&self, scale: f32, a: &[f32], out: &mut [f32]) {
        let along = dot(self.0.spike, a);
        for ((out, a), (d, u)) in
            out.iter_mut().zip(a).zip(self.0.diagonal.iter().zip(self.0.spike))
        {
            *out += scale * (d * a + u * along);
        }
    }
}

impl Problem for Quadratic<'_> {
    fn dimensions(&self) -> Dimensions {
        Dimensions { outer: self.0.centre.len(), inner: self.0.diagonal.len(), workspace: 0 }
    }

    fn population(&self) -> Population {
        Population { inner: 0, outer: 0 }
    }

    fn inner_gradient(&self, at: Point<'_>, _: &Batch, scale: f32, out: &mut [f32], _: &mut [f32]) {
        let rows = rows(self.0.coupling, self.0.centre.len());
        self.add_a_times(scale, at.theta, out);
        for (out, (row, c)) in out.iter_mut().zip(rows.zip(self.0.shift)) {
            *out -= scale * (dot(row, at.x) + c);
        }
    }

    fn hessian_vector(
        &self,
        _: Point<'_>,
        v: &[f32],
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        self.add_a_times(scale, v, out);
    }

    fn cross_vector(
        &self,
        _: Point<'_>,
        v: &[f32],
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        for (row, v) in rows(self.0.coupling, self.0.centre.len()).zip(v) {
            add_scaled(out, -(scale * v), row);
        }
    }

    fn outer_gradient_inner(
        &self,
        at: Point<'_>,
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        for (out, (theta, t)) in out.iter_mut().zip(at.theta.iter().zip(self.0.target)) {
            *out += scale * (theta - t);
        }
    }

    fn outer_gradient_outer(
        &self,
        at: Point<'_>,
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) {
        for (out, (x, q)) in out.iter_mut().zip(at.x.iter().zip(self.0.centre)) {
            *out += scale * (self.0.rigidity * (x - q));
        }
    }

    fn inner_gradient_outer(
        &self,
        at: Point<'_>,
        _: &Batch,
        scale: f32,
        out: &mut [f32],
        _: &mut [f32],
    ) -> bool {
        for (row, theta) in rows(self.0.coupling, self.0.centre.len()).zip(at.theta) {
            add_scaled(out, -(scale * theta), row);
        }
        true
    }

    fn inner_loss(&self, at: Point<'_>, _: &Batch, _: &mut [f32]) -> f32 {
        let along = dot(self.0.spike, at.theta);
        let mut loss = 0.5 * along * along;
        let rows = rows(self.0.coupling, self.0.centre.len());
        for ((a, c), (row, theta)) in
            self.0.diagonal.iter().zip(self.0.shift).zip(rows.zip(at.theta))
        {
            loss += theta * (0.5 * a * theta - dot(row, at.x) - c);
        }
        loss
    }

    fn outer_loss(&self, at: Point<'_>, _: &Batch, _: &mut [f32]) -> f32 {
        let distance =
            |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b));
        0.5 * distance(at.theta, self.0.target)
            + 0.5 * self.0.rigidity * distance(at.x, self.0.centre)
    }
}
