//! What a run leaves behind: metrics.csv, state.json, summary.json.
//!
//! Each file is written beside its place and moved there when it is whole: a run that fails leaves the results of an
//! earlier one as they were.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Experiment;
use crate::metrics::Metrics;
use crate::problem::AnyProblem;
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
    iterations: u64,
    nodes: usize,
    metrics: Option<&'a Metrics>,
    experiment: &'a Experiment,
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

    /// Writes all files.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn write(
        &self,
        experiment: &Experiment,
        nodes: &[SimulatedNode<AnyProblem<'_>>],
        rows: &[Metrics],
    ) -> Result<(), OutputError> {
        self.put("metrics.csv", csv(rows).as_bytes())?;
        let iteration = nodes.first().map_or(0, |node| node.state().round);
        let state = |(id, node)| {
            let s = SimulatedNode::state(node);
            NodeState { id, x: s.x, theta: s.theta, v: s.v, z: s.z, y: s.y }
        };
        let nodes: Vec<NodeState<'_>> = (0..).zip(nodes).map(state).collect();
        let summary =
            Summary { iterations: iteration, nodes: nodes.len(), metrics: rows.last(), experiment };
        self.put("summary.json", &json(&summary))?;
        self.put("state.json", &json(&States { iteration, nodes }))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
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

/// The rows as CSV: numbers that read back to the same bits, nothing where a figure does not exist.
fn csv(rows: &[Metrics]) -> String {
    let mut text = String::from(
        "iteration,outer_loss,inner_loss,consensus,tracking,train_accuracy,validation_accuracy,\
         test_accuracy,hessian_vectors,seconds\n",
    );
    let figure = |figure: Option<f64>| figure.map_or(String::new(), |a| a.to_string());
    for row in rows {
        let Metrics { iteration, outer_loss, inner_loss, consensus, tracking, .. } = row;
        let [train, validation, test] =
            [row.train_accuracy, row.validation_accuracy, row.test_accuracy].map(figure);
        text += &format!(
            "{iteration},{outer_loss},{inner_loss},{consensus},{tracking},{train},{validation},{test},{},{}\n",
            row.hessian_vectors, row.seconds
        );
    }
    text
}
