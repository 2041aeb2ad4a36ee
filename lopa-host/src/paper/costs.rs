//! What reaching fixed values costs every arm, in everything that is counted.

use serde::Deserialize;

use super::measure::cost;
use crate::campaign::{Arm, Results};
use crate::metrics::Metric;
use crate::numerics::{number, spread};
use crate::report::Table;

/// A table for each of some values of a metric: one row per arm, one column per kind of cost.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    metric: Metric,
    targets: Vec<f64>,
    along: Vec<Metric>,
}

impl Costs {
    /// The metrics it needs.
    pub(super) fn metrics(&self) -> impl Iterator<Item = Metric> {
        std::iter::once(self.metric).chain(self.along.iter().copied())
    }

    /// The tables. Seconds are left out: another machine would have others.
    pub(super) fn tables(&self, arms: &[Arm], results: &Results) -> Vec<Table> {
        let along: Vec<Metric> =
            self.along.iter().copied().filter(|along| *along != Metric::Seconds).collect();
        let what = self.metric.column().title;
        let head = along.iter().map(|along| along.column().title);
        let together = [Metric::Bytes, Metric::Frames, Metric::FleetSeconds];
        let of = if along.iter().any(|along| together.contains(along)) {
            "Bytes, frames and fleet seconds of all nodes together, the rest per node"
        } else {
            "Per node"
        };
        let table = |target: &f64| Table {
            title: format!("What it costs to reach {what} {target}"),
            head: std::iter::once("arm".to_owned()).chain(head.clone()).collect(),
            rows: arms
                .iter()
                .map(|arm| {
                    let cells = along.iter().map(|along| self.cell(arm, results, *target, *along));
                    std::iter::once(arm.name.clone()).chain(cells).collect()
                })
                .collect(),
            caption: format!(
                "{of}, means over seeds; \"over\" if the value was not reached on every seed."
            ),
            ..Table::default()
        };
        self.targets.iter().map(table).collect()
    }

    fn cell(&self, arm: &Arm, results: &Results, target: f64, along: Metric) -> String {
        let records = results.get(&arm.name).map_or(&[][..], Vec::as_slice);
        let costs =
            records.iter().map(|record| cost(record.as_ref()?, self.metric, target, Some(along)));
        let costs: Vec<_> = costs.collect();
        let always = costs.iter().all(|cost| cost.is_some_and(|cost| cost.reached));
        match spread(costs.iter().flatten().map(|cost| cost.spent)) {
            Some(all) if always => number(all.mean),
            Some(all) => format!("over {}", number(all.mean)),
            None => "diverged".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arm, record};
    use super::*;

    #[test]
    fn costs_are_means_and_bounds_where_a_value_is_not_always_reached() {
        let (a, b, c) = (arm("a", "x", None), arm("b", "x", None), arm("c", "x", None));
        let early = record(&[(1.0, 0.0), (0.1, 4.0)]);
        let never = record(&[(1.0, 0.0), (0.9, 8.0)]);
        let results = Results::from([
            (a.name.clone(), vec![early.clone(), early.clone()]),
            (b.name.clone(), vec![early, never]),
            (c.name.clone(), vec![None, None]),
        ]);
        let costs = Costs {
            metric: Metric::OuterLoss,
            targets: vec![0.1],
            along: vec![Metric::HessianVectors, Metric::Seconds],
        };
        let tables = costs.tables(&[a, b, c], &results);
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].head, ["arm", "Hessian-vector products"]);
        let cells: Vec<&str> = tables[0].rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(cells, ["4", "over 6", "diverged"]);
        assert!(tables[0].caption.starts_with("Per node, means over seeds;"));
        let sent = Costs { along: vec![Metric::Vectors, Metric::Bytes], ..costs };
        let caption = &sent.tables(&[], &Results::default())[0].caption;
        assert!(
            caption.starts_with("Bytes, frames and fleet seconds of all nodes together, the rest")
        );
    }
}
