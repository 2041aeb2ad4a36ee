//! Nodes that talk to their neighbours, round by round.

mod in_process;
mod node;

pub use in_process::{InProcess, Member};
pub use node::{SimulatedNode, Simulation};

use std::iter::Sum;
use std::ops::Add;

/// What nodes sent over their links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    /// Bytes.
    pub bytes: u64,
    /// Frames.
    pub frames: u64,
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, frames: self.frames + other.frames }
    }
}

impl Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
