//! Rows of mostly zeros times many vectors on a host: one vector in each lane, and only what is not zero is read.
//!
//! A sum has [`LANES`] partial sums, one for the features of each remainder. Rows are listed in four [groups](Place) of them,
//! those whose sums are [added first](super::add_lanes). The sums of a group fit the registers, and what all vectors have for
//! a group stays in the first cache while all rows are read.

use std::vec::Vec;

use super::known::{Known, Ticket};
use super::matrix::{Chunk, Column, ROWS, parts, parts_mut};
use super::turn::turn;
use super::wide::padded;
use super::{LANES, in_chunks};
use crate::widest::Simd;

/// How many groups of features there are.
pub(crate) const GROUPS: usize = 4;

/// How many partial sums a group has.
pub(crate) const SUMS: usize = LANES / GROUPS;

/// The most chunks of vectors that are used at once.
const WIDE: usize = 2;

/// Where the features of a lane are: their group, and their partial sum in there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) group: usize,
    pub(crate) sum: usize,
}

impl Place {
    #[inline(always)]
    pub(crate) const fn of(lane: usize) -> Self {
        Self { group: lane % GROUPS, sum: lane / GROUPS % SUMS }
    }
}

/// The most chunks of a listed row: a byte tells the chunk of each feature.
pub(crate) const CHUNKS: usize = 1 << u8::BITS;

/// A row: for each group one feature for each partial sum after the other, where one has fewer with zeros in their places. A
/// feature has its chunk in the upper half, its byte in the lower.
type Row<'a> = [&'a [[u16; SUMS]]; GROUPS];

/// At most [`ROWS`] rows, as lists of what is not zero. What is left out would add +0 or -0 to sums that are never -0, which
/// changes nothing.
pub(crate) struct Lists<'a> {
    rows: [Row<'a>; ROWS],
    count: usize,
    values: &'static Values,
}

/// What the bytes of features stand for.
pub(crate) type Values = [f32; 1 << u8::BITS];

impl<'a> Lists<'a> {
    /// No rows, whose features will have these values.
    #[inline(always)]
    pub(crate) const fn new(values: &'static Values) -> Self {
        Self { rows: [[&[]; GROUPS]; ROWS], count: 0, values }
    }

    /// Adds a row: for each group how many entries it has, then the entries; none of what is missing. A row beyond [`ROWS`] is
    /// not added.
    // Cut into groups once, not in every product and sum.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: &'a [u16]) {
        let Some(place) = self.rows.get_mut(self.count) else { return };
        self.count += 1;
        let Some((lens, mut entries)) = row.split_first_chunk::<GROUPS>() else { return };
        for (group, &len) in place.iter_mut().zip(lens) {
            let Some((own, rest)) = entries.split_at_checked(usize::from(len)) else { return };
            (*group, entries) = (own.as_chunks().0, rest);
        }
    }

    /// What each row has in a group.
    #[inline(always)]
    fn group(&self, group: usize) -> impl Iterator<Item = &'a [[u16; SUMS]]> {
        self.rows[..self.count].iter().map(move |row| row[group])
    }

    /// The chunk of an entry, and its value.
    #[inline(always)]
    fn read(&self, entry: u16) -> (usize, f32) {
        let [byte, chunk] = entry.to_le_bytes();
        (usize::from(chunk), self.values[usize::from(byte)])
    }
}

/// How many vectors are turned together.
const BLOCK: usize = WIDE * LANES;

/// Memory for products with [`Lists`].
#[derive(Default)]
pub(crate) struct Turned {
    blocks: Vec<Block>,
    /// For each group and row, a part of the sums.
    sums: Vec<Chunk>,
}

/// At most [`BLOCK`] vectors.
struct Block {
    /// The vectors that rows are multiplied by: many products have the same ones as those before.
    known: Known,
    /// Those, turned.
    vectors: Vec<Chunk>,
    /// The vectors that rows are added to, turned.
    sums: Vec<Chunk>,
}

impl Block {
    const EMPTY: Self = Self { known: Known::NOTHING, vectors: Vec::new(), sums: Vec::new() };
}

impl Turned {
    /// Memory for so many vectors.
    #[inline(always)]
    fn blocks(&mut self, vectors: usize) -> &mut [Block] {
        let count = vectors.div_ceil(BLOCK);
        if self.blocks.len() < count {
            self.blocks.resize_with(count, || Block::EMPTY);
        }
        &mut self.blocks[..count]
    }

    /// As [`Matrix::dots`](super::matrix::Matrix::dots), for vectors of `width` features.
    #[inline(always)]
    pub(crate) fn dots<S: Simd>(
        &mut self,
        simd: S,
        lists: &Lists<'_>,
        width: usize,
        (vectors, ticket): (&[f32], Ticket),
        scale: f32,
        out: &mut [Column],
    ) {
        let mut sums = core::mem::take(&mut self.sums);
        let blocks = self.blocks(out.len()).iter_mut().zip(vectors.chunks(BLOCK * width));
        for ((block, vectors), out) in blocks.zip(out.chunks_mut(BLOCK)) {
            let vectors = (vectors, ticket);
            if out.len() > LANES {
                block.dots::<S, WIDE>(simd, lists, width, vectors, scale, out, &mut sums);
            } else {
                block.dots::<S, 1>(simd, lists, width, vectors, scale, out, &mut sums);
            }
        }
        self.sums = sums;
    }

    /// Begins sums of rows, at zero.
    #[inline(always)]
    pub(crate) fn clear(&mut self, width: usize, vectors: usize) {
        for (at, block) in self.blocks(vectors).iter_mut().enumerate() {
            if vectors - at * BLOCK > LANES {
                block.clear::<WIDE>(width);
            } else {
                block.clear::<1>(width);
            }
        }
    }

    /// Begins sums of rows, at vectors of `width` features.
    #[inline(always)]
    pub(crate) fn take<S: Simd>(&mut self, simd: S, width: usize, vectors: &[f32]) {
        let blocks = self.blocks(vectors.len() / width).iter_mut();
        for (block, vectors) in blocks.zip(vectors.chunks(BLOCK * width)) {
            if vectors.len() > LANES * width {
                turn_in::<S, WIDE>(simd, width, vectors, &mut block.sums);
            } else {
                turn_in::<S, 1>(simd, width, vectors, &mut block.sums);
            }
        }
    }

    /// As [`Matrix::add`](super::matrix::Matrix::add), to the sums that were begun.
    #[inline(always)]
    pub(crate) fn add<S: Simd>(&mut self, simd: S, lists: &Lists<'_>, factors: &[Column]) {
        let blocks = self.blocks(factors.len()).iter_mut();
        for (block, factors) in blocks.zip(factors.chunks(BLOCK)) {
            if factors.len() > LANES {
                block.add::<S, WIDE>(simd, lists, factors);
            } else {
                block.add::<S, 1>(simd, lists, factors);
            }
        }
    }

    /// Writes the sums to vectors of `width` features.
    #[inline(always)]
    pub(crate) fn put<S: Simd>(&mut self, simd: S, width: usize, out: &mut [f32]) {
        let blocks = self.blocks(out.len() / width).iter_mut();
        for (block, out) in blocks.zip(out.chunks_mut(BLOCK * width)) {
            if out.len() > LANES * width {
                turn_out::<S, WIDE>(simd, width, &mut block.sums, out);
            } else {
                turn_out::<S, 1>(simd, width, &mut block.sums, out);
            }
        }
    }
}

impl Block {
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "it is the inner part of the loop above")]
    fn dots<S: Simd, const U: usize>(
        &mut self,
        simd: S,
        lists: &Lists<'_>,
        width: usize,
        (vectors, ticket): (&[f32], Ticket),
        scale: f32,
        out: &mut [Column],
        sums: &mut Vec<Chunk>,
    ) {
        let known = Known::of(vectors, ticket);
        if self.known != known {
            turn_in::<S, U>(simd, width, vectors, &mut self.vectors);
            self.known = known;
        }
        sums.resize(GROUPS * ROWS * U, Chunk::ZERO);
        let groups = groups::<U>(&mut self.vectors).iter().zip(sums.chunks_exact_mut(ROWS * U));
        for (group, (vectors, sums)) in groups.enumerate() {
            for (row, sums) in lists.group(group).zip(sums.as_chunks_mut::<U>().0) {
                for part in 0..LANES / S::F32_LANES {
                    let mut lanes = [[simd.splat_f32s(0.0); U]; SUMS];
                    for entries in row {
                        for i in 0..SUMS {
                            let (chunk, value) = lists.read(entries[i]);
                            let value = simd.splat_f32s(value);
                            for u in 0..U {
                                let vectors = parts::<S>(&vectors[chunk][i][u].0)[part];
                                let product = simd.mul_f32s(value, vectors);
                                lanes[i][u] = simd.add_f32s(lanes[i][u], product);
                            }
                        }
                    }
                    for u in 0..U {
                        let all = [lanes[0][u], lanes[1][u], lanes[2][u], lanes[3][u]];
                        parts_mut::<S>(&mut sums[u].0)[part] = tree(simd, all);
                    }
                }
            }
        }
        // Back to a column for each vector.
        let scale = simd.splat_f32s(scale);
        for first in (0..lists.count).step_by(LANES) {
            for u in 0..U {
                let read = |row: usize, part: usize| {
                    let of = |group: usize| {
                        parts::<S>(&sums[(group * ROWS + (first + row) % ROWS) * U + u].0)[part]
                    };
                    simd.mul_f32s(scale, tree(simd, [of(0), of(1), of(2), of(3)]))
                };
                turn(simd, read, |vector, part, sums| {
                    if let Some(column) = out.get_mut(u * LANES + vector) {
                        parts_mut::<S>(column.lanes_mut(first / LANES))[part] = sums;
                    }
                });
            }
        }
    }

    #[inline(always)]
    fn clear<const U: usize>(&mut self, width: usize) {
        for group in groups::<U>(&mut self.sums) {
            group[..width.div_ceil(LANES)].fill([[Chunk::ZERO; U]; SUMS]);
        }
    }

    #[inline(always)]
    fn add<S: Simd, const U: usize>(&mut self, simd: S, lists: &Lists<'_>, factors: &[Column]) {
        let mut of_rows = [[Chunk::ZERO; U]; ROWS];
        for (at, rows) in of_rows.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            for (u, factors) in factors.chunks(LANES).enumerate().take(U) {
                let read = |vector: usize, part: usize| match factors.get(vector) {
                    Some(factor) => parts::<S>(factor.lanes(at))[part],
                    None => simd.splat_f32s(0.0),
                };
                turn(simd, read, |row, part, factors| {
                    parts_mut::<S>(&mut rows[row % LANES][u].0)[part] = factors;
                });
            }
        }
        for (group, turned) in groups::<U>(&mut self.sums).iter_mut().enumerate() {
            for (row, factors) in lists.group(group).zip(&of_rows) {
                for part in 0..LANES / S::F32_LANES {
                    let mut own = [simd.splat_f32s(0.0); U];
                    for u in 0..U {
                        own[u] = parts::<S>(&factors[u].0)[part];
                    }
                    for entries in row {
                        for i in 0..SUMS {
                            let (chunk, value) = lists.read(entries[i]);
                            let value = simd.splat_f32s(value);
                            for u in 0..U {
                                let sum = &mut parts_mut::<S>(&mut turned[chunk][i][u].0)[part];
                                *sum = simd.add_f32s(*sum, simd.mul_f32s(own[u], value));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Turns at most `U * LANES` vectors that follow one another: for each group and number, one lane for each vector. The lanes of
/// missing ones have any values.
#[inline(always)]
fn turn_in<S: Simd, const U: usize>(
    simd: S,
    width: usize,
    vectors: &[f32],
    turned: &mut Vec<Chunk>,
) {
    let turned = groups::<U>(turned);
    for u in 0..U {
        let mut rows = [&vectors[..width]; LANES];
        let own = vectors.chunks_exact(width).skip(u * LANES);
        rows.iter_mut().zip(own).for_each(|(row, own)| *row = own);
        let (whole, rest) = in_chunks::<f32, LANES, LANES>(rows, width);
        let mut write = |chunk: usize, lane: usize, part: usize, values| {
            parts_mut::<S>(&mut place(turned, chunk, lane)[u].0)[part] = values;
        };
        let count = width / LANES;
        for (chunk, _) in whole[0].iter().enumerate() {
            let read = |row: usize, part: usize| parts::<S>(&whole[row % LANES][chunk])[part];
            turn(simd, read, |lane, part, values| write(chunk, lane, part, values));
        }
        if !width.is_multiple_of(LANES) {
            let mut last = [[0.0; LANES]; LANES];
            for (last, rest) in last.iter_mut().zip(rest) {
                *last = padded(rest, |a| a);
            }
            let read = |row: usize, part: usize| parts::<S>(&last[row % LANES])[part];
            turn(simd, read, |lane, part, values| write(count, lane, part, values));
        }
    }
}

/// Turns vectors back.
#[inline(always)]
fn turn_out<S: Simd, const U: usize>(
    simd: S,
    width: usize,
    turned: &mut Vec<Chunk>,
    out: &mut [f32],
) {
    let turned = groups::<U>(turned);
    for u in 0..U {
        let out = out.get_mut(u * LANES * width..).unwrap_or(&mut []);
        for chunk in 0..width.div_ceil(LANES) {
            let read =
                |lane: usize, part: usize| parts::<S>(&place(turned, chunk, lane)[u].0)[part];
            let from = chunk * LANES;
            if from + LANES <= width {
                turn(simd, read, |row, part, values| {
                    let at = row * width + from;
                    if let Some(out) = out.get_mut(at..at + LANES) {
                        bytemuck::cast_slice_mut::<f32, S::f32s>(out)[part] = values;
                    }
                });
            } else {
                let mut last = [[0.0; LANES]; LANES];
                turn(simd, read, |row, part, values| {
                    parts_mut::<S>(&mut last[row % LANES])[part] = values;
                });
                for (out, last) in out.chunks_exact_mut(width).zip(&last) {
                    out[from..].copy_from_slice(&last[..width - from]);
                }
            }
        }
    }
}

/// Turned vectors: for each group, chunk and partial sum a lane for each of `U * LANES` vectors.
type Groups<const U: usize> = [[[[Chunk; U]; SUMS]; CHUNKS]; GROUPS];

/// Memory for turned vectors. There is a place for every chunk that a byte can tell, so that none has to be checked.
#[inline(always)]
fn groups<const U: usize>(memory: &mut Vec<Chunk>) -> &mut Groups<U> {
    let len = GROUPS * CHUNKS * SUMS * U;
    if memory.len() < len {
        memory.resize(len, Chunk::ZERO);
    }
    bytemuck::from_bytes_mut(bytemuck::cast_slice_mut(&mut memory[..len]))
}

/// What all vectors have for a feature.
#[inline(always)]
fn place<const U: usize>(turned: &mut Groups<U>, chunk: usize, lane: usize) -> &mut [Chunk; U] {
    let Place { group, sum } = Place::of(lane);
    &mut turned[group][chunk][sum]
}

/// Half of the tree at the end of a reduction: first for the partial sums of a group, then for the groups.
#[inline(always)]
fn tree<S: Simd>(simd: S, [a, b, c, d]: [S::f32s; 4]) -> S::f32s {
    simd.add_f32s(simd.add_f32s(a, c), simd.add_f32s(b, d))
}
