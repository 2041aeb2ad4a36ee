//! Measures a network.

use lopa_core::batch::Batch;
use lopa_core::epoch::Epoch;
use lopa_core::exchange::Micros;
use lopa_core::node::State;
use lopa_core::problem::{Point, Problem};
use lopa_core::problems::AnyProblem;
use lopa_core::samples::Samples;
use rayon::prelude::*;

use super::{Metric, accuracy, column};
use crate::algorithms::{NodeView, Sent};
use crate::exact::{Exact, Measurement};
use crate::network::Traffic;
use crate::numerics::vector::{mean, squared_distance};
use crate::record::Record;
use crate::theory::Coefficients;

/// A node's samples for training, validation and testing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSamples<'a> {
    /// Training samples, for the inner problem.
    pub train: Samples<'a>,
    /// Validation samples, for the outer problem.
    pub validation: Samples<'a>,
    /// Test samples, if there are any.
    pub test: Option<Samples<'a>>,
}

/// Totals that the nodes themselves do not hold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// What a node sent to each of its neighbours.
    pub sent: Sent,
    /// What all nodes sent over their links, if there is a table of them.
    pub traffic: Option<Traffic>,
    /// The simulated time until the slowest node had completed the round, if links are simulated.
    pub fleet_time: Option<Micros>,
    /// Seconds spent computing rounds.
    pub seconds: f64,
    /// Whether nodes agree on θ, and x is fixed.
    pub single_level: bool,
}

/// What is measured of one node: see [`Meter::NODE`]. What was not measured, or does not exist, is `None`.
pub type NodeValues = [Option<f64>; 5];

/// Measures the chosen metrics, round after round.
#[derive(Debug)]
pub struct Meter<'a> {
    metrics: Vec<Metric>,
    /// Empty for problems without samples.
    samples: Vec<NodeSamples<'a>>,
    /// The weights of the Lyapunov function, if it is measured.
    coefficients: Option<Coefficients>,
}

/// The metrics of single nodes, in the order of the columns of [`Meter::node_record`].
const PER_NODE: [Metric; 5] = [
    Metric::OuterLoss,
    Metric::InnerLoss,
    Metric::TrainAccuracy,
    Metric::ValidationAccuracy,
    Metric::TestAccuracy,
];

impl<'a> Meter<'a> {
    /// The metrics of single nodes, in the order of their [values](NodeValues).
    pub const NODE: [Metric; 5] = PER_NODE;

    /// Measures these metrics. `samples` are the nodes' own, empty for problems without samples; the Lyapunov function
    /// needs `coefficients`.
    #[must_use]
    pub const fn new(
        metrics: Vec<Metric>,
        samples: Vec<NodeSamples<'a>>,
        coefficients: Option<Coefficients>,
    ) -> Self {
        Self { metrics, samples, coefficients }
    }

    /// A record without rows.
    #[must_use]
    pub fn record(&self) -> Record {
        let metrics = self.metrics.iter().map(|metric| metric.column());
        Record::new(std::iter::once(column("iteration")).chain(metrics).collect())
    }

    /// A record of single nodes without rows: the iteration, the node, and its losses and accuracies.
    #[must_use]
    pub fn node_record() -> Record {
        let own = PER_NODE.map(Metric::column);
        Record::new(["iteration", "node"].map(column).into_iter().chain(own).collect())
    }

    /// Measures the network: a row of [`Meter::record`].
    #[must_use]
    pub fn measure(
        &self,
        nodes: &[NodeView<'_, AnyProblem<'_>>],
        totals: Totals,
    ) -> Vec<Option<f64>> {
        self.measure_with(nodes, &self.values(nodes), totals)
    }

    /// Measures single nodes, as far as the chosen metrics need it.
    #[must_use]
    pub fn values(&self, nodes: &[NodeView<'_, AnyProblem<'_>>]) -> Vec<NodeValues> {
        self.own(nodes, &self.metrics)
    }

    /// Measures the network, whose single nodes have been [measured](Meter::values).
    #[must_use]
    pub fn measure_with(
        &self,
        nodes: &[NodeView<'_, AnyProblem<'_>>],
        own: &[NodeValues],
        totals: Totals,
    ) -> Vec<Option<f64>> {
        let Totals { sent, traffic, fleet_time, seconds, single_level } = totals;
        let at_mean = self.at_mean(nodes);
        let exact = self.exact(nodes);
        let lyapunov = exact.as_ref().zip(self.coefficients.as_ref()).map(|(f, c)| c.value(f));
        let exact = |of: fn(&Measurement) -> f64| exact.as_ref().map(of);
        // A mean: nodes that truncate their series at random evaluate different numbers of products.
        let count = |index: usize| {
            let sum: u64 = nodes.iter().map(|node| node.evaluations.to_array()[index]).sum();
            (!nodes.is_empty()).then(|| sum as f64 / nodes.len() as f64)
        };
        let averaged = |all: &[NodeValues], metric: Metric| {
            let sum = all.iter().map(|own| own[place(metric)]).sum::<Option<f64>>();
            sum.map(|sum| sum / all.len().max(1) as f64)
        };
        let value = |metric: &Metric| match metric {
            Metric::OuterLoss
            | Metric::InnerLoss
            | Metric::TrainAccuracy
            | Metric::ValidationAccuracy
            | Metric::TestAccuracy => averaged(own, *metric),
            Metric::OuterLossAtMean => averaged(&at_mean, Metric::OuterLoss),
            Metric::TestAccuracyAtMean => averaged(&at_mean, Metric::TestAccuracy),
            Metric::Consensus if single_level => Some(consensus(nodes, |node| node.theta)),
            Metric::Consensus => Some(consensus(nodes, |node| node.x)),
            Metric::Tracking => tracking(nodes),
            Metric::Hypergradient => exact(|values| values.hypergradient),
            Metric::InnerError => exact(|values| values.inner_error),
            Metric::HvError => nodes.first()?.v.and(exact(|values| values.hv_error)),
            Metric::AverageVarianceError => {
                nodes.first()?.z.and(exact(|values| values.average_variance_error))
            }
            Metric::Lyapunov => lyapunov,
            Metric::InnerGradients => count(0),
            Metric::HessianVectors => count(1),
            Metric::CrossVectors => count(2),
            Metric::OuterGradientsInner => count(3),
            Metric::OuterGradientsOuter => count(4),
            Metric::Vectors => Some(sent.vectors as f64),
            Metric::Floats => Some(sent.floats as f64),
            Metric::Bytes => traffic.map(|traffic| traffic.bytes as f64),
            Metric::Frames => traffic?.frames.map(|frames| frames as f64),
            Metric::FleetSeconds => fleet_time.map(|time| time as f64 / 1e6),
            Metric::Seconds => Some(seconds),
        };
        let iteration = nodes.first().map_or(0, |node| node.round) as f64;
        std::iter::once(Some(iteration)).chain(self.metrics.iter().map(value)).collect()
    }

    /// Measures single nodes: rows of [`Meter::node_record`].
    #[must_use]
    pub fn measure_nodes(&self, nodes: &[NodeView<'_, AnyProblem<'_>>]) -> Vec<Vec<Option<f64>>> {
        let own = self.own(nodes, &PER_NODE);
        let row = |(number, own): (usize, NodeValues)| {
            let NodeView { id, round, .. } = nodes[number];
            [Some(round as f64), Some(f64::from(id))].into_iter().chain(own).collect()
        };
        own.into_iter().enumerate().map(row).collect()
    }

    /// Exact values, if any are wanted; none where x has left the range in which the problems can be evaluated.
    ///
    /// The solvers start from the nodes' own variables and not from the previous solutions, so that a run that was
    /// stopped and resumed measures the same bits.
    fn exact(&self, nodes: &[NodeView<'_, AnyProblem<'_>>]) -> Option<Measurement> {
        if !self.metrics.iter().any(|metric| metric.is_exact()) {
            return None;
        }
        // Zeros stand for variables that an algorithm does not have; metrics of those are not shown.
        let longest = nodes.iter().map(|node| node.x.len().max(node.theta.len())).max();
        let zeros = vec![0.0; longest.unwrap_or(0)];
        let problems: Vec<_> = nodes.iter().map(|node| node.problem.in_floats()).collect();
        let nodes = nodes.iter().zip(&problems).map(|(node, problem)| {
            let (round, x, theta) = (node.round, node.x, node.theta);
            let or_zero = |vector: Option<_>, like: &[f32]| {
                let fitting = vector.filter(|vector: &&[f32]| vector.len() == like.len());
                fitting.unwrap_or(&zeros[..like.len()])
            };
            let [z, y] = [node.z, node.y].map(|vector| or_zero(vector, x));
            let v = or_zero(node.v, theta);
            (problem, State { round, epoch: Epoch::FIRST, x, theta, v, z, y })
        });
        Exact::default().measure(nodes).ok()
    }

    /// Every node's loss and accuracy at the network's mean of x, as far as they are wanted.
    fn at_mean(&self, nodes: &[NodeView<'_, AnyProblem<'_>>]) -> Vec<NodeValues> {
        let wanted = [
            (Metric::OuterLossAtMean, Metric::OuterLoss),
            (Metric::TestAccuracyAtMean, Metric::TestAccuracy),
        ];
        let wanted = wanted.iter().filter(|(metric, _)| self.metrics.contains(metric));
        let wanted: Vec<Metric> = wanted.map(|(_, own)| *own).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let x: Vec<f32> = mean(nodes.iter().map(|node| node.x)).iter().map(|a| *a as f32).collect();
        let at = nodes.iter().map(|node| NodeView { x: &x, ..node.clone() });
        self.own(&at.collect::<Vec<_>>(), &wanted)
    }

    /// Every node's own values as far as they are wanted, in the order of the nodes.
    fn own(&self, nodes: &[NodeView<'_, AnyProblem<'_>>], wanted: &[Metric]) -> Vec<NodeValues> {
        let own = |workspace: &mut Vec<f32>, (number, node)| {
            own(node, self.samples.get(number), wanted, workspace)
        };
        nodes.par_iter().enumerate().map_init(Vec::new, own).collect()
    }
}

/// The place of a node's own metric.
fn place(metric: Metric) -> usize {
    PER_NODE.iter().position(|own| *own == metric).unwrap_or(0)
}

/// One node's values.
fn own(
    node: &NodeView<'_, AnyProblem<'_>>,
    samples: Option<&NodeSamples<'_>>,
    wanted: &[Metric],
    workspace: &mut Vec<f32>,
) -> NodeValues {
    let problem = node.problem.in_floats();
    workspace.resize(problem.dimensions().workspace, 0.0);
    let at = Point { x: node.x, theta: node.theta };
    problem.prepare(at.x, workspace);
    let population = problem.population();
    PER_NODE.map(|metric| {
        if !wanted.contains(&metric) {
            return None;
        }
        let set = match metric {
            Metric::OuterLoss => {
                let batch = Batch::full(population.outer);
                return Some(f64::from(problem.outer_loss(at, &batch, workspace)));
            }
            Metric::InnerLoss => {
                let batch = Batch::full(population.inner);
                return Some(f64::from(problem.inner_loss(at, &batch, workspace)));
            }
            Metric::TrainAccuracy => samples?.train,
            Metric::ValidationAccuracy => samples?.validation,
            _ => samples?.test?,
        };
        accuracy(&set, |each| problem.predict_all(at, &set, workspace, each))
    })
}

fn consensus<'n>(
    nodes: &[NodeView<'n, AnyProblem<'_>>],
    of: fn(&NodeView<'n, AnyProblem<'_>>) -> &'n [f32],
) -> f64 {
    let mean = mean(nodes.iter().map(of));
    nodes.iter().map(|node| squared_distance(of(node), &mean)).sum::<f64>()
        / nodes.len().max(1) as f64
}

/// None for algorithms without tracking.
fn tracking(nodes: &[NodeView<'_, AnyProblem<'_>>]) -> Option<f64> {
    if nodes.iter().any(|node| node.y.is_none() || node.z.is_none()) {
        return None;
    }
    let y = mean(nodes.iter().filter_map(|node| node.y));
    let z = mean(nodes.iter().filter_map(|node| node.z));
    Some(squared_distance(&y, &z))
}
