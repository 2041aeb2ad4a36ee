//! Several rows at once, with the bits of one after the other.

#[cfg(feature = "simd")]
use super::many::fetch;
use super::{Features, Samples, Scaling, minus};
#[cfg(not(feature = "simd"))]
use crate::vector::narrow;
#[cfg(feature = "simd")]
use crate::vector::wide;

/// How many rows are read at once: on a chip with an FPU so many that an element of the result is loaded once for all of
/// them.
#[cfg(not(feature = "simd"))]
pub(crate) const BLOCK: usize = if crate::vector::WRITTEN_OUT { 4 } else { 1 };
#[cfg(feature = "simd")]
pub(crate) const BLOCK: usize = wide::ROWS;

/// The features of [`BLOCK`] samples.
pub(crate) struct Block<'a> {
    raw: Raw<'a>,
    scale: f32,
    offset: f32,
    #[cfg(feature = "simd")]
    filled: Option<[&'a [u64]; BLOCK]>,
}

#[derive(Clone, Copy)]
enum Raw<'a> {
    U8([&'a [u8]; BLOCK]),
    I8([&'a [i8]; BLOCK]),
    F32([&'a [f32]; BLOCK]),
}

/// Memory that is used from a block's scalar products to its sum.
#[cfg(not(feature = "simd"))]
pub(crate) struct Room;
#[cfg(feature = "simd")]
pub(crate) use wide::Converted as Room;

#[cfg(not(feature = "simd"))]
impl Room {
    pub(crate) fn lend<R>(_: usize, work: impl FnOnce(&mut Self) -> R) -> R {
        work(&mut Self)
    }
}

impl<'a> Block<'a> {
    /// The features of some samples; `None` if one of them is beyond the end, or if features have scales of their own:
    /// only chips learn from such samples, and there those loops are written for little flash.
    #[inline]
    pub(crate) fn new(samples: &Samples<'a>, indices: [usize; BLOCK]) -> Option<Self> {
        let Scaling::Common { scale, offset } = samples.scaling else { return None };
        let raw = match samples.features {
            Features::U8(raw) => Raw::U8(cut_all(raw, samples.width, indices)?),
            Features::I8(raw) => Raw::I8(cut_all(raw, samples.width, indices)?),
            Features::F32(raw) => Raw::F32(cut_all(raw, samples.width, indices)?),
        };
        Some(Self {
            raw,
            scale,
            offset,
            #[cfg(feature = "simd")]
            filled: filled(samples, indices),
        })
    }

    /// Says that this block follows the one that is computed with this memory: it is fetched meanwhile.
    #[cfg(feature = "simd")]
    #[inline(always)]
    pub(crate) fn follows(&self, room: &mut Room) {
        match self.raw {
            Raw::U8(rows) => room.expect(rows),
            Raw::I8(rows) => room.expect(rows),
            Raw::F32(rows) => room.expect(rows),
        }
    }

    /// Asks for all rows, which are needed soon.
    #[cfg(feature = "simd")]
    #[inline(always)]
    pub(crate) fn fetch(&self) {
        match self.raw {
            Raw::U8(rows) => rows.into_iter().for_each(fetch),
            Raw::I8(rows) => rows.into_iter().for_each(fetch),
            Raw::F32(rows) => rows.into_iter().for_each(fetch),
        }
    }

    /// The scalar products of each row with each of the vectors. With `KEEP`, [`Block::add_scaled`] may follow.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    pub(crate) fn dots<const V: usize, const KEEP: bool, const MANY_REGISTERS: bool>(
        &self,
        vectors: [&[f32]; V],
        room: &mut Room,
    ) -> [[f32; V]; BLOCK] {
        #[cfg(feature = "simd")]
        room.choose(self.width(), self.filled);
        let offset = self.offset;
        let mut sums = match self.raw {
            // Images have no offset: subtracting zero from a whole number can be left out.
            Raw::U8(rows) if offset == 0.0 => {
                dots::<_, V, KEEP, MANY_REGISTERS>(rows, vectors, f32::from, room)
            }
            Raw::U8(rows) => dots::<_, V, KEEP, MANY_REGISTERS>(rows, vectors, minus(offset), room),
            Raw::I8(rows) => dots::<_, V, KEEP, MANY_REGISTERS>(rows, vectors, minus(offset), room),
            Raw::F32(rows) => {
                dots::<_, V, false, MANY_REGISTERS>(rows, vectors, minus(offset), room)
            }
        };
        for sum in sums.as_flattened_mut() {
            *sum *= self.scale;
        }
        sums
    }

    #[cfg(feature = "simd")]
    fn width(&self) -> usize {
        match self.raw {
            Raw::U8(rows) => rows[0].len(),
            Raw::I8(rows) => rows[0].len(),
            Raw::F32(rows) => rows[0].len(),
        }
    }

    /// `out += factor * row`, row after row.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    pub(crate) fn add_scaled(&self, mut factors: [f32; BLOCK], room: &Room, out: &mut [f32]) {
        let offset = self.offset;
        for factor in &mut factors {
            *factor *= self.scale;
        }
        #[cfg(feature = "simd")]
        match self.raw {
            Raw::F32(rows) => wide::add_rows(out, rows, factors, minus(offset)),
            Raw::U8(_) | Raw::I8(_) => wide::add_converted(out, room, factors),
        }
        #[cfg(not(feature = "simd"))]
        {
            let Room = room;
            match self.raw {
                Raw::U8(rows) if offset == 0.0 => narrow::add_rows(out, rows, factors, f32::from),
                Raw::U8(rows) => narrow::add_rows(out, rows, factors, minus(offset)),
                Raw::I8(rows) => narrow::add_rows(out, rows, factors, minus(offset)),
                Raw::F32(rows) => narrow::add_rows(out, rows, factors, minus(offset)),
            }
        }
    }

    /// [`Block::add_scaled`] for two blocks of the same samples, in one pass over `out`.
    #[cfg(not(feature = "simd"))]
    #[inline]
    pub(crate) fn add_both(blocks: [&Self; 2], factors: [[f32; BLOCK]; 2], out: &mut [f32]) {
        match blocks.map(|block| block.raw) {
            // Only images: the same for every kind of row would take 3 KB more of flash.
            [Raw::U8(a), Raw::U8(b)] if blocks[0].offset == 0.0 => {
                let factors = join(factors).map(|factor| factor * blocks[0].scale);
                narrow::add_rows(out, join([a, b]), factors, f32::from);
            }
            _ => {
                for (block, factors) in blocks.into_iter().zip(factors) {
                    block.add_scaled(factors, &Room, out);
                }
            }
        }
    }
}

/// Two blocks.
#[cfg(not(feature = "simd"))]
const BOTH: usize = 2 * BLOCK;

#[cfg(not(feature = "simd"))]
#[inline]
fn join<T: Copy>([a, b]: [[T; BLOCK]; 2]) -> [T; BOTH] {
    core::array::from_fn(|i| if i < BLOCK { a[i] } else { b[i - BLOCK] })
}

#[cfg(feature = "simd")]
use wide::dots;

#[cfg(not(feature = "simd"))]
#[inline]
fn dots<T: Copy, const V: usize, const KEEP: bool, const MANY_REGISTERS: bool>(
    rows: [&[T]; BLOCK],
    vectors: [&[f32]; V],
    value: impl Fn(T) -> f32,
    _: &mut Room,
) -> [[f32; V]; BLOCK] {
    let mut sums = [[0.0; V]; BLOCK];
    // Of a pair, an element of a vector is loaded once for both rows. With one vector, registers would not do.
    if V == 1 || BLOCK == 1 {
        for (sums, row) in sums.iter_mut().zip(rows) {
            *sums = narrow::dots_of_row(row, vectors, &value);
        }
    } else {
        let (pairs, sums_of_pairs) = (rows.as_chunks::<2>().0, sums.as_chunks_mut::<2>().0);
        for (sums, &rows) in sums_of_pairs.iter_mut().zip(pairs) {
            *sums = narrow::dots_of_pair(rows, vectors, &value);
        }
    }
    sums
}

/// Some rows of a set; `None` if one of them is beyond the end.
#[inline]
fn cut_all<T>(raw: &[T], width: usize, indices: [usize; BLOCK]) -> Option<[&[T]; BLOCK]> {
    let mut rows: [&[T]; BLOCK] = [&[]; BLOCK];
    for (row, index) in rows.iter_mut().zip(indices) {
        let from = index.wrapping_mul(width);
        *row = raw.get(from..from.wrapping_add(width))?;
    }
    Some(rows)
}

/// The marks of some rows, if the samples have any.
#[cfg(feature = "simd")]
#[inline]
fn filled<'a>(samples: &Samples<'a>, indices: [usize; BLOCK]) -> Option<[&'a [u64]; BLOCK]> {
    let mut marks: [&[u64]; BLOCK] = [&[]; BLOCK];
    for (marks, index) in marks.iter_mut().zip(indices) {
        *marks = samples.filled(index)?;
    }
    Some(marks)
}
