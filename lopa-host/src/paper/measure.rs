//! The value of a run that a rule compares.

use serde::Deserialize;

use crate::metrics::Metric;
use crate::record::{Cost, Over, Record, Scale};

/// What is compared: a metric over some rounds, or the cost of first reaching a value of it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The metric.
    pub metric: Metric,
    /// Over which rounds.
    #[serde(default)]
    pub over: Over,
    /// A value of the metric: then the cost of first reaching it is compared.
    pub reach: Option<f64>,
    /// What the cost is counted in; rounds if nothing is named.
    pub along: Option<Metric>,
}

/// The cost of first reaching `target`; none if nothing was recorded.
pub(super) fn cost(
    record: &Record,
    metric: Metric,
    target: f64,
    along: Option<Metric>,
) -> Option<Cost> {
    let along = along.map_or("iteration", Metric::name);
    record.cost(metric.name(), metric.sign(), target, along)
}

impl Measure {
    /// The metrics it needs.
    pub(super) fn metrics(&self) -> impl Iterator<Item = Metric> {
        [Some(self.metric), self.along].into_iter().flatten()
    }

    /// The value of a run; none if it does not exist, or is a cost and the target was never reached.
    pub(super) fn of(&self, record: &Record) -> Option<f64> {
        match self.reach {
            None => record.value(self.metric.name(), self.over),
            Some(target) => {
                let cost = cost(record, self.metric, target, self.along)?;
                cost.reached.then_some(cost.spent)
            }
        }
    }

    /// The value, or its logarithm where runs are compared by factors: errors, losses and costs.
    pub(super) fn compared(&self, record: &Record) -> Option<f64> {
        let value = self.of(record)?;
        match self.scale() {
            Scale::Linear => Some(value),
            Scale::Logarithmic => (value > 0.0).then(|| libm::log(value)),
        }
    }

    /// How runs are compared: by differences or by factors.
    pub(super) fn scale(&self) -> Scale {
        if self.reach.is_some() { Scale::Logarithmic } else { self.metric.column().scale }
    }

    /// 1 if larger is better, otherwise -1.
    pub(super) fn sign(&self) -> f64 {
        if self.reach.is_some() { -1.0 } else { self.metric.sign() }
    }

    /// What is compared, in words.
    pub(super) fn title(&self) -> String {
        let what = self.metric.column().title;
        match self.reach {
            None => format!("{what}, {}", self.over),
            Some(target) => {
                let unit = self.along.map_or("rounds".to_owned(), |along| along.column().title);
                format!("{unit} to reach {what} {target}")
            }
        }
    }

    /// The same for the axis of a chart.
    pub(super) fn axis(&self) -> String {
        if self.reach.is_some() { self.title() } else { self.metric.column().title }
    }
}
