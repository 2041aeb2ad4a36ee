//! What LoPA never computes: inner solutions, exact hypergradients, and the errors by which the paper measures a run.
//!
//! - [`solve`]: θ*(x), v*(x), Φ(x) and ∇Φ(x) of one node;
//! - [`Exact`]: the same for a network, from round to round, with the network's errors as a [`Measurement`].
//!
//! # Accuracy
//!
//! Problems are evaluated in f32, so no answer can be more exact than that. Every sum and every iterate is f64; θ* and
//! v* are rounded to f32, because the oracles take f32, and their residuals are measured at the rounded values. The
//! solvers stop when the residual is below two roundings of its terms or no longer falls: at 1e-7 to 1e-6 of its scale
//! in a well-posed problem. A residual ε means an error of up to ε times the condition number in θ* and v*: with tiny
//! regularisation, check the [`Residuals`] before trusting the rest.
//!
//! # Cost
//!
//! Oracles are evaluated over all samples. Without a guess, a solution takes about ten inner gradients and, with κ the
//! condition number of ∇²θθ g, some 7 √κ Hessian-vector products (at most 10 (p + 100)); from the solution at a nearby
//! point, about half of that. A LoPA round costs one of each. The answer does not depend on the number of threads.

mod network;
pub(crate) mod oracle;
mod solve;

pub use network::{Exact, Measurement};
pub use solve::{Residuals, Solution, Solver, solve};

/// Why an exact value could not be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExactError {
    /// A vector has the wrong length for the problem.
    #[error("{name} has {found} elements, expected {needed}")]
    Length {
        /// Its name.
        name: &'static str,
        /// The length it must have.
        needed: usize,
        /// The length it has.
        found: usize,
    },
    /// A number is infinite or not a number: x has left the range where the problem can be evaluated.
    #[error("{name} is not finite: x is too far out, try smaller step sizes")]
    NotFinite {
        /// What it belongs to.
        name: &'static str,
    },
    /// There is no node to measure.
    #[error("the network has no nodes")]
    Empty,
    /// It happened on one node of a network.
    #[error("node {node}: {error}")]
    Node {
        /// Its number.
        node: usize,
        /// What happened.
        #[source]
        error: Box<ExactError>,
    },
}

/// The results of a network's nodes, in order; the first error names its node.
pub(crate) fn of_nodes<T>(
    results: impl IntoIterator<Item = Result<T, ExactError>>,
) -> Result<Vec<T>, ExactError> {
    let named = |(node, result): (usize, Result<T, ExactError>)| {
        result.map_err(|error| ExactError::Node { node, error: Box::new(error) })
    };
    results.into_iter().enumerate().map(named).collect()
}

pub(crate) fn check_length(
    name: &'static str,
    found: usize,
    needed: usize,
) -> Result<(), ExactError> {
    if found == needed { Ok(()) } else { Err(ExactError::Length { name, needed, found }) }
}
