//! How vectors are cut into chunks, and how chunks are counted.

use core::ops::Range;

use super::session::Session;
use crate::codec::{Bits, Codec};

/// How a round's vectors are cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// The elements of a chunk.
    size: u32,
    /// The chunks of a round.
    chunks: u32,
}

impl Cut {
    pub const NONE: Self = Self { size: 0, chunks: 0 };

    pub fn new(size: u32, outer: u32) -> Self {
        Self { size, chunks: outer.div_ceil(size.max(1)) }
    }
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// The bits of the changes that travel in a round; `None` if they are values in full. A neighbour may be a round ahead, so
    /// the round is the message's, not the node's.
    pub fn bits(&self, round: u64) -> Option<Bits> {
        if !self.coded() || self.opens(round) {
            return None;
        }
        Codec::from_identity(self.settings.identity.codec()).map(Codec::bits)
    }

    /// Whether a round opens an epoch of changes: its values travel in full.
    fn opens(&self, round: u64) -> bool {
        self.opening && round == self.start
    }

    /// Whether vectors travel in few bits: never without the feature, and the compiler then leaves out what depends on it.
    pub const fn coded(&self) -> bool {
        cfg!(feature = "codec") && self.settings.identity.codec() != 0
    }

    /// How a round is cut.
    fn cut(&self, round: u64) -> Cut {
        if self.coded() && !self.opens(round) { self.changes } else { self.floats }
    }

    /// The number of chunks in a round.
    pub fn chunks(&self, round: u64) -> u32 {
        self.cut(round).chunks
    }

    /// The place of a round's first chunk. Places count through all rounds; the one that opens an epoch may have more of them
    /// than the others.
    pub fn first(&self, round: u64) -> u64 {
        let usual = if self.coded() { self.changes } else { self.floats }.chunks;
        let first = round.saturating_mul(usual.into());
        if self.coded() && self.opening && round > self.start {
            return first.saturating_add(self.floats.chunks.saturating_sub(usual).into());
        }
        first
    }

    /// The elements of the chunk at a place in a round.
    pub fn elements(&self, round: u64, place: u64) -> Range<usize> {
        let size = self.cut(round).size as usize;
        let outer = self.settings.identity.outer as usize;
        let at = place.saturating_sub(self.first(round)) as usize;
        let start = at.saturating_mul(size).min(outer);
        start..start.saturating_add(size).min(outer)
    }

    /// The place of the chunk that begins with an element, in a round.
    pub fn place(&self, round: u64, element: usize) -> u64 {
        let done = (element as u32).checked_div(self.cut(round).size).unwrap_or(0);
        self.first(round).saturating_add(done.into())
    }

    /// The first place of a chunk that cannot have been sent yet.
    pub fn sent_up_to(&self) -> u64 {
        self.first(self.round.saturating_add(u64::from(self.computed)))
    }

    /// The slot of a chunk's values.
    pub fn slot(place: u64) -> usize {
        place.checked_rem(WINDOW as u64).map_or(0, |slot| slot as usize)
    }
}
