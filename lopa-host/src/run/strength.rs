//! One strength for all features: where a shared variable starts, and all that a node alone or one common model choose.

use lopa_core::problem::Problem;
use rayon::prelude::*;

use crate::exact::Solver;

/// The logarithms of strengths that are tried: first every other one, then those beside the best.
const GRID: [f32; 11] = [2.0, 1.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0];
const HALF: f32 = 0.5;

/// The strength whose models, fitted to training samples, have the least loss on validation samples, as a mean over nodes.
/// `x` makes a shared variable of a strength.
///
/// Nodes are solved in parallel; the answer does not depend on the number of threads.
pub(super) fn best<P: Problem + Sync>(problems: &[P], x: impl Fn(f32) -> Vec<f32>) -> f32 {
    let mut solvers: Vec<Solver> =
        problems.iter().map(|problem| Solver::new(problem.dimensions())).collect();
    // The loss, infinite where it cannot be computed.
    let mut loss = |strength: f32| -> f64 {
        let x = x(strength);
        let solve = |(solver, problem): (&mut Solver, &P)| {
            solver.solve(problem, &x).map_or(f64::INFINITY, |solution| solution.phi)
        };
        solvers.par_iter_mut().zip(problems).map(solve).collect::<Vec<f64>>().iter().sum()
    };
    // From strong to weak, so that each solution is near the one before. Of equal ones, the stronger.
    let least = |all: Vec<(f32, f64)>| {
        let first = (0.0, f64::INFINITY);
        all.into_iter().fold(first, |best, one| if one.1 < best.1 { one } else { best })
    };
    let coarse = least(GRID.map(|strength| (strength, loss(strength))).into());
    let beside = [coarse.0 + HALF, coarse.0 - HALF].map(|strength| (strength, loss(strength)));
    least([&[coarse], &beside[..]].concat()).0
}
