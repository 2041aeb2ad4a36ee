//! A network measured exactly: the errors of the paper's analysis.

use lopa_core::node::State;
use lopa_core::problem::Problem;
use rayon::prelude::*;

use super::solve::{Residuals, Solution, Solver};
use super::{ExactError, check_length, of_nodes};
use crate::numerics::vector::{mean, norm, squared_distance};

/// The errors of the paper's analysis, at the mean x̄ of the nodes' x. All norms are squared, as in the paper.
///
/// For a vector over the network, such as θ = col{θ_i}, ‖θ‖² sums over the nodes; (1/m) makes it a mean.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Measurement {
    /// ‖∇Φ(x̄)‖², with ∇Φ the mean of the nodes' hypergradients: what theorems 1 and 2 bound, on average over the
    /// rounds.
    pub hypergradient: f64,
    /// Φ(x̄), the mean of f_i(x̄, θ_i*(x̄)): the overall objective.
    pub phi: f64,
    /// Inner-level errors (1/m) ‖θ - θ*(x̄)‖².
    pub inner_error: f64,
    /// Hv errors (1/m) ‖v - v*(x̄)‖².
    pub hv_error: f64,
    /// Average variance errors ‖∇Φ(x̄) - z̄‖².
    pub average_variance_error: f64,
    /// Variance errors (1/m) ‖∇Φ̃(x̄) - z‖², with ∇Φ̃ = col{∇Φ_i}.
    pub variance_error: f64,
    /// Consensus errors (1/m) ‖x - 1 ⊗ x̄‖².
    pub consensus_error: f64,
    /// Gradient errors (1/m) ‖y - 1 ⊗ ȳ‖².
    pub gradient_error: f64,
    /// The largest residuals of any node's solution: they tell how far to trust the rest.
    pub residuals: Residuals,
}

/// The solvers of a network during a run: each measurement starts from the solutions of the one before.
///
/// ```
/// use lopa_core::batch::Sampler;
/// use lopa_core::node::{Config, Scheme};
/// use lopa_core::steps::StepSizes;
/// use lopa_host::data::synthetic::Recipe;
/// use lopa_host::exact::Exact;
/// use lopa_host::network::Simulation;
/// use lopa_host::topology::Topology;
///
/// let recipe = Recipe { features: 4, relevant: 2, samples: 30, alike: false, seed: 1 };
/// let shards: Vec<_> = (0..3).map(|node| recipe.shard(node)).collect();
/// let problems = shards.iter().map(|s| s.logistic()).collect::<Result<Vec<_>, _>>()?;
/// let steps = StepSizes::new(0.1, 0.1, 0.1, 0.3, 0.5)?;
/// let config = |node| Config { steps, sampler: Sampler::full(node) };
/// let edges = Topology::ring(3).metropolis();
/// let mut network =
///     Simulation::new(problems, Scheme::GradientTracking, edges, |n| vec![-2.0; n], config)?;
///
/// let mut exact = Exact::default();
/// let before = exact.measure(network.nodes().iter().map(|n| (n.problem(), n.state())))?;
/// for _ in 0..200 {
///     network.round()?;
/// }
/// let after = exact.measure(network.nodes().iter().map(|n| (n.problem(), n.state())))?;
/// assert!(after.hypergradient < before.hypergradient && after.phi < before.phi);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Exact {
    solvers: Vec<Solver>,
}

impl Exact {
    /// Solves every node's inner problem at the mean of the nodes' x, rounded to f32, and measures the network.
    ///
    /// Nodes are solved in parallel; the bits are the same for any number of threads. If the sizes of the network
    /// differ from last time, the solvers start again from the nodes' own θ and v.
    ///
    /// # Errors
    /// The network is empty, its vectors differ in length, or a node, which is named, cannot be solved.
    pub fn measure<'n, P: Problem + Sync + ?Sized + 'n>(
        &mut self,
        nodes: impl IntoIterator<Item = (&'n P, State<'n>)>,
    ) -> Result<Measurement, ExactError> {
        let nodes: Vec<(&P, State<'_>)> = nodes.into_iter().collect();
        let Some((_, first)) = nodes.first() else { return Err(ExactError::Empty) };
        let outer = first.x.len();
        of_nodes(nodes.iter().map(|(problem, state)| {
            let size = problem.dimensions();
            check_length("x", state.x.len(), outer)?;
            check_length("z", state.z.len(), outer)?;
            check_length("y", state.y.len(), outer)?;
            check_length("x", size.outer, outer)?;
            check_length("theta", state.theta.len(), size.inner)?;
            check_length("v", state.v.len(), size.inner)
        }))?;
        self.fit(&nodes)?;
        let x_mean = mean(nodes.iter().map(|(_, state)| state.x));
        let y_mean = mean(nodes.iter().map(|(_, state)| state.y));
        let z_mean = mean(nodes.iter().map(|(_, state)| state.z));
        let x: Vec<f32> = x_mean.iter().map(|&x| x as f32).collect();

        // In the order of the nodes, whatever the threads do.
        let results: Vec<Result<[f64; 5], ExactError>> = self
            .solvers
            .par_iter_mut()
            .zip(&nodes)
            .map(|(solver, (problem, state))| {
                let solution = solver.solve(*problem, &x)?;
                Ok([
                    squared_distance(state.theta, &solution.theta),
                    squared_distance(state.v, &solution.v),
                    squared_distance(state.z, &solution.hypergradient),
                    squared_distance(state.x, &x_mean),
                    squared_distance(state.y, &y_mean),
                ])
            })
            .collect();
        let own = of_nodes(results)?;

        let m = own.len() as f64;
        let [inner_error, hv_error, variance_error, consensus_error, gradient_error] =
            std::array::from_fn(|error| own.iter().map(|own| own[error]).sum::<f64>() / m);
        let solutions = || self.solvers.iter().map(Solver::solution);
        let hypergradient = mean(solutions().map(|solution| &solution.hypergradient[..]));
        let largest =
            |of: fn(&Residuals) -> f64| solutions().map(|s| of(&s.residuals)).fold(0.0, f64::max);
        let length = norm(&hypergradient);
        Ok(Measurement {
            hypergradient: length * length,
            phi: solutions().map(|s| s.phi).sum::<f64>() / m,
            inner_error,
            hv_error,
            average_variance_error: squared_distance(&hypergradient, &z_mean),
            variance_error,
            consensus_error,
            gradient_error,
            residuals: Residuals { inner: largest(|r| r.inner), hv: largest(|r| r.hv) },
        })
    }

    /// Makes solvers of the nodes' sizes unless they exist.
    fn fit<P: Problem + ?Sized>(&mut self, nodes: &[(&P, State<'_>)]) -> Result<(), ExactError> {
        let sizes = |solver: &Solver| {
            let Solution { theta, hypergradient, .. } = solver.solution();
            (theta.len(), hypergradient.len())
        };
        let wanted = nodes.iter().map(|(_, state)| (state.theta.len(), state.x.len()));
        if !self.solvers.iter().map(sizes).eq(wanted) {
            self.solvers.clear();
            for (problem, state) in nodes {
                let mut solver = Solver::new(problem.dimensions());
                solver.start(state.theta, state.v)?;
                self.solvers.push(solver);
            }
        }
        Ok(())
    }
}
