//! The paper's theory applied to an experiment.

use lopa_core::epoch::Epoch;
use lopa_core::node::State;
use lopa_core::problem::{Dimensions, Problem};
use lopa_core::problems::AnyProblem;

use super::{Prepared, RunError};
use crate::exact::Exact;
use crate::theory::{Constants, Heterogeneity, Theory, Variances};

impl Prepared {
    /// Measures the constants of the assumptions where the run starts. This takes seconds for 784 features, and minutes
    /// for a large shared layer.
    ///
    /// # Errors
    /// A node, which is named, has a problem that cannot be evaluated there.
    pub fn theory(&self) -> Result<Theory, RunError> {
        let failed = |error| RunError::Input(format!("theory: {error}"));
        let samples = self.material.samples()?;
        let problems = self.problems(&samples)?;
        let problems: Vec<&AnyProblem<'_>> = problems.iter().collect();
        let seed = self.experiment.run.seed;
        let largest = |of: fn(Dimensions) -> usize| {
            problems.iter().map(|problem| of(problem.dimensions())).max().unwrap_or(0)
        };
        let (outer, inner) = (largest(|size| size.outer), largest(|size| size.inner));
        let x = self.x0(outer);
        let zeros = vec![0.0; outer.max(inner)];
        let start = problems.iter().map(|&problem| {
            let (n, p) = (&zeros[..outer], &zeros[..problem.dimensions().inner]);
            (problem, State { round: 0, epoch: Epoch::FIRST, x: &x, theta: p, v: p, z: n, y: n })
        });
        Ok(Theory {
            start: Exact::default().measure(start).map_err(failed)?,
            constants: Constants::measure(problems.iter().copied(), &x, seed).map_err(failed)?,
            heterogeneity: Heterogeneity::measure(&problems, &x).map_err(failed)?,
            variances: Variances::measure(&problems, &x, self.experiment.batch(), seed)
                .map_err(failed)?,
            rho: self.weights.spectrum().rho(),
            nodes: problems.len(),
        })
    }
}
