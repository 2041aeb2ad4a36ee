//! Why a run did not end well.

use std::fmt;

use lopa_core::network::NetworkError;
use lopa_core::node::NodeError;

use super::ResumeError;
use crate::algorithms::TableError;
use crate::config::ConfigError;
use crate::files::WriteError;

/// Why a run did not end well.
#[derive(Debug)]
pub enum RunError {
    /// Something given to it was wrong: exit status 2.
    Input(String),
    /// It cannot go on from where it stood: exit status 2.
    Resume(ResumeError),
    /// It diverged, with everything so far written: exit status 1.
    Diverged(NetworkError),
    /// A result could not be written: exit status 1.
    Output(WriteError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(what) => f.write_str(what),
            Self::Resume(error) => error.fmt(f),
            Self::Diverged(error) => write!(
                f,
                "{error} (alpha moves x and y, or theta where there is one level; beta theta, lambda v: the one named is \
                 the first to make smaller)"
            ),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<TableError> for RunError {
    fn from(error: TableError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<WriteError> for RunError {
    fn from(error: WriteError) -> Self {
        Self::Output(error)
    }
}

impl From<ResumeError> for RunError {
    fn from(error: ResumeError) -> Self {
        Self::Resume(error)
    }
}

pub(super) fn input(error: impl fmt::Display) -> RunError {
    RunError::Input(error.to_string())
}

/// A network that a node or its start refused.
pub(super) fn refused(error: NetworkError) -> RunError {
    match error {
        NetworkError::Node { error: NodeError::Length { name: "x", needed, found }, .. } => {
            RunError::Input(format!("run.x0 has {found} numbers, {needed} are needed"))
        }
        other => input(other),
    }
}
