//! Why a node does not start, in a few bytes.

use serde::{Deserialize, Serialize};

use crate::blob::{BlobError, more_room};
use crate::exchange::SettingsError;
use crate::samples::SamplesError;

/// Why a node does not start, as it reports it to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Trouble {
    /// What is wrong.
    pub cause: Cause,
    /// A number for the cause: how much is needed, or which one; 0 if there is none.
    pub needed: u32,
    /// What was found instead, or how much room there is; 0 if there is none.
    pub found: u32,
}

/// What keeps a node from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Cause {
    /// There is no blob.
    NoBlob,
    /// The blob has another version.
    Version,
    /// The blob is shorter than its head gives.
    Length,
    /// The blob's checksum is wrong.
    Corrupt,
    /// The blob does not start at a multiple of four bytes.
    Memory,
    /// A section of the blob is missing or too short.
    Section,
    /// A number in the blob is out of range.
    Value,
    /// The blob was made for nodes with another implementation of exp and ln, or with integer arithmetic.
    Math,
    /// A step size is out of range.
    Steps,
    /// A neighbour is invalid.
    Neighbour,
    /// A set of samples is invalid.
    Samples,
    /// The problem is invalid.
    Problem,
    /// Too few floats of memory.
    Floats,
    /// Too many neighbours.
    Neighbours,
    /// Too few links.
    Links,
    /// Chunks are too long.
    Chunk,
    /// The exchange refuses times, weights or numbers.
    Settings,
    /// The blob has a key, but the image has no encryption.
    Key,
    /// The blob has a key, but boots cannot be counted.
    Boot,
    /// The blob has a codec, but the image has none.
    Codec,
}

impl Trouble {
    const fn new(cause: Cause, needed: usize, found: usize) -> Self {
        // Saturating: on a host a usize is longer.
        const fn short(number: usize) -> u32 {
            if number > u32::MAX as usize { u32::MAX } else { number as u32 }
        }
        Self { cause, needed: short(needed), found: short(found) }
    }
}

impl From<BlobError> for Trouble {
    fn from(error: BlobError) -> Self {
        let (cause, needed, found) = match error {
            BlobError::NotABlob => (Cause::NoBlob, 0, 0),
            BlobError::Version { found } => {
                (Cause::Version, crate::blob::VERSION as usize, found as usize)
            }
            BlobError::Length { needed, found } => (Cause::Length, needed, found),
            BlobError::Corrupt => (Cause::Corrupt, 0, 0),
            BlobError::Memory => (Cause::Memory, 0, 0),
            BlobError::Section { .. } => (Cause::Section, 0, 0),
            BlobError::Value { .. } => (Cause::Value, 0, 0),
            BlobError::Math { .. } => (Cause::Math, 0, 0),
            BlobError::Key => (Cause::Key, 0, 0),
            BlobError::Codec => (Cause::Codec, 0, 0),
            BlobError::Steps(_) => (Cause::Steps, 0, 0),
            BlobError::Peer { index } => (Cause::Neighbour, index, 0),
            BlobError::Samples { error: SamplesError::NoIntegers, .. } => (Cause::Math, 0, 0),
            BlobError::Samples { .. } => (Cause::Samples, 0, 0),
            BlobError::Problem(_) | BlobError::Node(_) => (Cause::Problem, 0, 0),
            BlobError::Capacity { name, needed, room } => {
                let cause = match name {
                    "neighbours" => Cause::Neighbours,
                    "links" => Cause::Links,
                    "floats per chunk" => Cause::Chunk,
                    _ => Cause::Floats,
                };
                (cause, needed, room)
            }
        };
        Self::new(cause, needed, found)
    }
}

impl From<SettingsError> for Trouble {
    fn from(error: SettingsError) -> Self {
        let (cause, needed, found) = match error {
            SettingsError::Number { node }
            | SettingsError::Neighbour { node }
            | SettingsError::Link { node }
            | SettingsError::Weight { node } => (Cause::Neighbour, node as usize, 0),
            #[cfg(feature = "codec")]
            SettingsError::Share { node } => (Cause::Neighbour, node as usize, 0),
            SettingsError::TooMany { room } => (Cause::Neighbours, room.saturating_add(1), room),
            SettingsError::Chunk { room } => (Cause::Chunk, 0, room),
            SettingsError::Codec => (Cause::Codec, 0, 0),
            SettingsError::Weights | SettingsError::Timing | SettingsError::Node => {
                (Cause::Settings, 0, 0)
            }
            #[cfg(feature = "codec")]
            SettingsError::Blocks => (Cause::Settings, 0, 0),
        };
        Self::new(cause, needed, found)
    }
}

impl core::fmt::Display for Trouble {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { cause, needed, found } = *self;
        let again = "write and flash it again";
        match cause {
            Cause::NoBlob => write!(f, "it has no blob: write one with lopa shard and flash it"),
            Cause::Version => {
                write!(
                    f,
                    "its blob has version {found}, its image reads up to {needed}: flash both again"
                )
            }
            Cause::Length => write!(f, "its blob needs {needed} bytes, there are {found}: {again}"),
            Cause::Corrupt => {
                write!(f, "its blob's checksum is wrong, it was cut short or damaged: {again}")
            }
            Cause::Memory => write!(
                f,
                "its blob does not start at a multiple of four bytes: flash it to the board's address"
            ),
            Cause::Section => {
                write!(f, "a section of its blob does not have the length its head gives: {again}")
            }
            Cause::Value => write!(f, "a number in its blob is out of range: {again}"),
            Cause::Math => write!(
                f,
                "its blob and its image compute differently: build all nodes with or all without the feature micromath, and with \
                 the feature integer if the file sets arithmetic = \"integer\""
            ),
            Cause::Steps => write!(f, "a step size in its blob is out of range: {again}"),
            Cause::Neighbour => write!(f, "neighbour {needed} in its blob is invalid: {again}"),
            Cause::Samples => write!(f, "the samples in its blob are invalid: {again}"),
            Cause::Problem => write!(f, "the problem in its blob is invalid: {again}"),
            Cause::Floats => {
                let advice = more_room("floats of memory");
                write!(
                    f,
                    "its blob needs {needed} floats of memory, its image has {found}: {advice}"
                )
            }
            Cause::Neighbours => {
                let advice = more_room("neighbours");
                write!(
                    f,
                    "its blob has {needed} neighbours, its image has room for {found}: {advice}"
                )
            }
            Cause::Links => {
                let advice = more_room("links");
                write!(f, "its blob needs {needed} links, its board has {found}: {advice}")
            }
            Cause::Chunk => {
                let advice = more_room("floats per chunk");
                write!(
                    f,
                    "its blob's chunks have {needed} floats, its image has room for {found}: {advice}"
                )
            }
            Cause::Settings => {
                write!(f, "its blob has invalid times, weights or chunks: {again}")
            }
            Cause::Key => write!(
                f,
                "its blob has a key, but its image has no encryption: build it with the feature encrypt"
            ),
            Cause::Boot => write!(
                f,
                "its flash cannot count boots, so with a key a replayed recording could not be detected: replace the board, or remove the key"
            ),
            Cause::Codec => write!(
                f,
                "its blob has a codec, but its image has none: build it with the feature codec"
            ),
        }
    }
}
