//! The files of a run: metrics.csv, state.json, summary.json, report.html and its figures.
//!
//! Each file is written beside its place and moved there when it is whole: a run that fails leaves the results of an
//! earlier one as they were.

use std::fs;
use std::path::{Path, PathBuf};

use lopa_core::problems::AnyProblem;
use serde::Serialize;

use super::schema::{States, Summary};
use super::{Report, captioned, charts, labels, of_run};
use crate::algorithms::NodeView;
use crate::config::Experiment;
use crate::data::Shard;
use crate::files::{self, WriteError};
use crate::plot;
use crate::record::Record;
use crate::topology::{Layout, Weights, drawing};

/// The name of the page.
const PAGE: &str = "report.html";
/// Pixels of a picture per unit of its SVG: enough for print.
const PIXELS: f32 = 3.0;
/// The most nodes in a picture of the network: more would be a blot.
const MOST_DRAWN: usize = 2_000;

/// A folder for results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outputs {
    folder: PathBuf,
}

/// The results of a run.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// What was run.
    pub experiment: &'a Experiment,
    /// The network.
    pub weights: &'a Weights,
    /// Where its picture has the nodes.
    pub layout: Layout,
    /// The samples of every node; none if the problem has no samples.
    pub shards: &'a [Shard],
    /// The nodes, all between the same two rounds.
    pub nodes: &'a [NodeView<'a, AnyProblem<'a>>],
    /// What was measured.
    pub record: &'a Record,
    /// What was measured of single nodes.
    pub node_record: Option<&'a Record>,
    /// Whether all rounds are done.
    pub finished: bool,
    /// How often link timeouts split the network.
    pub losses: u64,
    /// Of a fleet: an account for `summary.json`, and the same in a sentence.
    pub fleet: Option<(&'a serde_json::Value, &'a str)>,
}

impl Outputs {
    /// Makes the folder, and checks now that it can be written to.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, WriteError> {
        let folder = folder.into();
        let probe = folder.join(".lopa-writes-here");
        let tried = fs::create_dir_all(&folder).and_then(|()| fs::write(&probe, ""));
        match tried.and_then(|()| fs::remove_file(&probe)) {
            Ok(()) => Ok(Self { folder }),
            Err(error) => Err(WriteError { path: folder, error }),
        }
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
        self.put("metrics.csv", results.record.csv().as_bytes())?;
        if let Some(record) = results.node_record {
            self.put("nodes.csv", record.csv().as_bytes())?;
        }
        self.put_json("summary.json", &Summary::new(results))?;
        self.put_json("state.json", &States::new(results.nodes))?;
        self.show(results)
    }

    /// The report and its pictures.
    fn show(&self, results: &Results<'_>) -> Result<(), WriteError> {
        let Results { experiment, weights, layout, shards, record, .. } = *results;
        let mut figures = captioned(charts(record, "iteration"));
        figures.extend(labels(shards, experiment.data.validation()));
        let network = (weights.topology().nodes() <= MOST_DRAWN)
            .then(|| drawing::svg(weights, layout, &experiment.network.topology.to_string()));
        let configuration =
            toml::to_string(experiment).map_err(|error| self.failed(PAGE, error))?;
        self.report(&of_run(results, figures, network, configuration))
    }

    /// Writes a page, and its pictures as files of their own.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn report(&self, report: &Report) -> Result<(), WriteError> {
        self.draw(report)?;
        self.put(PAGE, report.html().as_bytes())
    }

    /// Draws the pictures of a page: one SVG and one PNG file each, in the folder `figures`.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn draw(&self, report: &Report) -> Result<(), WriteError> {
        let folder = Self::new(self.folder.join("figures"))?;
        for figure in &report.figures {
            folder.picture(&figure.stem, &figure.drawing.svg())?;
        }
        report.network.iter().try_for_each(|svg| folder.picture("network", svg))
    }

    /// One picture as SVG and PNG.
    fn picture(&self, stem: &str, svg: &str) -> Result<(), WriteError> {
        self.put(&format!("{stem}.svg"), svg.as_bytes())?;
        let name = format!("{stem}.png");
        let png = plot::png(svg, PIXELS).map_err(|error| self.failed(&name, error))?;
        self.put(&name, &png)
    }

    /// Why a file could not be written, if it could not even be made.
    pub(crate) fn failed(
        &self,
        name: &str,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> WriteError {
        WriteError { path: self.folder.join(name), error: std::io::Error::other(error) }
    }

    /// Writes one file, whole or not at all.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        files::put(&self.folder.join(name), bytes)
    }

    /// Writes one value as a line of JSON.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn put_json(&self, name: &str, value: &impl Serialize) -> Result<(), WriteError> {
        let mut bytes = serde_json::to_vec(value).map_err(|error| self.failed(name, error))?;
        bytes.push(b'\n');
        self.put(name, &bytes)
    }
}
