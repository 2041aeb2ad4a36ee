//! A batch, block by block.

use core::array;

use crate::batch::{Batch, Indices};
use crate::samples::{BLOCK, Block, Room, Samples};

/// The samples of a batch, [`BLOCK`] at a time.
pub(super) struct Blocks<'a> {
    samples: &'a Samples<'a>,
    indices: Indices,
    /// On a host: the next block, which is fetched while the one before is computed.
    #[cfg(feature = "simd")]
    ahead: Option<([usize; BLOCK], Block<'a>)>,
}

impl<'a> Blocks<'a> {
    #[inline]
    pub(super) fn new(samples: &'a Samples<'a>, batch: &Batch) -> Self {
        let indices = batch.indices();
        #[cfg(feature = "simd")]
        {
            let mut blocks = Self { samples, indices, ahead: None };
            blocks.ahead = blocks.read();
            if let Some((_, rows)) = &blocks.ahead {
                rows.fetch();
            }
            blocks
        }
        #[cfg(not(feature = "simd"))]
        Self { samples, indices }
    }

    /// The next block and its indices; `None` if fewer are left, or if one of them is beyond the end.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    pub(super) fn next(&mut self, room: &mut Room) -> Option<([usize; BLOCK], Block<'a>)> {
        #[cfg(feature = "simd")]
        {
            let block = self.ahead.take()?;
            self.ahead = self.read();
            self.ahead.as_ref().map_or(&block.1, |(_, rows)| rows).follows(room);
            Some(block)
        }
        #[cfg(not(feature = "simd"))]
        {
            let Room = room;
            self.read()
        }
    }

    #[inline]
    fn read(&mut self) -> Option<([usize; BLOCK], Block<'a>)> {
        if BLOCK == 1 || self.indices.len() < BLOCK {
            return None;
        }
        let mut ahead = self.indices.clone();
        let block = array::from_fn(|_| ahead.next().unwrap_or(usize::MAX));
        let rows = Block::new(self.samples, block)?;
        self.indices = ahead;
        Some((block, rows))
    }

    /// The samples that are left.
    #[inline]
    pub(super) const fn rest(self) -> Indices {
        self.indices
    }
}
