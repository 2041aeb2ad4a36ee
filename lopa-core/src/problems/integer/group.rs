//! Some rows of a batch, and the two passes over their bytes.

use super::quantised::{BITS, Unit, Word, wide};
use super::scales::Scales;
use crate::samples::LARGEST_OFFSET;
use crate::vector::plus;

/// Rows of a group. It decides bits, because the factors of a group share a unit.
pub(in crate::problems) const GROUP: usize = 32;

/// Features whose integers are on the stack at a time. It decides no bit.
pub(super) const CHUNK: usize = if HOST { 256 } else { 32 };

/// Features that are summed over all rows at a time. It decides no bit.
const TILE: usize = match () {
    () if HOST => 64,
    // Few registers: sums are in memory.
    () if cfg!(target_arch = "arm") => 16,
    () => 8,
};

/// The same for the features that are left.
const SMALL: usize = if HOST { 16 } else { 1 };

const HOST: bool = cfg!(target_pointer_width = "64");

const _: () = assert!(GROUP <= CHUNK);
// Sums over a chunk and over a group fit 32 bits.
const _: () = assert!((CHUNK as u64 * 255) << BITS <= i32::MAX as u64);
const _: () = assert!((GROUP as u64 * (255 + LARGEST_OFFSET as u64)) << BITS <= i32::MAX as u64);

/// Some rows of a batch.
pub(super) struct Group<'a> {
    /// The bytes of each row. If their number is odd, the last one is there twice.
    rows: [&'a [u8]; GROUP],
    len: usize,
    /// Whether the bytes are signed.
    signed: bool,
}

impl<'a> Group<'a> {
    #[inline(always)]
    pub(super) const fn new(signed: bool) -> Self {
        Self { rows: [&[]; GROUP], len: 0, signed }
    }

    /// Adds a row of `raw`, unless the group is full. A row beyond the end is left out: it has no features, and adds nothing.
    #[inline(always)]
    pub(super) fn push(&mut self, raw: &'a [u8], index: usize, width: usize) -> bool {
        let from = index.wrapping_mul(width);
        let row = raw.get(from..from.wrapping_add(width));
        let (Some(row), Some(free)) = (row, self.rows.get_mut(self.len..)) else { return false };
        free.iter_mut().take(2).for_each(|to| *to = row);
        self.len = (self.len + 1).min(GROUP);
        true
    }

    #[inline(always)]
    fn rows(&self) -> &[&'a [u8]] {
        self.rows.get(..self.len).unwrap_or(&[])
    }

    /// How many factors to compute: on a host all of them, so that the loop has a fixed length and is vectorised.
    #[inline(always)]
    pub(super) const fn lanes(&self) -> usize {
        if HOST || self.len > GROUP { GROUP } else { self.len }
    }

    /// The scalar products of every row with a vector.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline(never))]
    pub(super) fn multiply(
        &self,
        vector: &[f32],
        unit: Unit,
        scales: &Scales<'_>,
        integers: &mut [Word; CHUNK],
        outputs: &mut [f32; GROUP],
    ) {
        let mut sums = [0_i64; GROUP];
        let mut offset = 0_i64;
        let mut start = 0;
        for chunk in vector.chunks(CHUNK) {
            offset += scales.quantise(start, chunk, unit, integers);
            for (sum, row) in sums.iter_mut().zip(self.rows()) {
                *sum += i64::from(match (part::<CHUNK>(row, start), self.signed) {
                    (Some(row), false) => product::<false>(row, integers),
                    (Some(row), true) => product::<true>(row, integers),
                    (None, false) => product::<false>(rest(row, start), integers),
                    (None, true) => product::<true>(rest(row, start), integers),
                });
            }
            start += CHUNK;
        }
        let scale = unit.value() * scales.scale();
        for (output, &sum) in outputs.iter_mut().zip(&sums).take(self.lanes()) {
            *output = scales.finish(sum, offset) * scale;
        }
    }

    /// Adds every row times its factor; false if one of them is not finite.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline(never))]
    pub(super) fn add_to(
        &self,
        out: &mut [f32],
        factors: &[f32; GROUP],
        scales: &Scales<'_>,
        integers: &mut [Word; CHUNK],
    ) -> bool {
        let factors = factors.get(..self.len).unwrap_or(&[]);
        let Some(unit) = Unit::of(factors) else { return false };
        let Some(integers) = integers.first_chunk_mut::<GROUP>() else { return false };
        let mut total = 0;
        for (integer, &factor) in integers.iter_mut().zip(factors) {
            *integer = unit.quantise(factor);
            total += wide(*integer);
        }
        // The last row, if it is there twice.
        if let Some(second) = integers.get_mut(self.len) {
            *second = 0;
        }
        let rows = Factored { group: self, integers, total };
        let rest = rows.add_tiles::<TILE>(0, out, unit, scales);
        let start = out.len() - rest;
        let out = out.get_mut(start..).unwrap_or(&mut []);
        let rest = rows.add_tiles::<SMALL>(start, out, unit, scales);
        let from = out.len() - rest;
        rows.add_tiles::<1>(start + from, out.get_mut(from..).unwrap_or(&mut []), unit, scales);
        true
    }
}

/// The rows of a group with their factors.
struct Factored<'a> {
    group: &'a Group<'a>,
    integers: &'a [Word; GROUP],
    total: i32,
}

impl Factored<'_> {
    /// Adds the features from `start` on to `out`, `N` at a time, and returns how many are left.
    #[inline(always)]
    fn add_tiles<const N: usize>(
        &self,
        start: usize,
        out: &mut [f32],
        unit: Unit,
        scales: &Scales<'_>,
    ) -> usize {
        let common = scales.common_offset(self.total);
        let (tiles, rest) = out.as_chunks_mut::<N>();
        let mut start = start;
        for out in tiles {
            let sums = match self.group.signed {
                false => self.sums::<N, false>(start),
                true => self.sums::<N, true>(start),
            };
            match common {
                Some(offset) => {
                    for i in 0..N {
                        out[i] = plus(out[i], unit.float(sums[i].wrapping_sub(offset)));
                    }
                }
                None => {
                    for i in 0..N {
                        out[i] += scales.value(start + i, sums[i], self.total, unit);
                    }
                }
            }
            start += N;
        }
        rest.len()
    }

    /// The sums over rows of factor times byte, for `N` features from `start` on.
    // On Arm not inlined: its few registers are then free for the sums.
    #[cfg_attr(any(feature = "simd", not(target_arch = "arm")), inline(always))]
    #[cfg_attr(not(any(feature = "simd", not(target_arch = "arm"))), inline(never))]
    fn sums<const N: usize, const SIGNED: bool>(&self, start: usize) -> [i32; N] {
        let mut sums = [0_i32; N];
        // Two rows at a time, because loading and storing a sum costs as much as adding to it.
        let (rows, factors) = (self.group.rows.as_chunks().0, self.integers.as_chunks().0);
        let pairs = self.group.len.div_ceil(2);
        for (&[a, b], &[f, g]) in rows.iter().zip(factors).take(pairs) {
            let (a, b) = (part::<N>(a, start), part::<N>(b, start));
            let (Some(a), Some(b)) = (a, b) else { continue };
            for i in 0..N {
                let pair = value::<SIGNED>(a[i]) * wide(f) + value::<SIGNED>(b[i]) * wide(g);
                sums[i] = sums[i].wrapping_add(pair);
            }
        }
        sums
    }
}

/// A byte as a number.
#[inline(always)]
const fn value<const SIGNED: bool>(raw: u8) -> i32 {
    if SIGNED { raw as i8 as i32 } else { raw as i32 }
}

/// `N` elements of a row from `start` on.
#[inline(always)]
fn part<const N: usize>(row: &[u8], start: usize) -> Option<&[u8; N]> {
    row.get(start..start.wrapping_add(N))?.first_chunk()
}

/// The elements of a row from `start` on.
#[inline(always)]
fn rest(row: &[u8], start: usize) -> &[u8] {
    row.get(start..).unwrap_or(&[])
}

/// The sum over bytes of a row times integers.
#[inline(always)]
fn product<const SIGNED: bool>(row: &[u8], integers: &[Word; CHUNK]) -> i32 {
    let mut sum = 0;
    for (&raw, &integer) in row.iter().zip(integers) {
        sum += value::<SIGNED>(raw) * wide(integer);
    }
    sum
}
