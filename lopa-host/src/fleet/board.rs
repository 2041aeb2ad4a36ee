//! The boards there is firmware for, in one table.

use lopa_core::blob::Capacity;

use crate::shards::{LINES, VALUES};

/// A board, and what a fleet must know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    /// Its name: of its folder in `firmware`, of its package, and of the program.
    pub name: &'static str,
    /// The target its program is built for.
    pub target: &'static str,
    /// The chip as probe-rs calls it; none for a board that is only emulated.
    pub chip: Option<&'static str>,
    /// Where the program looks for its blob.
    pub blob: u32,
    /// The floats it has room for.
    pub floats: usize,
    /// The neighbours it has room for.
    pub neighbours: usize,
    /// Features the program is built with.
    pub features: &'static [&'static str],
}

/// The emulated board.
pub const EMULATED: Board = Board {
    name: "mps2-an386",
    target: "thumbv7em-none-eabihf",
    chip: None,
    blob: 0x2100_0000,
    floats: 8 * 784,
    neighbours: 4,
    features: &[],
};

/// The emulated board for large problems, and for more neighbours than it has lines.
pub const EMULATED_LARGE: Board =
    Board { floats: 0x60_0000 / 4, neighbours: 16, features: &["large"], ..EMULATED };

/// All boards a file can name.
pub const BOARDS: [Board; 1] = [EMULATED];

impl Board {
    /// The board with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        BOARDS.into_iter().find(|board| board.name == name)
    }

    /// What its program has room for.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        let Self { floats, neighbours, .. } = *self;
        Capacity { floats, neighbours, links: LINES + 1, values: VALUES as usize }
    }
}
