//! What `lopa data describe` prints.

use std::fmt::Write;

use lopa_core::samples::LabelKind;
use lopa_host::config::Experiment;
use lopa_host::data::{Class, Shard, Table, Targets, Values};
use lopa_host::numerics::number;

use super::Failure;

/// More lines than this are cut.
const MOST_LINES: usize = 40;

/// The data of an experiment in words.
pub(crate) fn describe(experiment: &Experiment) -> Result<String, Failure> {
    let Some(kind) = experiment.problem.labels() else {
        return Ok("a quadratic has no samples\n".into());
    };
    let mut data = experiment.data.clone();
    let scaled = data.scales();
    // The ranges of features are those in the files.
    data.standardise = Some(false);
    let intercept = data.has_intercept();
    data.intercept = Some(false);
    let shards = data.shards(kind, experiment.network.nodes, experiment.run.seed);
    let shards = shards.map_err(Failure::input)?;
    let Some(first) = shards.first() else { return Ok(String::new()) };

    let file = data.file.as_ref().or(data.dir.as_ref());
    let mut text = format!("source    {}", data.source());
    if let Some(file) = file {
        let _ = write!(text, ", {}", file.display());
    }
    let known = tables(&shards).map(Table::len).sum::<usize>();
    let _ = writeln!(text, "\nsamples   {known} to learn from, {} features", first.train.width());
    text += &labels(&shards, kind);
    if matches!(first.train.values(), Values::Bytes(_)) {
        text += "scaling   pixels: 0 to 255 become 0 to 1\n";
    } else if scaled {
        text +=
            "scaling   mean 0 and deviation 1, learned from the training samples of all nodes\n";
    }
    if intercept {
        text += "intercept a feature that is always 1, and almost not regularised\n";
    }
    text += &nodes(&shards);
    text += &features(&shards);
    Ok(text)
}

/// The tables that nodes learn from.
fn tables(shards: &[Shard]) -> impl Iterator<Item = &Table> {
    shards.iter().flat_map(|shard| [&shard.train, &shard.validation])
}

fn labels(shards: &[Shard], kind: LabelKind) -> String {
    let targets = tables(shards).filter_map(|table| match table.targets() {
        Targets::Real(targets) => Some(targets.iter().copied()),
        Targets::Class(_) => None,
    });
    let classes = shards[0].train.classes();
    if classes.is_empty() {
        let [smallest, mean, largest] = range(targets.flatten());
        return format!("label     a number: {smallest} to {largest}, mean {mean}\n");
    }
    let class = |(at, class): (usize, &Class)| {
        let count: usize = tables(shards).map(|table| table.counts()[at]).sum();
        let sign = match (kind, at) {
            (LabelKind::Binary, 0) => "-1 is ",
            (LabelKind::Binary, _) => "+1 is ",
            _ => "",
        };
        format!("{sign}{} ({count} samples)", class.name)
    };
    let classes: Vec<String> = classes.iter().enumerate().map(class).collect();
    format!("label     {}\n", classes.join(", "))
}

/// How many samples each node has.
fn nodes(shards: &[Shard]) -> String {
    let classes = shards[0].train.classes();
    let few = classes.len() <= 10;
    let mut text = format!("\n{:<20}{:>8}{:>12}{:>8}", "node", "train", "validation", "test");
    if few {
        text.extend(classes.iter().map(|class| format!("{:>12}", cut(&class.name, 11))));
    }
    text.push('\n');
    for (node, shard) in shards.iter().enumerate().take(MOST_LINES) {
        let owner = shard.owner().map(|owner| format!(" {owner}"));
        let name = cut(&format!("{node}{}", owner.unwrap_or_default()), 19);
        let test = shard.test.as_ref().map_or(0, |test| test.len());
        let [train, validation] = [&shard.train, &shard.validation].map(Table::len);
        let _ = write!(text, "{name:<20}{train:>8}{validation:>12}{test:>8}");
        if few {
            text.extend(shard.counts().iter().map(|count| format!("{count:>12}")));
        }
        text.push('\n');
    }
    text + &more(shards.len())
}

/// The range of every feature.
fn features(shards: &[Shard]) -> String {
    let (names, width) = (shards[0].train.names(), shards[0].train.width());
    let mut text =
        format!("\n{:<20}{:>12}{:>12}{:>12}\n", "feature", "smallest", "mean", "largest");
    for feature in 0..width.min(MOST_LINES) {
        let values = tables(shards).flat_map(|table| table.column(feature));
        let [smallest, mean, largest] = range(values);
        let name = names.get(feature).cloned().unwrap_or_else(|| (feature + 1).to_string());
        let note = if smallest == largest { "  never changes" } else { "" };
        let name = cut(&name, 19);
        let _ = writeln!(text, "{name:<20}{smallest:>12}{mean:>12}{largest:>12}{note}");
    }
    text + &more(width)
}

fn more(count: usize) -> String {
    match count.saturating_sub(MOST_LINES) {
        0 => String::new(),
        more => format!("… and {more} more\n"),
    }
}

/// The smallest, the mean and the largest number, with as many digits as help.
fn range(values: impl Iterator<Item = f32>) -> [String; 3] {
    let (mut smallest, mut largest) = (f32::INFINITY, f32::NEG_INFINITY);
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        (smallest, largest) = (smallest.min(value), largest.max(value));
        (sum, count) = (sum + f64::from(value), count + 1.0);
    }
    [f64::from(smallest), sum / count, f64::from(largest)].map(number)
}

fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
