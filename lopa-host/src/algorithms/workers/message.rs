//! What parts of a network say to each other.

use lopa_core::network::NetworkError;
use lopa_core::node::{Divergence, NodeError};
use serde::{Deserialize, Serialize};

/// The kind of a message. Bytes may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// From the first part: prepare to learn from this file, whose settings are complete.
    Prepare,
    /// The sender is prepared.
    Ready {
        /// A checksum of the network, of data from files, and of where nodes start.
        digest: u32,
    },
    /// The sender cannot prepare; the bytes are a text that says why.
    Refused,
    /// From the first part: make one more round.
    Go,
    /// From the first part: report your nodes.
    Report,
    /// From the first part: put your nodes where these bytes say.
    Restore,
    /// From the first part: the run is over.
    End,
    /// The vectors that nodes of the sender send to those of the receiver in this round.
    Vectors {
        /// The round.
        round: u64,
    },
    /// The nodes of the sender, as they are saved.
    Nodes {
        /// What they have sent, in bytes.
        sent: u64,
    },
    /// The sender has noticed that another part is gone.
    Lost {
        /// Which one.
        part: u64,
    },
    /// A node of the sender stopped.
    Failed(Failure),
}

/// A node that stopped, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The round in which it did.
    pub round: u64,
    /// Its number in the network.
    pub node: u64,
    cause: Cause,
}

/// Errors that a node can have while it learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Cause {
    Diverged(Divergence),
    Range(Divergence),
    /// Everything else would be a mistake of this program.
    Other,
}

impl Failure {
    /// What happened to a node of a part that begins with node `first`.
    #[must_use]
    pub const fn new(error: NetworkError, round: u64, first: usize) -> Self {
        let (node, cause) = match error {
            NetworkError::Node { node, error: NodeError::Diverged(how) } => {
                (node, Cause::Diverged(how))
            }
            NetworkError::Node { node, error: NodeError::Range(how) } => (node, Cause::Range(how)),
            NetworkError::Node { node, .. } => (node, Cause::Other),
            _ => (0, Cause::Other),
        };
        Self { round, node: (first + node) as u64, cause }
    }

    /// The one that a network in one process would have stopped at.
    #[must_use]
    pub fn first(self, other: Self) -> Self {
        if (other.round, other.node) < (self.round, self.node) { other } else { self }
    }
}

impl From<Failure> for NetworkError {
    fn from(failure: Failure) -> Self {
        let error = match failure.cause {
            Cause::Diverged(how) => NodeError::Diverged(how),
            Cause::Range(how) => NodeError::Range(how),
            Cause::Other => NodeError::OutOfTurn,
        };
        Self::Node { node: failure.node as usize, error }
    }
}

/// A message: a word, and bytes behind it.
#[must_use]
pub fn write(word: Word, bytes: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(LONGEST + bytes.len());
    // A word is short, and a Vec takes everything.
    if let Ok(written) = postcard::to_slice(&word, &mut [0; LONGEST]) {
        message.extend_from_slice(written);
    }
    message.extend_from_slice(bytes);
    message
}

/// More than the longest word needs: three varints of ten bytes, and some of one.
const LONGEST: usize = 48;

/// Reads a message; nothing if it is none.
#[must_use]
pub fn read(message: &[u8]) -> Option<(Word, &[u8])> {
    postcard::take_from_bytes(message).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopa_core::node::Variable;

    #[test]
    fn words_come_back() {
        let how = Divergence { round: u64::MAX, variable: Variable::Inner };
        let error = NetworkError::Node { node: 3, error: NodeError::Range(how) };
        let failure = Failure::new(error, u64::MAX, 1 << 60);
        let words = [Word::Go, Word::Vectors { round: u64::MAX }, Word::Failed(failure)];
        for word in words {
            assert_eq!(read(&write(word, b"abc")), Some((word, &b"abc"[..])));
        }
        assert_eq!(read(&[99]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn the_earliest_failure_counts_then_the_lowest_node() {
        let how = Divergence { round: 5, variable: Variable::Outer };
        let at = |round, node| {
            let error = NetworkError::Node { node, error: NodeError::Diverged(how) };
            Failure::new(error, round, 10)
        };
        assert_eq!(at(5, 3).first(at(6, 1)), at(5, 3));
        assert_eq!(at(5, 3).first(at(5, 1)), at(5, 1));
        let error = NetworkError::Node { node: 11, error: NodeError::Diverged(how) };
        assert_eq!(NetworkError::from(at(5, 1)), error);
    }
}
