//! Rows of mostly zeros times many vectors on a host: one vector in each lane, and only what is not zero is read.
//!
//! A sum has [`LANES`] partial sums, one for the features of each remainder. Rows are listed in four [groups](Place) of them,
//! those whose sums are [added first](super::add_lanes). The sums of a group fit the registers, and what all vectors have for
//! a group stays in the first cache while all rows are read.

use std::vec::Vec;

use super::matrix::{Chunk, Column, ROWS, converted, parts, parts_mut};
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

/// Where a feature is: its group, and its number in there. The remainder of the number tells its partial sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) group: usize,
    pub(crate) number: usize,
}

impl Place {
    #[inline(always)]
    pub(crate) const fn of(feature: usize) -> Self {
        let (chunk, lane) = (feature / LANES, feature % LANES);
        Self { group: lane % GROUPS, number: chunk * SUMS + lane / GROUPS }
    }
}

/// At most [`ROWS`] rows, as lists of what is not zero. What is left out would add +0 or -0 to sums that are never -0, which
/// changes nothing.
#[derive(Default)]
pub(crate) struct Lists {
    /// For each row, where its groups begin, and where the last of them ends.
    starts: Vec<[usize; GROUPS + 1]>,
    /// What rows have listed, and what is left of others.
    numbers: Vec<u16>,
    values: Vec<f32>,
    /// Vectors as they were, and turned: many products have the same vectors as the ones before.
    known: (usize, Vec<f32>),
    turned: Vec<Chunk>,
    /// What rows are added to, turned.
    out: Vec<Chunk>,
    /// For each group and row, a part of the sums.
    sums: Vec<Chunk>,
}

impl Lists {
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Adds a row. `entries` has the features that are not zero, group after group, and at least [`LANES`] entries more; `lens`
    /// says how many each group has. In a group there is one feature for each partial sum after the other, where one has
    /// fewer with zeros in their places. An entry has its chunk in the upper half. A row beyond [`ROWS`] is not added.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        lens: &[u16; GROUPS],
        entries: &[u16],
        value: impl Fn(u16) -> f32,
    ) {
        if self.starts.len() == ROWS {
            return;
        }
        let from = self.starts.last().map_or(0, |starts| starts[GROUPS].next_multiple_of(LANES));
        let mut starts = [from; GROUPS + 1];
        for (group, &len) in lens.iter().enumerate() {
            starts[group + 1] = starts[group] + usize::from(len);
        }
        self.starts.push(starts);
        // Whole chunks: what is too much is not read.
        let end = from + (starts[GROUPS] - from).next_multiple_of(LANES).min(entries.len());
        if self.numbers.len() < end {
            self.numbers.resize(end, 0);
            self.values.resize(end, 0.0);
        }
        let numbers = self.numbers[from..end].as_chunks_mut::<LANES>().0;
        let values = self.values[from..end].as_chunks_mut::<LANES>().0;
        for (entries, (numbers, values)) in
            entries.as_chunks::<LANES>().0.iter().zip(numbers.iter_mut().zip(values))
        {
            *numbers = numbers_of(entries);
            *values = converted(0, entries, &|_, a| value(a));
        }
    }

    /// The numbers and the values of a group in a row, one for each partial sum.
    #[inline(always)]
    fn list(&self, row: usize, group: usize) -> impl Iterator<Item = (&[u16; SUMS], &[f32; SUMS])> {
        let starts = &self.starts[row];
        let range = starts[group]..starts[group + 1];
        let (numbers, values) = (&self.numbers[range.clone()], &self.values[range]);
        numbers.as_chunks().0.iter().zip(values.as_chunks().0)
    }

    /// As [`Matrix::dots`](super::matrix::Matrix::dots), for vectors of `width` features.
    #[inline(always)]
    pub(crate) fn dots<S: Simd>(
        &mut self,
        simd: S,
        width: usize,
        vectors: &[f32],
        scale: f32,
        out: &mut [Column],
    ) {
        const BOTH: usize = WIDE * LANES;
        for (vectors, out) in vectors.chunks(BOTH * width).zip(out.chunks_mut(BOTH)) {
            if out.len() > LANES {
                self.dots_of::<S, WIDE>(simd, width, vectors, scale, out);
            } else {
                self.dots_of::<S, 1>(simd, width, vectors, scale, out);
            }
        }
    }

    #[inline(always)]
    fn dots_of<S: Simd, const U: usize>(
        &mut self,
        simd: S,
        width: usize,
        vectors: &[f32],
        scale: f32,
        out: &mut [Column],
    ) {
        if self.known.0 != width || !same(&self.known.1, vectors) {
            turn_in::<S, U>(simd, width, vectors, &mut self.turned);
            self.known.0 = width;
            self.known.1.clear();
            self.known.1.extend_from_slice(vectors);
        }
        let mut sums = core::mem::take(&mut self.sums);
        sums.resize(GROUPS * ROWS * U, Chunk::ZERO);
        let of_group = self.turned.len() / GROUPS;
        let rows = self.starts.len();
        for (group, sums) in sums.chunks_exact_mut(ROWS * U).enumerate() {
            let turned = self.turned[group * of_group..][..of_group].as_chunks::<U>().0;
            for (row, sums) in sums.as_chunks_mut::<U>().0.iter_mut().enumerate().take(rows) {
                for part in 0..LANES / S::F32_LANES {
                    let mut lanes = [[simd.splat_f32s(0.0); U]; SUMS];
                    for (numbers, values) in self.list(row, group) {
                        for i in 0..SUMS {
                            let Some(turned) = turned.get(usize::from(numbers[i])) else { break };
                            let value = simd.splat_f32s(values[i]);
                            for u in 0..U {
                                let product = simd.mul_f32s(value, parts::<S>(&turned[u].0)[part]);
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
        for first in (0..rows).step_by(LANES) {
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
        self.sums = sums;
    }

    /// As [`Matrix::add`](super::matrix::Matrix::add), for vectors of `width` features.
    #[inline(always)]
    pub(crate) fn add<S: Simd>(
        &mut self,
        simd: S,
        width: usize,
        factors: &[Column],
        out: &mut [f32],
    ) {
        const BOTH: usize = WIDE * LANES;
        for (out, factors) in out.chunks_mut(BOTH * width).zip(factors.chunks(BOTH)) {
            if factors.len() > LANES {
                self.add_to::<S, WIDE>(simd, width, factors, out);
            } else {
                self.add_to::<S, 1>(simd, width, factors, out);
            }
        }
    }

    #[inline(always)]
    fn add_to<S: Simd, const U: usize>(
        &mut self,
        simd: S,
        width: usize,
        factors: &[Column],
        out: &mut [f32],
    ) {
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
        let mut turned = core::mem::take(&mut self.out);
        if out.iter().fold(0, |any, a| any | a.to_bits()) == 0 {
            // As it usually is at the start: turned, nothing is different.
            turned.clear();
            turned.resize(width.div_ceil(LANES) * LANES * U, Chunk::ZERO);
        } else {
            turn_in::<S, U>(simd, width, out, &mut turned);
        }
        let of_group = turned.len() / GROUPS;
        for (group, turned) in turned.chunks_exact_mut(of_group).enumerate() {
            let turned = turned.as_chunks_mut::<U>().0;
            for (row, factors) in of_rows.iter().enumerate().take(self.starts.len()) {
                for part in 0..LANES / S::F32_LANES {
                    let mut own = [simd.splat_f32s(0.0); U];
                    for u in 0..U {
                        own[u] = parts::<S>(&factors[u].0)[part];
                    }
                    for (numbers, values) in self.list(row, group) {
                        for i in 0..SUMS {
                            let Some(sums) = turned.get_mut(usize::from(numbers[i])) else { break };
                            let value = simd.splat_f32s(values[i]);
                            for u in 0..U {
                                let sum = &mut parts_mut::<S>(&mut sums[u].0)[part];
                                *sum = simd.add_f32s(*sum, simd.mul_f32s(own[u], value));
                            }
                        }
                    }
                }
            }
        }
        turn_out::<S, U>(simd, width, &turned, out);
        self.out = turned;
    }
}

/// The numbers of entries that begin with the first partial sum. A function of its own, as [`converted`].
#[inline(always)]
fn numbers_of(entries: &[u16; LANES]) -> [u16; LANES] {
    let mut numbers = [0; LANES];
    for i in 0..LANES {
        numbers[i] = (entries[i] >> u8::BITS) * SUMS as u16 + (i % SUMS) as u16;
    }
    numbers
}

/// Whether vectors have the same bits.
fn same(a: &[f32], b: &[f32]) -> bool {
    bytemuck::cast_slice::<f32, u8>(a) == bytemuck::cast_slice::<f32, u8>(b)
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
    let chunks = width.div_ceil(LANES);
    turned.resize(chunks * LANES * U, Chunk::ZERO);
    for u in 0..U {
        let mut rows = [&vectors[..width]; LANES];
        let own = vectors.chunks_exact(width).skip(u * LANES);
        rows.iter_mut().zip(own).for_each(|(row, own)| *row = own);
        let (whole, rest) = in_chunks::<f32, LANES, LANES>(rows, width);
        let mut write = |chunk: usize, lane: usize, part: usize, values| {
            parts_mut::<S>(&mut turned[at(chunks, chunk, lane) * U + u].0)[part] = values;
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
fn turn_out<S: Simd, const U: usize>(simd: S, width: usize, turned: &[Chunk], out: &mut [f32]) {
    let chunks = width.div_ceil(LANES);
    for u in 0..U {
        let out = out.get_mut(u * LANES * width..).unwrap_or(&mut []);
        for chunk in 0..chunks {
            let read = |lane: usize, part: usize| {
                parts::<S>(&turned[at(chunks, chunk, lane) * U + u].0)[part]
            };
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

/// Where a feature is among all groups.
#[inline(always)]
const fn at(chunks: usize, chunk: usize, lane: usize) -> usize {
    let Place { group, number } = Place::of(chunk * LANES + lane);
    group * chunks * SUMS + number
}

/// Half of the tree at the end of a reduction: first for the partial sums of a group, then for the groups.
#[inline(always)]
fn tree<S: Simd>(simd: S, [a, b, c, d]: [S::f32s; 4]) -> S::f32s {
    simd.add_f32s(simd.add_f32s(a, c), simd.add_f32s(b, d))
}
