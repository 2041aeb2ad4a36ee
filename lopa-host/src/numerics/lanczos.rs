//! Lanczos' method: the ends of the spectrum of a symmetric matrix that is known by its products alone.

use lopa_core::draw::Draws;

use super::tridiagonal::{End, Tridiagonal};
use super::vector::{
    centre, dot, dot_in_lanes, norm, norm_in_lanes, normalise, orthogonalise, subtract,
};
use crate::purposes;

/// The most steps of [`ends`], which keeps a vector for each.
const STEPS: usize = 300;
/// Steps from one look at the ends to the next.
const EVERY: usize = 10;
/// Ends that move by less than this part of themselves between two looks have settled.
const STILL: f64 = 1.0e-7;

/// Which vectors are kept, and so stay orthogonal to new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All.
    All,
    /// The last two, and the constant vector. Rounding then makes copies of eigenvalues that have been found, but does
    /// not move the outermost ones (Paige, 1980), and a step costs little more than its product.
    Two,
}

/// The method, step by step.
#[derive(Debug, Clone)]
pub(crate) struct Lanczos {
    keep: Keep,
    /// Orthonormal vectors, the newest last.
    basis: Vec<Vec<f64>>,
    /// What the last step left, and its norm.
    next: Vec<f64>,
    rest: f64,
    /// The matrix in that basis.
    pub(crate) matrix: Tridiagonal,
}

impl Lanczos {
    /// Starts from a vector of length one.
    pub(crate) fn new(start: Vec<f64>, keep: Keep) -> Self {
        let next = vec![0.0; start.len()];
        Self { keep, basis: vec![start], next, rest: 0.0, matrix: Tridiagonal::default() }
    }

    /// Adds a row to the tridiagonal matrix and returns what couples it to the next one; zero ends the method.
    pub(crate) fn step(&mut self, product_of: impl FnOnce(&[f64], &mut [f64])) -> f64 {
        let Self { keep, basis, next, rest, matrix } = self;
        if !matrix.diagonal.is_empty() {
            matrix.beside.push(*rest);
            next.iter_mut().for_each(|n| *n /= *rest);
            if let (Keep::Two, [before, here]) = (*keep, &mut basis[..]) {
                std::mem::swap(before, here);
                std::mem::swap(here, next);
            } else {
                basis.push(next.clone());
            }
        }
        let here = &basis[basis.len() - 1];
        product_of(here, next);
        let along = match keep {
            Keep::All => {
                let along = dot(next, here);
                orthogonalise(next, basis);
                *rest = norm(next);
                along
            }
            Keep::Two => {
                if let [before, _] = &basis[..] {
                    subtract(next, *rest, before);
                }
                let along = dot_in_lanes(next, here);
                subtract(next, along, here);
                centre(next);
                *rest = norm_in_lanes(next);
                along
            }
        };
        matrix.diagonal.push(along);
        *rest
    }
}

/// A direction of length one that depends on the seed and a number alone.
pub(crate) fn random_direction(len: usize, seed: u64, number: u32) -> Vec<f64> {
    let mut stream = Draws { seed, node: number }.stream(0, purposes::DIRECTION);
    let mut a: Vec<f64> = (0..len).map(|_| stream.signed_unit().into()).collect();
    normalise(&mut a);
    a
}

/// What an end must settle relative to.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    /// Itself: both ends matter.
    Ends,
    /// The larger of the two: the norm matters.
    Norm,
}

/// The largest absolute eigenvalue of a symmetric matrix, known by its products.
pub(crate) fn symmetric_norm(
    len: usize,
    seed: u64,
    noise: f64,
    product_of: impl FnMut(&[f64], &mut [f64]),
) -> f64 {
    let (low, high) = ends(len, seed, noise, Wanted::Norm, product_of);
    high.max(-low)
}

/// The smallest and the largest eigenvalue of a symmetric matrix, known by its products.
///
/// `noise` is how exact the products are, relative to the largest eigenvalue. Both ends are approached from within.
pub(crate) fn ends(
    len: usize,
    seed: u64,
    noise: f64,
    wanted: Wanted,
    mut product_of: impl FnMut(&[f64], &mut [f64]),
) -> (f64, f64) {
    let mut lanczos = Lanczos::new(random_direction(len, seed, 0), Keep::All);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    loop {
        let rest = lanczos.step(&mut product_of);
        let matrix = &lanczos.matrix;
        let steps = matrix.diagonal.len();
        let size = matrix.diagonal.iter().fold(0.0_f64, |top, d| top.max(d.abs()));
        let last = steps >= len.min(STEPS) || rest.is_nan() || rest <= noise * size;
        if last || steps.is_multiple_of(EVERY) {
            let before = (low, high);
            (low, high) = (matrix.end(End::Low), matrix.end(End::High));
            let top = low.abs().max(high.abs());
            let still = |a: f64, b: f64| {
                let size = if wanted == Wanted::Norm { top } else { b.abs() };
                (a - b).abs() <= STILL.max(noise) * size
            };
            if last || (still(before.0, low) && still(before.1, high)) {
                return (low, high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_known_spectrum() {
        // 2 on the diagonal, -1 beside it: 2 - 2 cos(kπ / (n + 1)).
        let n = 40;
        let (low, high) = ends(n, 3, 1.0e-15, Wanted::Ends, |a, out| {
            for i in 0..n {
                let at = |j: usize| a.get(j).copied().unwrap_or(0.0);
                out[i] = 2.0 * a[i] - at(i.wrapping_sub(1)) - at(i + 1);
            }
        });
        let cosine = libm::cos(std::f64::consts::PI / 41.0);
        assert!((low - (2.0 - 2.0 * cosine)).abs() < 1.0e-13, "{low}");
        assert!((high - (2.0 + 2.0 * cosine)).abs() < 1.0e-13, "{high}");
    }

    #[test]
    fn one_number_and_the_zero_matrix() {
        assert_eq!(ends(1, 0, 1.0e-7, Wanted::Ends, |a, out| out[0] = -3.0 * a[0]), (-3.0, -3.0));
        assert_eq!(symmetric_norm(5, 0, 1.0e-7, |_, out| out.fill(0.0)), 0.0);
    }
}
