//! Rows times vectors on a chip with an FPU: 32 registers hold what is read, and no more than sixteen sums.

use super::{LANES, add_lanes, in_chunks, shortest};

/// Half of the lanes.
const HALF: usize = LANES / 2;

/// The sums of `value(row[i]) * vector[i]` for each vector, as [`reduce`](super::reduce) computes them, in two passes of
/// half of the lanes each.
#[inline]
pub(crate) fn dots<T: Copy, const V: usize>(
    row: &[T],
    vectors: [&[f32]; V],
    value: impl Fn(T) -> f32,
) -> [f32; V] {
    let len = row.len().min(shortest(&vectors));
    let ([row], [row_rest]) = in_chunks::<T, HALF, 1>([row], len);
    let (vectors, vectors_rest) = in_chunks::<f32, HALF, V>(vectors, len);
    let mut halves = [0, 1].map(|half| every_other(half, row, vectors, &value));
    let last = if (len / HALF).is_multiple_of(2) { &mut halves[0] } else { &mut halves[1] };
    for v in 0..V {
        let terms = row_rest.iter().zip(vectors_rest[v]);
        for (lane, (&a, &weight)) in last[v].iter_mut().zip(terms) {
            *lane += value(a) * weight;
        }
    }
    let mut sums = [0.0; V];
    for v in 0..V {
        let [low, high] = halves.map(|half| half[v]);
        let mut all = [0.0; LANES];
        all[..HALF].copy_from_slice(&low);
        all[HALF..].copy_from_slice(&high);
        sums[v] = add_lanes(all, len);
    }
    sums
}

/// The sums of every other chunk: those of one half of the lanes.
// Not inlined: a loop with its registers to itself, and only once in the image.
#[inline(never)]
fn every_other<T: Copy, const V: usize>(
    half: usize,
    row: &[[T; HALF]],
    vectors: [&[[f32; HALF]]; V],
    value: &impl Fn(T) -> f32,
) -> [[f32; HALF]; V] {
    // Cut here, so that the compiler sees that all have the same length.
    let count = row.len().min(shortest(&vectors));
    let row = &row[..count];
    let mut own = vectors;
    for v in 0..V {
        own[v] = &vectors[v][..count];
    }
    let mut sums = [[0.0; HALF]; V];
    let mut chunk = half;
    while chunk < count {
        for i in 0..HALF {
            let a = value(row[chunk][i]);
            for v in 0..V {
                sums[v][i] += a * own[v][chunk][i];
            }
        }
        chunk = chunk.wrapping_add(2);
    }
    sums
}

/// `out[i] += factor * value(row[i])` for one row after the other, in one pass over `out`.
#[inline]
pub(crate) fn add_rows<T: Copy, const B: usize>(
    out: &mut [f32],
    rows: [&[T]; B],
    factors: [f32; B],
    value: impl Fn(T) -> f32,
) {
    let len = out.len().min(shortest(&rows));
    let (rows, rows_rest) = in_chunks::<T, HALF, B>(rows, len);
    let (out, out_rest) = out[..len].as_chunks_mut::<HALF>();
    for (chunk, out) in out[..len / HALF].iter_mut().enumerate() {
        for i in 0..HALF {
            let mut sum = out[i];
            for b in 0..B {
                sum += factors[b] * value(rows[b][chunk][i]);
            }
            out[i] = sum;
        }
    }
    for (i, out) in out_rest.iter_mut().enumerate() {
        for b in 0..B {
            *out += factors[b] * value(rows_rest[b][i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::reduce;

    /// Blocks of `B` rows of `width` against one row after the other.
    fn assert_blocks_are_rows<const B: usize>(width: usize) {
        let row = |b: usize| -> [f32; 50] {
            core::array::from_fn(|i| ((7 * i + 13 * b) % 31) as f32 * 0.37 - 4.1)
        };
        let rows: [[f32; 50]; B] = core::array::from_fn(row);
        let rows: [&[f32]; B] = core::array::from_fn(|b| &rows[b][..width]);
        let vectors = [row(40), row(41)];
        let factors: [f32; B] = core::array::from_fn(|b| 0.1 + b as f32);
        let (mut out, mut want) = ([0.7_f32; 50], [0.7_f32; 50]);
        add_rows(&mut out, rows, factors, |a| a - 0.3);
        for b in 0..B {
            let sums = dots(rows[b], [&vectors[0][..width], &vectors[1]], |a| a - 0.3);
            for (sum, vector) in sums.iter().zip(&vectors) {
                let alone = reduce(rows[b], vector, |a, v| (a - 0.3) * v);
                assert_eq!(sum.to_bits(), alone.to_bits(), "{B} rows of {width}");
            }
            for (want, a) in want.iter_mut().zip(rows[b]) {
                *want += factors[b] * (a - 0.3);
            }
        }
        assert_eq!(out.map(f32::to_bits), want.map(f32::to_bits), "{B} rows of {width}");
    }

    #[test]
    fn blocks_of_any_size_have_the_bits_of_their_rows() {
        for width in [0, 1, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 47, 48, 50] {
            assert_blocks_are_rows::<1>(width);
            assert_blocks_are_rows::<3>(width);
            assert_blocks_are_rows::<4>(width);
        }
    }
}
