//! The table `data` of a file: where samples come from, and how nodes get them.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lopa_core::samples::LabelKind;
use serde::{Deserialize, Serialize};

use super::csv::{self, Column, Columns};
use super::reader::MOST_VALUES;
use super::standard::add_intercepts;
use super::{
    DataError, Dataset, Deal, FileError, Partition, Shard, Table, TestPart, cifar, covtype,
    folders, libsvm, mnist, shelf, standardise, synthetic::Recipe,
};
use crate::words::word;

/// The table `data`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataTable {
    /// Where samples come from; if not given, from `file` or `dir`, and synthetic without either.
    pub source: Option<Source>,
    /// The folder of the files; for "csv", one with a folder per node.
    pub dir: Option<PathBuf>,
    /// For "csv" and "libsvm": one file for all nodes.
    pub file: Option<PathBuf>,
    /// For "csv" and "libsvm": a file of test samples; without it, a sixth of the samples is held out.
    pub test_file: Option<PathBuf>,
    /// For "csv": the column of labels, by name or number; the last column if there is a header, otherwise the first.
    pub label: Option<Column>,
    /// For "csv": the column that tells which node a sample belongs to.
    pub node: Option<Column>,
    /// For "csv": columns to leave out.
    pub ignore: Option<Vec<Column>>,
    /// For "csv": whether the first row names the columns; if not given, it does if no cell of it is a number.
    pub header: Option<bool>,
    /// The classes to learn, by number or name; all if none are named.
    pub classes: Option<Vec<String>>,
    /// How many samples to use in all; all of them if not given. For synthetic data: training samples per node, 40 if
    /// not given.
    pub samples: Option<usize>,
    /// How samples are dealt out to nodes.
    pub partition: Option<Partition>,
    /// The part of a node's samples that is for the outer problem only, or "same": both levels use all of them.
    pub validation: Option<Validation>,
    /// Whether features are scaled to mean 0 and deviation 1, which they are if not given; files of folders per node are
    /// not, and pixels never.
    pub standardise: Option<bool>,
    /// Whether samples get a feature that is always 1, so that a model need not go through the origin; if not given, those
    /// of one CSV file do.
    pub intercept: Option<bool>,
    /// For synthetic data: features of a sample, 24 if not given.
    pub features: Option<usize>,
    /// For synthetic data: how many of them matter, 4 if not given.
    pub relevant: Option<usize>,
    /// Synthetic data only: whether labels depend on them in the same way on every node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alike: Option<bool>,
}

/// Where samples come from; written as in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Made up: [`Recipe`].
    #[default]
    Synthetic,
    /// [`mnist`].
    Mnist,
    /// [`covtype`].
    Covtype,
    /// [`cifar`].
    Cifar10,
    /// [`csv`], or [`folders`] of them.
    Csv,
    /// [`libsvm`].
    Libsvm,
}

impl Source {
    /// Whether it is a public data set that [`fetch`](mod@super::fetch) downloads, into a folder with its name.
    #[must_use]
    pub const fn is_public(self) -> bool {
        matches!(self, Self::Mnist | Self::Covtype | Self::Cifar10)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What the outer problem has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "validation must be a part between 0 and 1, or \"same\"")]
pub enum Validation {
    /// This part of a node's samples, above 0 and below 1, for itself.
    Part(f64),
    /// The samples of the inner problem.
    #[serde(with = "same")]
    Same,
}

word!(same);

impl Default for Validation {
    fn default() -> Self {
        Self::Part(0.5)
    }
}

impl DataTable {
    /// Where samples come from.
    #[must_use]
    pub fn source(&self) -> Source {
        let sparse = |file: &Path| {
            file.extension().is_some_and(|end| ["svm", "libsvm"].contains(&&*end.to_string_lossy()))
        };
        self.source.unwrap_or(match (&self.file, &self.dir) {
            (Some(file), _) if sparse(file) => Source::Libsvm,
            (None, None) => Source::Synthetic,
            _ => Source::Csv,
        })
    }

    /// How samples are dealt out to nodes.
    #[must_use]
    pub fn partition(&self) -> Partition {
        self.partition.unwrap_or_default()
    }

    /// What the outer problem has.
    #[must_use]
    pub fn validation(&self) -> Validation {
        self.validation.unwrap_or_default()
    }

    /// How synthetic samples are made.
    #[must_use]
    pub fn recipe(&self, seed: u64) -> Recipe {
        let (features, relevant) = (self.features.unwrap_or(24), self.relevant.unwrap_or(4));
        let (samples, alike) = (self.samples.unwrap_or(40), self.alike.unwrap_or(false));
        Recipe { features, relevant, samples, alike, seed }
    }

    /// Whether nothing is said about samples, except that they are synthetic.
    pub(crate) fn is_made_up(&self) -> bool {
        let source = Some(Source::Synthetic);
        Self { source, ..self.clone() } == Self { source, ..Self::default() }
            && self.source() == Source::Synthetic
    }

    /// Whether features that are not pixels are scaled.
    #[must_use]
    pub fn scales(&self) -> bool {
        self.source() != Source::Synthetic && self.standardise.unwrap_or(!self.in_folders())
    }

    /// Whether samples get a feature that is always 1; it is the last one.
    #[must_use]
    pub fn has_intercept(&self) -> bool {
        let one_file = self.source() == Source::Csv && self.file.is_some();
        self.source() != Source::Synthetic && self.intercept.unwrap_or(one_file)
    }

    /// Whether every node has a folder with files of its own.
    fn in_folders(&self) -> bool {
        self.source() == Source::Csv && self.file.is_none()
    }

    /// Refuses keys without effect: they would be reported as used.
    ///
    /// # Errors
    /// Names the key.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        let source = self.source();
        let (made, folders) = (source == Source::Synthetic, self.in_folders());
        let (csv, owned) = (source == Source::Csv, self.node.is_some());
        let dealt = !made && !folders;
        let pixels = matches!(source, Source::Mnist | Source::Cifar10);
        let keys = [
            ("dir", self.dir.is_some(), source.is_public() || folders),
            ("file", self.file.is_some(), csv || source == Source::Libsvm),
            ("test_file", self.test_file.is_some(), dealt && !source.is_public()),
            ("label", self.label.is_some(), csv),
            ("node", owned, csv && dealt),
            ("ignore", self.ignore.is_some(), csv),
            ("header", self.header.is_some(), csv),
            ("classes", self.classes.is_some(), dealt),
            ("samples", self.samples.is_some(), made || (dealt && !owned)),
            ("partition", self.partition.is_some(), dealt && !owned),
            ("validation", self.validation.is_some(), dealt),
            ("standardise", self.standardise.is_some(), !made && !pixels),
            ("intercept", self.intercept.is_some(), !made),
            ("features", self.features.is_some(), made),
            ("relevant", self.relevant.is_some(), made),
            ("alike", self.alike.is_some(), made),
        ];
        let Some((key, ..)) = keys.into_iter().find(|(_, given, used)| *given && !used) else {
            return Ok(());
        };
        let what = match () {
            () if folders => "files that are in folders per node".into(),
            () if owned && csv => "samples whose node is in the file (data.node)".into(),
            () if made => "synthetic data".into(),
            () => format!("data.source = \"{source}\""),
        };
        Err(DataError::Setting(format!("data.{key} has no effect on {what}: remove it")))
    }

    /// Reads or generates the samples, and deals them out.
    ///
    /// # Errors
    /// Names the key that is missing, what is wrong with a file, or why there are too few samples.
    pub fn shards(
        &self,
        labels: LabelKind,
        nodes: u32,
        seed: u64,
    ) -> Result<Vec<Shard>, DataError> {
        let mut shards = match self.source() {
            Source::Synthetic => return self.synthetic(nodes, 0..nodes, seed),
            _ if self.in_folders() => {
                let dir =
                    self.need(self.dir.as_deref(), "dir or data.file", "a folder or a file")?;
                folders::load(dir, nodes, &self.columns(), labels)?
            }
            _ => self.deal(shelf::fetch(self, labels, || self.dataset(labels))?, nodes, seed)?,
        };
        worth_learning(&shards)?;
        if self.scales() {
            standardise(&mut shards)?;
        }
        if self.has_intercept() {
            add_intercepts(&mut shards)?;
        }
        Ok(shards)
    }

    /// What says which samples there are, without how they are dealt out and scaled.
    pub(super) fn read_part(&self) -> Self {
        Self {
            samples: None,
            partition: None,
            validation: None,
            standardise: None,
            intercept: None,
            ..self.clone()
        }
    }

    /// Reads all samples, before they are dealt out.
    fn dataset(&self, labels: LabelKind) -> Result<Dataset, DataError> {
        let dir = || self.need(self.dir.as_deref(), "dir", "the folder of its files");
        let file = || self.need(self.file.as_deref(), "file", "a file");
        let dataset = match self.source() {
            Source::Mnist => mnist::load(dir()?)?,
            Source::Cifar10 => cifar::load(dir()?)?,
            Source::Covtype => Dataset::new(covtype::load(dir()?)?, None)?,
            Source::Libsvm => {
                self.files(file()?, |file, width| libsvm::read(file, labels, width))?
            }
            Source::Csv | Source::Synthetic => {
                let columns = self.columns();
                self.files(file()?, |file, _| csv::read(file, &columns, labels))?
            }
        };
        match &self.classes {
            Some(names) if !names.is_empty() => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                dataset.pick(&names)
            }
            _ => Ok(dataset),
        }
    }

    fn deal(&self, data: Arc<Dataset>, nodes: u32, seed: u64) -> Result<Vec<Shard>, DataError> {
        let (partition, validation) = (self.partition(), self.validation());
        // Where nodes see different classes, each is tested on its own mixture.
        let test = if partition == Partition::Iid { TestPart::Common } else { TestPart::Matched };
        let deal = Deal { nodes, partition, samples: self.samples, validation, test, seed };
        if let Some(owners) = data.train.owners() {
            return deal.owned(&data, owners);
        }
        if data.test.is_none() {
            return deal.shards(data.hold_out(data.train.len() / 6, seed)?);
        }
        deal.shards(Arc::unwrap_or_clone(data))
    }

    fn columns(&self) -> Columns {
        let Self { header, label, node, ignore, .. } = self.clone();
        Columns { header, label, node, ignore: ignore.unwrap_or_default() }
    }

    fn need<'a>(
        &self,
        path: Option<&'a Path>,
        key: &str,
        what: &str,
    ) -> Result<&'a Path, DataError> {
        path.ok_or_else(|| {
            let source = self.source();
            let what = format!("data.{key} is missing: data.source = \"{source}\" needs {what}");
            DataError::Setting(what)
        })
    }

    /// The shards of some of the nodes, made up.
    ///
    /// # Errors
    /// Names the setting that is out of range.
    pub(crate) fn synthetic(
        &self,
        nodes: u32,
        own: Range<u32>,
        seed: u64,
    ) -> Result<Vec<Shard>, DataError> {
        let recipe = self.recipe(seed);
        let Recipe { features, relevant, samples, .. } = recipe;
        if features == 0 || relevant > features {
            return Err(DataError::Setting(format!(
                "data.features = {features} and data.relevant = {relevant}: at least one feature is needed, and at \
                 most all of them can be relevant"
            )));
        }
        let values = features.checked_mul(samples).and_then(|all| all.checked_mul(nodes as usize));
        if samples == 0 || values.is_none_or(|values| values > MOST_VALUES) {
            return Err(DataError::Setting(format!(
                "data.samples = {samples} for each of {nodes} nodes with {features} features: at least 1 and at most \
                 {} are possible",
                MOST_VALUES / features / nodes.max(1) as usize
            )));
        }
        Ok(recipe.shards_of(own))
    }

    /// One file for all nodes, and perhaps a test file of the same width.
    fn files(
        &self,
        file: &Path,
        read: impl Fn(&Path, Option<usize>) -> Result<Table, FileError>,
    ) -> Result<Dataset, DataError> {
        let train = read(file, None)?;
        let width = train.width();
        let test = self.test_file.as_deref().map(|file| read(file, Some(width))).transpose()?;
        Dataset::new(train, test)
    }
}

/// Refuses samples from which nothing can be learned.
fn worth_learning(shards: &[Shard]) -> Result<(), DataError> {
    let refuse = |what: String| Err(DataError::Table(what));
    let tables = || shards.iter().flat_map(|shard| [&shard.train, &shard.validation]);
    let Some(first) = tables().next() else { return Ok(()) };
    let present = |class: usize| tables().any(|table| table.counts()[class] > 0);
    let classes: Vec<usize> = (0..first.classes().len()).filter(|class| present(*class)).collect();
    if let [only] = classes[..] {
        let name = &first.classes()[only].name;
        return refuse(format!(
            "all samples are of class \"{name}\": at least two classes are needed"
        ));
    }
    let changes = (0..first.width()).any(|feature| {
        let value = first.column(feature).next();
        tables().any(|table| table.column(feature).any(|other| Some(other) != value))
    });
    if !changes {
        return refuse(
            "every feature has the same value in all samples: there is nothing to learn from"
                .into(),
        );
    }
    Ok(())
}
