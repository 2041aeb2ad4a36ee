//! Where a run stood: everything it needs to go on as if it had never stopped.
//!
//! A file with a line that says what it is, a line of JSON, the checkpoints of all nodes (of LoPA, as a chip writes
//! them), and the CRC-32 of all of that.

use std::path::Path;

use lopa_core::exchange::Micros;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::{RunError, input};
use crate::algorithms::RestoreError;
use crate::config::Experiment;
use crate::metrics;
use crate::network::Traffic;
use crate::record::Record;
use crate::report::Chosen;

/// The file's name.
pub(crate) const NAME: &str = "checkpoint.lopa";
const FIRST_LINE: &[u8] = b"LoPA run, checkpoint 7\n";

/// Checksums of what files say: the names of files may change, but not their contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digests {
    /// The network, and what nodes learn from.
    pub(crate) network: u32,
    /// What nodes are tested on.
    pub(crate) test: u32,
    /// Where x starts.
    pub(crate) start: u32,
}

/// Where a run stood, but for its nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// The file it was described by, as TOML: what reads it back does not depend on how some other crate of a build wants
    /// JSON's numbers kept.
    pub(crate) experiment: String,
    /// The checksums of what files say.
    pub(crate) digests: Digests,
    /// Rounds completed.
    pub(crate) round: u64,
    /// Seconds it took.
    pub(crate) seconds: f64,
    /// What nodes sent.
    pub(crate) traffic: Traffic,
    /// The simulated time that it took a fleet, if links are simulated.
    pub(crate) fleet_time: Micros,
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
        digests: Digests,
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
        standing.check(&began_with, experiment, digests)?;
        restore(nodes).map_err(|error| input(format!("cannot resume: {error}")))?;
        Ok(standing)
    }

    fn check(&self, old: &Experiment, new: &Experiment, now: Digests) -> Result<(), RunError> {
        let began = self.digests;
        let contents = [
            ("the network or the data", began.network == now.network),
            ("the test data", began.test == now.test),
            ("the file of run.x0", began.start == now.start),
        ];
        let changed = contents.into_iter().find(|(_, same)| !same).map(|(what, _)| what.to_owned());
        if let Some(what) = changed_setting(old, new)?.or(changed) {
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

/// Fills in what a file leaves open with what was chosen when the run began, so that it can be made longer: other settings
/// might be chosen for more rounds. Returns what was chosen. A checkpoint that cannot be read changes nothing; resuming reports it.
pub fn settle(experiment: &mut Experiment, folder: &Path) -> Vec<Chosen> {
    let began = std::fs::read(folder.join(NAME)).ok();
    let began = began.as_deref().and_then(split);
    let began = began.and_then(|(standing, _)| toml::from_str(&standing.experiment).ok());
    let (Some(began), true) = (began, experiment.is_open()) else { return Vec::new() };
    let began: Experiment = began;
    let mut chosen = Vec::new();
    let run = &mut experiment.run;
    if let (None, Some(start)) = (&run.x0, began.run.x0) {
        chosen.push(Chosen { key: "run.x0", value: start.to_string() });
        run.x0 = Some(start);
    }
    run.refit = run.refit.or(began.run.refit);
    run.baselines = run.baselines.or(began.run.baselines);
    for key in experiment.algorithm.open().collect::<Vec<_>>() {
        if let Some(step) = began.algorithm.step(key) {
            chosen.push(Chosen { key: key.in_table(), value: step.to_string() });
            experiment.algorithm.set_step(key, step);
        }
    }
    chosen
}

/// The first table whose settings differ, and the keys that do.
fn changed_setting(old: &Experiment, new: &Experiment) -> Result<Option<String>, RunError> {
    let [old, new] = [settings(old)?, settings(new)?];
    for table in old.keys().chain(new.keys()) {
        let [old, new] = [&old, &new].map(|all| all.get(table).and_then(Value::as_table));
        if old == new {
            continue;
        }
        let [old, new] = [old, new].map(|table| table.cloned().unwrap_or_default());
        let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| old.get(*key) != new.get(*key));
        let keys: Vec<String> = keys.iter().map(|key| format!("{table}.{key}")).collect();
        let what = match &table[..] {
            "network" | "data" => "the network or the data".into(),
            table => format!("the table [{table}]"),
        };
        let verb = if keys.len() == 1 { "differs" } else { "differ" };
        return Ok(Some(if keys.is_empty() {
            what
        } else {
            // The keys first: they are what has to be put back.
            format!("{} {verb}: {what}", keys.join(", "))
        }));
    }
    Ok(None)
}

/// Every setting that changes what is computed or reported.
fn settings(experiment: &Experiment) -> Result<Table, RunError> {
    let mut experiment = experiment.clone();
    // A run may become longer, save itself more or less often, and have its boards elsewhere.
    experiment.run.iterations = 0;
    experiment.run.checkpoint_every = None;
    experiment.fleet = None;
    // Files may have moved: their contents are compared instead.
    for path in experiment.paths_mut() {
        *path = "file".into();
    }
    Table::try_from(&experiment).map_err(input)
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
