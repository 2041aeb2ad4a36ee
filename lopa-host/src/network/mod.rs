//! Nodes that talk to their neighbours, round by round.
//!
//! - [`InProcess`]: the nodes of any algorithm, without links, on all cores; LoPA's are a [`Simulation`], and with few
//!   bits on the wire a [`CodedSimulation`];
//! - [`LinkedNetwork`]: LoPA's nodes over links in simulated time, each with its own [`Clock`], with [`Faults`]; [`Health`]: how
//!   they are doing.

mod clock;
mod coded;
mod error;
mod fault;
mod health;
mod in_process;
mod linked;
mod linked_node;
mod node;
mod port;

pub use clock::Clock;
pub use coded::{CodedSimulatedNode, CodedSimulation};
pub use error::LinkedError;
pub use fault::{Faults, FaultyLine};
pub use health::{Health, LineHealth, NodeHealth};
pub use in_process::{InProcess, Member, Outbox, Vectors};
pub(crate) use in_process::{bytes_of, pull};
pub use linked::{LINKS, LinkedNetwork, Linking, Recorded};
pub use linked_node::LinkedNode;
pub use lopa_core::blob::Wiring;
pub use node::{SimulatedNode, Simulation};

use std::ops::Add;

/// What nodes sent over their links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    /// Bytes.
    pub bytes: u64,
    /// Frames; none if values travel in-process.
    pub frames: Option<u64>,
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let frames = match (self.frames, other.frames) {
            (Some(own), Some(other)) => Some(own + other),
            (own, other) => own.or(other),
        };
        Self { bytes: self.bytes + other.bytes, frames }
    }
}
