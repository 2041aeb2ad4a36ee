//! The schema of `state.json` and `summary.json`.

use std::collections::BTreeMap;

use lopa_core::problems::AnyProblem;
use serde::Serialize;

use super::{Chosen, Provenance, Results, Score};
use crate::algorithms::NodeView;
use crate::config::Experiment;

/// A node in `state.json`; variables that its algorithm does not have are left out. Floats are written so that they
/// read back to the same bits.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NodeState<'a> {
    /// Its number.
    pub id: u32,
    /// Rounds completed, where nodes may differ in that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// The outer variable, relative to [`States::base`].
    pub x: &'a [f32],
    /// The inner variable.
    pub theta: &'a [f32],
    /// The Hessian-inverse-vector estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v: Option<&'a [f32]>,
    /// The estimate of the hypergradient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<&'a [f32]>,
    /// The tracking variable, or the descent direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<&'a [f32]>,
    /// Other variables, by name.
    #[serde(flatten)]
    pub extra: BTreeMap<&'static str, &'a [f32]>,
}

impl<'a, P> From<&NodeView<'a, P>> for NodeState<'a> {
    fn from(node: &NodeView<'a, P>) -> Self {
        let NodeView { id, x, theta, v, z, y, .. } = *node;
        Self { id, round: None, x, theta, v, z, y, extra: node.extra.iter().copied().collect() }
    }
}

/// `state.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct States<'a> {
    /// The rounds that all nodes have completed.
    pub iteration: u64,
    /// What to add to an element of x for the logarithm of a strength; left out if it is 0, as in all problems that learn no
    /// strengths.
    #[serde(skip_serializing_if = "is_zero")]
    pub base: f32,
    /// Whether all were read between the same two rounds; of boards only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_rest: Option<bool>,
    /// The nodes.
    pub nodes: Vec<NodeState<'a>>,
}

impl<'a> States<'a> {
    /// Nodes that are all between the same two rounds.
    #[must_use]
    pub fn new(nodes: &[NodeView<'a, AnyProblem<'a>>]) -> Self {
        let (iteration, base) =
            nodes.first().map_or((0, 0.0), |node| (node.round, node.problem.base()));
        Self { iteration, base, at_rest: None, nodes: nodes.iter().map(NodeState::from).collect() }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(a: &f32) -> bool {
    *a == 0.0
}

/// `summary.json`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Summary<'a> {
    version: &'static str,
    algorithm: &'static str,
    source: &'static str,
    reconstruction: Option<&'static str>,
    iterations: u64,
    finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    diverged: Option<&'a str>,
    nodes: usize,
    links: usize,
    rho: f64,
    /// Before weights were rounded to multiples of 1/256, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    rho_unrounded: Option<f64>,
    losses: u64,
    metrics: BTreeMap<&'a str, Option<f64>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    chosen: &'a [Chosen],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    comparison: &'a [Score],
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<&'a serde_json::Value>,
    experiment: &'a Experiment,
    provenance: Provenance,
}

impl<'a> Summary<'a> {
    pub(super) fn new(results: &Results<'a>) -> Self {
        let Results { experiment, weights, nodes, record, finished, losses, .. } = *results;
        let about = experiment.algorithm.name.about();
        let last = record.rows().last();
        let metrics = record.columns().iter().enumerate().skip(1);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            algorithm: about.title,
            source: about.source,
            reconstruction: about.reconstruction,
            iterations: nodes.first().map_or(0, |node| node.round),
            finished,
            diverged: results.diverged,
            nodes: nodes.len(),
            links: weights.topology().links().count(),
            rho: weights.spectrum().rho(),
            rho_unrounded: results.unrounded.map(|weights| weights.spectrum().rho()),
            losses,
            metrics: metrics
                .map(|(at, column)| (column.name.as_str(), last.and_then(|row| row[at])))
                .collect(),
            chosen: results.chosen,
            comparison: results.learned.map_or(&[], |learned| &learned.scores),
            fleet: results.fleet.map(|(account, _)| account),
            experiment,
            provenance: Provenance::of(results),
        }
    }
}
