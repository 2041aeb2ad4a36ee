//! What can be wrong with a file, in words that say what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use lopa_core::problem::ProblemError;

use super::partition::PartitionError;
use super::source::Source;
use super::standard::StandardError;
use super::table::TableError;

/// Why there is nothing to learn from.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DataError {
    /// A source needs a key of the table `data` that is missing.
    #[error("data.{key} is missing: data.source = \"{data}\" needs {what}")]
    Missing {
        /// The key.
        key: &'static str,
        /// The source.
        data: Source,
        /// What the key names.
        what: &'static str,
    },
    /// Synthetic data without features, or with more relevant ones than there are.
    #[error(
        "data.features = {features} and data.relevant = {relevant}: at least one feature is needed, and at most \
             all of them can be relevant"
    )]
    Features {
        /// The features.
        features: usize,
        /// How many of them are relevant.
        relevant: usize,
    },
    /// A file was refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its samples were refused.
    #[error(transparent)]
    Table(#[from] TableError),
    /// They could not be dealt out.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The problem they are for refused them.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// They could not be standardised.
    #[error(transparent)]
    Standard(#[from] StandardError),
}

/// A file that was refused: which, where in it, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub file: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub fault: Fault,
}

/// Where in a file a fault stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the file as a whole.
    File,
    /// In a line, counted from 1.
    Line(u64),
    /// In a column of a line, both counted from 1.
    Cell {
        /// The line.
        line: u64,
        /// The column.
        column: usize,
    },
    /// In a record of a binary file, counted from 0.
    Record(u64),
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is not there.
    Missing,
    /// The system refuses to read it.
    Read(std::io::ErrorKind),
    /// There is no sample in it.
    Empty,
    /// It is gzipped and ends too early.
    GzipTruncated,
    /// It is gzipped and damaged.
    GzipCorrupt,
    /// It is another kind of file.
    Magic {
        /// The number such a file begins with.
        expected: u32,
        /// The number it begins with.
        found: u32,
    },
    /// It ends before its header says so.
    Truncated {
        /// How many bytes the header promises.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// It goes on after its header says it ends.
    Trailing {
        /// How many bytes the header promises.
        expected: u64,
    },
    /// Its last record is cut off.
    Record {
        /// The bytes of a record.
        size: usize,
        /// The bytes of the last one.
        found: usize,
    },
    /// It has not one label an image.
    Counts {
        /// The images.
        images: usize,
        /// Its labels.
        labels: usize,
    },
    /// A label is none of the allowed ones.
    Label {
        /// The label.
        found: String,
        /// Those that are allowed.
        allowed: &'static str,
    },
    /// Labels 0 and -1 both occur where there are two classes.
    ThreeClasses,
    /// A number was expected.
    Number(String),
    /// A number is NaN or too large for a float.
    NotFinite(String),
    /// A row has another number of cells than the first.
    Ragged {
        /// The cells of the first row.
        expected: usize,
        /// The cells of this one.
        found: usize,
    },
    /// It has another number of features than the file it goes with.
    Width {
        /// The features of the other file.
        expected: usize,
        /// The features of this one.
        found: usize,
        /// The other file, or what else set the width.
        of: PathBuf,
    },
    /// A sparse feature is not `index:value`.
    Pair(String),
    /// A sparse index is not a whole number from 1 on.
    Index(String),
    /// Sparse indices do not ascend.
    Order {
        /// The index.
        index: u32,
        /// The one before it.
        before: u32,
    },
    /// A sample has no feature.
    NoFeatures,
    /// It is not text.
    Text,
    /// A line, an image or the whole is larger than anything sensible.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it may be.
        limit: usize,
    },
}

impl FileError {
    pub(crate) fn new(file: &Path, place: Place, fault: Fault) -> Self {
        Self { file: file.to_path_buf(), place, fault }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.place {
            Place::File => {}
            Place::Line(line) => write!(f, ", line {line}")?,
            Place::Cell { line, column } => write!(f, ", line {line}, column {column}")?,
            Place::Record(record) => write!(f, ", record {record}")?,
        }
        write!(f, ": {}", self.fault)
    }
}

impl std::error::Error for FileError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => {
                write!(f, "there is no such file, plain or with .gz: check the folder and the name")
            }
            Self::Read(kind) => write!(f, "cannot be read: {kind}"),
            Self::Empty => write!(f, "holds no sample: at least one is needed"),
            Self::GzipTruncated => {
                write!(f, "the gzip data ends too early: the file is incomplete, get it again")
            }
            Self::GzipCorrupt => write!(f, "the gzip data is damaged: get the file again"),
            Self::Magic { expected, found } => write!(
                f,
                "begins with {found} where {expected} is expected: another kind of file, or two files mixed up"
            ),
            Self::Truncated { expected, found } => write!(
                f,
                "holds {found} bytes of the {expected} its header promises: the file is incomplete, get it again"
            ),
            Self::Trailing { expected } => write!(
                f,
                "goes on after the {expected} bytes its header promises: header or data is damaged, get it again"
            ),
            Self::Record { size, found } => write!(
                f,
                "has {found} bytes where records have {size}: the file is incomplete or of another kind"
            ),
            Self::Counts { images, labels } => write!(
                f,
                "has {labels} labels for {images} images: the two files do not belong together"
            ),
            Self::Label { found, allowed } => {
                write!(f, "{found} is no label: expected {allowed}")
            }
            Self::ThreeClasses => write!(
                f,
                "labels 0 and -1 both occur: two classes are written 0 and 1, or -1 and +1, not mixed"
            ),
            Self::Number(found) => {
                write!(f, "\"{found}\" is no number: expected numbers, with a point for decimals")
            }
            Self::NotFinite(found) => write!(
                f,
                "{found} is not finite as a 32-bit float: leave the sample out or fill in a number"
            ),
            Self::Ragged { expected, found } => write!(
                f,
                "{found} cells where the first row has {expected}: every row needs the same number"
            ),
            Self::Width { expected, found, of } => write!(
                f,
                "{found} features where {} has {expected}: all parts of a data set need the same number",
                of.display()
            ),
            Self::Pair(found) => write!(f, "\"{found}\" is not index:value, such as 3:0.5"),
            Self::Index(found) => {
                write!(f, "\"{found}\" is no feature index: whole numbers, counted from 1")
            }
            Self::Order { index, before } => {
                write!(f, "index {index} comes after {before}: indices must ascend in a line")
            }
            Self::NoFeatures => {
                write!(
                    f,
                    "samples have no feature: expected a label and at least one, separated by commas in CSV"
                )
            }
            Self::Text => write!(f, "is not text: expected lines of numbers"),
            Self::TooLarge { what, limit } => {
                write!(f, "{what} is larger than {limit}: damaged, or not made for this program")
            }
        }
    }
}
