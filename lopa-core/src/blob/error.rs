//! Why a blob is refused.

use crate::math;
use crate::node::NodeError;
use crate::problem::ProblemError;
use crate::samples::SamplesError;
use crate::steps::StepSizeError;

/// The two sets of samples of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SetName {
    /// For the inner problem.
    Training,
    /// For the outer problem.
    Validation,
}

/// Why a blob was refused.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum BlobError {
    /// The bytes do not begin like a blob; erased flash does not either.
    NotABlob,
    /// A version this build does not read.
    Version {
        /// The blob's version.
        found: u32,
    },
    /// There are fewer bytes than the blob's head gives, or that length is too short for any blob.
    Length {
        /// The bytes it needs.
        needed: usize,
        /// The bytes there are.
        found: usize,
    },
    /// The checksum is wrong: a write was cut short, or the memory is worn.
    Corrupt,
    /// The bytes do not begin at a multiple of four, or this machine is not little-endian.
    Memory,
    /// A section of the blob is missing or too short, or bytes follow the last one.
    Section {
        /// Which section.
        name: &'static str,
    },
    /// A number is out of range.
    Value {
        /// Which one.
        name: &'static str,
    },
    /// The blob was made for nodes with another implementation of exp and ln.
    Math {
        /// The one it was made for.
        needed: math::Kind,
    },
    /// The blob has a key, and this build has no encryption.
    Key,
    /// The blob's vectors travel in few bits, and this build has no codec.
    Codec,
    /// A step size is out of range.
    Steps(StepSizeError),
    /// A neighbour is out of order, is the node itself, or has a weight that is not positive and finite.
    Peer {
        /// Its place in the list.
        index: usize,
    },
    /// A set of samples is invalid.
    Samples {
        /// Which one.
        set: SetName,
        /// Why.
        error: SamplesError,
    },
    /// The problem is invalid.
    Problem(ProblemError),
    /// No node can be built from it.
    Node(NodeError),
    /// It is valid, but does not fit this image.
    Capacity {
        /// What there is too little of.
        name: &'static str,
        /// How much the blob needs.
        needed: usize,
        /// How much there is.
        room: usize,
    },
}

impl core::fmt::Display for BlobError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotABlob => write!(f, "these bytes are not a blob: write one with lopa shard"),
            Self::Version { found } => {
                write!(
                    f,
                    "the blob has version {found}, this build reads up to {}: use a blob and an image of one release",
                    super::VERSION
                )
            }
            Self::Length { needed, found } => {
                write!(f, "the blob needs {needed} bytes, there are {found}: write it again")
            }
            Self::Corrupt => {
                write!(
                    f,
                    "the blob's checksum is wrong, it was cut short or damaged: write it again"
                )
            }
            Self::Memory => {
                write!(
                    f,
                    "a blob must start at a multiple of four bytes, on a little-endian machine"
                )
            }
            Self::Section { name } => {
                write!(
                    f,
                    "the blob's section {name:?} does not have the length its head gives: write it again"
                )
            }
            Self::Value { name } => write!(f, "the blob's {name} is out of range"),
            Self::Math { needed } => {
                write!(
                    f,
                    "the blob is for nodes with {needed:?}, this build has {:?}: build all nodes with or all without the feature micromath",
                    math::KIND
                )
            }
            Self::Key => write!(
                f,
                "the blob has a key, but this build has no encryption: build it with the feature encrypt"
            ),
            Self::Codec => write!(
                f,
                "the blob's vectors travel in few bits, but this build has no codec: build it with the feature codec"
            ),
            Self::Steps(error) => write!(f, "{error}"),
            Self::Peer { index } => write!(
                f,
                "neighbour {index} of the blob is out of order, is the node itself, or has an invalid weight"
            ),
            Self::Samples { set: SetName::Training, error } => write!(f, "training set: {error}"),
            Self::Samples { set: SetName::Validation, error } => {
                write!(f, "validation set: {error}")
            }
            Self::Problem(error) => write!(f, "{error}"),
            Self::Node(error) => write!(f, "{error}"),
            Self::Capacity { name, needed, room } => {
                let advice = more_room(name);
                write!(
                    f,
                    "the blob needs {needed} {name}, this image has room for {room}: {advice}"
                )
            }
        }
    }
}

impl core::error::Error for BlobError {}

/// What to do if an image has too little room for something.
pub(crate) fn more_room(name: &str) -> &'static str {
    match name {
        "neighbours" => "use a topology with fewer neighbours",
        "links" => "use a topology with fewer neighbours, or route frames through the host",
        "floats per chunk" => "use smaller chunks",
        _ => "use a smaller problem, or a board with more RAM",
    }
}
