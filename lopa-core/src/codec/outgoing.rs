//! What a node sends in a round, and how neighbours read it.

use core::ops::Range;

use super::{BLOCK, Bits, Block, Codec, Grid};
use crate::node::Variable;

/// A view of a node's vectors and of what its neighbours know of them: together they decide what the node sends.
///
/// It stays the same until the elements are mixed, so what was lost is computed again.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outgoing<'a> {
    pub(super) codec: Codec,
    pub(super) opening: bool,
    pub(super) x: Vector<'a>,
    /// With gradient tracking only.
    pub(super) y: Option<Vector<'a>>,
}

/// One of the vectors that travel.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Vector<'a> {
    pub grid: Grid,
    pub values: &'a [f32],
    pub known: &'a [i32],
}

impl<'a> Outgoing<'a> {
    /// The codec.
    #[must_use]
    pub const fn codec(&self) -> Codec {
        self.codec
    }

    /// Whether this round, or the next one between rounds, opens an epoch: then values are sent in full.
    #[must_use]
    pub const fn is_opening(&self) -> bool {
        self.opening
    }

    /// The changes of x from an element on, or those of y for every other variable; none of y without gradient tracking.
    #[must_use]
    pub fn changes(&self, variable: Variable, from: usize) -> [i32; BLOCK] {
        let vector = if variable == Variable::Outer { Some(self.x) } else { self.y };
        let mut changes = [0; BLOCK];
        let Some(vector) = vector else { return changes };
        if !self.opening {
            return vector.block(self.codec.bits(), from).changes();
        }
        let (values, known) = vector.from(from);
        for (change, (&value, &known)) in changes.iter_mut().zip(values.iter().zip(known)) {
            *change = vector.grid.number(value).wrapping_sub(known);
        }
        changes
    }

    /// Whether these elements of x and y are all zero on the grid. Then a round that opens an epoch sends nothing for them.
    #[cfg(feature = "codec")]
    pub(crate) fn is_zero(&self, elements: Range<usize>) -> bool {
        [Some(self.x), self.y].into_iter().flatten().all(|vector| {
            let values = vector.values.get(elements.clone()).unwrap_or(&[]);
            values.iter().all(|&value| vector.grid.number(value) == 0)
        })
    }

    /// The blocks of some elements of x, and then of y: what is sent in a round that opens no epoch. The elements begin with
    /// a block, and end with one or with the vector.
    pub(crate) fn blocks(&self, elements: Range<usize>) -> impl Iterator<Item = Block> + 'a {
        let (outgoing, each) = (*self, elements.len().div_ceil(BLOCK));
        let all = if self.y.is_some() { each.saturating_mul(2) } else { each };
        (0..all).map(move |at| {
            let own = outgoing.y.filter(|_| at >= each);
            let (vector, at) = own.map_or((outgoing.x, at), |y| (y, at.wrapping_sub(each)));
            let from = elements.start.saturating_add(at.saturating_mul(BLOCK));
            vector.block(outgoing.codec.bits(), from)
        })
    }
}

impl<'a> Vector<'a> {
    /// At most a block of the vector, and what is known of it.
    fn from(&self, from: usize) -> (&'a [f32], &'a [i32]) {
        (part(self.values, from), part(self.known, from))
    }

    fn block(&self, bits: Bits, from: usize) -> Block {
        let (values, known) = self.from(from);
        Block::quantise(bits, self.grid, values, known)
    }
}

/// At most a block of a vector, from an element on.
pub(crate) fn part<A>(vector: &[A], from: usize) -> &[A] {
    let from = from.min(vector.len());
    let to = from.saturating_add(BLOCK).min(vector.len());
    vector.get(from..to).unwrap_or(&[])
}
