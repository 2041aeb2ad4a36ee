//! A network for chips: one blob per node, what each needs, and the boards there is firmware for.
//!
//! ```
//! use lopa_host::chips::{Form, Limits, blobs};
//! use lopa_host::config::Experiment;
//! use lopa_host::run::Prepared;
//!
//! let experiment = Experiment::parse(
//!     r#"
//!     network = { nodes = 4 }
//!     problem = { kind = "logistic" }
//!     algorithm = { name = "lopa-gt", alpha = 0.1, beta = 0.05, lambda = 0.05, gamma = 0.3, tau = 0.5, batch = 20 }
//!     links = { baud = 115200 }
//!     run = { iterations = 100 }
//!     "#,
//! )?;
//! let limits = Limits { flash: Some(64 * 1024), ram: Some(8 * 1024) };
//! let blobs = blobs(&Prepared::new(experiment)?, limits, Form::default())?;
//! assert_eq!(blobs.len(), 4);
//! assert!(blobs.iter().all(|blob| blob.budget.seconds < 0.1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blobs;
mod boards;
mod budget;

pub use blobs::{Form, Limits, Loaded, NodeBlob, blobs};
pub use boards::{
    BOARDS, Board, EMULATED, EMULATED_LARGE, EMULATED_M33, EMULATED_WITHOUT_FPU, Flash, Region,
    UnknownBoard,
};
pub use budget::Budget;

use lopa_core::blob::BlobError;

use crate::run::RunError;

/// The most serial lines of a board to neighbours.
pub const LINES: usize = 4;
/// The most floats of a chunk in the node program; with gradient tracking, y follows x in it.
pub const VALUES: u32 = 64;

/// Why a network does not fit on chips.
#[derive(Debug, thiserror::Error)]
pub enum ChipError {
    /// The network cannot be built.
    #[error(transparent)]
    Network(#[from] RunError),
    /// A node has more neighbours than a board has lines.
    #[error(
        "node {node} has {neighbours} neighbours, but a board has only {LINES} lines: set wiring = \"routed\" in the \
         table [links], or choose another topology"
    )]
    Lines {
        /// The node.
        node: u32,
        /// Its neighbours.
        neighbours: usize,
    },
    /// A node needs more than there is.
    #[error("node {node} needs {needed} bytes of {name}, but there are only {room}")]
    Room {
        /// The node.
        node: u32,
        /// Flash or RAM.
        name: &'static str,
        /// The bytes it needs.
        needed: usize,
        /// The bytes there are.
        room: usize,
    },
    /// A board's lines are slower.
    #[error(
        "node {node}: links.baud is {baud}, but the lines of a {board} are limited to {fastest}: lower it"
    )]
    Baud {
        /// The node.
        node: u32,
        /// The board.
        board: &'static str,
        /// The rate.
        baud: u32,
        /// The fastest rate.
        fastest: u32,
    },
    /// Bytes would be lost while a checkpoint is written.
    #[error(
        "node {node}: a {board} cannot receive for {} ms while it writes a checkpoint, and its lines hold what arrives \
         meanwhile only up to {slow} baud: links.baud is {baud}; lower it, or remove run.checkpoint_every",
        f64::from(*deaf) / 1e3
    )]
    Deaf {
        /// The node.
        node: u32,
        /// The board.
        board: &'static str,
        /// The rate.
        baud: u32,
        /// The microseconds.
        deaf: u32,
        /// The fastest rate without a loss.
        slow: u32,
    },
    /// A chip would refuse the blob.
    #[error("node {node}: {source}")]
    Blob {
        /// The node.
        node: u32,
        /// Why.
        source: BlobError,
    },
    /// The problem could not be written for the checksum of the network.
    #[error("cannot write the problem as JSON: {0}")]
    Problem(#[from] serde_json::Error),
}
