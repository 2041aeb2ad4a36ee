//! Rows that fit the lanes of one vector.

use super::many::fetch;
use super::{Features, Labels, Samples, Scaling, minus};
use crate::vector::LANES;
use crate::vector::matrix::{Chunk, parts, parts_mut};
use crate::vector::turn::before;
use crate::vector::wide::padded;
use crate::widest::Simd;

impl Samples<'_> {
    /// Whether all rows fit one vector and have a common scale.
    #[inline(always)]
    pub(crate) const fn is_short(&self) -> bool {
        self.width <= LANES && matches!(self.scaling, Scaling::Common { .. })
    }

    /// Writes the features of a short row, and zeros, to a chunk; false beyond the end. They are still to be multiplied by the
    /// [common scale](Samples::common_scale).
    #[inline(always)]
    pub(crate) fn read_short<S: Simd>(&self, simd: S, index: usize, row: &mut Chunk) -> bool {
        let Scaling::Common { offset, .. } = self.scaling else { return false };
        let from = index.wrapping_mul(self.width);
        match self.features {
            Features::U8(raw) => read(simd, raw.get(from..), self.width, offset, row),
            Features::I8(raw) => read(simd, raw.get(from..), self.width, offset, row),
            Features::F32(raw) => read(simd, raw.get(from..), self.width, offset, row),
        }
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

/// Writes the first `width` numbers minus `offset`, and zeros, to a chunk; false if there are fewer.
#[inline(always)]
fn read<S: Simd, T: Copy + Into<f32>>(
    simd: S,
    raw: Option<&[T]>,
    width: usize,
    offset: f32,
    row: &mut Chunk,
) -> bool {
    let Some(raw) = raw else { return false };
    // Where sixteen numbers are left, all are read: those beyond `width` belong to the next row, and become zeros.
    if let Some(whole) = raw.first_chunk::<LANES>() {
        let mut numbers = [0.0; LANES];
        for i in 0..LANES {
            numbers[i] = whole[i].into();
        }
        for (part, own) in parts_mut::<S>(&mut row.0).iter_mut().enumerate() {
            let values = simd.sub_f32s(parts::<S>(&numbers)[part], simd.splat_f32s(offset));
            *own = simd.select_f32s(before(simd, width, part), values, simd.splat_f32s(0.0));
        }
        return true;
    }
    let Some(raw) = raw.get(..width) else { return false };
    read_end(raw, offset, row);
    true
}

/// The same near the end of the set, where fewer than sixteen numbers are left. Not inlined: otherwise the compiler would put
/// all rows together from single numbers.
#[inline(never)]
fn read_end<T: Copy + Into<f32>>(raw: &[T], offset: f32, row: &mut Chunk) {
    row.0 = padded(raw, minus(offset));
}
