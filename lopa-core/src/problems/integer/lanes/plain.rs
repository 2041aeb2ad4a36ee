//! The operations as loops, for processors whose vectors a compiler may always use: NEON, or the oldest of x86.

use super::{Bytes, Integers, Lanes, PIECE, ROWS, Word};

/// As many products as a vector of 128 bits holds.
const FEW: usize = 4;

#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Lanes for Plain {
    type Sums = [i32; FEW];
    type Tile = [i32; PIECE];
    type Turns = [Integers; 2];

    const ZERO: Self::Sums = [0; FEW];
    const EMPTY: Self::Tile = [0; PIECE];
    const NO_TURNS: Self::Turns = [Integers([0; PIECE]); 2];

    #[inline(always)]
    fn widen<const SIGNED: bool>(self, row: &Bytes) -> Integers {
        let number = |byte: u8| if SIGNED { Word::from(byte as i8) } else { Word::from(byte) };
        Integers(row.map(number))
    }

    #[inline(always)]
    fn multiply(self, mut sums: Self::Sums, row: &Integers, integers: &Integers) -> Self::Sums {
        for (row, integers) in
            row.0.as_chunks::<FEW>().0.iter().zip(integers.0.as_chunks::<FEW>().0)
        {
            for i in 0..FEW {
                sums[i] += i32::from(row[i]) * i32::from(integers[i]);
            }
        }
        sums
    }

    #[inline(always)]
    fn totals(self, sums: [Self::Sums; ROWS]) -> [i64; ROWS] {
        sums.map(|sums| sums.into_iter().map(i64::from).sum())
    }

    /// In their own order, which needs no turns.
    #[inline(always)]
    fn in_turns<const SIGNED: bool>(self, rows: [&Bytes; 2]) -> Self::Turns {
        rows.map(|row| self.widen::<SIGNED>(row))
    }

    #[inline(always)]
    fn add_rows(self, mut tile: Self::Tile, [a, b]: Self::Turns, [f, g]: [Word; 2]) -> Self::Tile {
        for (sum, (a, b)) in tile.iter_mut().zip(a.0.into_iter().zip(b.0)) {
            *sum += i32::from(a) * i32::from(f) + i32::from(b) * i32::from(g);
        }
        tile
    }

    #[inline(always)]
    fn in_order(self, tile: Self::Tile) -> [i32; PIECE] {
        tile
    }
}
