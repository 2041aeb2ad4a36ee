//! Sums over the rows of a batch on a host: many features at once, and without the pieces of rows that are zero.

mod factors;
mod layer;

use core::cell::{Cell, OnceCell};
use core::marker::PhantomData;
use core::ops::Range;
use std::vec::Vec;

use super::Factor;
use super::group::GROUP;
use super::lanes::{self, Bytes, Integers, Lanes, PIECE, PIECES, ROWS, WithLanes};
use super::scales::Scales;
use crate::batch::Batch;
use crate::samples::{Features, Samples, fetch};
use crate::vector::LANES;
use crate::widest;

use self::factors::Factors;
pub(in crate::problems) use self::layer::Layer;

/// Factors that are computed at once: a fixed number, so that the loop is vectorised.
const BLOCK: usize = 16;

const _: () = assert!(GROUP.is_multiple_of(ROWS) && GROUP.is_multiple_of(BLOCK));

/// Integers whose sum fits 32 bits.
const CHUNK: usize = 4 * PIECE;

std::thread_local! {
    /// The integers of all vectors.
    // Kept, because filling it with zeros for every batch would cost as much as it saves.
    static INTEGERS: Cell<Vec<Integers>> = const { Cell::new(Vec::new()) };
}

/// As [`add_rows`](super::add_rows). False, and nothing is done, for features with their own scales, which only chips learn
/// from.
#[inline(always)]
pub(super) fn add_rows<F: Factor<V>, const V: usize>(
    samples: &Samples<'_>,
    batch: &Batch,
    vectors: [&[f32]; V],
    scale: f32,
    out: &mut [f32],
) -> bool {
    let width = samples.width();
    let scales = Scales::new(samples.scaling());
    let Some((rows, signed)) = Rows::of(samples) else { return false };
    let same_width = out.len() == width && vectors.iter().all(|vector| vector.len() == width);
    if !same_width || matches!(scales, Scales::Each(_)) {
        return false;
    }
    let mut integers = INTEGERS.take();
    let share = scale * batch.weight() * scales.scale();
    let (factor, memory) = (PhantomData::<F>, &mut integers);
    let work = AddRows { rows: &rows, batch, vectors, factor, scales, share, memory, out };
    run(signed, work);
    INTEGERS.set(integers);
    true
}

struct AddRows<'a, F, const V: usize> {
    rows: &'a Rows<'a>,
    batch: &'a Batch,
    vectors: [&'a [f32]; V],
    factor: PhantomData<F>,
    scales: Scales<'a>,
    share: f32,
    memory: &'a mut Vec<Integers>,
    out: &'a mut [f32],
}

/// Work on signed bytes, or on unsigned ones.
struct Of<W, const SIGNED: bool>(W);

/// Runs work on bytes that are signed, or are not.
#[inline(always)]
fn run<W>(signed: bool, work: W)
where
    Of<W, true>: WithLanes,
    Of<W, false>: WithLanes,
{
    if signed {
        lanes::run(Of::<_, true>(work));
    } else {
        lanes::run(Of::<_, false>(work));
    }
}

impl<F: Factor<V>, const V: usize, const SIGNED: bool> WithLanes for Of<AddRows<'_, F, V>, SIGNED> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let AddRows { rows, batch, vectors, scales, share, memory, out, .. } = self.0;
        if batch.is_empty() {
            return;
        }
        let pieces = rows.pieces;
        memory.resize(pieces * V, Integers([0; PIECE]));
        let (mut units, mut offsets) = ([0.0; V], [0; V]);
        for v in 0..V {
            let Some(unit) = scales.unit(vectors[v]) else { return out.fill(f32::NAN) };
            units[v] = unit.value() * scales.scale();
            let own: &mut [[i16; PIECE]] = bytemuck::cast_slice_mut(&mut memory[v * pieces..]);
            let own = own.as_flattened_mut();
            for (own, vector) in own.chunks_mut(CHUNK).zip(vectors[v].chunks(CHUNK)) {
                offsets[v] += scales.quantise(0, vector, unit, own);
            }
            // After the end, where the bytes of rows are others.
            own[vectors[v].len()..pieces * PIECE].fill(0);
        }
        let mut integers: [&[Integers]; V] = [&[]; V];
        for v in 0..V {
            integers[v] = &memory[v * pieces..][..pieces];
        }
        let mut indices = batch.indices();
        while indices.len() > 0 {
            // First the labels of the group's rows, then their factors.
            let mut factors = [0.0; GROUP];
            let group = Group::new(rows, indices.by_ref().take(GROUP), ROWS, |place, index| {
                factors[place] = rows.samples.label(index);
            });
            let products = group.multiply::<L, V, SIGNED>(lanes, integers);
            let blocks = factors.as_chunks_mut::<BLOCK>().0.iter_mut();
            for (block, factors) in blocks.take(group.len.div_ceil(BLOCK)).enumerate() {
                let mut outputs = [[0.0; V]; BLOCK];
                for v in 0..V {
                    for i in 0..BLOCK {
                        let product = products[v][block * BLOCK + i];
                        outputs[i][v] = scales.finish(product, offsets[v]) * units[v];
                    }
                }
                for i in 0..BLOCK {
                    factors[i] = F::factor(factors[i], outputs[i]) * share;
                }
            }
            if !group.add_to::<L, SIGNED>(lanes, out, &factors, &scales) {
                return out.fill(f32::NAN);
            }
        }
    }
}

/// Rows as pieces. Bytes after the end of a row are those of the next one: they are multiplied by zeros, or their sums are
/// not used.
struct Rows<'a> {
    samples: &'a Samples<'a>,
    raw: &'a [u8],
    /// Pieces of a row.
    pieces: usize,
    /// A copy of the last rows, with zeros after the end; made only if one of them is needed.
    tail: OnceCell<Vec<u8>>,
}

impl<'a> Rows<'a> {
    /// The rows of samples, and whether their bytes are signed; `None` for floats.
    fn of(samples: &'a Samples<'a>) -> Option<(Self, bool)> {
        let (raw, signed) = match samples.features() {
            Features::U8(raw) => (raw, false),
            Features::I8(raw) => (bytemuck::cast_slice(raw), true),
            Features::F32(_) => return None,
        };
        let pieces = samples.width().div_ceil(PIECE);
        Some((Self { samples, raw, pieces, tail: OnceCell::new() }, signed))
    }

    /// The pieces of a row that exists.
    #[inline(always)]
    fn row(&self, index: usize) -> &[Bytes] {
        let (from, len) = (index * self.samples.width(), self.pieces * PIECE);
        let row = self.raw.get(from..from + len);
        row.unwrap_or_else(|| self.row_of_tail(from, len)).as_chunks().0
    }

    #[cold]
    fn row_of_tail(&self, from: usize, len: usize) -> &[u8] {
        let start = self.raw.len().saturating_sub(len);
        let tail = self.tail.get_or_init(|| {
            let mut tail = self.raw[start..].to_vec();
            tail.resize(2 * len, 0);
            tail
        });
        &tail[from - start..][..len]
    }
}

/// Some rows of a batch.
struct Group<'a> {
    /// The last one is there again, up to a multiple of [`ROWS`].
    rows: [&'a [Bytes]; GROUP],
    len: usize,
    /// The pieces without those that are zero in all rows at the beginning and at the end.
    filled: Range<usize>,
}

impl<'a> Group<'a> {
    /// At most [`GROUP`] rows, of which the first `ahead` are asked for at once, while the others are looked up. Calls `each`
    /// with the place and the number of every row. Those beyond the end are left out.
    #[inline(always)]
    pub(super) fn new(
        rows: &'a Rows<'_>,
        indices: impl Iterator<Item = usize>,
        ahead: usize,
        mut each: impl FnMut(usize, usize),
    ) -> Self {
        let mut group = Self { rows: [&[]; GROUP], len: 0, filled: 0..rows.pieces };
        let samples = rows.samples;
        let (mut marks, mut marked) = (0, true);
        for index in indices {
            if index >= samples.len() {
                continue;
            }
            let row = rows.row(index);
            if group.len < ahead {
                fetch(row.as_flattened());
            }
            group.rows[group.len] = row;
            each(group.len, index);
            group.len += 1;
            match samples.filled(index) {
                Some(&[own]) => marks |= own,
                // Samples with more features than that are rarely images.
                _ => marked = false,
            }
        }
        if marked {
            const MARKS: u32 = (PIECE / LANES) as u32;
            let end = (u64::BITS - marks.leading_zeros()).div_ceil(MARKS);
            group.filled = (marks.trailing_zeros() / MARKS).min(end) as usize..end as usize;
        }
        if let Some(&last) = group.rows[..group.len].last() {
            group.rows[group.len..].iter_mut().take(ROWS - 1).for_each(|row| *row = last);
        }
        group
    }

    /// The scalar products of every row with every vector.
    #[inline(always)]
    fn multiply<L: Lanes, const V: usize, const SIGNED: bool>(
        &self,
        lanes: L,
        integers: [&[Integers]; V],
    ) -> [[i64; GROUP]; V] {
        let mut products = [[0_i64; GROUP]; V];
        let blocks = self.rows.as_chunks::<ROWS>().0;
        for (block, rows) in blocks.iter().take(self.len.div_ceil(ROWS)).enumerate() {
            let next = blocks.get(block + 1).unwrap_or(rows);
            let mut start = self.filled.start;
            while start < self.filled.end {
                let end = self.filled.end.min(start + PIECES);
                let sums = sums::<L, V, SIGNED>(lanes, *rows, integers, start..end, next);
                for v in 0..V {
                    let totals = lanes.totals(sums[v]);
                    for r in 0..ROWS {
                        products[v][block * ROWS + r] += totals[r];
                    }
                }
                start = end;
            }
        }
        products
    }

    /// Adds every row times its factor; false if one of them is not finite.
    #[inline(always)]
    fn add_to<L: Lanes, const SIGNED: bool>(
        &self,
        lanes: L,
        out: &mut [f32],
        factors: &[f32; GROUP],
        scales: &Scales<'_>,
    ) -> bool {
        let Some(factors) = Factors::new(&factors[..self.len], scales) else { return false };
        for (piece, out) in out.chunks_mut(PIECE).enumerate() {
            let tile = self.tile::<L, SIGNED>(lanes, piece, &factors.integers);
            factors.add_to(out, lanes.in_order(tile));
        }
        true
    }

    /// The sums over rows of factor times byte, for the features of a piece.
    #[inline(always)]
    fn tile<L: Lanes, const SIGNED: bool>(
        &self,
        lanes: L,
        piece: usize,
        integers: &[i16; GROUP],
    ) -> L::Tile {
        let mut tile = L::EMPTY;
        if self.filled.contains(&piece) {
            let (rows, factors) = (self.rows.as_chunks::<2>().0, integers.as_chunks::<2>().0);
            for (&[a, b], &factors) in rows.iter().zip(factors).take(self.len.div_ceil(2)) {
                if let (Some(a), Some(b)) = (a.get(piece), b.get(piece)) {
                    tile = lanes.add_rows(tile, lanes.in_turns::<SIGNED>([a, b]), factors);
                }
            }
        }
        tile
    }
}

/// The sums of bytes times integers of some rows, for some pieces.
#[inline(always)]
fn sums<L: Lanes, const V: usize, const SIGNED: bool>(
    lanes: L,
    mut rows: [&[Bytes]; ROWS],
    mut integers: [&[Integers]; V],
    pieces: Range<usize>,
    next: &[&[Bytes]; ROWS],
) -> [[L::Sums; ROWS]; V] {
    let (len, first) = (pieces.len(), pieces.start);
    let next = next.map(|row| row.as_ptr().wrapping_add(first));
    // All of one length, so that no index has to be checked.
    for row in &mut rows {
        *row = &row[pieces.clone()][..len];
    }
    for integers in &mut integers {
        *integers = &integers[pieces.clone()][..len];
    }
    let mut sums = [[L::ZERO; ROWS]; V];
    for i in 0..len {
        for r in 0..ROWS {
            widest::fetch(next[r].wrapping_add(i).cast());
            let row = lanes.widen::<SIGNED>(&rows[r][i]);
            for v in 0..V {
                sums[v][r] = lanes.multiply(sums[v][r], &row, &integers[v][i]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Sampler;
    use crate::draw::Purpose;
    use crate::problems::integer::add_chunks;
    use crate::samples::{Arithmetic, Labels};
    use crate::vector::limit_vectors;

    /// It depends on everything.
    struct Mixed;

    impl Factor<2> for Mixed {
        fn factor(label: f32, [a, b]: [f32; 2]) -> f32 {
            (label + a) * 0.5 - b
        }
    }

    const ROWS: usize = 41;

    fn batches() -> impl Iterator<Item = Batch> {
        let drawn = [1, 3, 8, 33, 70].map(|size: u32| {
            // Some are beyond the end.
            let sampler = Sampler::drawn(3, 1, size.try_into().unwrap());
            sampler.batch(0, Purpose::INNER_GRADIENT, ROWS + 2)
        });
        drawn.into_iter().chain([Batch::full(ROWS), Batch::full(0)])
    }

    /// Compares the bits of all batches with those of the loops for chips.
    fn compare(samples: &Samples<'_>) {
        let number = |i: usize| ((i * 7_919 % 1_009) as f32 - 504.0) / 504.0;
        let vector = |a: &dyn Fn(usize) -> f32| (0..samples.width()).map(a).collect::<Vec<_>>();
        // The second pair has the largest integers, of either sign.
        let pairs = [
            [vector(&number), vector(&|i| 0.01 * number(i + 500))],
            [vector(&|_| 1.999_999), vector(&|_| -0.999_999)],
        ];
        for (batch, [a, b]) in
            batches().flat_map(|batch| pairs.each_ref().map(|p| (batch.clone(), p)))
        {
            // A sum of zero is added to -0.
            let [mut out, mut want] = [(); 2].map(|()| vec![-0.0_f32; samples.width()]);
            assert!(add_rows::<Mixed, 2>(samples, &batch, [a, b], -0.7, &mut out));
            add_chunks::<Mixed, 2>(samples, &batch, [a, b], -0.7, &mut want);
            let bits = |a: &[f32]| a.iter().map(|a| a.to_bits()).collect::<Vec<_>>();
            let (width, len) = (samples.width(), batch.len());
            assert_eq!(bits(&out), bits(&want), "{width} features, {len} samples");
        }
    }

    #[test]
    fn named_operations_have_the_bits_of_plain_loops() {
        let labels: Vec<f32> = (0..ROWS).map(|i| i as f32 * 0.1 - 2.0).collect();
        for most_bits in [u32::MAX, 256, 128] {
            limit_vectors(most_bits);
            for width in [1, 8, 15, 16, 63, 64, 65, 301, 784, 1_030, 4_500] {
                // The first and the last features are zero in all rows, and some others in some rows.
                let byte = |i: usize| match i % width {
                    at if at * 5 < width || at * 6 > width * 5 => 0,
                    at if (i / width + at / 16).is_multiple_of(3) => 0,
                    _ => (i * i % 256) as u8,
                };
                let mixed: Vec<u8> = (0..ROWS * width).map(byte).collect();
                // The largest sums.
                for bytes in [mixed, vec![255; ROWS * width], vec![0; ROWS * width]] {
                    let signed: &[i8] = bytemuck::cast_slice(&bytes);
                    for features in [Features::U8(&bytes), Features::I8(signed)] {
                        for offset in [0.0, 3.25, -1_024.0] {
                            let samples = Samples::new(features, width, Labels::Real(&labels));
                            let samples = samples.unwrap().scaled(1.0 / 255.0, offset).unwrap();
                            let samples = samples.computed_in(Arithmetic::Integer).unwrap();
                            compare(&samples);
                            let mut marks = vec![0; Samples::marks(ROWS, width)];
                            samples.mark(&mut marks);
                            compare(&samples.marked(&marks).unwrap());
                        }
                    }
                }
            }
        }
        limit_vectors(u32::MAX);
    }
}
