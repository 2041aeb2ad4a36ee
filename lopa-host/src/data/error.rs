//! What can be wrong with data, in words that say what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use lopa_core::problem::ProblemError;
use lopa_core::samples::SamplesError;

use super::partition::LEAST;
use super::source::Source;

/// Why there is nothing to learn from: a file, the samples in it, or the way they are dealt out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
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
        "data.features = {features} and data.relevant = {relevant}: at least one feature is needed, and at most all of \
         them can be relevant"
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
    /// The samples were refused.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// The problem refused the samples.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Labels are real targets where classes are needed.
    #[error(
        "labels are real targets, but classes are needed; only the partition `iid` works without classes"
    )]
    Real,
    /// Labels are classes where real targets are needed.
    #[error("labels are classes, but real targets are needed")]
    Classes,
    /// Two classes are needed.
    #[error("there are {classes} classes, but two are needed: pick two of them")]
    NotTwo {
        /// How many there are.
        classes: usize,
    },
    /// A name fits no class, or several.
    #[error("\"{name}\" is not one of the classes: {}", known.join(", "))]
    Class {
        /// The name.
        name: String,
        /// The classes there are.
        known: Vec<String>,
    },
    /// A class is named twice.
    #[error("class \"{name}\" is named twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A class has no samples.
    #[error("class \"{name}\" has no samples in this data")]
    NoSample {
        /// The class.
        name: String,
    },
    /// Parts of a data set have different widths.
    #[error(
        "samples have {found} features where others have {expected}: all parts need the same number"
    )]
    Width {
        /// The features of the first part.
        expected: usize,
        /// The features of the other part.
        found: usize,
    },
    /// Training and test samples have different classes, labels of another kind, or another encoding.
    #[error(
        "training and test samples differ in their classes or encoding: they do not belong together"
    )]
    Kind,
    /// The test samples cannot be held out.
    #[error("cannot hold out {wanted} of {found} samples: at least one must go and one stay")]
    HoldOut {
        /// How many are wanted.
        wanted: usize,
        /// How many there are in all.
        found: usize,
    },
    /// Images have a scale of their own.
    #[error("images are scaled by 1/255: there is nothing to standardise")]
    Bytes,
    /// There is no node.
    #[error("there is no node to deal samples out to")]
    NoNodes,
    /// More samples are wanted than there are.
    #[error("{wanted} samples are requested, but there are only {found}")]
    TooMany {
        /// How many are wanted.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
    /// A node has too few samples to train and to validate with.
    #[error(
        "node {node} gets {found} samples but needs {LEAST}, to train and to validate with: use more samples or fewer \
         nodes"
    )]
    Few {
        /// The node.
        node: usize,
        /// How many it gets.
        found: usize,
    },
    /// A class has too few samples left for a node.
    #[error(
        "node {node} needs {wanted} samples of class \"{class}\", but only {left} are left: use fewer samples or fewer \
         nodes"
    )]
    Short {
        /// The node.
        node: usize,
        /// The class.
        class: String,
        /// How many samples the node needs.
        wanted: usize,
        /// How many are left.
        left: usize,
    },
    /// A number of classes per node that does not fit the classes and nodes there are.
    #[error(
        "{nodes} nodes cannot have {classes} of {of} classes each: a node can have 1 to {of}, and together they must \
         have all of them"
    )]
    Subsets {
        /// Classes per node.
        classes: usize,
        /// Classes there are.
        of: usize,
        /// Nodes.
        nodes: u32,
    },
    /// A node gets next to nothing however often proportions are drawn.
    #[error(
        "node {node} gets fewer than {LEAST} samples in {attempts} draws with alpha = {alpha}: use a larger alpha, more \
         samples or fewer nodes"
    )]
    Dirichlet {
        /// The node.
        node: usize,
        /// The parameter.
        alpha: f64,
        /// How often proportions were drawn.
        attempts: u64,
    },
    /// A setting is out of range.
    #[error("{name} = {value} is out of range: {allowed}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range.
        allowed: &'static str,
    },
}

/// A file that was refused: which, where in it, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{place}: {fault}", file.display())]
pub struct FileError {
    /// The file.
    pub file: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    #[source]
    pub fault: Fault,
}

impl FileError {
    pub(crate) fn new(file: &Path, place: Place, fault: Fault) -> Self {
        Self { file: file.to_path_buf(), place, fault }
    }
}

/// Where in a file a fault is.
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Cell { line, column } => write!(f, ", line {line}, column {column}"),
            Self::Record(record) => write!(f, ", record {record}"),
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It does not exist.
    #[error("there is no such file, plain or with .gz: check the folder and the name")]
    Missing,
    /// The system cannot read it.
    #[error("cannot be read: {0}")]
    Read(io::ErrorKind),
    /// It has no samples.
    #[error("contains no samples: at least one is needed")]
    Empty,
    /// It is gzipped and ends too early.
    #[error("the gzip data ends too early: the file is incomplete, get it again")]
    GzipTruncated,
    /// It is gzipped and damaged.
    #[error("the gzip data is damaged: get the file again")]
    GzipCorrupt,
    /// It is another kind of file.
    #[error(
        "begins with {found}, not {expected}: it is another kind of file, or two files are mixed up"
    )]
    Magic {
        /// The number such a file begins with.
        expected: u32,
        /// The number it begins with.
        found: u32,
    },
    /// It is shorter than its header says.
    #[error(
        "has {found} of the {expected} bytes that its header promises: the file is incomplete, get it again"
    )]
    Truncated {
        /// How many bytes the header promises.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// It is longer than its header says.
    #[error(
        "has more than the {expected} bytes that its header promises: the file is damaged, get it again"
    )]
    Trailing {
        /// How many bytes the header promises.
        expected: u64,
    },
    /// Its last record is cut off.
    #[error(
        "has {found} bytes where records have {size}: the file is incomplete, or of another kind"
    )]
    Record {
        /// The bytes of a record.
        size: usize,
        /// The bytes of the last one.
        found: usize,
    },
    /// It does not have one label per image.
    #[error("has {labels} labels for {images} images: the two files do not belong together")]
    Counts {
        /// The images.
        images: usize,
        /// Its labels.
        labels: usize,
    },
    /// A label is not one of the allowed ones.
    #[error("{found} is not a label: expected {allowed}")]
    Label {
        /// The label.
        found: String,
        /// The allowed labels.
        allowed: &'static str,
    },
    /// Labels 0 and -1 both occur where there are two classes.
    #[error("labels 0 and -1 both occur: two classes are written either 0 and 1, or -1 and +1")]
    ThreeClasses,
    /// A number was expected.
    #[error("\"{0}\" is not a number: decimals are written with a point")]
    Number(String),
    /// A number is NaN or too large for a float.
    #[error("{0} is not finite as a 32-bit float: leave the sample out or fill in a number")]
    NotFinite(String),
    /// A row has another number of cells than the first.
    #[error("{found} cells where the first row has {expected}: every row needs the same number")]
    Ragged {
        /// The cells of the first row.
        expected: usize,
        /// The cells of this one.
        found: usize,
    },
    /// It has another number of features than the file it belongs to.
    #[error(
        "{found} features where {} has {expected}: all parts of a data set need the same number",
        of.display()
    )]
    Width {
        /// The features of the other file.
        expected: usize,
        /// The features of this one.
        found: usize,
        /// The other file, or whatever else set the width.
        of: PathBuf,
    },
    /// A sparse feature is not `index:value`.
    #[error("\"{0}\" is not index:value, such as 3:0.5")]
    Pair(String),
    /// A sparse index is not a whole number from 1 on.
    #[error("\"{0}\" is not a feature index: indices are whole numbers, counted from 1")]
    Index(String),
    /// Sparse indices do not ascend.
    #[error("index {index} comes after {before}: indices must ascend in a line")]
    Order {
        /// The index.
        index: u32,
        /// The one before it.
        before: u32,
    },
    /// A sample has no features.
    #[error(
        "samples have no features: expected a label and at least one, separated by commas in CSV"
    )]
    NoFeatures,
    /// It is not text.
    #[error("is not text: expected lines of numbers")]
    Text,
    /// A line, an image or the whole file is larger than anything sensible.
    #[error("{what} is larger than {limit}: the file is damaged, or not made for this program")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}
