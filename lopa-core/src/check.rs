//! Checks the derivatives of a problem against finite differences.
//!
//! Floats have seven digits, and the difference of two losses loses most of them: the checker finds a wrong sign, a
//! factor of two or a missing term, but not an error in the fourth digit.

use crate::batch::Batch;
use crate::draw::{Draws, Purpose, Stream};
use crate::math;
use crate::problem::{Point, Problem};
use crate::vector::{add_scaled, dot, norm_squared};

/// How far each oracle is from finite differences, relative to the size of what is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// ∇θ g against differences of g.
    pub inner_gradient: f32,
    /// ∇²θθ g · v against differences of ∇θ g.
    pub hessian_vector: f32,
    /// ⟨u, ∇²θθ g · v⟩ against ⟨v, ∇²θθ g · u⟩.
    pub symmetry: f32,
    /// ∇²xθ g · v against differences of ⟨∇θ g, v⟩.
    pub cross_vector: f32,
    /// ∇θ f against differences of f.
    pub outer_gradient_inner: f32,
    /// ∇x f against differences of f.
    pub outer_gradient_outer: f32,
    /// ∇x g against differences of g; zero for a problem that does not offer it.
    pub inner_gradient_outer: f32,
}

impl Report {
    /// The largest of them: below about 0.01 for a correct problem, near 1 for a wrong one.
    #[must_use]
    pub fn worst(&self) -> f32 {
        [
            self.inner_gradient,
            self.hessian_vector,
            self.symmetry,
            self.cross_vector,
            self.outer_gradient_inner,
            self.outer_gradient_outer,
            self.inner_gradient_outer,
        ]
        .into_iter()
        .fold(0.0, larger)
    }
}

/// Why a problem was not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
#[non_exhaustive]
pub enum CheckError {
    /// The checker needs more memory: see [`memory`].
    Memory {
        /// The floats needed.
        needed: usize,
        /// The floats given.
        found: usize,
    },
    /// A vector does not have the length that the problem gives.
    Length {
        /// Which one.
        name: &'static str,
        /// The length it must have.
        needed: usize,
        /// The length it has.
        found: usize,
    },
}

impl core::fmt::Display for CheckError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Memory { needed, found } => {
                write!(f, "the checker needs {needed} floats of memory, there are {found}")
            }
            Self::Length { name, needed, found } => {
                write!(f, "{name} has {found} elements, {needed} are needed")
            }
        }
    }
}

impl core::error::Error for CheckError {}

/// The floats [`derivatives`] needs for n, p and the problem's workspace.
#[must_use]
pub const fn memory(outer: usize, inner: usize, workspace: usize) -> usize {
    3 * outer + 5 * inner + workspace
}

/// How many random directions are tried.
const DIRECTIONS: u64 = 8;

/// Compares all derivatives of a problem at a point, in random directions, over the full sets.
///
/// `room` is working memory of [`memory`]`(n, p, workspace)` floats.
///
/// # Errors
/// Refuses too little memory, and vectors of the wrong length.
pub fn derivatives<P: Problem + ?Sized>(
    problem: &P,
    point: Point<'_>,
    v: &[f32],
    room: &mut [f32],
) -> Result<Report, CheckError> {
    let size = problem.dimensions();
    let (n, p) = (size.outer, size.inner);
    for (name, vector, needed) in [("x", point.x, n), ("theta", point.theta, p), ("v", v, p)] {
        if vector.len() != needed {
            return Err(CheckError::Length { name, needed, found: vector.len() });
        }
    }
    let (needed, found) = (memory(n, p, size.workspace), room.len());
    let mut rest = room.get_mut(..needed).ok_or(CheckError::Memory { needed, found })?;
    let mut cut = |len: usize| {
        let (part, left) = core::mem::take(&mut rest).split_at_mut(len);
        rest = left;
        part
    };
    let (x, along_x, out_x) = (cut(n), cut(n), cut(n));
    let (theta, along_theta) = (cut(p), cut(p));
    let (out, low, high) = (cut(p), cut(p), cut(p));
    let workspace = cut(size.workspace);
    let population = problem.population();
    let (inner, outer) = (Batch::full(population.inner), Batch::full(population.outer));
    let mut worst = [Error::default(); 7];

    for trial in 0..DIRECTIONS {
        let mut stream = Draws { seed: trial, node: 0 }.stream(0, Purpose::custom(0xc4ec));
        direction(along_x, &mut stream);
        direction(along_theta, &mut stream);
        let step_x = 0.02 * (1.0 + math::sqrt(norm_squared(point.x) / n as f32));
        let step_theta = 0.02 * (1.0 + math::sqrt(norm_squared(point.theta) / p as f32));

        // In θ: g and f against their gradients, ∇θ g against the Hessian.
        problem.prepare(point.x, workspace);
        let mut loss = [[0.0; 2]; 2];
        for (side, sign) in [-1.0, 1.0].into_iter().enumerate() {
            move_to(theta, point.theta, sign * step_theta, along_theta);
            let at = Point { x: point.x, theta };
            loss[0][side] = problem.inner_loss(at, &inner, workspace);
            loss[1][side] = problem.outer_loss(at, &outer, workspace);
            let gradient = if side == 0 { &mut *low } else { &mut *high };
            gradient.fill(0.0);
            problem.inner_gradient(at, &inner, 1.0, gradient, workspace);
        }
        let slope = |[low, high]: [f32; 2], step: f32| (high - low) / (2.0 * step);
        out.fill(0.0);
        problem.inner_gradient(point, &inner, 1.0, out, workspace);
        let size = math::sqrt(norm_squared(out));
        worst[0].note(dot(out, along_theta) - slope(loss[0], step_theta), size);
        out.fill(0.0);
        problem.outer_gradient_inner(point, &outer, 1.0, out, workspace);
        let size = math::sqrt(norm_squared(out));
        worst[4].note(dot(out, along_theta) - slope(loss[1], step_theta), size);
        out.fill(0.0);
        problem.hessian_vector(point, along_theta, &inner, 1.0, out, workspace);
        let size = math::sqrt(norm_squared(out));
        for (out, (low, high)) in out.iter().zip(low.iter().zip(&*high)) {
            worst[1].note(out - slope([*low, *high], step_theta), size);
        }
        let one_way = dot(v, out);
        let scale = math::sqrt(norm_squared(out) * norm_squared(v));
        out.fill(0.0);
        problem.hessian_vector(point, v, &inner, 1.0, out, workspace);
        worst[2].note(one_way - dot(along_theta, out), scale);

        // In x: f and g against their gradients, ⟨∇θ g, v⟩ against the cross product.
        out_x.fill(0.0);
        let offered = problem.inner_gradient_outer(point, &inner, 1.0, out_x, workspace);
        let (want_g, size_g) = (dot(out_x, along_x), math::sqrt(norm_squared(out_x)));
        out_x.fill(0.0);
        problem.outer_gradient_outer(point, &outer, 1.0, out_x, workspace);
        let (want_f, size_f) = (dot(out_x, along_x), math::sqrt(norm_squared(out_x)));
        out_x.fill(0.0);
        problem.cross_vector(point, v, &inner, 1.0, out_x, workspace);
        let (want_cross, size_cross) = (dot(out_x, along_x), math::sqrt(norm_squared(out_x)));
        let mut inner_loss = [0.0; 2];
        for (side, sign) in [-1.0, 1.0].into_iter().enumerate() {
            move_to(x, point.x, sign * step_x, along_x);
            let at = Point { x, theta: point.theta };
            problem.prepare(x, workspace);
            out.fill(0.0);
            problem.inner_gradient(at, &inner, 1.0, out, workspace);
            loss[0][side] = dot(out, v);
            loss[1][side] = problem.outer_loss(at, &outer, workspace);
            if offered {
                inner_loss[side] = problem.inner_loss(at, &inner, workspace);
            }
        }
        if offered {
            worst[6].note(want_g - slope(inner_loss, step_x), size_g);
        }
        worst[3].note(want_cross - slope(loss[0], step_x), size_cross);
        worst[5].note(want_f - slope(loss[1], step_x), size_f);
    }
    let [
        inner_gradient,
        hessian_vector,
        symmetry,
        cross_vector,
        outer_gradient_inner,
        outer_gradient_outer,
        inner_gradient_outer,
    ] = worst.map(|error| error.relative());
    Ok(Report {
        inner_gradient,
        hessian_vector,
        symmetry,
        cross_vector,
        outer_gradient_inner,
        outer_gradient_outer,
        inner_gradient_outer,
    })
}

/// The largest difference so far, and the size of what was compared.
#[derive(Clone, Copy, Default)]
struct Error {
    difference: f32,
    size: f32,
}

impl Error {
    fn note(&mut self, difference: f32, size: f32) {
        self.difference = larger(self.difference, difference.abs());
        self.size = self.size.max(size);
    }

    fn relative(self) -> f32 {
        self.difference / (self.size + 0.1)
    }
}

/// The larger of two errors; NaN is the largest of all.
fn larger(a: f32, b: f32) -> f32 {
    if b.is_nan() || b > a { b } else { a }
}

/// A random direction of length one.
fn direction(along: &mut [f32], stream: &mut Stream) {
    along.fill_with(|| stream.signed_unit());
    let length = math::sqrt(norm_squared(along)).max(f32::MIN_POSITIVE);
    for a in along {
        *a /= length;
    }
}

/// `to = from + step * along`.
fn move_to(to: &mut [f32], from: &[f32], step: f32, along: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
    add_scaled(to, step, along);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::{Quadratic, QuadraticParts};

    #[test]
    fn memory_and_vectors_that_are_too_short_are_refused_by_name() {
        let one: &[f32] = &[1.0];
        let parts = QuadraticParts {
            diagonal: one,
            spike: one,
            coupling: one,
            shift: one,
            target: one,
            centre: one,
            rigidity: 0.5,
        };
        let problem = Quadratic::new(parts).unwrap();
        let check =
            |x, theta, v, room| derivatives(&problem, Point { x, theta }, v, &mut [0.0; 8][..room]);
        assert!(check(one, one, one, memory(1, 1, 0)).is_ok());
        let short = |name| Err(CheckError::Length { name, needed: 1, found: 0 });
        assert_eq!(check(&[], one, one, 8), short("x"));
        assert_eq!(check(one, &[], one, 8), short("theta"));
        assert_eq!(check(one, one, &[], 8), short("v"));
        assert_eq!(check(one, one, one, 7), Err(CheckError::Memory { needed: 8, found: 7 }));
    }
}
