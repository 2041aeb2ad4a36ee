//! Rows times vectors on a chip with an FPU: 32 registers hold what is read, and no more than sixteen sums.

use super::{LANES, add_first_lanes, add_lanes, in_chunks, shortest};

/// Half of the lanes.
const HALF: usize = LANES / 2;

/// The sums of `value(row[i]) * vector[i]` for each row and vector, as [`reduce`](super::reduce) computes them. `PART` lanes
/// at a time, so that the sums of all rows and vectors are in registers: their product may be sixteen.
// Not inlined: only once in the image.
#[inline(never)]
fn dots<T: Copy, const R: usize, const V: usize, const PART: usize>(
    rows: [&[T]; R],
    vectors: [&[f32]; V],
    value: impl Fn(T) -> f32,
) -> [[f32; V]; R] {
    let len = shortest(&rows).min(shortest(&vectors));
    let mut lanes = [[[0.0; LANES]; V]; R];
    for part in 0..LANES / PART {
        let first = (part * PART).min(len);
        let (rows, vectors) = (rows.map(|row| &row[first..len]), vectors.map(|v| &v[first..len]));
        let sums = lanes_of_part::<T, R, V, PART>(rows, vectors, &value);
        for r in 0..R {
            for v in 0..V {
                lanes[r][v].as_chunks_mut::<PART>().0[part] = sums[r][v];
            }
        }
    }
    let mut sums = [[0.0; V]; R];
    for r in 0..R {
        for v in 0..V {
            sums[r][v] = add_lanes(lanes[r][v], len);
        }
    }
    sums
}

/// [`dots`] for one row.
#[inline]
pub(crate) fn dots_of_row<T: Copy, const V: usize>(
    row: &[T],
    vectors: [&[f32]; V],
    value: impl Fn(T) -> f32,
) -> [f32; V] {
    let [sums] = dots::<T, 1, V, HALF>([row], vectors, value);
    sums
}

/// [`dots`] for two rows, so that an element of a vector is loaded once for both.
#[inline]
pub(crate) fn dots_of_pair<T: Copy, const V: usize>(
    rows: [&[T]; 2],
    vectors: [&[f32]; V],
    value: &impl Fn(T) -> f32,
) -> [[f32; V]; 2] {
    dots::<T, 2, V, { HALF / 2 }>(rows, vectors, value)
}

/// The sums of the first `PART` lanes.
// Not inlined: a loop with its registers to itself.
#[inline(never)]
fn lanes_of_part<T: Copy, const R: usize, const V: usize, const PART: usize>(
    rows: [&[T]; R],
    vectors: [&[f32]; V],
    value: &impl Fn(T) -> f32,
) -> [[[f32; PART]; V]; R] {
    let len = shortest(&rows).min(shortest(&vectors));
    let (rows, rows_rest) = in_chunks::<T, LANES, R>(rows, len);
    let (vectors, vectors_rest) = in_chunks::<f32, LANES, V>(vectors, len);
    let mut sums = [[[0.0; PART]; V]; R];
    for chunk in 0..len / LANES {
        for r in 0..R {
            for i in 0..PART {
                let a = value(rows[r][chunk][i]);
                for v in 0..V {
                    sums[r][v][i] += a * vectors[v][chunk][i];
                }
            }
        }
    }
    for r in 0..R {
        for v in 0..V {
            let rest = rows_rest[r].iter().zip(vectors_rest[v]);
            for (sum, (&a, &weight)) in sums[r][v].iter_mut().zip(rest) {
                *sum += value(a) * weight;
            }
        }
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

/// The scalar products of a vector with others, if it has at most one element for each lane; each as
/// [`reduce`](super::reduce) computes it.
// For floats alone, and not inlined: once in the image, instead of for each kind of row.
#[inline(never)]
pub(crate) fn short<'v>(a: &[f32], vectors: impl Iterator<Item = &'v [f32]>, out: &mut [f32]) {
    let pairs = out.iter_mut().zip(vectors);
    if let Ok(a) = a.try_into() {
        pairs.for_each(|(out, b)| *out = fixed::<16>(a, b));
    } else if let Ok(a) = a.try_into() {
        pairs.for_each(|(out, b)| *out = fixed::<8>(a, b));
    } else {
        pairs.for_each(|(out, b)| *out = general(a, b));
    }
}

/// [`short`] for one vector of any length.
#[inline]
fn general(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let terms = a.iter().zip(b);
    lanes.iter_mut().zip(terms).for_each(|(lane, (a, b))| *lane = a * b);
    add_first_lanes(lanes, a.len()) + 0.0
}

/// [`short`] for one vector of `L` elements: without a loop.
#[inline]
fn fixed<const L: usize>(a: &[f32; L], b: &[f32]) -> f32 {
    let Some(b) = b.first_chunk::<L>() else { return general(a, b) };
    let mut lanes = [0.0; LANES];
    for i in 0..L {
        lanes[i] = a[i] * b[i];
    }
    // Lanes begin with +0, and a sum of zeros is +0 then: one addition here replaces those.
    add_first_lanes(lanes, L) + 0.0
}

/// `out[i] += factor * value(row[i])` for several vectors, in one pass over the row.
#[inline]
pub(crate) fn add_row<T: Copy, const V: usize>(
    mut out: [&mut [f32]; V],
    factors: [f32; V],
    row: &[T],
    value: impl Fn(T) -> f32,
) {
    let len = out.iter().fold(row.len(), |len, out| len.min(out.len()));
    let row = &row[..len];
    for own in &mut out {
        *own = &mut core::mem::take(own)[..len];
    }
    for i in 0..len {
        let a = value(row[i]);
        for v in 0..V {
            out[v][i] += factors[v] * a;
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
            let both = [&vectors[0][..width], &vectors[1]];
            let row = dots_of_row(rows[b], both, |a| a - 0.3);
            let pair = dots_of_pair([rows[b], rows[(b + 1) % B]], both, &|a| a - 0.3);
            for v in 0..2 {
                let alone = reduce(rows[b], &vectors[v], |a, v| (a - 0.3) * v);
                for sum in [row[v], pair[0][v]] {
                    assert_eq!(sum.to_bits(), alone.to_bits(), "{B} rows of {width}");
                }
                let alone = reduce(rows[(b + 1) % B], &vectors[v], |a, v| (a - 0.3) * v);
                assert_eq!(pair[1][v].to_bits(), alone.to_bits(), "{B} rows of {width}");
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
            assert_blocks_are_rows::<8>(width);
        }
    }

    #[test]
    fn short_products_have_the_bits_of_long_ones() {
        let a: [f32; LANES] = core::array::from_fn(|i| 0.3 * i as f32 - 1.1);
        let zeros = [-0.0; LANES];
        for len in 0..=LANES {
            for a in [&a[..len], &zeros[..len]] {
                let vectors =
                    [[0.7; LANES], core::array::from_fn(|i| 2.3 - i as f32), [-0.0; LANES]];
                let mut sums = [7.0; 3];
                // One of them longer, one shorter than the others.
                let lens = [len, LANES, len.min(5)];
                short(a, vectors.iter().zip(lens).map(|(v, len)| &v[..len]), &mut sums);
                for ((sum, vector), own) in sums.iter().zip(&vectors).zip(lens) {
                    let alone = reduce(a, &vector[..own], |a, v| a * v);
                    assert_eq!(sum.to_bits(), alone.to_bits(), "{own} of {len}");
                }
            }
        }
    }

    #[test]
    fn a_row_is_added_to_each_vector_as_to_one() {
        let row: [f32; 11] = core::array::from_fn(|i| 0.9 * i as f32 - 3.0);
        for len in [0, 1, 10, 11] {
            let (mut a, mut b) = ([0.1; 11], [0.2; 11]);
            let (mut want_a, mut want_b) = (a, b);
            add_row([&mut a[..len], &mut b], [0.3, -0.7], &row, |a| a - 0.5);
            for i in 0..len {
                want_a[i] += 0.3 * (row[i] - 0.5);
                want_b[i] += -0.7 * (row[i] - 0.5);
            }
            assert_eq!((a, b), (want_a, want_b));
        }
    }
}
