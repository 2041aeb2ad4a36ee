//! How a network learns: one row of figures.

use lopa_core::batch::Batch;
use lopa_core::problem::{Point, Problem};
use lopa_core::samples::{LabelKind, Row, Samples};
use rayon::prelude::*;
use serde::Serialize;

use crate::problem::AnyProblem;
use crate::simulation::SimulatedNode;

/// A node's samples: to learn from, to choose by, to be judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSamples<'a> {
    /// For the inner problem.
    pub train: Samples<'a>,
    /// For the outer problem.
    pub validation: Samples<'a>,
    /// For the judge; none if there is no test set.
    pub test: Option<Samples<'a>>,
}

/// One row of `metrics.csv`. Means are over the nodes; losses and accuracies over whole sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// Rounds completed.
    pub iteration: u64,
    /// The mean of `f_i` at the node's own x and θ.
    pub outer_loss: f64,
    /// The mean of `g_i` there.
    pub inner_loss: f64,
    /// The mean squared distance of x from its mean.
    pub consensus: f64,
    /// The squared distance of the mean of y from the mean of z.
    pub tracking: f64,
    /// The share of training samples told right; of real labels, one minus the relative squared error.
    pub train_accuracy: Option<f64>,
    /// The same of validation samples.
    pub validation_accuracy: Option<f64>,
    /// The same of test samples.
    pub test_accuracy: Option<f64>,
    /// Hessian-vector products a node computed.
    pub hessian_vectors: u64,
    /// Seconds since the run began.
    pub seconds: f64,
}

impl Metrics {
    /// Measures a network.
    #[must_use]
    pub fn of(
        nodes: &[SimulatedNode<AnyProblem<'_>>],
        samples: &[NodeSamples<'_>],
        seconds: f64,
    ) -> Self {
        // In order of the nodes' numbers, whatever the threads do.
        let own: Vec<Own> = nodes.par_iter().zip(samples).map(|(n, s)| Own::of(n, s)).collect();
        let mean =
            |of: &dyn Fn(&Own) -> f64| own.iter().map(of).sum::<f64>() / own.len().max(1) as f64;
        let mean_if = |of: &dyn Fn(&Own) -> Option<f64>| {
            own.iter().map(of).sum::<Option<f64>>().map(|sum| sum / own.len().max(1) as f64)
        };
        let first = nodes.first();
        Self {
            iteration: first.map_or(0, |node| node.state().round),
            outer_loss: mean(&|own| own.outer_loss),
            inner_loss: mean(&|own| own.inner_loss),
            consensus: consensus(nodes),
            tracking: tracking(nodes),
            train_accuracy: mean_if(&|own| own.accuracies[0]),
            validation_accuracy: mean_if(&|own| own.accuracies[1]),
            test_accuracy: mean_if(&|own| own.accuracies[2]),
            hessian_vectors: first.map_or(0, |node| node.evaluations().hessian_vector),
            seconds,
        }
    }
}

/// One node's figures.
struct Own {
    outer_loss: f64,
    inner_loss: f64,
    accuracies: [Option<f64>; 3],
}

impl Own {
    fn of(node: &SimulatedNode<AnyProblem<'_>>, samples: &NodeSamples<'_>) -> Self {
        let problem = node.problem();
        let mut workspace = vec![0.0; problem.dimensions().workspace];
        let at = Point { x: node.state().x, theta: node.state().theta };
        problem.prepare(at.x, &mut workspace);
        let population = problem.population();
        let outer = Batch::full(population.outer);
        let inner = Batch::full(population.inner);
        let outer_loss = f64::from(problem.outer_loss(at, &outer, &mut workspace));
        let inner_loss = f64::from(problem.inner_loss(at, &inner, &mut workspace));
        let sets = [Some(samples.train), Some(samples.validation), samples.test];
        let accuracies =
            sets.map(|set| accuracy(&set?, |row| problem.predict(at, row, &mut workspace)));
        Self { outer_loss, inner_loss, accuracies }
    }
}

/// The share of samples whose label `predict` tells right; of real labels, one minus the squared error over that of the
/// mean. Nothing if it cannot tell.
#[must_use]
pub fn accuracy<'a>(
    samples: &Samples<'a>,
    mut predict: impl FnMut(Row<'a>) -> Option<f32>,
) -> Option<f64> {
    let real = samples.labels().kind() == LabelKind::Real;
    let len = samples.len() as f64;
    let mean = (0..samples.len()).map(|i| f64::from(samples.label(i))).sum::<f64>() / len;
    let (mut right, mut error, mut spread) = (0.0, 0.0, 0.0);
    for index in 0..samples.len() {
        let said = f64::from(predict(samples.row(index))?);
        let label = f64::from(samples.label(index));
        right += f64::from(u8::from(said == label));
        error += (said - label) * (said - label);
        spread += (label - mean) * (label - mean);
    }
    Some(if real { 1.0 - error / spread.max(f64::MIN_POSITIVE) } else { right / len })
}

/// The mean of one of the nodes' vectors.
fn mean<'n>(vectors: impl Iterator<Item = &'n [f32]> + Clone) -> Vec<f64> {
    let count = vectors.clone().count().max(1) as f64;
    let mut mean: Vec<f64> = Vec::new();
    for vector in vectors {
        mean.resize(vector.len(), 0.0);
        mean.iter_mut().zip(vector).for_each(|(mean, &a)| *mean += f64::from(a) / count);
    }
    mean
}

fn consensus(nodes: &[SimulatedNode<AnyProblem<'_>>]) -> f64 {
    let mean = mean(nodes.iter().map(|node| node.state().x));
    let distance = |x: &[f32]| -> f64 {
        x.iter().zip(&mean).map(|(&x, mean)| (f64::from(x) - mean) * (f64::from(x) - mean)).sum()
    };
    nodes.iter().map(|node| distance(node.state().x)).sum::<f64>() / nodes.len().max(1) as f64
}

fn tracking(nodes: &[SimulatedNode<AnyProblem<'_>>]) -> f64 {
    let y = mean(nodes.iter().map(|node| node.state().y));
    let z = mean(nodes.iter().map(|node| node.state().z));
    y.iter().zip(&z).map(|(y, z)| (y - z) * (y - z)).sum()
}
