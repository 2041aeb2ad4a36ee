//! From records to figures: one chart per metric, for a run, for several side by side, and for the mean of many.

use super::{Drawing, Figure};
use crate::numerics::spread;
use crate::plot::{Chart, Line};
use crate::record::{Column, Record, Scale};

/// What tells sets of samples apart in the name of a column; what is the same behind it belongs in one chart.
const SETS: [&str; 5] = ["train_", "training_", "validation_", "val_", "test_"];

/// A chart for every column of a record, against the column `x`; what was measured of training, validation and test
/// samples alike comes together. A column without a value has no chart, nor has the iteration.
///
/// ```
/// use lopa_host::record::{Column, Record, Scale};
/// use lopa_host::report::charts;
/// let column = |name: &str| Column { name: name.into(), title: name.replace('_', " "), scale: Scale::Linear };
/// let text = "iteration,loss,train_accuracy,test_accuracy\n0,2,0.1,0.1\n9,1,0.9,0.8\n";
/// let figures = charts(&Record::parse(text, column)?, "iteration");
/// let stems: Vec<&str> = figures.iter().map(|figure| figure.stem.as_str()).collect();
/// assert_eq!(stems, ["loss", "accuracy"]);
/// # Ok::<(), lopa_host::record::RecordError>(())
/// ```
#[must_use]
pub fn charts(record: &Record, x: &str) -> Vec<Figure> {
    let Some(across) = record.columns().iter().find(|column| column.name == x) else {
        return Vec::new();
    };
    let mut groups: Vec<(&str, Vec<&Column>)> = Vec::new();
    for column in shown(record, x) {
        let key = topic(&column.name);
        let with = groups.iter_mut().find(|(name, members)| {
            *name == key && key != column.name && members[0].scale == column.scale
        });
        match with {
            Some((_, members)) => members.push(column),
            None => groups.push((key, vec![column])),
        }
    }
    let mut figures = Vec::new();
    for (key, members) in groups {
        let (stem, title) = match members[..] {
            [column] => (column.name.as_str(), column.title.clone()),
            _ => (key, key.replace('_', " ")),
        };
        let mut chart = chart(across, title.clone(), members[0].scale);
        for column in &members {
            let own = column.title.strip_suffix(&title).unwrap_or_default().trim();
            let name = if own.is_empty() { &column.title } else { own };
            chart.add(Line::new(name, points(record, x, &column.name)));
        }
        let names = members.iter().map(|column| column.name.clone()).collect();
        figures.push(Figure::new(stem, names, Drawing::Chart(chart)));
    }
    distinct(figures)
}

/// Means over runs that differ only in their seeds, with bands: one line per group, one chart per column.
///
/// Rows with the same iteration belong together. The band is the 95 % confidence interval of the mean (Student's t)
/// where three runs or more have a value, their range where two have; the explanation says which. It does not leave
/// the values that are possible: not below zero where no run is, and not above one for accuracies.
#[must_use]
pub fn averaged<N: AsRef<str>>(groups: &[(N, Vec<&Record>)], x: &str) -> Vec<Figure> {
    let records = || groups.iter().flat_map(|(_, records)| records.iter().copied());
    let across = records().flat_map(Record::columns).find(|column| column.name == x);
    let Some(across) = across else { return Vec::new() };
    let mut columns: Vec<&Column> = Vec::new();
    for column in records().flat_map(|record| shown(record, x)) {
        if columns.iter().all(|known| known.name != column.name) {
            columns.push(column);
        }
    }
    let mut figures = Vec::new();
    for column in columns {
        let mut chart = chart(across, column.title.clone(), column.scale);
        let mut counts = Vec::new();
        for (look, (group, records)) in groups.iter().enumerate() {
            let (points, band, runs) = means(records, x, &column.name);
            counts.extend(runs);
            if !points.is_empty() {
                let band = (records.len() > 1).then_some(band);
                chart.lines.push(Line { look, band, ..Line::new(group.as_ref(), points) });
            }
        }
        if !chart.lines.is_empty() {
            let names = vec![column.name.clone()];
            let figure = Figure::new(&column.name, names, Drawing::Chart(chart));
            figures.push(figure.explained(&explanation(&counts)));
        }
    }
    distinct(figures)
}

/// The means of a column over runs, with their bands, and how many runs had a value for each.
fn means(records: &[&Record], x: &str, y: &str) -> (Vec<[f64; 2]>, Vec<[f64; 2]>, Vec<usize>) {
    let mut rows: Vec<(f64, [f64; 2])> = Vec::new();
    for record in records {
        let iterations = record.rows().iter().map(|row| row.first().copied().flatten());
        let there = iterations.zip(points(record, x, y)).filter(|(_, point)| is_drawn(point));
        rows.extend(there.filter_map(|(iteration, point)| Some((iteration?, point))));
    }
    // Stable: rows of one iteration stay in the order of the runs.
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    // What was never negative is not shown as if it could be, and no accuracy is above one.
    let negative = rows.iter().any(|(_, point)| point[1] < 0.0);
    let least = if negative { f64::NEG_INFINITY } else { 0.0 };
    let most = if y.ends_with("accuracy") { 1.0 } else { f64::INFINITY };
    let (mut points, mut band, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for rows in rows.chunk_by(|a, b| a.0 == b.0) {
        let of = |axis: usize| rows.iter().map(|(_, point)| point[axis]).collect::<Vec<f64>>();
        let (Some(x), Some(y)) = (spread(of(0)), spread(of(1))) else { continue };
        points.push([x.mean, y.mean]);
        band.push(y.band.unwrap_or([y.mean; 2]).map(|end| end.max(least).min(most)));
        runs.push(y.runs);
    }
    (points, band, runs)
}

/// What a band is, by how many runs there were for each of its points.
fn explanation(counts: &[usize]) -> String {
    let (least, most) =
        (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    let seeds = match (least, most) {
        (_, 0 | 1) => return String::new(),
        (least, most) if least == most => format!("Mean over {most} seeds"),
        (least, most) => format!("Mean over {least} to {most} seeds"),
    };
    let interval = "the 95 % confidence interval of the mean (Student\u{2019}s t)";
    let band = match (least, most) {
        (_, 2) => "the range of the two".to_owned(),
        (3.., _) => interval.to_owned(),
        (2, _) => format!("{interval}, or the range where only two have a value"),
        _ => format!("{interval}, the range where two have a value, nothing where one has"),
    };
    format!("{seeds}; the band is {band}.")
}

/// Each with a file of its own, though names may differ in letters that a stem has not.
fn distinct(mut figures: Vec<Figure>) -> Vec<Figure> {
    for at in 1..figures.len() {
        let stem = figures[at].stem.clone();
        let mut count = 2;
        while figures[..at].iter().any(|earlier| earlier.stem == figures[at].stem) {
            figures[at].stem = format!("{stem}-{count}");
            count += 1;
        }
    }
    figures
}

fn chart(across: &Column, y_title: String, y_scale: Scale) -> Chart {
    Chart { y_scale, ..Chart::new(across.title.clone(), y_title) }
}

/// The columns with values that a person may want to see against `x`.
fn shown<'a>(record: &'a Record, x: &str) -> Vec<&'a Column> {
    let there = |column: &&Column| {
        column.name != x
            && column.name != "iteration"
            && points(record, x, &column.name).iter().any(is_drawn)
    };
    record.columns().iter().filter(there).collect()
}

/// Whether a point has a place in a chart.
fn is_drawn(point: &[f64; 2]) -> bool {
    point.iter().all(|a| a.is_finite())
}

/// What a column is about, whichever samples it was measured on.
fn topic(name: &str) -> &str {
    SETS.iter()
        .find_map(|set| name.strip_prefix(set))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name)
}

/// A column against another; what does not exist is not a number.
fn points(record: &Record, x: &str, y: &str) -> Vec<[f64; 2]> {
    let (Some(xs), Some(ys)) = (record.values(x), record.values(y)) else { return Vec::new() };
    xs.into_iter().zip(ys).map(|pair| [pair.0, pair.1].map(|a| a.unwrap_or(f64::NAN))).collect()
}
