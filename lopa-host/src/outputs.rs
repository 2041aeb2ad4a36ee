//! What a run leaves behind: metrics.csv, state.json, summary.json, report.html and its figures.
//!
//! Each file is written beside its place and moved there when it is whole: a run that fails leaves the results of an
//! earlier one as they were.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lopa_core::problems::AnyProblem;
use serde::Serialize;

use crate::algorithms::NodeView;
use crate::config::Experiment;
use crate::files::{self, WriteError};
use crate::metrics::Metric;
use crate::plot;
use crate::record::Record;
use crate::report::{self, Figure};
use crate::run::Prepared;
use crate::topology::drawing;

/// Pixels of a picture for a unit of its SVG: enough for print.
const PIXELS: f32 = 3.0;
/// Networks of more nodes are a blot, not a picture.
const MOST_DRAWN: usize = 2_000;

/// Figures with what their metrics mean.
#[must_use]
pub fn explained(figures: Vec<Figure>) -> Vec<Figure> {
    let explain = |figure: Figure| {
        let mut words: Vec<&str> = figure
            .columns
            .iter()
            .filter_map(|name| Metric::named(name))
            .map(Metric::about)
            .collect();
        // The three accuracies say the same of other samples.
        words.truncate(if figure.columns.len() > 1 { 1 } else { words.len() });
        let text = match words[..] {
            [] => String::new(),
            [about] if figure.columns.len() > 1 => about.replace("training ", ""),
            _ => words.join("; "),
        };
        let stop = if text.is_empty() { "" } else { "." };
        figure.explained(&(plot::capital(&text) + stop))
    };
    figures.into_iter().map(explain).collect()
}

/// A folder for results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outputs {
    folder: PathBuf,
}

/// A node in `state.json`; what its algorithm does not have is left out. Floats are written so that they read back to the same bits.
#[derive(Debug, Serialize)]
struct NodeState<'a> {
    id: u32,
    x: &'a [f32],
    theta: &'a [f32],
    #[serde(skip_serializing_if = "Option::is_none")]
    v: Option<&'a [f32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    z: Option<&'a [f32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<&'a [f32]>,
    #[serde(flatten)]
    extra: BTreeMap<&'static str, &'a [f32]>,
}

impl<'a> NodeState<'a> {
    fn new(node: &NodeView<'a, AnyProblem<'a>>) -> Self {
        let NodeView { id, x, theta, v, z, y, .. } = *node;
        Self { id, x, theta, v, z, y, extra: node.extra.iter().copied().collect() }
    }
}

#[derive(Debug, Serialize)]
struct States<'a> {
    iteration: u64,
    nodes: Vec<NodeState<'a>>,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    version: &'static str,
    algorithm: &'static str,
    source: &'static str,
    reconstruction: Option<&'static str>,
    iterations: u64,
    finished: bool,
    nodes: usize,
    links: usize,
    rho: f64,
    losses: u64,
    metrics: BTreeMap<&'a str, Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<&'a serde_json::Value>,
    experiment: &'a Experiment,
}

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// What was run.
    pub prepared: &'a Prepared,
    /// The nodes, all between the same two rounds.
    pub nodes: &'a [NodeView<'a, AnyProblem<'a>>],
    /// What was measured.
    pub record: &'a Record,
    /// What was measured of single nodes.
    pub node_record: Option<&'a Record>,
    /// Whether all rounds are done.
    pub finished: bool,
    /// How often nodes over links lost one another, or thought so.
    pub losses: u64,
    /// Of a fleet: what came of it, for `summary.json`, and in a sentence.
    pub fleet: Option<(&'a serde_json::Value, &'a str)>,
}

impl Outputs {
    /// Makes the folder, and finds out now whether it can be written to.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, WriteError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(|error| WriteError { path: folder.clone(), error })?;
        let probe = folder.join(".lopa-writes-here");
        fs::write(&probe, "").map_err(|error| WriteError { path: folder.clone(), error })?;
        fs::remove_file(&probe).map_err(|error| WriteError { path: probe, error })?;
        Ok(Self { folder })
    }

    /// Where results go.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes all files.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn write(&self, results: &Results<'_>) -> Result<(), WriteError> {
        let Results { prepared, nodes, record, finished, losses, .. } = *results;
        self.put("metrics.csv", record.csv().as_bytes())?;
        if let Some(record) = results.node_record {
            self.put("nodes.csv", record.csv().as_bytes())?;
        }
        let iteration = nodes.first().map_or(0, |node| node.round);
        let nodes: Vec<NodeState<'_>> = nodes.iter().map(NodeState::new).collect();
        let about = prepared.experiment().algorithm.name.about();
        let last = record.rows().last();
        let metrics = record.columns().iter().enumerate().skip(1);
        let summary = Summary {
            version: env!("CARGO_PKG_VERSION"),
            algorithm: about.title,
            source: about.source,
            reconstruction: about.reconstruction,
            iterations: iteration,
            finished,
            nodes: nodes.len(),
            links: prepared.weights().topology().links().count(),
            rho: prepared.weights().spectrum().rho(),
            losses,
            metrics: metrics
                .map(|(at, column)| (column.name.as_str(), last.and_then(|row| row[at])))
                .collect(),
            fleet: results.fleet.map(|(account, _)| account),
            experiment: prepared.experiment(),
        };
        self.put("summary.json", &json(&summary))?;
        self.put("state.json", &json(&States { iteration, nodes }))?;
        self.show(results)
    }

    /// The report and its pictures.
    fn show(&self, results: &Results<'_>) -> Result<(), WriteError> {
        let Results { prepared, record, .. } = *results;
        let mut figures = explained(report::charts(record, "iteration"));
        figures.extend(report::labels(prepared));
        self.draw(&figures)?;
        let experiment = prepared.experiment();
        let network = (prepared.weights().topology().nodes() <= MOST_DRAWN).then(|| {
            let title = experiment.network.topology.to_string();
            drawing::svg(prepared.weights(), prepared.layout(), &title)
        });
        if let Some(svg) = &network {
            Self { folder: self.folder.join("figures") }.picture("network", svg)?;
        }
        let page = report::of_run(results, figures, network);
        self.put("report.html", page.html().as_bytes())
    }

    /// Draws figures: an SVG and a PNG file each, in the folder `figures`.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn draw(&self, figures: &[Figure]) -> Result<(), WriteError> {
        let folder = Self { folder: self.folder.join("figures") };
        let made = fs::create_dir_all(&folder.folder);
        made.map_err(|error| WriteError { path: folder.folder.clone(), error })?;
        for figure in figures {
            folder.picture(&figure.stem, &figure.drawing.svg())?;
        }
        Ok(())
    }

    /// One picture as SVG and PNG.
    fn picture(&self, stem: &str, svg: &str) -> Result<(), WriteError> {
        self.put(&format!("{stem}.svg"), svg.as_bytes())?;
        let name = format!("{stem}.png");
        let png = plot::png(svg, PIXELS).map_err(|error| WriteError {
            path: self.folder.join(&name),
            error: std::io::Error::other(error),
        })?;
        self.put(&name, &png)
    }

    /// Writes one file, whole or not at all.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        files::put(&self.folder.join(name), bytes)
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Plain numbers, texts and lists: nothing here can fail to be JSON.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
