//! Rows that fit the lanes of one vector.

use super::many::fetch;
use super::{Features, Labels, Samples, Scaling, minus};
use crate::vector::LANES;
use crate::vector::wide::padded;

impl Samples<'_> {
    /// Whether all rows fit one vector and have a common scale.
    #[inline(always)]
    pub(crate) const fn is_short(&self) -> bool {
        self.width <= LANES && matches!(self.scaling, Scaling::Common { .. })
    }

    /// The features of a short row, and zeros; `None` beyond the end. They are still to be multiplied by the
    /// [common scale](Samples::common_scale).
    #[inline(always)]
    pub(crate) fn short_row(&self, index: usize) -> Option<[f32; LANES]> {
        let Scaling::Common { offset, .. } = self.scaling else { return None };
        let from = index.wrapping_mul(self.width);
        Some(match self.features.cut(from, from.wrapping_add(self.width))? {
            Features::U8(raw) => padded(raw, minus(offset)),
            Features::I8(raw) => padded(raw, minus(offset)),
            Features::F32(raw) => padded(raw, minus(offset)),
        })
    }

    /// Reads something of every line of memory of a small set, so that all of them are on their way at once: in a large
    /// network, a node's samples are no longer in a cache when its turn comes.
    #[inline]
    pub(crate) fn fetch_small(&self) {
        const SMALL: usize = 4_096;
        match self.features {
            Features::F32(raw) if size_of_val(raw) <= SMALL => fetch(raw),
            Features::U8(raw) if raw.len() <= SMALL => fetch(raw),
            Features::I8(raw) if raw.len() <= SMALL => fetch(raw),
            // In a large set, the rows of a batch are on their way at once anyway.
            _ => return,
        }
        match self.labels {
            Labels::Binary(labels) | Labels::Class(labels) => fetch(labels),
            Labels::Real(labels) => fetch(labels),
        }
    }
}
