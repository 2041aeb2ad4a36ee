//! From the table `algorithm` to a network that learns.

use std::fmt;
use std::num::NonZeroU32;

use lopa_core::batch::Sampler;
use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::Config;
use lopa_core::problem::Problem;

use super::consensus::{Agreement, Consensus};
use super::estimate::{Estimate, Neumann};
use super::loopless::{Loopless, Order};
use super::ma_dsbo::MaDsbo;
use super::mdbo::Mdbo;
use super::rule::{Rule, RuleNode};
use super::{Algorithm, AlgorithmName, AlgorithmTable, Participant, TableError};
use crate::algorithms::workers::{Distributed, Place};
use crate::network::{InProcess, Simulation};

/// Why an algorithm could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Its table was refused.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It needs a derivative that a node's problem does not offer.
    #[error(
        "algorithm.name is {name}, which needs the gradient of g in x: the problem of node {node} must implement \
         inner_gradient_outer"
    )]
    Gradient {
        /// The algorithm.
        name: AlgorithmName,
        /// The node.
        node: u32,
    },
    /// Its network was refused.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// An algorithm on a network: one node per problem, in round 0; `start` gives x₀ for the length of x, `sampler` says how a
/// node draws its batches.
///
/// ```
/// use lopa_core::batch::Sampler;
/// use lopa_host::algorithms::{Algorithm, AlgorithmTable, build};
/// use lopa_host::quadratics::QuadraticRecipe;
/// use lopa_host::topology::Topology;
///
/// let recipe = QuadraticRecipe::new(3, 2, 1.0, 1);
/// let data: Vec<_> = (0..4).map(|node| recipe.node(node)).collect();
/// let problems = data.iter().map(|data| data.problem()).collect::<Result<Vec<_>, _>>()?;
/// let table: AlgorithmTable = toml::from_str(
///     r#"name = "slam"
///        alpha = 0.1
///        beta = 0.2
///        lambda = 0.3"#,
/// )?;
/// let edges = Topology::ring(4).metropolis();
/// let mut network = build(&table, problems, edges, |n| vec![0.0; n], Sampler::full)?;
/// network.step()?;
/// assert_eq!((network.round(), network.sent().vectors), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Names the key that is missing, out of range or not the algorithm's, and what is wrong with the network.
pub fn build<'p, P: Problem + Send + Sync + fmt::Debug + 'p>(
    table: &AlgorithmTable,
    problems: impl IntoIterator<Item = P>,
    edges: Vec<Edge>,
    start: impl Fn(usize) -> Vec<f32>,
    sampler: impl Fn(u32) -> Sampler,
) -> Result<Box<dyn Algorithm<P> + 'p>, BuildError> {
    build_at(table, problems, edges, start, sampler, None)
}

/// The same for a network in several processes: in the first one with the problems of all nodes, in the others with their own.
/// `sampler` gets a node's number among the problems here.
///
/// # Errors
/// As for one process.
pub fn build_at<'p, P: Problem + Send + Sync + fmt::Debug + 'p>(
    table: &AlgorithmTable,
    problems: impl IntoIterator<Item = P>,
    edges: Vec<Edge>,
    start: impl Fn(usize) -> Vec<f32>,
    sampler: impl Fn(u32) -> Sampler,
    place: Option<Place>,
) -> Result<Box<dyn Algorithm<P> + 'p>, BuildError> {
    table.check()?;
    // Checked: what is missing here is not used.
    let [alpha, beta, lambda, gamma, tau] =
        [table.alpha, table.beta, table.lambda, table.gamma, table.tau]
            .map(Option::unwrap_or_default);
    let terms = NonZeroU32::new(table.hessian_steps()).unwrap_or(NonZeroU32::MIN);
    let neumann = Neumann { lambda, terms, truncation: table.truncation() };
    let series = Estimate::Series { beta, neumann };
    let loopless = |order| Estimate::Loopless(Loopless { beta, lambda, gamma, order });
    let (estimate, consensus) = match table.name {
        AlgorithmName::LopaLg | AlgorithmName::LopaGt => {
            let (steps, scheme) = (table.steps()?, table.scheme()?);
            let config = |node| Config { steps, sampler: sampler(node) };
            let nodes = Simulation::in_round_0(problems, scheme, start, config)?;
            return Ok(join(nodes, edges, place)?);
        }
        AlgorithmName::Spdb => (series, Consensus::Tracking),
        AlgorithmName::GossipDsbo => (series, Consensus::Local),
        AlgorithmName::Slam => (series, Consensus::Multipliers),
        AlgorithmName::MaDsbo => {
            let (inner_steps, hessian_steps) = (table.inner_steps(), table.hessian_steps());
            // Its paper has one parameter for both.
            let gamma = table.gamma.unwrap_or(alpha);
            let method = MaDsbo { beta, lambda, gamma, inner_steps, hessian_steps };
            (Estimate::MaDsbo(method), Consensus::Delayed)
        }
        AlgorithmName::Mdbo | AlgorithmName::Vrdbo => {
            let reduced = table.name == AlgorithmName::Vrdbo;
            let inner_gamma = table.inner_gamma.unwrap_or(gamma);
            let method = Mdbo { reduced, inner_step: tau * beta, gamma, inner_gamma, neumann };
            (Estimate::Mdbo(method), Consensus::Tracking)
        }
        AlgorithmName::DSobaSo => (loopless(Order::AtOnce), Consensus::Diffusion),
        AlgorithmName::DSobaFo => (loopless(Order::AtOnceByDifferences), Consensus::Diffusion),
        AlgorithmName::SparkleExtra => (loopless(Order::InTurn), Consensus::Multipliers),
        AlgorithmName::SparkleEd => (loopless(Order::InTurn), Consensus::ExactDiffusion),
        AlgorithmName::SparkleGt => (loopless(Order::InTurn), Consensus::DiffusedTracking),
        AlgorithmName::Dgd => (Estimate::Gradient, Consensus::Local),
        AlgorithmName::Dsgt => (Estimate::Gradient, Consensus::Tracking),
    };
    let (single_level, tau) = (table.name.is_single_level(), table.tau.unwrap_or(1.0));
    let rule = Rule { estimate, agreement: Agreement { consensus, single_level, alpha, tau } };
    let node = |(number, problem): (u32, P)| {
        let x = start(problem.dimensions().outer);
        let node = RuleNode::new(rule, problem, x, sampler(number))
            .map_err(|error| NetworkError::Node { node: number as usize, error })?;
        if table.name == AlgorithmName::DSobaFo && !node.offers_gradient_in_x() {
            return Err(BuildError::Gradient { name: table.name, node: number });
        }
        Ok(node)
    };
    let nodes = (0_u32..).zip(problems).map(node).collect::<Result<_, BuildError>>()?;
    Ok(join(nodes, edges, place)?)
}

/// Joins nodes by the edges of the whole network, in this process or with those of others.
pub(crate) fn join<'p, P: 'p, M: Participant<P> + fmt::Debug + 'p>(
    nodes: Vec<M>,
    edges: Vec<Edge>,
    place: Option<Place>,
) -> Result<Box<dyn Algorithm<P> + 'p>, NetworkError> {
    Ok(match place {
        None => Box::new(InProcess::join(nodes, edges)?),
        Some(place) => Box::new(Distributed::join(nodes, &edges, place)?),
    })
}
