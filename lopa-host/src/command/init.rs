//! `lopa init`: an experiment file for a CSV file.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use lopa_core::samples::LabelKind;
use lopa_host::config::{Experiment, relative};
use lopa_host::data::csv::{self, Column, Columns};
use lopa_host::data::{FileError, Table};

use super::{Failure, print};

/// Writes an experiment file for a CSV file, with comments.
///
/// The problem follows from the labels: a logistic regression for two classes, a shared layer with a classifier for more, a
/// ridge regression for numbers. Step sizes are left open: lopa run chooses them. An existing file is not replaced.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa init patients.csv --label state --node clinic\n  \
                        lopa run patients.toml --out results")]
pub(crate) struct Init {
    /// CSV file: one sample per row, with or without a header.
    csv: PathBuf,
    /// Column of labels, by name or number [default: the last one if there is a header, otherwise the first].
    #[arg(long)]
    label: Option<String>,
    /// Column that tells which node a sample belongs to, such as a device or a person.
    #[arg(long)]
    node: Option<String>,
    /// Columns to leave out, by name or number.
    #[arg(long, value_delimiter = ',')]
    ignore: Vec<String>,
    /// Whether the first row names the columns [default: if no cell of it is a number].
    #[arg(long)]
    header: Option<bool>,
    /// How many nodes share the samples, if no column tells [default: one per 50 samples, 2 to 10].
    #[arg(long, conflicts_with = "node", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// How many rounds [default: 2000, or 500 for more than two classes].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// The new file [default: the name of the CSV file with .toml, in the current folder].
    #[arg(long)]
    out: Option<PathBuf>,
}

/// More different numbers than this are values to predict, not classes.
const MOST_CLASSES: usize = 10;

impl Init {
    /// Reads the CSV file, and writes the experiment.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let columns = Columns {
            header: self.header,
            label: self.label.as_deref().map(column),
            node: self.node.as_deref().map(column),
            ignore: self.ignore.iter().map(|name| column(name)).collect(),
        };
        let (table, kind) = read(&self.csv, &columns).map_err(Failure::input)?;
        let label = csv::label(&self.csv, &columns).map_err(Failure::input)?;
        let out = self.out.clone().unwrap_or_else(|| beside(&self.csv));
        let text = self.text(&table, kind, &label, &columns, &out);
        // What it describes must run.
        let mut experiment = Experiment::parse(&text).map_err(Failure::run)?;
        experiment.data.file = Some(self.csv.clone());
        let shards = experiment.data.shards(kind, experiment.network.nodes, experiment.run.seed);
        shards.map_err(Failure::input)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(&out);
        let written = file.as_mut().map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Failure::input(format!("{} exists: choose another with --out", out.display()))
            }
            _ => Failure::input(format!("cannot write {}: {error}", out.display())),
        })?;
        written
            .write_all(text.as_bytes())
            .map_err(|error| Failure::run(format!("cannot write {}: {error}", out.display())))?;
        let out = out.display();
        print(&format!(
            "wrote {out}: {} samples, {}\n\nlook at the data   lopa data describe {out}\n\
             learn              lopa run {out} --out results\n",
            table.len(),
            labels(&table, kind)
        ))
    }

    fn text(
        &self,
        table: &Table,
        kind: LabelKind,
        label: &Column,
        columns: &Columns,
        out: &Path,
    ) -> String {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = relative(&self.csv, folder.unwrap_or(Path::new(".")));
        let file = file.unwrap_or_else(|_| self.csv.clone());
        let (nodes, why) = match table.owners() {
            Some(owners) => (owners.names.len(), "one for each value of the column below".into()),
            None => {
                let nodes =
                    self.nodes.map_or((table.len() / 50).clamp(2, 10), |nodes| nodes as usize);
                (nodes, "the samples are dealt out to them at random".to_owned())
            }
        };
        let (problem, what, rounds) = match kind {
            LabelKind::Binary => (
                "kind = \"logistic\"".to_owned(),
                "Every node learns a logistic regression of its own. Together the nodes learn x: how strongly each feature\n\
                 # is regularised, as a logarithm.",
                2_000,
            ),
            LabelKind::Real => (
                "kind = \"ridge\"".to_owned(),
                "Every node learns a linear regression of its own. Together the nodes learn x: how strongly each feature is\n\
                 # regularised, as a logarithm.",
                2_000,
            ),
            LabelKind::Class => (
                "kind = \"shared-layer\"\nhidden = 16                  # units of the layer that all nodes share\n\
                 mu = 0.01                    # regularisation of each node's classifier"
                    .to_owned(),
                "Every node learns a classifier of its own, on top of a layer x that the nodes learn together.",
                500,
            ),
        };
        let rounds = self.rounds.unwrap_or(rounds);
        let mut data = format!("file = {}\n", quoted(&file.to_string_lossy()));
        let what_label = labels(table, kind);
        let label = format!("label = {}", written(label));
        let _ = writeln!(data, "{label:<28} # {what_label}");
        if let Some(header) = self.header {
            let _ = writeln!(data, "header = {header}");
        }
        if let Some(node) = &columns.node {
            data += &format!(
                "{:<28} # tells which node a sample belongs to\n",
                format!("node = {}", written(node))
            );
        }
        if !columns.ignore.is_empty() {
            let names: Vec<String> = columns.ignore.iter().map(written).collect();
            let _ = writeln!(data, "ignore = [{}]", names.join(", "));
        }
        let command = plain(&self.csv.display().to_string());
        format!(
            "# Written by `lopa init {command}`. Change it as you like: lopa-host/README.md describes all keys.\n\n\
             [network]\n{:<28} # {why}\n{:<28} # which nodes are neighbours: `lopa topology --help` lists graphs\n\n\
             # {what}\n[problem]\n{problem}\n\n\
             # A sixth of the samples is for tests; half of the rest teaches x. Features are scaled, and an intercept is added.\n\
             [data]\n{data}\n\
             # Step sizes are chosen, and printed; any that you write here are used instead.\n\
             [algorithm]\nname = \"lopa-gt\"\n\n\
             [run]\niterations = {rounds}\nper_node = true              # nodes.csv has the accuracy of every node\n",
            format!("nodes = {nodes}"),
            "topology = \"ring\"",
        )
    }
}

/// The samples, and what their labels are.
fn read(file: &Path, columns: &Columns) -> Result<(Table, LabelKind), FileError> {
    let numbers =
        || csv::read(file, columns, LabelKind::Real).map(|table| (table, LabelKind::Real));
    // Labels of any kind are classes; too many of them must be numbers.
    let Ok(table) = csv::read(file, columns, LabelKind::Class) else { return numbers() };
    let names = table.classes();
    let numeric = names.iter().all(|class| class.name.parse::<f64>().is_ok());
    let whole = names.iter().all(|class| class.name.parse::<i64>().is_ok());
    if numeric && (names.len() > MOST_CLASSES || !whole) {
        return numbers();
    }
    let kind = if names.len() > 2 { LabelKind::Class } else { LabelKind::Binary };
    Ok((table, kind))
}

/// The labels in words.
fn labels(table: &Table, kind: LabelKind) -> String {
    let names = table.classes().iter().map(|class| class.name.as_str());
    match kind {
        LabelKind::Real => "numbers to predict".into(),
        _ if table.classes().len() > MOST_CLASSES => format!("{} classes", table.classes().len()),
        _ => plain(&format!("classes {}", names.collect::<Vec<_>>().join(", "))),
    }
}

/// Where a CSV file's experiment goes: its name, without the usual endings, in the current folder.
fn beside(csv: &Path) -> PathBuf {
    let name = csv.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let ends = [".csv", ".tsv", ".txt"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    format!("{name}.toml").into()
}

/// A text that stays on its line.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// A column as it was given: by number if it is one.
fn column(word: &str) -> Column {
    word.parse().map_or_else(|_| Column::Name(word.into()), Column::Number)
}

/// A column as it stands in a file.
fn written(column: &Column) -> String {
    match column {
        Column::Number(number) => number.to_string(),
        Column::Name(name) => quoted(name),
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
