//! Why a run did not end well.

use std::fmt;
use std::path::PathBuf;

use lopa_core::network::NetworkError;
use lopa_core::node::{Divergence, NodeError, Variable};

use crate::algorithms::workers::Gone;
use crate::algorithms::{Key, NodeView, StepError, TableError};
use crate::config::ConfigError;
use crate::files::WriteError;
use crate::record::Record;

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
    #[error("{0}")]
    Diverged(Box<Diverged>),
    /// A process with a part of the network is gone: exit status 1.
    #[error(transparent)]
    Worker(#[from] Gone),
    /// A result could not be written: exit status 1.
    #[error(transparent)]
    Output(#[from] WriteError),
}

impl RunError {
    /// Why a round of a single-level method, or of one with two levels, could not be completed.
    pub(super) fn of_step(error: StepError, single_level: bool) -> Self {
        match error {
            StepError::Network(error) => {
                Self::Diverged(Box::new(Diverged::new(error, single_level)))
            }
            StepError::Worker(gone) => Self::Worker(gone),
        }
    }
}

/// A run that diverged.
#[derive(Debug, Clone, PartialEq)]
pub struct Diverged {
    /// The node, the round and the variable.
    pub error: NetworkError,
    /// The step size that probably was too large.
    pub step: Key,
    /// What was measured before.
    pub record: Record,
    /// Where that was written, if not to the folder for the results because it has those of a run that did not diverge.
    pub elsewhere: Option<PathBuf>,
}

impl Diverged {
    /// A run of a single-level method, or of one with two levels.
    pub(super) fn new(error: NetworkError, single_level: bool) -> Self {
        let step = match error {
            NetworkError::Node {
                error: NodeError::Diverged(Divergence { variable, .. }), ..
            } if !single_level => match variable {
                Variable::Inner => Key::Beta,
                Variable::HessianInverseVector => Key::Lambda,
                _ => Key::Alpha,
            },
            _ => Key::Alpha,
        };
        Self { error, step, record: Record::default(), elsewhere: None }
    }

    /// The node that diverged first.
    #[must_use]
    pub const fn node(&self) -> Option<usize> {
        match self.error {
            NetworkError::Node { node, .. } => Some(node),
            _ => None,
        }
    }

    /// Blames the first variable that grew large on any node: θ follows x, v follows both, and what overflowed may just
    /// follow them.
    pub(super) fn blame<P>(&mut self, nodes: &[NodeView<'_, P>]) {
        let large = |values: &[f32]| values.iter().any(|a| a.abs() > 1e9);
        if nodes.iter().any(|node| large(node.x)) {
            self.step = Key::Alpha;
        } else if nodes.iter().any(|node| large(node.theta)) {
            self.step = Key::Beta;
        } else if nodes.iter().any(|node| node.v.is_some_and(large)) {
            self.step = Key::Lambda;
        }
    }
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.step.name();
        match self.error {
            NetworkError::Node { node, error: NodeError::Diverged(Divergence { round, .. }) } => {
                write!(f, "node {node} diverged in round {round}: reduce {step} first")?;
            }
            NetworkError::Node { node, error: NodeError::Range(Divergence { round, .. }) } => {
                write!(
                    f,
                    "node {node} left the range of the codec in round {round}, or is too far from its neighbours: raise \
                     links.unit, or reduce {step}"
                )?;
            }
            other => write!(f, "{other}: reduce {step} first")?,
        }
        match &self.elsewhere {
            Some(folder) => write!(
                f,
                "; the earlier results were kept, and those of this run are in {}",
                folder.display()
            ),
            None => Ok(()),
        }
    }
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
        NetworkError::Node { error: NodeError::Range(_), .. } => {
            input("run.x0 is out of the range of the codec: raise links.unit")
        }
        other => input(other),
    }
}
