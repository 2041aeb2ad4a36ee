//! What carries messages between the parts of a network.

use std::fmt;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};

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

/// Parts in one process, one per thread.
#[derive(Debug)]
pub struct Threads {
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Threads {
    /// A mesh for each part.
    #[must_use]
    pub fn new(parts: usize) -> Vec<Self> {
        let mut all: Vec<Self> =
            (0..parts).map(|_| Self { to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..parts {
            for to in 0..parts {
                let (sender, receiver) = mpsc::channel();
                all[from].to.push(sender);
                all[to].from.push(Mutex::new(receiver));
            }
        }
        all
    }
}

impl Mesh for Threads {
    fn send(&self, to: usize, message: Vec<u8>) -> Result<(), Gone> {
        self.to[to].send(message).map_err(|_| Gone { part: to })
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, Gone> {
        let receiver = self.from[from].lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv().map_err(|_| Gone { part: from })
    }
}
