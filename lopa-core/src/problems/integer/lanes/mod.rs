//! Sums of bytes times integers: in named vector operations of x86, for which a compiler finds slower ones, and in plain loops
//! for all other processors.

mod plain;
#[cfg(target_arch = "x86_64")]
mod x86;

use bytemuck::{Pod, Zeroable};

use super::quantised::{BITS, Word};
use crate::widest;

/// Features of a row that are processed at once.
pub(super) const PIECE: usize = 64;

/// A piece of a row.
pub(super) type Bytes = [u8; PIECE];

/// Integers for a piece of a row. Aligned, because an access of 64 bytes would otherwise touch two lines.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Integers(pub(super) [Word; PIECE]);

/// Rows that are multiplied at once, so that integers are loaded once for all of them.
pub(super) const ROWS: usize = 4;

/// Pieces whose products fit 32 bits, a quarter of them in one sum.
pub(super) const PIECES: usize = 16;

const _: () = assert!(((PIECES * PIECE / 4) as u64 * 255) << BITS <= i32::MAX as u64);

/// The operations. Sums of integers have no order, so they have the same bits with all vectors.
pub(super) trait Lanes: Copy {
    /// Sums over parts of a row.
    type Sums: Copy;

    /// Sums over rows, for each feature of a piece.
    type Tile: Copy;

    /// Two rows, in the order of a tile.
    type Turns: Copy;

    const ZERO: Self::Sums;
    const EMPTY: Self::Tile;
    const NO_TURNS: Self::Turns;

    /// The bytes of a row as numbers of 16 bits.
    fn widen<const SIGNED: bool>(self, row: &Bytes) -> Integers;

    /// Adds the numbers of a row times integers to sums.
    fn multiply(self, sums: Self::Sums, row: &Integers, integers: &Integers) -> Self::Sums;

    /// The sum over all parts of each row, of at most [`PIECES`] pieces.
    fn totals(self, sums: [Self::Sums; ROWS]) -> [i64; ROWS];

    /// Two rows in turns: the bytes of each feature beside one another, as numbers of 16 bits.
    fn in_turns<const SIGNED: bool>(self, rows: [&Bytes; 2]) -> Self::Turns;

    /// Adds two rows times their factors.
    fn add_rows(self, tile: Self::Tile, rows: Self::Turns, factors: [Word; 2]) -> Self::Tile;

    /// The sums in the order of the features.
    fn in_order(self, tile: Self::Tile) -> [i32; PIECE];
}

/// Something to compute with these operations. A type instead of a closure, for the reason that
/// [`Work`](widest::Work) gives.
pub(super) trait WithLanes {
    fn run<L: Lanes>(self, lanes: L);
}

/// Runs `work` with the widest vectors of the processor.
#[inline(always)]
pub(super) fn run<W: WithLanes>(work: W) {
    match widest::processor() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(lanes) => match x86::Vnni::try_new() {
            Some(vnni) => vnni.vectorize(With { work, lanes }),
            None => (*lanes).vectorize(With { work, lanes: *lanes }),
        },
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(lanes) => lanes.vectorize(With { work, lanes }),
        _ => work.run(plain::Plain),
    }
}

#[cfg(target_arch = "x86_64")]
struct With<W, L> {
    work: W,
    lanes: L,
}

#[cfg(target_arch = "x86_64")]
impl<W: WithLanes, L: Lanes> pulp::NullaryFnOnce for With<W, L> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.work.run(self.lanes);
    }
}
