//! The table `data` of a file: where samples come from, and how nodes get them.

use std::fmt;
use std::path::{Path, PathBuf};

use lopa_core::samples::LabelKind;
use serde::{Deserialize, Serialize};

use super::{
    DataError, Dataset, Deal, FileError, Partition, Shard, Table, TestPart, cifar, covtype, csv,
    folders, libsvm, mnist, standardise, synthetic::Recipe,
};
use crate::words::word;

/// The table `data`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataTable {
    /// Where samples come from.
    pub source: Source,
    /// The folder of the files; for "csv", one with a folder per node.
    pub dir: Option<PathBuf>,
    /// For "csv" and "libsvm": one file for all nodes.
    pub file: Option<PathBuf>,
    /// For "csv" and "libsvm": a file of test samples; without it, a sixth of the samples is held out.
    pub test_file: Option<PathBuf>,
    /// The classes to learn, by number or name; all if none are named.
    pub classes: Vec<String>,
    /// How many samples to use in all; all of them if not given. For synthetic data: training samples per node.
    pub samples: Option<usize>,
    /// How samples are dealt out to nodes.
    pub partition: Partition,
    /// The part of a node's samples that is for the outer problem only, or "same": both levels use all of them.
    pub validation: Validation,
    /// Whether features are scaled to mean 0 and deviation 1. Pixels and folders per node are left as they are.
    pub standardise: bool,
    /// For synthetic data: features of a sample.
    pub features: usize,
    /// For synthetic data: how many of them matter.
    pub relevant: usize,
}

impl Default for DataTable {
    fn default() -> Self {
        Self {
            source: Source::default(),
            dir: None,
            file: None,
            test_file: None,
            classes: Vec::new(),
            samples: None,
            partition: Partition::default(),
            validation: Validation::default(),
            standardise: true,
            features: 24,
            relevant: 4,
        }
    }
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
        let missing = |key, what| {
            let source = self.source;
            let what = format!("data.{key} is missing: data.source = \"{source}\" needs {what}");
            DataError::Setting(what)
        };
        let dir = || self.dir.as_deref().ok_or_else(|| missing("dir", "the folder of its files"));
        let mut dataset = match (self.source, &self.file) {
            (Source::Synthetic, _) => return self.synthetic(nodes, seed),
            (Source::Csv, None) => {
                let dir = self.dir.as_deref();
                let dir = dir.ok_or_else(|| missing("dir or data.file", "a folder or a file"))?;
                return Ok(folders::load(dir, nodes, labels)?);
            }
            (Source::Csv, Some(file)) => self.files(file, |file, _| csv::read(file, labels))?,
            (Source::Libsvm, None) => return Err(missing("file", "a file")),
            (Source::Libsvm, Some(file)) => {
                self.files(file, |file, width| libsvm::read(file, labels, width))?
            }
            (Source::Mnist, _) => mnist::load(dir()?)?,
            (Source::Cifar10, _) => cifar::load(dir()?)?,
            (Source::Covtype, _) => Dataset::new(covtype::load(dir()?)?, None)?,
        };
        if !self.classes.is_empty() {
            let names: Vec<&str> = self.classes.iter().map(String::as_str).collect();
            dataset = dataset.pick(&names)?;
        }
        if dataset.test.is_none() {
            let sixth = dataset.train.len() / 6;
            dataset = dataset.hold_out(sixth, seed)?;
        }
        let partition = self.partition;
        // Where nodes see different classes, each is tested on its own mixture.
        let test = if partition == Partition::Iid { TestPart::Common } else { TestPart::Matched };
        let Self { samples, validation, .. } = *self;
        let deal = Deal { nodes, partition, samples, validation, test, seed };
        let mut shards = deal.shards(dataset)?;
        if self.standardise {
            standardise(&mut shards)?;
        }
        Ok(shards)
    }

    fn synthetic(&self, nodes: u32, seed: u64) -> Result<Vec<Shard>, DataError> {
        let (features, relevant) = (self.features, self.relevant);
        if features == 0 || relevant > features {
            return Err(DataError::Setting(format!(
                "data.features = {features} and data.relevant = {relevant}: at least one feature is needed, and at \
                 most all of them can be relevant"
            )));
        }
        let recipe = Recipe { features, relevant, samples: self.samples.unwrap_or(40), seed };
        Ok((0..nodes).map(|node| recipe.shard(node)).collect())
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
