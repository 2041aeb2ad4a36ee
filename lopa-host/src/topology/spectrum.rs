//! How fast a network mixes: rho = ‖W - 11'/m‖², the square of W's second largest absolute eigenvalue.
//!
//! The eigenvalues come from Lanczos' method on I - W, with the constant vector projected out in every step. No
//! other vector is kept orthogonal: rounding then makes copies of eigenvalues that have been found, but does not
//! move the outermost ones (Paige, 1980), and those are all that is wanted. So the memory is that of a few
//! vectors, a step costs no more than a round of mixing, and a thousand steps are no trouble. Where many more are
//! needed, as on a long ring, the low end comes from the inverse instead (see `elimination`). Nothing but + - * / and
//! square roots is used: the same bits on every machine.

mod elimination;

use lopa_core::draw::Draws;
use lopa_core::network::Edge;

use super::Weights;

/// The ends of W's spectrum, apart from the eigenvalue 1 of the constant vector.
///
/// ```
/// use lopa_host::topology::{Topology, Weights};
/// let spectrum = Weights::metropolis(&Topology::star(10)?).spectrum();
/// // A star's eigenvalues are 1, 0 and, eight times, 1 - 1/m.
/// assert!((spectrum.rho() - 0.81).abs() < 1e-7);
/// assert!(spectrum.error < 1e-7);
/// # Ok::<(), lopa_host::topology::TopologyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spectrum {
    /// The second largest eigenvalue. Correct to all digits only if it decides rho.
    pub second: f64,
    /// The smallest eigenvalue. Correct to all digits only if it decides rho.
    pub last: f64,
    /// 1 - sqrt(rho), with more digits than that difference has.
    pub gap: f64,
    /// A bound of the error of rho.
    pub error: f64,
    /// The steps it took.
    pub steps: usize,
}

impl Spectrum {
    /// ‖W - 11'/m‖²: consensus errors shrink by this factor or more a round, in squares.
    #[must_use]
    pub fn rho(&self) -> f64 {
        (1.0 - self.gap) * (1.0 - self.gap)
    }
}

impl Weights {
    /// The ends of the spectrum. On graphs whose spectrum is known, 1 - sqrt(rho) has ten right digits, or an error
    /// below 4e-16 where it is so small that this is more.
    #[must_use]
    pub fn spectrum(&self) -> Spectrum {
        lanczos(self.topology().nodes(), self.edges())
    }
}

/// Residuals below this part of the gap are good enough: errors are about their squares.
const RELATIVE: f64 = 1.0e-9;
/// What rounding leaves of the residuals.
const ABSOLUTE: f64 = 1.0e-14;
/// Steps after which another way is tried.
const PATIENCE: usize = 500;

fn lanczos(nodes: usize, edges: &[Edge]) -> Spectrum {
    if nodes < 2 {
        return Spectrum { second: 0.0, last: 0.0, gap: 1.0, error: 0.0, steps: 0 };
    }
    let mut here = start(nodes);
    let (mut before, mut next) = (vec![0.0; nodes], vec![0.0; nodes]);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::<f64>::new());
    let most = nodes.saturating_mul(20).saturating_add(100);
    let (mut check, mut patience) = (1, PATIENCE);
    loop {
        laplacian(edges, &here, &mut next);
        let back = beside.last().copied().unwrap_or(0.0);
        next.iter_mut().zip(&before).for_each(|(n, b)| *n -= back * b);
        let along = dot(&next, &here);
        next.iter_mut().zip(&here).for_each(|(n, h)| *n -= along * h);
        centre(&mut next);
        diagonal.push(along);
        let rest = norm(&next);

        let steps = diagonal.len();
        if steps >= check || rest <= ABSOLUTE || steps >= most {
            check = steps + steps / 4 + 1;
            let (low, tail) = lowest(&diagonal, &beside);
            let low_residual = rest * tail;
            diagonal.iter_mut().for_each(|d| *d = -*d);
            let (high, tail) = lowest(&diagonal, &beside);
            diagonal.iter_mut().for_each(|d| *d = -*d);
            let (high, high_residual) = (-high, rest * tail);
            // The end that decides rho must stand still, and the other one must not overtake it.
            let gap = low.min(2.0 - high);
            let fine = |gap_here: f64, residual: f64| {
                residual <= (RELATIVE * gap).max(ABSOLUTE) || gap_here - residual > gap
            };
            let done = fine(low, low_residual) && fine(2.0 - high, high_residual);
            if done || rest <= ABSOLUTE || steps >= most {
                let residual = if low <= 2.0 - high { low_residual } else { high_residual };
                let error = 2.0 * residual + ABSOLUTE;
                return Spectrum { second: 1.0 - low, last: 1.0 - high, gap, error, steps };
            }
            // Only the low end keeps it: the inverse may be quicker. A step there takes some ten times as long, so
            // that a try in vain costs no more than has been spent.
            let bound = 2.0 - high - high_residual;
            if steps >= patience && bound > low {
                patience = steps.saturating_mul(4);
                let work = steps.saturating_mul(edges.len()) / 10;
                let inverse = elimination::lowest_by_inverse(nodes, edges, work);
                if let Some((gap, error, solves)) = inverse.filter(|(gap, ..)| *gap < bound) {
                    let (second, last) = (1.0 - gap, 1.0 - high);
                    let (error, steps) = (2.0 * error + ABSOLUTE, steps + solves);
                    return Spectrum { second, last, gap, error, steps };
                }
            }
        }
        beside.push(rest);
        next.iter_mut().for_each(|n| *n /= rest);
        std::mem::swap(&mut before, &mut here);
        std::mem::swap(&mut here, &mut next);
    }
}

/// A random vector of length one and mean zero.
fn start(nodes: usize) -> Vec<f64> {
    let mut stream = Draws { seed: 0, node: 0 }.stream(0, crate::purposes::SPECTRUM);
    let mut vector: Vec<f64> = (0..nodes).map(|_| stream.signed_unit().into()).collect();
    centre(&mut vector);
    let length = norm(&vector);
    vector.iter_mut().for_each(|a| *a /= length);
    vector
}

/// (I - W) x, as differences along the links: what a node keeps is implied, exactly as in the exchange.
fn laplacian(edges: &[Edge], x: &[f64], result: &mut [f64]) {
    let mut edges = edges.iter().peekable();
    for ((node, result), own) in (0_u32..).zip(result).zip(x) {
        *result = 0.0;
        while let Some(edge) = edges.next_if(|edge| edge.node == node) {
            *result += f64::from(edge.weight) * (own - x[edge.neighbour as usize]);
        }
    }
}

/// A sum of products in eight lanes: one order everywhere, and no waiting for the addition before.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Subtracts the mean.
fn centre(a: &mut [f64]) {
    let (chunks, rest) = a.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, a)| *lane += a);
    }
    let sum = lanes.iter().sum::<f64>() + rest.iter().sum::<f64>();
    let mean = sum / a.len() as f64;
    a.iter_mut().for_each(|a| *a -= mean);
}

/// The smallest eigenvalue of a symmetric tridiagonal matrix, and the last element of its unit eigenvector.
fn lowest(diagonal: &[f64], beside: &[f64]) -> (f64, f64) {
    // The pivots of T - shift; whether all are positive, which is whether shift lies below the spectrum.
    let mut pivots = vec![0.0; diagonal.len()];
    let mut below = |shift: f64| {
        let mut borrowed = 0.0;
        for (i, (pivot, d)) in pivots.iter_mut().zip(diagonal).enumerate() {
            *pivot = d - shift - borrowed;
            if *pivot <= 0.0 {
                return false;
            }
            borrowed = beside.get(i).map_or(0.0, |b| b * b / *pivot);
        }
        true
    };
    let around = |i: usize| {
        let left = i.checked_sub(1).and_then(|i| beside.get(i)).copied().unwrap_or(0.0);
        left + beside.get(i).copied().unwrap_or(0.0)
    };
    let bound = |sign: f64| diagonal.iter().enumerate().map(move |(i, d)| d + sign * around(i));
    let scale = bound(1.0).chain(bound(-1.0)).fold(0.0, |top, b| b.abs().max(top));
    let tiny = 4.0 * f64::EPSILON * scale + f64::MIN_POSITIVE;
    let mut low = bound(-1.0).fold(f64::INFINITY, f64::min) - tiny;
    let mut high = diagonal.iter().copied().fold(f64::INFINITY, f64::min);
    while high - low > 0.25 * f64::EPSILON * scale {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        *(if below(middle) { &mut low } else { &mut high }) = middle;
    }
    if !below(low) {
        // Cannot be but by rounding at the very start; a bound is then all there is.
        return (low, 1.0);
    }
    // Inverse iteration. With the off-diagonal negative (the spectrum is the same) nothing ever cancels:
    // inverse and eigenvector are positive throughout.
    let mut vector = vec![1.0; diagonal.len()];
    for _ in 0..3 {
        for i in 1..vector.len() {
            vector[i] += beside[i - 1] / pivots[i - 1] * vector[i - 1];
        }
        for i in (0..vector.len()).rev() {
            let after = vector.get(i + 1).map_or(0.0, |after| beside[i] * after);
            vector[i] = (vector[i] + after) / pivots[i];
        }
        let length = norm(&vector);
        vector.iter_mut().for_each(|v| *v /= length);
    }
    (low, vector.last().copied().unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tridiagonal_solver_knows_a_path() {
        // Diagonal 2, beside -1: eigenvalues 2 - 2 cos(k pi / (n + 1)), eigenvectors sines.
        for n in [1, 2, 3, 10, 1_000] {
            let (value, last) = lowest(&vec![2.0; n], &vec![1.0; n - 1]);
            let angle = std::f64::consts::PI / (n + 1) as f64;
            assert!((value - (2.0 - 2.0 * libm::cos(angle))).abs() < 4e-15, "{n}: {value}");
            let expected = libm::sin(n as f64 * angle) * (2.0 / (n + 1) as f64).sqrt();
            assert!((last / expected - 1.0).abs() < 1e-6, "{n}: {last} {expected}");
        }
    }

    #[test]
    fn one_and_two_nodes_agree_at_once() {
        let rho =
            |nodes| Weights::metropolis(&super::super::Topology::ring(nodes)).spectrum().rho();
        assert_eq!(rho(1), 0.0);
        assert!(rho(2) < 1e-28 && rho(3) < 1e-14);
    }
}
