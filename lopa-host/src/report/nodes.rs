//! How much the nodes differ at the end.

use lopa_core::problem::{Point, Problem};
use lopa_core::problems::AnyProblem;
use rayon::prelude::*;

use super::learned::MOST_NAMED;
use super::{Drawing, Figure, Results};
use crate::algorithms::NodeView;
use crate::data::Shard;
use crate::metrics::{Metric, accuracy};
use crate::numerics::vector::mean;
use crate::plot::{Chart, Level, Levels, Line};

/// The largest distance of any element of a node's x from its mean over nodes.
pub(super) fn disagreement(nodes: &[NodeView<'_, AnyProblem<'_>>]) -> f64 {
    let mean = mean(nodes.iter().map(|node| node.x));
    let off = |node: &NodeView<'_, AnyProblem<'_>>| {
        let each = node.x.iter().zip(&mean).map(|(&a, mean)| (f64::from(a) - mean).abs());
        each.fold(0.0, f64::max)
    };
    nodes.iter().map(off).fold(0.0, f64::max)
}

/// The test accuracy of every node; none if nodes have no test samples, or there is only one node.
#[must_use]
pub fn node_accuracies(results: &Results<'_>) -> Option<Figure> {
    let Results { experiment, nodes, shards, .. } = *results;
    if nodes.len() < 2 || shards.len() != nodes.len() {
        return None;
    }
    let kind = experiment.problem.labels()?;
    let one = |(node, shard): (&NodeView<'_, AnyProblem<'_>>, &Shard)| {
        let test = shard.test.as_ref()?.samples(kind).ok()?;
        let at = Point { x: node.x, theta: node.theta };
        let mut workspace = vec![0.0; node.problem.dimensions().workspace];
        node.problem.prepare(at.x, &mut workspace);
        let value =
            accuracy(&test, |each| node.problem.predict_all(at, &test, &mut workspace, each))?;
        let name = shard.owner().map_or_else(String::new, |owner| format!(" {owner}"));
        Some((format!("node {}{name}", node.id), value))
    };
    let mut all: Vec<(String, f64)> =
        nodes.par_iter().zip(shards).map(one).collect::<Option<_>>()?;
    let metric = Metric::TestAccuracy.column().title;
    let title = format!("{metric} of every node");
    let words = "After the last round, the best node first.";
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let drawing = if all.len() <= MOST_NAMED {
        let level = |(name, value)| Level { name, value, range: [value; 2], remark: String::new() };
        let levels = all.into_iter().map(level).collect();
        Drawing::Levels(Levels { title, x_title: metric, levels })
    } else {
        let mut chart = Chart { title, ..Chart::new("nodes, the best first", metric.clone()) };
        let points = all.iter().enumerate().map(|(at, (_, value))| [at as f64, *value]).collect();
        chart.add(Line::new(metric, points));
        Drawing::Chart(chart)
    };
    Some(Figure::new("nodes", Vec::new(), drawing).explained(words))
}
