//! The files of a run: metrics.csv, state.json, model.json, summary.json, report.html and its figures.
//!
//! All are written beside their places and moved there once all are whole: a run that fails leaves the results of an
//! earlier one as they were. A folder is used by one command at a time, and only files that a command has written are
//! ever replaced.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use lopa_core::problems::AnyProblem;
use rayon::prelude::*;
use serde::Serialize;

use super::schema::{States, Summary};
use super::{Chosen, Learned, Report, captioned, charts, labels, of_run};
use crate::algorithms::NodeView;
use crate::config::Experiment;
use crate::data::Shard;
use crate::files::{self, Access, Held, WriteError};
use crate::model::{Model, Variables};
use crate::plot;
use crate::record::Record;
use crate::topology::{Layout, Weights, drawing};

/// The name of the summary.
const SUMMARY: &str = "summary.json";
/// The file that was run, with everything that was chosen.
const EXPERIMENT: &str = "experiment.toml";
/// The name of the page.
const PAGE: &str = "report.html";
/// The name of what a study found.
pub(crate) const STUDY: &str = "study.json";
/// The folder of its figures.
pub(super) const FIGURES: &str = "figures";
/// Pixels of a picture per unit of its SVG: enough for print.
const PIXELS: f32 = 3.0;
/// The most nodes in a picture of the network: more would be a blot.
const MOST_DRAWN: usize = 2_000;

/// Names the files that we have written into a folder, one per line. It is locked while a command uses the folder.
const LIST: &str = "lopa.lock";

/// A folder for results, which no other command uses meanwhile.
#[derive(Debug)]
pub struct Outputs {
    folder: PathBuf,
    list: Held,
}

/// The results of a run.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// What was run.
    pub experiment: &'a Experiment,
    /// The network.
    pub weights: &'a Weights,
    /// Its weights before they were rounded to multiples of 1/256, if they were.
    pub unrounded: Option<&'a Weights>,
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
    /// Why not, if it diverged.
    pub diverged: Option<&'a str>,
    /// How often link timeouts split the network.
    pub losses: u64,
    /// The settings that the file leaves open.
    pub chosen: &'a [Chosen],
    /// What nodes have learned in the end.
    pub learned: Option<&'a Learned>,
    /// Of a fleet: an account for `summary.json`, and the same in a sentence.
    pub fleet: Option<(&'a serde_json::Value, &'a str)>,
}

impl Results<'_> {
    /// What was learned; none without samples, and of a run that diverged.
    fn model(&self) -> Option<Model> {
        let refitted = self.learned.and_then(|learned| learned.thetas.as_ref());
        let learned = self.nodes.iter().enumerate().map(|(place, node)| {
            let theta = refitted.and_then(|all| all.get(place)).map(Vec::as_slice);
            Variables { id: node.id, x: node.x, theta: theta.unwrap_or(node.theta) }
        });
        let model = Model::new(self.experiment, self.shards, learned);
        model.filter(|_| self.diverged.is_none())
    }
}

impl Outputs {
    /// The files of a run, but for its figures.
    pub const RUN: [&str; 8] = [
        "metrics.csv",
        "nodes.csv",
        SUMMARY,
        "state.json",
        Model::FILE,
        EXPERIMENT,
        PAGE,
        "checkpoint.lopa",
    ];

    /// Makes the folder, checks now that it can be written to, and keeps other commands out of it.
    ///
    /// # Errors
    /// Says which path could not be written, or that another command uses the folder.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, WriteError> {
        let folder = folder.into();
        let open = || File::options().read(true).append(true).create(true).open(folder.join(LIST));
        let fresh = !folder.join(LIST).exists();
        let mut list = match fs::create_dir_all(&folder).and_then(|()| open()) {
            Ok(list) => list,
            Err(error) => return Err(WriteError { path: folder, error }),
        };
        if fresh && let Err(error) = list.write_all(without_list(&folder).as_bytes()) {
            return Err(WriteError { path: folder, error });
        }
        let list = Held(list);
        match list.0.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let what = "another command is using this folder: wait until it ends, or choose another folder";
                Err(WriteError { path: folder, error: io::Error::other(what) })
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { folder, list }),
        }
    }

    /// The same for files of these names, after a [`check`](Self::check): nothing is written if it fails.
    ///
    /// # Errors
    /// Names the file, or says why the folder cannot be used.
    pub fn for_files<N: AsRef<str>>(
        folder: impl Into<PathBuf>,
        names: &[N],
    ) -> Result<Self, WriteError> {
        let folder = folder.into();
        Self::check(&folder, names)?;
        Self::new(folder)
    }

    /// Checks that none of these files would replace one of someone else. A report brings its figures.
    ///
    /// # Errors
    /// Names the file.
    pub fn check<N: AsRef<str>>(folder: &Path, names: &[N]) -> Result<(), WriteError> {
        let list = fs::read_to_string(folder.join(LIST));
        let list = list.unwrap_or_else(|_| without_list(folder));
        let mut names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        if names.iter().any(|name| name == PAGE) {
            let figures = fs::read_dir(folder.join(FIGURES)).into_iter().flatten().flatten();
            let there = figures.filter_map(|entry| entry.file_name().into_string().ok());
            let picture = |name: &String| name.ends_with(".svg") || name.ends_with(".png");
            names.extend(there.filter(picture).map(|name| format!("{FIGURES}/{name}")));
        }
        names.iter().try_for_each(|name| ours(folder, name, &list))
    }

    /// Where results go.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder has results of a run that did not diverge.
    #[must_use]
    pub(crate) fn has_good_results(&self) -> bool {
        self.folder.join(SUMMARY).exists() && diverged(&self.folder).is_none()
    }

    /// Whether a file of this name in the folder is one that a command has written.
    #[must_use]
    pub fn has_written(&self, name: &str) -> bool {
        self.list().is_ok_and(|list| list.lines().any(|line| line == name))
    }

    fn list(&self) -> Result<String, WriteError> {
        let (mut text, mut file) = (String::new(), &self.list.0);
        match file.rewind().and_then(|()| file.read_to_string(&mut text)) {
            Ok(_) => Ok(text),
            Err(error) => Err(WriteError { path: self.folder.join(LIST), error }),
        }
    }

    /// Files to be written together.
    #[must_use]
    pub const fn batch(&self) -> Batch<'_> {
        Batch {
            outputs: self,
            files: Vec::new(),
            obsolete: Vec::new(),
            report: false,
            access: Access::Usual,
        }
    }

    /// Writes all files of a run, or none.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn write(&self, results: &Results<'_>) -> Result<(), WriteError> {
        let mut batch = self.batch();
        batch.add("metrics.csv", results.record.csv());
        match results.node_record {
            Some(record) => batch.add("nodes.csv", record.csv()),
            None => batch.remove("nodes.csv"),
        }
        batch.add_json(SUMMARY, &Summary::new(results))?;
        batch.add_json("state.json", &States::new(results.nodes))?;
        match results.model() {
            Some(model) => batch.add_json(Model::FILE, &model)?,
            None => batch.remove(Model::FILE),
        }
        let Results { experiment, weights, layout, shards, record, .. } = *results;
        let mut figures = captioned(charts(record, "iteration"));
        figures.extend(labels(shards, experiment.data.validation()));
        let network = (weights.topology().nodes() <= MOST_DRAWN)
            .then(|| drawing::svg(weights, layout, &experiment.network.topology.to_string()));
        let configuration =
            toml::to_string(experiment).map_err(|error| self.failed(PAGE, error))?;
        let moved = toml::to_string(&experiment.moved_to(&self.folder));
        batch.add(EXPERIMENT, moved.map_err(|error| self.failed(EXPERIMENT, error))?);
        batch.add_report(&of_run(results, figures, network, configuration))?;
        batch.write()
    }

    /// Why a file could not be written, if it could not even be made.
    pub(crate) fn failed(
        &self,
        name: &str,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> WriteError {
        WriteError { path: self.folder.join(name), error: io::Error::other(error) }
    }

    /// Writes one file, whole or not at all.
    ///
    /// # Errors
    /// Says which path could not be written.
    pub fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) -> Result<(), WriteError> {
        let mut batch = self.batch();
        batch.add(name, bytes);
        batch.write()
    }
}

/// Why the run whose results are in a folder diverged, if it did.
#[must_use]
pub fn diverged(folder: &Path) -> Option<String> {
    Some(summary(folder)?.get("diverged")?.as_str()?.to_owned())
}

/// The experiment whose results are in a folder, as `summary.json` has it.
#[must_use]
pub fn experiment(folder: &Path) -> Option<serde_json::Value> {
    Some(summary(folder)?.get_mut("experiment")?.take())
}

fn summary(folder: &Path) -> Option<serde_json::Value> {
    serde_json::from_slice(&fs::read(folder.join(SUMMARY)).ok()?).ok()
}

/// Refuses a name that a file of someone else has.
fn ours(folder: &Path, name: &str, list: &str) -> Result<(), WriteError> {
    let path = folder.join(name);
    if list.lines().any(|line| line == name) || path.symlink_metadata().is_err() {
        return Ok(());
    }
    let what =
        "a file of this name is there that lopa did not write: move it, or choose another folder";
    Err(WriteError { path, error: io::Error::other(what) })
}

/// The list of a folder that has none. Repositories keep studies of the paper without it, and all their files are ours.
fn without_list(folder: &Path) -> String {
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let mut all = names(folder);
    let is_study = |name: &String| folder.join(name).join(STUDY).is_file();
    if !folder.join(STUDY).is_file() && !all.iter().any(is_study) {
        return String::new();
    }
    all.extend(names(&folder.join(FIGURES)).iter().map(|name| format!("{FIGURES}/{name}")));
    all.iter().filter(|name| folder.join(name).is_file()).map(|name| format!("{name}\n")).collect()
}

/// Files of a folder that are written together: all of them, or none.
#[derive(Debug)]
pub struct Batch<'o> {
    outputs: &'o Outputs,
    files: Vec<(String, Vec<u8>)>,
    obsolete: Vec<String>,
    report: bool,
    access: Access,
}

impl Batch<'_> {
    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.push((name.into(), bytes.into()));
    }

    /// Removes the file of an earlier command that does not belong to these.
    pub fn remove(&mut self, name: &str) {
        self.obsolete.push(name.into());
    }

    /// Lets only the owner read the files, where the system knows owners.
    pub const fn restrict(&mut self, access: Access) {
        self.access = access;
    }

    /// Adds one value as a line of JSON.
    ///
    /// # Errors
    /// Says which value could not be written.
    pub fn add_json(&mut self, name: &str, value: &impl Serialize) -> Result<(), WriteError> {
        let bytes = serde_json::to_vec(value);
        let mut bytes = bytes.map_err(|error| self.outputs.failed(name, error))?;
        bytes.push(b'\n');
        self.add(name, bytes);
        Ok(())
    }

    /// Adds a page, and its pictures as files of their own: one SVG and one PNG file each, in the folder `figures`.
    ///
    /// # Errors
    /// Says which picture could not be drawn.
    pub fn add_report(&mut self, report: &Report) -> Result<(), WriteError> {
        let figures = report.learned.iter().chain(&report.figures);
        let figures = figures.map(|figure| (&figure.stem[..], figure.drawing.svg()));
        let network = report.network.iter().map(|svg| ("network", svg.clone()));
        let svgs: Vec<(&str, String)> = figures.chain(network).collect();
        // Most of the time goes into pixels, picture by picture.
        let pngs: Vec<_> = svgs.par_iter().map(|(_, svg)| plot::png(svg, PIXELS)).collect();
        for ((stem, svg), png) in svgs.into_iter().zip(pngs) {
            let name = format!("{FIGURES}/{stem}.png");
            let png = png.map_err(|error| self.outputs.failed(&name, error))?;
            self.add(format!("{FIGURES}/{stem}.svg"), svg);
            self.add(name, png);
        }
        self.add(PAGE, report.html());
        self.report = true;
        Ok(())
    }

    /// Writes all files; if one cannot be written, those of an earlier command are unchanged.
    ///
    /// # Errors
    /// Says which path could not be written, or would replace a file that no command has written.
    pub fn write(self) -> Result<(), WriteError> {
        let Outputs { folder, list } = self.outputs;
        let before = self.outputs.list()?;
        let mut new = String::new();
        for (name, _) in &self.files {
            ours(folder, name, &before)?;
            if before.lines().all(|line| line != name) {
                new += &format!("{name}\n");
            }
        }
        if self.report {
            let path = folder.join(FIGURES);
            fs::create_dir_all(&path).map_err(|error| WriteError { path, error })?;
        }
        let files: Vec<(PathBuf, &[u8])> =
            self.files.iter().map(|(name, bytes)| (folder.join(name), &bytes[..])).collect();
        files::stage(&files, self.access)?;
        let mut list = &list.0;
        if let Err(error) = list.write_all(new.as_bytes()).and_then(|()| list.sync_all()) {
            files::unstage(&files);
            return Err(WriteError { path: folder.join(LIST), error });
        }
        files::place(&files)?;
        // Figures of an earlier report, and files that only an earlier command had, would be taken for these results'.
        let old = |name: &&str| {
            let figure = self.report && name.starts_with(FIGURES);
            (figure || self.obsolete.iter().any(|own| own == name))
                && self.files.iter().all(|(own, _)| own != name)
        };
        for name in before.lines().filter(old) {
            let path = folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(WriteError { path, error });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
