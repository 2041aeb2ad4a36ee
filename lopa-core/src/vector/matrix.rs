//! Rows times many vectors on a host: rows are converted to floats once, and used for every vector.

use core::array;
use core::cell::Cell;
use std::vec::Vec;

use super::known::Ticket;
use super::sparse::{Lists, Turned};
use super::wide::padded;
use super::{LANES, add_lanes};
use crate::widest::Simd;

/// The most rows of a matrix: as many as a word has bits.
pub(crate) const ROWS: usize = BITS;

const BITS: usize = u64::BITS as usize;

/// How many vectors are used at once: so many that neither their sums nor the reading of a row are waited for.
const VECTORS: usize = 8;

/// One number for each row. Aligned, because an access of 64 bytes would otherwise touch two lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Column(pub(crate) [f32; ROWS]);

impl Column {
    pub(crate) const ZERO: Self = Self([0.0; ROWS]);

    /// The numbers of the rows from `LANES * at` on.
    #[inline(always)]
    pub(crate) fn lanes(&self, at: usize) -> &[f32; LANES] {
        &self.0.as_chunks().0[at % (ROWS / LANES)]
    }

    #[inline(always)]
    pub(crate) fn lanes_mut(&mut self, at: usize) -> &mut [f32; LANES] {
        &mut self.0.as_chunks_mut().0[at % (ROWS / LANES)]
    }
}

/// A part of a row.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Chunk(pub(crate) [f32; LANES]);

impl Chunk {
    pub(crate) const ZERO: Self = Self([0.0; LANES]);
}

/// At most [`ROWS`] rows of floats. Chunks that are zero are left out: they would add +0 or -0 to sums that are never -0,
/// which changes nothing.
#[derive(Default)]
pub(crate) struct Matrix {
    width: usize,
    rows: usize,
    values: Vec<Chunk>,
    /// For each row, a bit for each chunk that is not left out.
    of_rows: Vec<u64>,
    /// For each chunk, a bit for each row in which it is not left out.
    of_chunks: Vec<u64>,
    /// The vectors that are used at once, chunk by chunk.
    tile: Vec<Chunk>,
    /// Memory for rows that are listed instead.
    turned: Turned,
    /// Memory for what is computed from the rows.
    columns: Vec<Column>,
}

std::thread_local! {
    // Kept, because filling it with zeros for every batch would cost as much as it saves.
    static MATRIX: Cell<Option<Matrix>> = const { Cell::new(None) };
}

impl Matrix {
    /// A matrix for rows of `width` features and memory for `columns`, lent by the thread.
    pub(crate) fn lend<R>(
        width: usize,
        columns: usize,
        work: impl FnOnce(&mut Self, &mut [Column]) -> R,
    ) -> R {
        let mut matrix = MATRIX.take().unwrap_or_default();
        matrix.width = width;
        let mut memory = core::mem::take(&mut matrix.columns);
        if memory.len() < columns {
            memory.resize(columns, Column::ZERO);
        }
        let result = work(&mut matrix, &mut memory[..columns]);
        matrix.columns = memory;
        MATRIX.set(Some(matrix));
        result
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.of_rows.clear();
        self.of_chunks.clear();
        self.of_chunks.resize(self.chunks(), 0);
    }

    fn chunks(&self) -> usize {
        self.width.div_ceil(LANES)
    }

    /// Chunks from one row to the next: an odd number, or the same chunk of many rows would compete for one place in the
    /// cache.
    fn stride(&self) -> usize {
        self.chunks() | 1
    }

    fn words(&self) -> usize {
        self.chunks().div_ceil(BITS)
    }

    /// Adds a row with the values of `raw`, and zeros where `marks` has no bit. A row beyond [`ROWS`] is not added.
    #[inline(always)]
    pub(crate) fn push<T: Copy>(
        &mut self,
        raw: &[T],
        marks: Option<&[u64]>,
        value: impl Fn(usize, T) -> f32,
    ) {
        if self.rows == ROWS {
            return;
        }
        let (from, first) = (self.rows * self.stride(), self.of_rows.len());
        let (words, left) = (self.words(), self.chunks() % BITS);
        self.of_rows.extend((0..words).map(|word| match marks {
            Some(marks) => marks.get(word).copied().unwrap_or(0),
            None if word + 1 == words && left > 0 => (1 << left) - 1,
            None => u64::MAX,
        }));
        if self.values.len() < from + self.stride() {
            self.values.resize(from + self.stride(), Chunk::ZERO);
        }
        let own = &mut self.values[from..];
        for (word, &marks) in self.of_rows[first..].iter().enumerate() {
            let mut left = marks;
            while left != 0 {
                let chunk = word * BITS + left.trailing_zeros() as usize;
                left &= left - 1;
                let (Some(own), Some(all)) = (own.get_mut(chunk), self.of_chunks.get_mut(chunk))
                else {
                    break;
                };
                *all |= 1 << self.rows;
                let at = chunk * LANES;
                let raw = raw.get(at..).unwrap_or(&[]);
                own.0 = match raw.first_chunk() {
                    Some(raw) => converted(at, raw, &value),
                    None => {
                        let mut values = [0.0; LANES];
                        for (i, (place, &a)) in values.iter_mut().zip(raw).enumerate() {
                            *place = value(at + i, a);
                        }
                        values
                    }
                };
            }
        }
        self.rows += 1;
    }

    /// `scale` times the scalar products of each vector with every row: one column for each of the `vectors`, which follow
    /// one another. Each sum is the one that [`reduce`](super::reduce) computes. With `lists`, rows are those.
    #[inline(always)]
    pub(crate) fn dots<S: Simd>(
        &mut self,
        simd: S,
        lists: Option<&Lists<'_>>,
        (vectors, ticket): (&[f32], Ticket),
        scale: f32,
        out: &mut [Column],
    ) {
        if let Some(lists) = lists {
            return self.turned.dots(simd, lists, self.width, (vectors, ticket), scale, out);
        }
        let (tiles, rest) = out.as_chunks_mut::<VECTORS>();
        let split = (tiles.len() * VECTORS * self.width).min(vectors.len());
        let (tiled, single) = vectors.split_at(split);
        for (out, vectors) in tiles.iter_mut().zip(tiled.chunks_exact(VECTORS * self.width)) {
            self.dots_of(simd, vectors, scale, out);
        }
        // Four at once, then one by one.
        let (tiles, rest) = rest.as_chunks_mut::<{ VECTORS / 2 }>();
        let split = (tiles.len() * VECTORS / 2 * self.width).min(single.len());
        let (tiled, single) = single.split_at(split);
        for (out, vectors) in tiles.iter_mut().zip(tiled.chunks_exact(VECTORS / 2 * self.width)) {
            self.dots_of(simd, vectors, scale, out);
        }
        for (out, vector) in rest.iter_mut().zip(single.chunks_exact(self.width)) {
            self.dots_of(simd, vector, scale, array::from_mut(out));
        }
    }

    #[inline(always)]
    fn dots_of<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        vectors: &[f32],
        scale: f32,
        out: &mut [Column; V],
    ) {
        self.pack::<V>(vectors);
        let tile = self.tile.as_chunks::<V>().0;
        for row in 0..self.rows {
            let (own, marks) = self.row(row);
            let mut lanes = [[0.0; LANES]; V];
            for part in 0..LANES / S::F32_LANES {
                let mut sums = [simd.splat_f32s(0.0); V];
                for (word, &marks) in marks.iter().enumerate() {
                    let mut left = marks;
                    while left != 0 {
                        let chunk = word * BITS + left.trailing_zeros() as usize;
                        left &= left - 1;
                        let (Some(a), Some(vectors)) = (own.get(chunk), tile.get(chunk)) else {
                            break;
                        };
                        let a = parts::<S>(&a.0)[part];
                        for v in 0..V {
                            let product = simd.mul_f32s(a, parts::<S>(&vectors[v].0)[part]);
                            sums[v] = simd.add_f32s(sums[v], product);
                        }
                    }
                }
                for v in 0..V {
                    parts_mut::<S>(&mut lanes[v])[part] = sums[v];
                }
            }
            for v in 0..V {
                out[v].0[row % ROWS] = scale * add_lanes(lanes[v], LANES);
            }
        }
    }

    /// Puts vectors beside one another, so that one chunk of all of them is read from one place.
    #[inline(always)]
    fn pack<const V: usize>(&mut self, vectors: &[f32]) {
        let chunks = self.chunks();
        self.tile.resize(chunks * V, Chunk::ZERO);
        for (v, vector) in vectors.chunks_exact(self.width).enumerate() {
            let (whole, rest) = vector.as_chunks();
            for (chunk, whole) in whole.iter().enumerate() {
                self.tile[chunk * V + v].0 = *whole;
            }
            if !rest.is_empty() {
                self.tile[(chunks - 1) * V + v].0 = padded(rest, |a| a);
            }
        }
    }

    /// Begins sums of rows that are listed, at vectors that follow one another.
    #[inline(always)]
    pub(crate) fn begin<S: Simd>(&mut self, simd: S, vectors: &[f32]) {
        self.turned.take(simd, self.width, vectors);
    }

    /// Begins so many sums of rows that are listed, at zero.
    #[inline(always)]
    pub(crate) fn begin_at_zero(&mut self, count: usize) {
        self.turned.clear(self.width, count);
    }

    /// Adds rows that are listed to the sums that were begun, as [`Matrix::add`] does.
    #[inline(always)]
    pub(crate) fn add_lists<S: Simd>(&mut self, simd: S, lists: &Lists<'_>, factors: &[Column]) {
        self.turned.add(simd, lists, factors);
    }

    /// Writes the sums of rows that are listed to vectors.
    #[inline(always)]
    pub(crate) fn end<S: Simd>(&mut self, simd: S, out: &mut [f32]) {
        self.turned.put(simd, self.width, out);
    }

    /// `vector += factor * row` for each vector, row after row: `out` has the vectors one after the other, `factors` a column
    /// for each of them.
    #[inline(always)]
    pub(crate) fn add<S: Simd>(&self, simd: S, factors: &[Column], out: &mut [f32]) {
        let (tiles, rest) = factors.as_chunks::<VECTORS>();
        let split = (tiles.len() * VECTORS * self.width).min(out.len());
        let (tiled, single) = out.split_at_mut(split);
        for (factors, out) in tiles.iter().zip(tiled.chunks_exact_mut(VECTORS * self.width)) {
            self.add_to(simd, factors, out);
        }
        let (tiles, rest) = rest.as_chunks::<{ VECTORS / 2 }>();
        let split = (tiles.len() * VECTORS / 2 * self.width).min(single.len());
        let (tiled, single) = single.split_at_mut(split);
        for (factors, out) in tiles.iter().zip(tiled.chunks_exact_mut(VECTORS / 2 * self.width)) {
            self.add_to(simd, factors, out);
        }
        for (factors, out) in rest.iter().zip(single.chunks_exact_mut(self.width)) {
            self.add_to(simd, array::from_ref(factors), out);
        }
    }

    #[inline(always)]
    fn add_to<S: Simd, const V: usize>(&self, simd: S, factors: &[Column; V], out: &mut [f32]) {
        for (chunk, &rows) in self.of_chunks.iter().enumerate() {
            let from = chunk * LANES;
            let len = LANES.min(self.width - from);
            let mut sums = [[0.0; LANES]; V];
            for v in 0..V {
                let own = &out[v * self.width + from..][..len];
                sums[v] = match own.first_chunk() {
                    Some(own) => *own,
                    None => padded(own, |a| a),
                };
            }
            for part in 0..LANES / S::F32_LANES {
                let mut own = [simd.splat_f32s(0.0); V];
                for v in 0..V {
                    own[v] = parts::<S>(&sums[v])[part];
                }
                let mut left = rows;
                while left != 0 {
                    let row = left.trailing_zeros() as usize;
                    left &= left - 1;
                    let Some(a) = self.values.get(row * self.stride() + chunk) else { break };
                    let a = parts::<S>(&a.0)[part];
                    for v in 0..V {
                        let factor = simd.splat_f32s(factors[v].0[row % ROWS]);
                        own[v] = simd.add_f32s(own[v], simd.mul_f32s(factor, a));
                    }
                }
                for v in 0..V {
                    parts_mut::<S>(&mut sums[v])[part] = own[v];
                }
            }
            for v in 0..V {
                out[v * self.width + from..][..len].copy_from_slice(&sums[v][..len]);
            }
        }
    }

    /// The chunks of a row, and the bits of those that are not left out.
    #[inline(always)]
    fn row(&self, row: usize) -> (&[Chunk], &[u64]) {
        let (stride, words) = (self.stride(), self.words());
        (&self.values[row * stride..][..stride], &self.of_rows[row * words..][..words])
    }
}

/// The values of a whole chunk. A function of its own, so that it becomes vector operations before it is part of a loop.
#[inline(always)]
fn converted<T: Copy>(
    at: usize,
    raw: &[T; LANES],
    value: &impl Fn(usize, T) -> f32,
) -> [f32; LANES] {
    let mut values = [0.0; LANES];
    for i in 0..LANES {
        values[i] = value(at + i, raw[i]);
    }
    values
}

/// A chunk as vectors of the machine.
#[inline(always)]
pub(crate) fn parts<S: Simd>(chunk: &[f32; LANES]) -> &[S::f32s] {
    bytemuck::cast_slice(chunk)
}

#[inline(always)]
pub(crate) fn parts_mut<S: Simd>(chunk: &mut [f32; LANES]) -> &mut [S::f32s] {
    bytemuck::cast_slice_mut(chunk)
}
