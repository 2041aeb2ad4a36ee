//! Why a model cannot be used.

use std::io;
use std::path::PathBuf;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is no model.
    #[error(
        "cannot read {}: {error}. `lopa run FILE.toml --out DIR` writes it, unless the run diverges or has no samples",
        path.display()
    )]
    Read {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Another version wrote it.
    #[error("{} has format {format}, which this version of lopa cannot read: repeat the run", path.display())]
    Format {
        /// Its file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// It was changed.
    #[error("{} is damaged: {what}. Repeat the run", path.display())]
    Damaged {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// There are several nodes, and none was chosen.
    #[error("every node has a model of its own: choose one with --node; nodes are {nodes}")]
    Which {
        /// The nodes.
        nodes: String,
    },
    /// There is no such node.
    #[error("--node: there is no node \"{wanted}\": {hint}")]
    Unknown {
        /// The name or number.
        wanted: String,
        /// What to do.
        hint: String,
    },
    /// A weight is too large.
    #[error(
        "node \"{node}\": {what} does not fit in a 32-bit float once the scaling is part of it"
    )]
    Range {
        /// The node.
        node: String,
        /// Which weight.
        what: String,
    },
}
