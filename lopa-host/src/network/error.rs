//! Why a run over links ended early.

use lopa_core::exchange::SettingsError;
use lopa_core::network::NetworkError;

/// Why a run over links ended early.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LinkedError {
    /// A node's settings were refused.
    #[error("node {node}: {error}")]
    Settings {
        /// The node.
        node: usize,
        /// Why.
        error: SettingsError,
    },
    /// A node diverged.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Simulated time ran out.
    #[error("simulated time ran out when the slowest node had completed {round} rounds")]
    TimeOut {
        /// The least number of rounds any node completed.
        round: u64,
    },
}
