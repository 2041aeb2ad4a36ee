//! What can be wrong with data, in words that say what to do.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use lopa_core::problem::ProblemError;
use lopa_core::samples::SamplesError;

use super::table::Class;

/// Why there is nothing to learn from: a file, the samples in it, or the way they are dealt out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file was refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The samples were refused.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// The problem refused the samples.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A setting is missing or out of range.
    #[error("{0}")]
    Setting(String),
    /// A table is not of the kind that is needed, or does not go with another one.
    #[error("{0}")]
    Table(String),
    /// The samples do not suffice for the nodes.
    #[error("{0}")]
    Deal(String),
}

impl DataError {
    /// A setting is out of range.
    pub(super) fn range(name: &str, value: f64, allowed: &str) -> Self {
        Self::Setting(format!("{name} = {value} is out of range: {allowed}"))
    }

    /// Two classes are needed, and there are more.
    pub(super) fn not_two(classes: &[Class]) -> Self {
        let names: Vec<String> =
            classes.iter().map(|class| format!("\"{}\"", class.name)).collect();
        let (some, count) = (names.get(..2).unwrap_or(&names).join(", "), names.len());
        let what = format!(
            "there are {count} classes, but two are needed: name two, such as classes = [{some}]"
        );
        Self::Table(what)
    }
}

/// A file that was refused: which, where in it, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{place}: {what}", file.display())]
pub struct FileError {
    /// The file.
    pub file: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong, and what to do about it.
    pub what: String,
}

impl FileError {
    pub(super) fn new(file: &Path, place: Place, what: impl Into<String>) -> Self {
        Self { file: file.to_path_buf(), place, what: what.into() }
    }
}

/// Where in a file something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the file as a whole.
    File,
    /// In a line, counted from 1.
    Line(u64),
    /// In a line and a column of it, both counted from 1.
    Cell(u64, usize),
    /// In a record of a binary file, counted from 0.
    Record(usize),
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Cell(line, column) => write!(f, ", line {line}, column {column}"),
            Self::Record(record) => write!(f, ", record {record}"),
        }
    }
}

// What more than one reader finds wrong.

pub(super) const EMPTY: &str = "contains no samples: at least one is needed";

pub(super) const NO_FEATURES: &str = "samples have no features: expected a label and at least one feature, separated by commas in CSV";

pub(super) fn not_a_label(found: impl Display, allowed: &str) -> String {
    format!("{found} is not a label: expected {allowed}")
}

/// Another number of features than the file `of`.
pub(super) fn other_width(found: usize, of: impl Display, expected: usize) -> String {
    format!(
        "{found} features where {of} has {expected}: all parts of a data set need the same number"
    )
}

pub(super) fn too_large(what: &str, limit: usize) -> String {
    format!("{what} is larger than {limit}: the file is damaged, or not made for this program")
}
