//! Lanes change places in the registers of a host: rows become columns, or sums.

use super::LANES;
use crate::widest::Simd;

/// Turns [`LANES`] rows of as many elements: `read` and `write` are called with the number of a row and of a part of it.
#[inline(always)]
pub(crate) fn turn<S: Simd>(
    simd: S,
    mut read: impl FnMut(usize, usize) -> S::f32s,
    mut write: impl FnMut(usize, usize, S::f32s),
) {
    let len = S::F32_LANES;
    for i in 0..LANES / len {
        for j in 0..LANES / len {
            let mut block = [simd.splat_f32s(0.0); LANES];
            for (row, values) in block.iter_mut().enumerate() {
                if row < len {
                    *values = read(i * len + row, j);
                }
            }
            turn_block(simd, &mut block);
            for (row, &values) in block.iter().enumerate() {
                if row < len {
                    write(j * len + row, i, values);
                }
            }
        }
    }
}

/// [`turn`] for as many rows as a vector of the machine has lanes.
// Written out: a compiler does not unroll all of it.
#[inline(always)]
fn turn_block<S: Simd>(simd: S, rows: &mut [S::f32s; LANES]) {
    macro_rules! swap {
        ($by:literal: $($row:literal)*) => {
            if $by < S::F32_LANES {
                $(if $row + $by < S::F32_LANES {
                    let (a, b) = (rows[$row], rows[$row + $by]);
                    (rows[$row], rows[$row + $by]) = swapped(simd, $by, a, b);
                })*
            }
        };
    }
    // Squares of 8, 4, 2 and 1 elements that lie across the diagonal change places.
    swap!(8: 0 1 2 3 4 5 6 7);
    swap!(4: 0 1 2 3 8 9 10 11);
    swap!(2: 0 1 4 5 8 9 12 13);
    swap!(1: 0 2 4 6 8 10 12 14);
}

/// The sum of the lanes of each of the first [`F32_LANES`](Simd::F32_LANES) rows, in the lane with the row's number. As in
/// [`add_lanes`](super::add_lanes), lanes that are furthest apart are added first.
// Rows are added two at a time, because after each step half of the lanes of a row are free.
#[inline(always)]
pub(crate) fn add_across<S: Simd>(simd: S, mut rows: [S::f32s; LANES]) -> S::f32s {
    macro_rules! add {
        ($by:literal: $($row:literal)*) => {
            if $by < S::F32_LANES {
                $(
                    let (a, b) = swapped(simd, $by, rows[$row], rows[$row + $by]);
                    rows[$row] = simd.add_f32s(a, b);
                )*
            }
        };
    }
    add!(8: 0 1 2 3 4 5 6 7);
    add!(4: 0 1 2 3);
    add!(2: 0 1);
    add!(1: 0);
    rows[0]
}

/// Exchanges the lanes of `a` whose number has the bit `by` for those of `b` whose number does not have it.
#[inline(always)]
fn swapped<S: Simd>(simd: S, by: usize, a: S::f32s, b: S::f32s) -> (S::f32s, S::f32s) {
    let low = low_half(simd, by as u32);
    let first = simd.select_f32s(low, a, simd.rotate_right_f32s(b, by));
    let second = simd.select_f32s(low, simd.rotate_left_f32s(a, by), b);
    (first, second)
}

/// The lanes without a bit in their number.
#[inline(always)]
fn low_half<S: Simd>(simd: S, bit: u32) -> S::m32s {
    let bits = simd.and_u32s(numbers::<S>(0), simd.splat_u32s(bit));
    simd.equal_u32s(bits, simd.splat_u32s(0))
}

/// The lanes of a chunk before lane `end`, in one part of it.
#[inline(always)]
pub(crate) fn before<S: Simd>(simd: S, end: usize, part: usize) -> S::m32s {
    simd.less_than_u32s(numbers::<S>(part), simd.splat_u32s(end as u32))
}

/// The numbers of a chunk's lanes, in one part of it.
#[inline(always)]
fn numbers<S: Simd>(part: usize) -> S::u32s {
    const NUMBERS: [u32; LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    bytemuck::cast_slice(&NUMBERS)[part]
}

#[cfg(test)]
mod tests {
    use super::super::matrix::{parts, parts_mut};
    use super::*;
    use crate::widest::{self, WithSimd};

    struct Turn([[f32; LANES]; LANES]);

    impl WithSimd for Turn {
        type Output = [[f32; LANES]; LANES];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let mut turned = self.0;
            let read = |row: usize, part: usize| parts::<S>(&self.0[row])[part];
            turn(simd, read, |row, part, values| parts_mut::<S>(&mut turned[row])[part] = values);
            turned
        }
    }

    #[test]
    fn rows_become_columns() {
        let mut rows = [[0.0; LANES]; LANES];
        for (i, value) in rows.as_flattened_mut().iter_mut().enumerate() {
            *value = i as f32;
        }
        let turned = widest::run_with(Turn(rows));
        for i in 0..LANES {
            for j in 0..LANES {
                assert_eq!(turned[i][j], rows[j][i]);
            }
        }
    }
}
