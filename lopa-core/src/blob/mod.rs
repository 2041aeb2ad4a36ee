#![doc = include_str!("../../docs/blob.md")]

mod built;
mod error;
mod head;
mod parts;
mod read;
mod write;

#[cfg(feature = "codec")]
pub use built::CodedSlicedNode;
pub use built::{BlobNode, BlobScratch, BuiltNode, SlicedNode};
pub(crate) use error::more_room;
pub use error::{BlobError, SetName};
pub use read::Blob;
pub use write::write;

use crate::codec::Codec;
use crate::exchange::Timing;
use crate::node::{Config, Scheme};
use crate::wire::Seal;

/// The latest version of the layout that this build reads; it reads all earlier ones too.
pub const VERSION: u32 = 16;

/// What a blob holds besides the problem, the starting point and the neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Plan {
    /// A number that all blobs of one network share and those of other networks do not, such as a checksum of its weights
    /// and data. It is part of the greeting's digest: nodes of different networks refuse each other.
    pub network: u32,
    /// The number of rounds.
    pub rounds: u64,
    /// LG or GT.
    pub scheme: Scheme,
    /// Step sizes and batches; the node's own number is the sampler's.
    pub config: Config,
    /// Elements of a chunk.
    pub chunk: u32,
    /// How long to wait for neighbours.
    pub timing: Timing,
    /// Bits per second on the lines.
    pub baud: u32,
    /// How nodes are wired.
    pub wiring: Wiring,
    /// Rounds between checkpoints; with 0, only those that a host requests are written.
    pub checkpoint_every: u32,
    /// How frames are sealed. With a key, the blob contains it and must be kept secret.
    pub seal: Seal,
    /// How vectors travel in few bits; `None` for floats.
    pub codec: Option<Codec>,
}

impl Plan {
    /// The node's number.
    #[must_use]
    pub const fn node(&self) -> u32 {
        self.config.sampler.draws.node
    }
}

/// How nodes are wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wiring {
    /// A separate line to each neighbour.
    Direct,
    /// One line, to a router that forwards frames to the neighbours.
    Routed,
    /// One line shared by all: every node receives every frame.
    Bus,
}

/// Where x starts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Start<'a> {
    /// The same number in every element.
    Number(f32),
    /// One number for each element.
    Vector(&'a [f32]),
}

/// What an image has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Capacity {
    /// Floats for a node's vectors, its scratch and its workspace: see [`Blob::floats`].
    pub floats: usize,
    /// Neighbours of an exchange.
    pub neighbours: usize,
    /// Links of an exchange.
    pub links: usize,
    /// Floats of a chunk; with gradient tracking, x and y together.
    pub values: usize,
}
