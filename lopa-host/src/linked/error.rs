//! Why a run over links ended early.

use lopa_core::exchange::SettingsError;
use lopa_core::node::NodeError;

/// Why a run over links ended early.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkedError {
    /// A node's settings were refused.
    Settings {
        /// The node.
        node: usize,
        /// Why.
        error: SettingsError,
    },
    /// A node refused to go on.
    Node {
        /// The node.
        node: usize,
        /// Why.
        error: NodeError,
    },
    /// Simulated time ran out.
    TimeOut {
        /// The least number of rounds any node completed.
        round: u64,
    },
}

impl std::fmt::Display for LinkedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settings { node, error } => write!(f, "node {node}: {error}"),
            Self::Node { node, error } => write!(f, "node {node}: {error}"),
            Self::TimeOut { round } => {
                write!(f, "time ran out when a node had done {round} rounds")
            }
        }
    }
}

impl std::error::Error for LinkedError {}
