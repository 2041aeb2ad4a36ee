//! What a run leaves behind: metrics.csv, state.json, summary.json.
//!
//! Each file is written beside its place and moved there when it is whole: a run that fails leaves the results of an
//! earlier one as they were.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Experiment;
use crate::problem::AnyProblem;
use crate::record::Record;
use crate::run::Prepared;
use crate::simulation::SimulatedNode;

/// A folder for results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outputs {
    folder: PathBuf,
}

/// A result could not be written.
#[derive(Debug)]
pub struct OutputError {
    path: PathBuf,
    error: std::io::Error,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for OutputError {}

/// A node in `state.json`. Floats are written so that they read back to the same bits.
#[derive(Debug, Serialize)]
struct NodeState<'a> {
    id: u32,
    x: &'a [f32],
    theta: &'a [f32],
    v: &'a [f32],
    z: &'a [f32],
    y: &'a [f32],
}

#[derive(Debug, Serialize)]
struct States<'a> {
    iteration: u64,
    nodes: Vec<NodeState<'a>>,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    version: &'static str,
    iterations: u64,
    finished: bool,
    nodes: usize,
    links: usize,
    rho: f64,
    losses: u64,
    metrics: BTreeMap<&'a str, Option<f64>>,
    experiment: &'a Experiment,
}

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// What was run.
    pub prepared: &'a Prepared,
    /// The nodes, all between the same two rounds.
    pub nodes: &'a [SimulatedNode<AnyProblem<'a>>],
    /// What was measured.
    pub record: &'a Record,
    /// What was measured of single nodes.
    pub node_record: Option<&'a Record>,
    /// Whether all rounds are done.
    pub finished: bool,
    /// How often nodes over links lost one another, or thought so.
    pub losses: u64,
}

impl Outputs {
    /// Makes the folder, and finds out now whether it can be written to.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, OutputError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(|error| OutputError { path: folder.clone(), error })?;
        let probe = folder.join(".lopa-writes-here");
        fs::write(&probe, "").map_err(|error| OutputError { path: folder.clone(), error })?;
        fs::remove_file(&probe).map_err(|error| OutputError { path: probe, error })?;
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
    pub fn write(&self, results: &Results<'_>) -> Result<(), OutputError> {
        let Results { prepared, nodes, record, finished, losses, .. } = *results;
        self.put("metrics.csv", record.csv().as_bytes())?;
        if let Some(record) = results.node_record {
            self.put("nodes.csv", record.csv().as_bytes())?;
        }
        let iteration = nodes.first().map_or(0, |node| node.state().round);
        let state = |(id, node)| {
            let s = SimulatedNode::state(node);
            NodeState { id, x: s.x, theta: s.theta, v: s.v, z: s.z, y: s.y }
        };
        let nodes: Vec<NodeState<'_>> = (0..).zip(nodes).map(state).collect();
        let last = record.rows().last();
        let metrics = record.columns().iter().enumerate().skip(1);
        let summary = Summary {
            version: env!("CARGO_PKG_VERSION"),
            iterations: iteration,
            finished,
            nodes: nodes.len(),
            links: prepared.weights().topology().links().count(),
            rho: prepared.weights().spectrum().rho(),
            losses,
            metrics: metrics
                .map(|(at, column)| (column.name.as_str(), last.and_then(|row| row[at])))
                .collect(),
            experiment: prepared.experiment(),
        };
        self.put("summary.json", &json(&summary))?;
        self.put("state.json", &json(&States { iteration, nodes }))
    }

    /// Writes one file, whole or not at all.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let (path, beside) = (self.folder.join(name), self.folder.join(format!(".{name}.part")));
        let whole = |path: &Path| -> std::io::Result<()> {
            let mut file = fs::File::create(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&beside, path)
        };
        whole(&path).map_err(|error| OutputError { path, error })
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Plain numbers, texts and lists: nothing here can fail to be JSON.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
