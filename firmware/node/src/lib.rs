//! The node program, once: what every board runs.
//!
//! A board gives [`run`] its links, clock, light, watchdog and flash, and where the node's blob lies. The program reads
//! the blob, goes back to the last checkpoint if there is one, and exchanges rounds with its neighbours until all are
//! done; then it goes on answering. It sleeps whenever there is nothing to do. Which problem it solves, with whom and
//! how, is in the blob: one image serves every node of every problem that fits its memory.
//!
//! # When something goes wrong
//!
//! | what | what happens |
//! |---|---|
//! | a blob is missing, damaged or too large | it is refused: the light, the log and every answer to a host say so |
//! | boots cannot be counted in flash | without a key, it learns with boot number 0, and neither reads nor writes checkpoints |
//! | the same, and the blob has a key | it does not start, and says so: without a count, an old recording could pass for new |
//! | a panic | it is logged, and the board reboots: see [`last_words`] |
//! | the program hangs | the watchdog reboots the board |
//! | power goes, at any moment | the node goes on from its last whole checkpoint |
//!
//! The core and this program have no panic: `firmware/panic-free` links them, on a board of which nothing is known, with
//! a panic handler that does not link. What a board brings along is not covered: its drivers (HAL), start-up code and
//! executor. For these there are the panic handler and the watchdog.
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
pub use program::{Desk, Refusal, run};
pub use store::{PAGE, Store, StoreError};

use lopa_core::blob::Capacity;
use lopa_core::exchange::Exchange;

/// Neighbours a node can have; with the feature `many` more than it has lines, behind a router.
pub const NEIGHBOURS: usize = if cfg!(feature = "many") { 16 } else { 4 };
/// Links of a board: one to a host, and four to neighbours.
pub const LINKS: usize = 5;
/// Chunks of each neighbour that are held.
pub const WINDOW: usize = 2;
/// Floats of a chunk, y included.
pub const VALUES: usize = 64;

/// The exchange of a board.
pub type BoardExchange = Exchange<NEIGHBOURS, LINKS, VALUES, WINDOW>;

/// What a board with so many floats has room for.
#[must_use]
pub const fn capacity(floats: usize) -> Capacity {
    Capacity { floats, neighbours: NEIGHBOURS, links: LINKS, values: VALUES }
}
