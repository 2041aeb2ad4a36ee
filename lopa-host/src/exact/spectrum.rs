//! The ends of a symmetric matrix's spectrum, by Lanczos' method with every vector kept orthogonal.

use lopa_core::draw::Draws;

use super::{dot, norm};

/// Steps, at most: a vector of the matrix' size is kept for each.
const STEPS: usize = 300;
/// How often the ends are looked at.
const EVERY: usize = 10;
/// Ends that move by less than this part of themselves between two looks stand still.
const STILL: f64 = 1.0e-7;

/// A direction that depends on the seed alone, of length one.
pub(super) fn random_direction(len: usize, seed: u64, node: u32) -> Vec<f64> {
    let mut stream = Draws { seed, node }.stream(0, crate::purposes::DIRECTION);
    let mut a: Vec<f64> = (0..len).map(|_| stream.signed_unit().into()).collect();
    normalise(&mut a);
    a
}

/// Divides a vector by its length, which it returns; leaves a vector of length zero or none.
pub(super) fn normalise(a: &mut [f64]) -> f64 {
    let length = norm(a);
    if length > 0.0 {
        a.iter_mut().for_each(|a| *a /= length);
    }
    length
}

/// Takes the parts along others, which are orthonormal, out of a vector; twice, because once leaves rounding.
pub(super) fn orthogonalise(a: &mut [f64], others: &[Vec<f64>]) {
    for other in others.iter().chain(others) {
        let along = dot(a, other);
        a.iter_mut().zip(other).for_each(|(a, o)| *a -= along * o);
    }
}

/// What an end must stand still relative to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    /// Itself: both ends matter.
    Ends,
    /// The larger of the two: the norm matters.
    Norm,
}

/// The largest absolute eigenvalue of a symmetric matrix, known by its products.
pub(super) fn symmetric_norm(
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
pub(super) fn ends(
    len: usize,
    seed: u64,
    noise: f64,
    wanted: Wanted,
    mut product_of: impl FnMut(&[f64], &mut [f64]),
) -> (f64, f64) {
    let mut basis: Vec<Vec<f64>> = vec![random_direction(len, seed, 0)];
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut next = vec![0.0; len];
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    loop {
        let here = &basis[basis.len() - 1];
        product_of(here, &mut next);
        diagonal.push(dot(&next, here));
        orthogonalise(&mut next, &basis);
        let rest = normalise(&mut next);
        let steps = diagonal.len();
        let size = diagonal.iter().fold(0.0_f64, |top, d| top.max(d.abs()));
        let last = steps >= len.min(STEPS) || rest.is_nan() || rest <= noise * size;
        if last || steps % EVERY == 0 {
            let before = (low, high);
            (low, high) = (lowest(&diagonal, &beside), highest(&diagonal, &beside));
            let top = low.abs().max(high.abs());
            let still = |a: f64, b: f64| {
                let size = if wanted == Wanted::Norm { top } else { b.abs() };
                (a - b).abs() <= STILL.max(noise) * size
            };
            if last || (still(before.0, low) && still(before.1, high)) {
                return (low, high);
            }
        }
        beside.push(rest);
        basis.push(next.clone());
    }
}

fn highest(diagonal: &[f64], beside: &[f64]) -> f64 {
    let negative: Vec<f64> = diagonal.iter().map(|d| -d).collect();
    -lowest(&negative, beside)
}

/// The smallest eigenvalue of a symmetric tridiagonal matrix, by bisection.
fn lowest(diagonal: &[f64], beside: &[f64]) -> f64 {
    // Gershgorin's circles hold them all.
    let side = |i: usize| beside.get(i).copied().unwrap_or(0.0);
    let radius = |i: usize| side(i) + if i > 0 { side(i - 1) } else { 0.0 };
    let (mut low, mut high) = (f64::INFINITY, f64::INFINITY);
    for (i, d) in diagonal.iter().enumerate() {
        low = low.min(d - radius(i));
        high = high.min(*d);
    }
    // No eigenvalue is below a while every pivot of T - a is positive.
    let none_below = |a: f64| {
        let mut pivot = f64::INFINITY;
        diagonal.iter().enumerate().all(|(i, d)| {
            let above = if i > 0 { side(i - 1) * side(i - 1) / pivot } else { 0.0 };
            pivot = d - a - above;
            pivot > 0.0
        })
    };
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if none_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
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
