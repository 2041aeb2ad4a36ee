//! Why a run did not end well.

use std::fmt;

use lopa_core::network::NetworkError;
use lopa_core::node::NodeError;

use crate::algorithms::TableError;
use crate::config::ConfigError;
use crate::files::WriteError;

/// Why a run did not end well.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its input, or the checkpoint to go on from, is wrong: exit status 2.
    #[error("{0}")]
    Input(String),
    /// Its file is wrong: exit status 2.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The table of its algorithm is wrong: exit status 2.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It diverged, with everything so far written: exit status 1.
    #[error(
        "{0}: reduce the step size of that variable first (alpha for x and y, and for theta in single-level methods; \
         beta for theta; lambda for v)"
    )]
    Diverged(NetworkError),
    /// A result could not be written: exit status 1.
    #[error(transparent)]
    Output(#[from] WriteError),
}

pub(super) fn input(error: impl fmt::Display) -> RunError {
    RunError::Input(error.to_string())
}

/// A network that a node or its start refused.
pub(super) fn refused(error: NetworkError) -> RunError {
    match error {
        NetworkError::Node { error: NodeError::Length { name: "x", needed, found }, .. } => {
            RunError::Input(format!("run.x0 has {found} numbers, but {needed} are needed"))
        }
        other => input(other),
    }
}
