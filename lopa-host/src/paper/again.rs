//! What an earlier run of a study measured, read back from its folder: a changed rule, note or figure needs no new run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

use super::account::Run;
use super::{Machine, Mode, Study};
use crate::algorithms::{AlgorithmTable, Key};
use crate::campaign::{Arm, CampaignError, Measured, Plan, Results, Searches, Trial};
use crate::data::fetch::sha256;
use crate::metrics::{Metric, column};
use crate::record::Record;

/// Why what an earlier run measured cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgainError {
    /// A file of its folder cannot be read.
    #[error("{}: {what}: run the study again, without --again", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Another set-up was run.
    #[error("{}: was run with another set-up: run the study again, without --again", .0.display())]
    Changed(PathBuf),
    /// Something was not measured.
    #[error("{}: has no {}, which the study needs now: run it again, without --again", .path.display(), .metric.name())]
    Lacks {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        metric: Metric,
    },
    /// The labels of its nodes cannot be drawn.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
}

/// An earlier run of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// What it measured.
    pub measured: Measured,
    /// Where and when it ran.
    pub machine: Machine,
    /// The options it was run with.
    pub options: String,
}

/// What is needed of `study.json`.
#[derive(Debug, Deserialize)]
struct Kept {
    seeds: usize,
    options: String,
    setup: String,
    records: String,
    #[serde(default)]
    steps: Vec<KeptSteps>,
}

#[derive(Debug, Deserialize)]
struct KeptSteps {
    arm: String,
    found: Vec<AlgorithmTable>,
}

/// The records of every arm by seed; arms and seeds that are missing diverged.
type Rows = BTreeMap<String, BTreeMap<usize, Record>>;

impl Study {
    /// What an earlier run in `folder` measured, with the plan of this mode.
    ///
    /// # Errors
    /// Names the file that is missing, damaged or of another set-up, and the metric that was not measured.
    pub fn earlier(
        &self,
        mode: Mode,
        mut plan: Plan,
        folder: &Path,
    ) -> Result<Earlier, AgainError> {
        let file = |name: &str, what: String| AgainError::File { path: folder.join(name), what };
        let read = |name: &str| {
            fs::read_to_string(folder.join(name)).map_err(|error| file(name, error.to_string()))
        };
        let wrong =
            |name: &'static str| move |error: serde_json::Error| file(name, error.to_string());
        let kept: Kept = serde_json::from_str(&read("study.json")?).map_err(wrong("study.json"))?;
        let run: Run = serde_json::from_str(&read("run.json")?).map_err(wrong("run.json"))?;
        if kept.setup != self.setup(mode) {
            return Err(AgainError::Changed(folder.to_path_buf()));
        }
        let text = read("records.csv")?;
        if sha256(text.as_bytes()).unwrap_or_default() != kept.records {
            return Err(file("records.csv", "is not what study.json says".into()));
        }
        let mut rows = rows(&text).map_err(|what| file("records.csv", what))?;
        if self.metrics().contains(&Metric::Seconds) {
            let seconds = self::rows(&read("seconds.csv")?);
            let seconds = seconds.map_err(|what| file("seconds.csv", what))?;
            add_seconds(&mut rows, &seconds);
        }
        for metric in self.metrics() {
            let there = |record: &Record| record.values(metric.name()).is_some();
            if !rows.values().flat_map(BTreeMap::values).all(there) {
                return Err(AgainError::Lacks { path: folder.to_path_buf(), metric });
            }
        }
        let mut results = Results::new();
        for arm in &mut plan.arms {
            let mut own = rows.remove(&arm.name).unwrap_or_default();
            results
                .insert(arm.name.clone(), (0..kept.seeds).map(|seed| own.remove(&seed)).collect());
            let steps = kept.steps.iter().find(|steps| steps.arm == arm.name);
            arm.found = steps.map_or_else(Vec::new, |steps| steps.found.clone());
        }
        let searches = match self.tuned_by() {
            None => Vec::new(),
            Some(_) => {
                searches(&read("tune.csv")?, &plan.arms).map_err(|what| file("tune.csv", what))?
            }
        };
        let labels = plan.dealt()?;
        let measured = Measured { arms: plan.arms, searches, results, labels };
        Ok(Earlier { measured, machine: run.machine, options: kept.options })
    }
}

fn number<T: FromStr>(cell: &str) -> Result<T, String> {
    cell.parse().map_err(|_| format!("{cell:?} is not a number"))
}

/// A number that may be missing.
fn maybe<T: FromStr>(cell: &str) -> Result<Option<T>, String> {
    if cell.is_empty() { Ok(None) } else { number(cell).map(Some) }
}

/// The records in a table whose first columns are the arm and the seed.
fn rows(text: &str) -> Result<Rows, String> {
    let mut table = ::csv::Reader::from_reader(text.as_bytes());
    let names = table.headers().map_err(|error| error.to_string())?.clone();
    let columns: Vec<_> = names.iter().skip(2).map(column).collect();
    let mut rows = Rows::new();
    for line in table.records() {
        let line = line.map_err(|error| error.to_string())?;
        let row = line.iter().skip(2).map(maybe).collect::<Result<Vec<Option<f64>>, _>>()?;
        let (arm, seed) = (line.get(0).unwrap_or_default(), line.get(1).unwrap_or_default());
        let own = rows.entry(arm.to_owned()).or_default();
        own.entry(number(seed)?).or_insert_with(|| Record::new(columns.clone())).push(row);
    }
    Ok(rows)
}

/// Puts the column of seconds back.
fn add_seconds(rows: &mut Rows, seconds: &Rows) {
    for (arm, own) in rows {
        for (seed, record) in own {
            let name = Metric::Seconds.name();
            let found = seconds.get(arm).and_then(|own| own.get(seed)?.values(name));
            let Some(found) = found else { continue };
            let columns = record.columns().iter().cloned().chain([Metric::Seconds.column()]);
            let mut with = Record::new(columns.collect());
            for (row, seconds) in record.rows().iter().zip(found) {
                with.push(row.iter().copied().chain([seconds]).collect());
            }
            *record = with;
        }
    }
}

/// The searches in `tune.csv`.
fn searches(text: &str, arms: &[Arm]) -> Result<Searches, String> {
    let mut table = ::csv::Reader::from_reader(text.as_bytes());
    let mut all = Searches::new();
    for line in table.records() {
        let line = line.map_err(|error| error.to_string())?;
        let cell = |at: usize| line.get(at).unwrap_or_default();
        let name = cell(0);
        let arm = arms.iter().find(|arm| name.starts_with(&format!("{}, search ", arm.name)));
        let arm = arm.ok_or_else(|| format!("{name:?} is not a search of this study"))?;
        let mut algorithm = arm.experiment.algorithm.clone();
        for (place, key) in Key::STEPS.into_iter().enumerate() {
            if let Some(step) = maybe(cell(5 + place))? {
                algorithm.set_step(key, step);
            }
        }
        let trial = Trial {
            rung: number(cell(2))?,
            trial: number(cell(3))?,
            rounds: number(cell(4))?,
            algorithm,
            value: maybe(cell(5 + Key::STEPS.len()))?,
        };
        match all.last_mut().filter(|(last, _)| last == name) {
            Some((_, trials)) => trials.push(trial),
            None => all.push((name.to_owned(), vec![trial])),
        }
    }
    Ok(all)
}
