//! The report of one run.

use lopa_core::samples::LabelKind;

use super::nodes::disagreement;
use super::{
    Chosen, Figure, Provenance, Report, Results, Table, comparison, learned, node_accuracies,
    summary,
};
use crate::config::Experiment;
use crate::metrics::Metric;
use crate::numerics::number;
use crate::record::Record;

/// Metrics worth a tile, if they were measured.
const TILES: [Metric; 6] = [
    Metric::TestAccuracy,
    Metric::OuterLoss,
    Metric::Hypergradient,
    Metric::Consensus,
    Metric::Bytes,
    Metric::FleetSeconds,
];
/// The most nodes in a table: more belong in a file, not on a page.
const MOST_ROWS: usize = 200;

/// The page of a run, with its figures, its network if it can be drawn, and its file as TOML.
#[must_use]
pub fn of_run(
    results: &Results<'_>,
    figures: Vec<Figure>,
    network: Option<String>,
    configuration: String,
) -> Report {
    let Results { experiment, nodes, record, .. } = *results;
    let round = nodes.first().map_or(0, |node| node.round);
    let Experiment { network: table, algorithm, run, .. } = experiment;
    let about = algorithm.name.about();
    let name = about.title;
    let tile = |metric: Metric| Some((metric.column().title, number(record.last(metric.name())?)));
    let mut tiles: Vec<(String, String)> = vec![
        ("rounds".into(), number(round as f64)),
        ("nodes".into(), number(nodes.len() as f64)),
        ("\u{3c1} of the network".into(), number(results.weights.spectrum().rho())),
    ];
    tiles.extend(TILES.into_iter().filter_map(tile));
    if nodes.len() > 1 && !algorithm.name.is_single_level() {
        let off = disagreement(nodes);
        tiles.push(("x, largest distance from the mean".into(), number(off)));
    }
    let mut notes = Vec::new();
    if let Some(why) = results.diverged {
        notes.push(format!("Diverged after {round} of {} rounds: {why}.", run.iterations));
    } else if !results.finished {
        notes.push(format!("Not finished: {round} of {} rounds are completed.", run.iterations));
    }
    if let (Some(bits), Some(before)) =
        (experiment.links.as_ref().and_then(|t| t.bits), results.unrounded)
    {
        let [before, after] =
            [before, results.weights].map(|weights| number(weights.spectrum().rho()));
        notes.push(format!(
            "Values travel as differences of {bits} bits. Weights are rounded to multiples of 1/256, so that sums are exact: \
             \u{3c1} is {after} instead of {before}."
        ));
    }
    if let Some(how) = about.reconstruction {
        notes.push(format!("{name} ({}) is a reconstruction: {how}.", about.source));
    }
    notes.extend(results.fleet.map(|(_, note)| note.to_owned()));
    if results.losses > 0 && results.fleet.is_none() {
        notes.push(format!(
            "{} link timeouts split the network, so the result differs from an in-process run.",
            results.losses
        ));
    }
    if !results.chosen.is_empty() {
        let chosen = results.chosen.iter().map(|Chosen { key, value }| format!("{key} = {value}"));
        let chosen = chosen.collect::<Vec<_>>().join(", ");
        notes.push(format!("The file left these settings open, and they were chosen: {chosen}."));
    }
    notes.extend(results.learned.and_then(|learned| learned.failed.clone()));
    let regression = experiment.problem.labels() == Some(LabelKind::Real);
    let scores = results.learned.map_or(&[][..], |learned| &learned.scores);
    let first = comparison(scores, regression).into_iter().collect();
    let files =
        ["metrics.csv", "nodes.csv", "state.json", "summary.json", "model.json", "experiment.toml"];
    let there = |file: &&str| results.node_record.is_some() || *file != "nodes.csv";
    let files = files.into_iter().filter(there).map(str::to_owned).collect();
    let mut tables = vec![summary(record)];
    tables.extend(results.node_record.and_then(last_of_nodes));
    let division = match experiment.data.node {
        Some(_) => "nodes as in the file".into(),
        None => format!("partition {}", experiment.data.partition()),
    };
    Report {
        title: format!("{name}, {} nodes, {}", nodes.len(), table.topology),
        subtitle: format!(
            "{} rounds, data {}, {division}, seed {}",
            number(round as f64),
            experiment.data.source(),
            run.seed
        ),
        tiles,
        first,
        network,
        learned: learned(results).into_iter().chain(node_accuracies(results)).collect(),
        figures,
        tables,
        configuration,
        notes,
        files,
        provenance: Some(Provenance::of(results)),
        ..Report::default()
    }
}

/// The last values of every node.
fn last_of_nodes(record: &Record) -> Option<Table> {
    let last = record.rows().last()?.first().copied()?;
    let rows: Vec<Vec<String>> = record
        .rows()
        .iter()
        .filter(|row| row[0] == last)
        .take(MOST_ROWS)
        .map(|row| row[1..].iter().map(|a| a.map_or(String::new(), number)).collect())
        .collect();
    let head = record.columns()[1..].iter().map(|column| column.title.clone()).collect();
    Some(Table { title: "Single nodes".into(), head, rows, ..Table::default() })
}
