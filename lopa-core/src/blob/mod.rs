#![doc = include_str!("../../docs/blob.md")]

mod error;
mod head;
mod parts;
mod read;
mod write;

pub use error::{BlobError, SetName};
pub use read::{Blob, BlobNode, BlobScratch};
pub use write::write;

use crate::exchange::Timing;
use crate::node::{Config, Scheme};
use crate::wire::Seal;

/// The latest version of the layout that this build reads; it reads all before it, too.
pub const VERSION: u32 = 2;

/// What a node is told besides its problem, its starting point and its neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Plan {
    /// A number that all blobs of one network have and those of others do not, such as a checksum of its weights and
    /// data. It goes into the greeting's digest: nodes of different networks refuse each other.
    pub network: u32,
    /// How many rounds.
    pub rounds: u64,
    /// LG or GT.
    pub scheme: Scheme,
    /// Step sizes and batches; the node's own number is the sampler's.
    pub config: Config,
    /// Elements of a chunk.
    pub chunk: u32,
    /// When to lose patience.
    pub timing: Timing,
    /// Bits a second on the lines.
    pub baud: u32,
    /// How nodes are wired.
    pub wiring: Wiring,
    /// A checkpoint every so many rounds; 0 for none but those a host asks for.
    pub checkpoint_every: u32,
    /// How frames are sealed: with a key, the blob carries it and must be kept secret.
    pub seal: Seal,
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Wiring {
    /// A line of its own for each neighbour.
    Direct,
    /// One line, to a router that passes frames on to neighbours.
    Routed,
    /// One line for all: everybody hears everybody.
    Bus,
}

/// Where x starts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Start<'a> {
    /// The same number in every element.
    Number(f32),
    /// A number for every element.
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
    /// Floats of a chunk, y behind x with gradient tracking.
    pub values: usize,
}
