//! How fast a network mixes: rho = ‖W - 11'/m‖², the square of W's second largest absolute eigenvalue.
//!
//! The eigenvalues come from Lanczos' method on I - W, with the constant vector projected out in every step. No other
//! vector is kept orthogonal, so the memory is that of a few vectors, a step costs no more than a round of mixing, and
//! a thousand steps are no trouble. Long thin networks, such as a ring, need many more: there the low end comes from
//! the inverse, by elimination. A network that takes too much work to eliminate has short ways between its nodes, and
//! Lanczos' method is quick. Only + - * / and square roots are used: the same bits on every machine.

use lopa_core::draw::Draws;

use super::Weights;
use crate::numerics::lanczos::{Keep, Lanczos};
use crate::numerics::laplacian::{self, Elimination};
use crate::numerics::tridiagonal::End;
use crate::numerics::vector::{centre, norm_in_lanes};

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
    /// The number of steps it took.
    pub steps: usize,
}

impl Spectrum {
    /// ‖W - 11'/m‖²: squared consensus errors shrink at least by this factor per round.
    #[must_use]
    pub fn rho(&self) -> f64 {
        (1.0 - self.gap) * (1.0 - self.gap)
    }
}

/// Residuals below this part of the gap are good enough: errors are about their squares.
const RELATIVE: f64 = 1.0e-9;
/// What rounding leaves of the residuals.
const ABSOLUTE: f64 = 1.0e-14;
/// Steps after which the inverse is tried.
const PATIENCE: usize = 500;
/// The most solves with the inverse; a well separated eigenvalue needs a dozen.
const MOST_SOLVES: usize = 200;

impl Weights {
    /// The ends of the spectrum. On graphs whose spectrum is known, 1 - sqrt(rho) has ten right digits, or an error
    /// below 4e-16 where it is so small that this is more.
    #[must_use]
    pub fn spectrum(&self) -> Spectrum {
        *self.spectrum.get_or_init(|| self.compute_spectrum())
    }

    fn compute_spectrum(&self) -> Spectrum {
        let (nodes, edges) = (self.topology().nodes(), self.edges());
        if nodes < 2 {
            return Spectrum { second: 0.0, last: 0.0, gap: 1.0, error: 0.0, steps: 0 };
        }
        let mut lanczos = Lanczos::new(start(nodes), Keep::Two);
        let most = nodes.saturating_mul(20).saturating_add(100);
        let (mut check, mut patience) = (1, PATIENCE);
        loop {
            let rest = lanczos.step(|x, out| laplacian::product(edges, x, out));
            let matrix = &lanczos.matrix;
            let steps = matrix.diagonal.len();
            if steps < check && rest > ABSOLUTE && steps < most {
                continue;
            }
            check = steps + steps / 4 + 1;
            let (low, tail) = matrix.end_with_tail(End::Low);
            let low_residual = rest * tail;
            let (high, tail) = matrix.end_with_tail(End::High);
            let high_residual = rest * tail;
            // The end that decides rho must have settled, and the other one must not overtake it.
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
            // Only the low end is still moving: the inverse may be quicker. A step there takes some ten times as long,
            // so a failed attempt costs no more than has been spent.
            let bound = 2.0 - high - high_residual;
            if steps >= patience && bound > low {
                patience = steps.saturating_mul(4);
                let work = steps.saturating_mul(edges.len()) / 10;
                let inverse = lowest_by_inverse(self, work);
                if let Some((gap, error, solves)) = inverse.filter(|(gap, ..)| *gap < bound) {
                    let (second, last) = (1.0 - gap, 1.0 - high);
                    let (error, steps) = (2.0 * error + ABSOLUTE, steps + solves);
                    return Spectrum { second, last, gap, error, steps };
                }
            }
        }
    }
}

/// The smallest eigenvalue of I - W apart from 0, a bound of its error, and the number of solves it took. Nothing if
/// elimination needs more than `work` steps, or the bound is not small.
fn lowest_by_inverse(weights: &Weights, work: usize) -> Option<(f64, f64, usize)> {
    let (nodes, edges) = (weights.topology().nodes(), weights.edges());
    let elimination = Elimination::new(nodes, edges, work)?;
    // Lanczos' method on the inverse, whose largest eigenvalue is well separated from the others.
    let mut lanczos = Lanczos::new(start(nodes), Keep::Two);
    let mut back = vec![0.0; nodes];
    // The largest residual of any solution: the error of the inverse, relative to its norm.
    let mut missed: f64 = 0.0;
    for solves in 1..=MOST_SOLVES {
        let rest = lanczos.step(|b, x| {
            x.copy_from_slice(b);
            elimination.solve(x);
            centre(x);
            laplacian::product(edges, x, &mut back);
            back.iter_mut().zip(b).for_each(|(back, b)| *back -= b);
            missed = missed.max(norm_in_lanes(&back));
        });
        let (top, tail) = lanczos.matrix.end_with_tail(End::High);
        if !(top.is_finite() && top > 0.0) {
            return None;
        }
        let (gap, residual) = (1.0 / top, rest * tail / top);
        if residual <= 0.25 * RELATIVE {
            // If the relative error of the inverse is small, so is that of the gap; two covers the rest of the series.
            let error = 2.0 * gap * (residual + missed);
            return (error <= (RELATIVE * gap).max(ABSOLUTE)).then_some((gap, error, solves));
        }
    }
    None
}

/// A random vector of length one and mean zero.
fn start(nodes: usize) -> Vec<f64> {
    let mut stream = Draws { seed: 0, node: 0 }.stream(0, crate::purposes::SPECTRUM);
    let mut vector: Vec<f64> = (0..nodes).map(|_| stream.signed_unit().into()).collect();
    centre(&mut vector);
    let length = norm_in_lanes(&vector);
    vector.iter_mut().for_each(|a| *a /= length);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    #[test]
    fn one_and_two_nodes_agree_at_once() {
        let rho = |nodes| Weights::metropolis(&Topology::ring(nodes)).spectrum().rho();
        assert_eq!(rho(1), 0.0);
        assert!(rho(2) < 1e-28 && rho(3) < 1e-14);
    }

    #[test]
    fn both_ways_agree() {
        for (graph, name) in [
            (Topology::geometric(200, 0.15, 1).unwrap(), "geometric"),
            (Topology::small_world(300, 4, 0.05, 1).unwrap(), "small world"),
            (Topology::grid(12, 17).unwrap(), "grid"),
            (Topology::ring(400), "ring"),
        ] {
            let weights = Weights::metropolis(&graph);
            let spectrum = weights.spectrum();
            assert!(spectrum.steps < PATIENCE, "{name} does not need the inverse");
            let (gap, error, _) = lowest_by_inverse(&weights, usize::MAX).unwrap();
            let off = (gap - spectrum.gap).abs();
            assert!(off <= error + spectrum.error && off < 1e-9 * gap, "{name}: {off:e} {error:e}");
        }
    }

    #[test]
    fn too_much_work_is_refused() {
        let graph = Topology::erdos_renyi(300, 0.3, 1).unwrap();
        let weights = Weights::metropolis(&graph);
        assert!(lowest_by_inverse(&weights, 100_000).is_none());
        assert!(lowest_by_inverse(&weights, usize::MAX).is_some());
    }

    #[test]
    fn a_hundred_thousand_nodes_in_a_row() {
        let third = f64::from(1.0_f32 / 3.0);
        for (graph, turn) in
            [(Topology::ring(100_000), 2.0), (Topology::path(100_000).unwrap(), 1.0)]
        {
            let spectrum = Weights::metropolis(&graph).spectrum();
            let sine = libm::sin(std::f64::consts::PI * turn / 200_000.0);
            let known = 4.0 * third * sine * sine;
            // Far more digits than an error bound of 1e-14 promises.
            assert!((spectrum.gap / known - 1.0).abs() < 1e-10, "{spectrum:?}");
            assert!(spectrum.error < 2e-14 && spectrum.steps < 1_000, "{spectrum:?}");
        }
    }
}
