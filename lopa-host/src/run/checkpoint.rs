//! Where a run stood: everything it needs to go on as if it had never stopped.
//!
//! A file with a line that says what it is, a line of JSON, the checkpoints of all nodes (of LoPA, as a chip writes
//! them), and the CRC-32 of all of that.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::algorithms::RestoreError;
use crate::config::Experiment;
use crate::metrics;
use crate::network::Traffic;
use crate::record::{Record, RecordError};

/// The file's name.
pub(crate) const NAME: &str = "checkpoint.lopa";
const FIRST_LINE: &[u8] = b"LoPA run, checkpoint 4\n";

/// Where a run stood, but for its nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// The file it was described by.
    #[serde(with = "as_toml")]
    pub(crate) experiment: Experiment,
    /// The checksum of what nodes learn from, and of the network.
    pub(crate) digest: u32,
    /// Rounds completed.
    pub(crate) round: u64,
    /// Seconds it took.
    pub(crate) seconds: f64,
    /// What nodes sent.
    pub(crate) traffic: Traffic,
    /// The record so far, and that of single nodes, as CSV.
    records: [String; 2],
}

/// A file within the JSON, as the TOML that it is: what reads it back does not depend on how some other crate of a build
/// wants JSON's numbers kept.
mod as_toml {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::config::Experiment;

    pub(super) fn serialize<S: Serializer>(file: &Experiment, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&toml::to_string(file).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Experiment, D::Error> {
        toml::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Why a run cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// There is no checkpoint.
    #[error("cannot resume from {file}: {1}; run without --resume", file = .0.display())]
    Missing(PathBuf, #[source] std::io::Error),
    /// It is damaged, or of another version.
    #[error("cannot resume from {}: it is damaged or of another version; run without --resume", .0.display())]
    Damaged(PathBuf),
    /// It is of another run.
    #[error(
        "cannot resume: {0} is not what the run began with; put it back, or run without --resume"
    )]
    Other(&'static str),
    /// It is further than the file wants to go.
    #[error(
        "cannot resume: the run has completed {round} rounds already, run.iterations is {wanted}"
    )]
    Beyond {
        /// Rounds completed.
        round: u64,
        /// Rounds wanted.
        wanted: u64,
    },
    /// A node refuses its part.
    #[error("cannot resume: {0}")]
    Node(RestoreError),
    /// Its record makes no sense.
    #[error("cannot resume: the record's {0}")]
    Record(RecordError),
}

impl Standing {
    /// Where a run stands.
    pub(crate) fn new(
        experiment: &Experiment,
        digest: u32,
        round: u64,
        seconds: f64,
        traffic: Option<Traffic>,
        records: [&Record; 2],
    ) -> Self {
        let traffic = traffic.unwrap_or_default();
        let records = records.map(Record::csv);
        Self { experiment: experiment.clone(), digest, round, seconds, traffic, records }
    }

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
    ) -> Result<Self, ResumeError> {
        let path = folder.join(NAME);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return Err(ResumeError::Missing(path, error)),
        };
        let (standing, nodes) = split(&bytes).ok_or(ResumeError::Damaged(path))?;
        standing.check(experiment, digest)?;
        restore(nodes).map_err(ResumeError::Node)?;
        Ok(standing)
    }

    fn check(&self, new: &Experiment, digest: u32) -> Result<(), ResumeError> {
        let old = &self.experiment;
        let run = |run: &crate::config::RunTable| {
            (run.seed, run.record_every, run.metrics.clone(), run.per_node)
        };
        for (what, same) in [
            ("the table [problem]", old.problem == new.problem),
            ("the table [algorithm]", old.algorithm == new.algorithm),
            ("the table [links]", old.links == new.links),
            (
                "the seed, record_every, metrics or per_node of the table [run]",
                run(&old.run) == run(&new.run),
            ),
            ("the network or the data", self.digest == digest),
        ] {
            if !same {
                return Err(ResumeError::Other(what));
            }
        }
        let (round, wanted) = (self.round, new.run.iterations);
        if round > wanted { Err(ResumeError::Beyond { round, wanted }) } else { Ok(()) }
    }

    /// The records, without rows that a run without a stop would not have.
    pub(crate) fn records(&self) -> Result<[Record; 2], ResumeError> {
        let every = self.experiment.run.record_every as f64;
        let [record, nodes] = &self.records;
        let read = |text: &str| -> Result<Record, ResumeError> {
            let mut record = Record::parse(text, metrics::column).map_err(ResumeError::Record)?;
            record.retain(|row| row[0].is_some_and(|iteration| iteration % every == 0.0));
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
