//! What carries messages between the parts of a network.

use std::fmt;

/// A part of the network is gone: its process ended, hangs, or cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("worker {part} is gone: its process ended, hangs or cannot be reached")]
pub struct Gone {
    /// Which one, from 0.
    pub part: usize,
}

/// Messages between the parts of a network: none is lost, and those of one part arrive in order.
pub trait Mesh: fmt::Debug + Send + Sync {
    /// Sends a message without waiting for its receiver.
    ///
    /// # Errors
    /// If that part is gone. It is not always noticed.
    fn send(&self, to: usize, message: Vec<u8>) -> Result<(), Gone>;

    /// The next message of a part.
    ///
    /// # Errors
    /// If that part, or any other, is gone: then the network cannot go on.
    fn receive(&self, from: usize) -> Result<Vec<u8>, Gone>;
}
