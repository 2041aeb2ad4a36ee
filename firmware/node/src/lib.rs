//! The node program that every board runs.
//!
//! A board gives [`run`] its links, clock, light, watchdog and flash, and the node's blob. The program reads the blob,
//! restores the last checkpoint if there is one, and exchanges rounds with its neighbours until all are done; after that it
//! still answers. It sleeps whenever there is nothing to do. The problem, its settings and the neighbours are in the blob:
//! one image serves every node of every problem that fits its memory.
//!
//! # When something goes wrong
//!
//! | event | what happens |
//! |---|---|
//! | a blob is missing, damaged or too large | it is refused: the light, the log and every answer to a host report it |
//! | boots cannot be counted in flash | without a key, it learns with boot number 0, and neither reads nor writes checkpoints |
//! | the same, and the blob has a key | it does not start, and reports why: without a count, an old recording could pass for new |
//! | a panic | it is logged, and the board reboots: see [`last_words`] |
//! | the program hangs | the watchdog reboots the board |
//! | power fails, at any moment | the node continues from its last complete checkpoint |
//!
//! The core and this program cannot panic: `firmware/panic-free` links them, on a board that may return anything, with a
//! panic handler that does not link. A board's drivers (HAL), start-up code and executor are not covered; the panic handler
//! and the watchdog are there for them.
//!
#![doc = include_str!("../docs/budgets.md")]
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod board;
mod light;
mod lines;
mod log;
mod panic;
mod program;
mod store;

pub use board::{Board, Clock, Mapped, Watchdog};
pub use panic::last_words;
pub use program::{Desk, NoNode, Refusal, run};
pub use store::{BLOCK, PAGE, Store, StoreError};

use lopa_core::blob::Capacity;
use lopa_core::exchange::Exchange;

/// The most neighbours of a node; with the feature `many`, more than it has lines, through a router.
pub const NEIGHBOURS: usize = if cfg!(feature = "many") { 16 } else { 4 };
/// Links of a board: one to a host, and four to neighbours.
pub const LINKS: usize = 5;
/// Chunks stored for each neighbour.
pub const WINDOW: usize = 2;
/// Floats of a chunk, y included.
pub const VALUES: usize = 64;

/// The exchange of a board.
pub type BoardExchange = Exchange<NEIGHBOURS, LINKS, VALUES, WINDOW>;

/// What a board with this many floats has room for.
#[must_use]
pub const fn capacity(floats: usize) -> Capacity {
    Capacity { floats, neighbours: NEIGHBOURS, links: LINKS, values: VALUES }
}
