//! Where a run stood: everything it needs to go on as if it had never stopped.
//!
//! A file with a line that says what it is, a line of JSON, the checkpoints of all nodes (of LoPA, as a chip writes
//! them), and the CRC-32 of all of that.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{RunError, input};
use crate::algorithms::RestoreError;
use crate::config::{Experiment, RunTable};
use crate::metrics;
use crate::network::Traffic;
use crate::record::Record;

/// The file's name.
pub(crate) const NAME: &str = "checkpoint.lopa";
const FIRST_LINE: &[u8] = b"LoPA run, checkpoint 4\n";

/// Where a run stood, but for its nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// The file it was described by, as TOML: what reads it back does not depend on how some other crate of a build wants
    /// JSON's numbers kept.
    pub(crate) experiment: String,
    /// The checksum of what nodes learn from, and of the network.
    pub(crate) digest: u32,
    /// Rounds completed.
    pub(crate) round: u64,
    /// Seconds it took.
    pub(crate) seconds: f64,
    /// What nodes sent.
    pub(crate) traffic: Traffic,
    /// The record so far, and that of single nodes, as CSV.
    pub(crate) records: [String; 2],
}

impl Standing {
    /// The file, with the nodes' own checkpoint in it.
    pub(crate) fn bytes(&self, nodes: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = FIRST_LINE.to_vec();
        bytes.extend(serde_json::to_vec(self)?);
        bytes.push(b'\n');
        bytes.extend(nodes);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        Ok(bytes)
    }

    /// Reads a file, and has `restore` put the nodes where they were.
    pub(crate) fn resume(
        folder: &Path,
        experiment: &Experiment,
        digest: u32,
        restore: impl FnOnce(&[u8]) -> Result<(), RestoreError>,
    ) -> Result<Self, RunError> {
        let path = folder.join(NAME);
        let unreadable = |why: &dyn std::fmt::Display| {
            let path = path.display();
            input(format!("cannot resume from {path}: {why}; run without --resume"))
        };
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&error))?;
        let damaged = || unreadable(&"it is damaged or of another version");
        let (standing, nodes) = split(&bytes).ok_or_else(damaged)?;
        let began_with = toml::from_str(&standing.experiment).map_err(|_| damaged())?;
        standing.check(&began_with, experiment, digest)?;
        restore(nodes).map_err(|error| input(format!("cannot resume: {error}")))?;
        Ok(standing)
    }

    fn check(&self, old: &Experiment, new: &Experiment, digest: u32) -> Result<(), RunError> {
        let run = |run: &RunTable| (run.seed, run.record_every, run.metrics.clone(), run.per_node);
        let checks = [
            ("the table [problem]", old.problem == new.problem),
            ("the table [algorithm]", old.algorithm == new.algorithm),
            ("the table [links]", old.links == new.links),
            (
                "the seed, record_every, metrics or per_node of the table [run]",
                run(&old.run) == run(&new.run),
            ),
            ("the network or the data", self.digest == digest),
        ];
        if let Some((what, _)) = checks.into_iter().find(|(_, same)| !same) {
            return Err(input(format!(
                "cannot resume: {what} is not what the run began with; put it back, or run without --resume"
            )));
        }
        let (round, wanted) = (self.round, new.run.iterations);
        if round > wanted {
            return Err(input(format!(
                "cannot resume: the run has already completed {round} rounds, but run.iterations is {wanted}: raise it"
            )));
        }
        Ok(())
    }

    /// The records, without rows that a run without a stop would not have: every `every` rounds there is one.
    pub(crate) fn records(&self, every: u64) -> Result<[Record; 2], RunError> {
        let [record, nodes] = &self.records;
        let read = |text: &str| -> Result<Record, RunError> {
            let mut record = Record::parse(text, metrics::column)
                .map_err(|error| input(format!("cannot resume: the record's {error}")))?;
            record.retain(|row| row[0].is_some_and(|iteration| iteration % every as f64 == 0.0));
            Ok(record)
        };
        Ok([read(record)?, read(nodes)?])
    }
}

/// What a file says, and the bytes of its nodes; nothing if it is not whole.
fn split(bytes: &[u8]) -> Option<(Standing, &[u8])> {
    let (bytes, checksum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(bytes) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let bytes = bytes.strip_prefix(FIRST_LINE)?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (json, rest) = bytes.split_at(end);
    Some((serde_json::from_slice(json).ok()?, rest.get(1..)?))
}
