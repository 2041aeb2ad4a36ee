//! Nodes that talk to their neighbours, round by round.
//!
//! - [`InProcess`]: the nodes of any algorithm, without links, on all cores; LoPA's are a [`Simulation`];
//! - [`LinkedNetwork`]: LoPA's nodes over links in simulated time, each with its own [`Clock`], with [`Faults`]; [`Health`]: how
//!   they are doing.

mod clock;
mod error;
mod fault;
mod health;
mod in_process;
mod linked;
mod node;
mod port;

pub use clock::Clock;
pub use error::LinkedError;
pub use fault::{Faults, FaultyLine};
pub use health::{Health, LineHealth, NodeHealth};
pub use in_process::{InProcess, Member};
pub use linked::{LINKS, LinkedNetwork, Linking, Recorded};
pub use lopa_core::blob::Wiring;
pub use node::{SimulatedNode, Simulation};

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
