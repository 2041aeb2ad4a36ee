//! Vectors and their reductions, each in one fixed order.
//!
//! A sum of floats depends on its order. Every reduction here uses [`LANES`] strided lanes: element `i` is added to lane
//! `i % 16`, and a fixed tree adds the lanes at the end. Sixteen lanes fit the 32 registers of a Cortex-M4F and one
//! 512-bit vector, so compilers can vectorise without changing a bit.

#[cfg(feature = "simd")]
use crate::widest;
use crate::widest::Work;

/// The number of partial sums of every reduction.
pub const LANES: usize = 16;

/// Anything that holds a slice of floats: `[f32; N]` on a chip, `&mut [f32]`, or a boxed slice on a host.
pub trait Storage: AsRef<[f32]> + AsMut<[f32]> {}

impl<S: AsRef<[f32]> + AsMut<[f32]> + ?Sized> Storage for S {}

/// Sums `term(a[i], b[i])` in lanes, up to the end of the shorter slice.
#[inline]
pub(crate) fn reduce<A: Copy, B: Copy>(a: &[A], b: &[B], term: impl Fn(A, B) -> f32) -> f32 {
    // On a chip nothing comes between the caller and the loop: there every instruction counts.
    #[cfg(feature = "simd")]
    return widest::run_long(a.len().min(b.len()), Reduce(a, b, term));
    #[cfg(not(feature = "simd"))]
    in_lanes(a, b, term)
}

#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
fn in_lanes<A: Copy, B: Copy>(a: &[A], b: &[B], term: impl Fn(A, B) -> f32) -> f32 {
    let len = a.len().min(b.len());
    let (a, a_rest) = a[..len].as_chunks::<LANES>();
    let (b, b_rest) = b[..len].as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            lanes[i] += term(a[i], b[i]);
        }
    }
    for (lane, (&a, &b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += term(a, b);
    }
    add_lanes(lanes, len)
}

#[cfg(feature = "simd")]
struct Reduce<'a, A, B, F>(&'a [A], &'a [B], F);

#[cfg(feature = "simd")]
impl<A: Copy, B: Copy, F: Fn(A, B) -> f32> Work for Reduce<'_, A, B, F> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        in_lanes(self.0, self.1, self.2)
    }
}

/// How many samples are read at once. The lanes of one row wait for their own last sum, but the rows of a block do not
/// wait for each other. A chip has neither the registers nor the pipeline to gain from it.
pub(crate) const BLOCK: usize = if cfg!(target_pointer_width = "64") { 8 } else { 1 };

/// The sums of `value(row[i]) * vector[i]` for each row and vector, each as [`reduce`] computes it, all in one pass.
// Lanes are only indexed by constants: otherwise they would be kept in memory.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
pub(crate) fn reduce_block<T: Copy, const B: usize, const V: usize>(
    rows: [&[T]; B],
    vectors: [&[f32]; V],
    value: impl Fn(T) -> f32,
) -> [[f32; V]; B] {
    let len = vectors.iter().fold(shortest(&rows), |len, vector| len.min(vector.len()));
    let (rows, rows_rest) = in_chunks(rows, len);
    let (vectors, vectors_rest) = in_chunks(vectors, len);
    let mut lanes = [[[0.0_f32; LANES]; V]; B];
    for chunk in 0..len / LANES {
        for b in 0..B {
            let mut row = [0.0; LANES];
            for i in 0..LANES {
                row[i] = value(rows[b][chunk][i]);
            }
            for v in 0..V {
                lanes[b][v] = add_products(lanes[b][v], row, vectors[v][chunk]);
            }
        }
    }
    if !len.is_multiple_of(LANES) {
        // Zeros after the end: no lane is -0, so adding +0 changes nothing.
        for b in 0..B {
            let row = padded(rows_rest[b], &value);
            for v in 0..V {
                lanes[b][v] = add_products(lanes[b][v], row, padded(vectors_rest[v], |a| a));
            }
        }
    }
    let mut sums = [[0.0; V]; B];
    for b in 0..B {
        for v in 0..V {
            sums[b][v] = add_all_lanes(lanes[b][v]);
        }
    }
    sums
}

/// The length of the shortest slice.
#[inline(always)]
fn shortest<T, const B: usize>(rows: &[&[T]; B]) -> usize {
    rows.iter().fold(usize::MAX, |len, row| len.min(row.len()))
}

/// The first `len` elements of each slice in chunks, and the rest of them.
// Loops instead of `map`, which is not always inlined: the compiler then does not see that all have the same length.
#[inline(always)]
fn in_chunks<T, const B: usize>(slices: [&[T]; B], len: usize) -> ([&[[T; LANES]]; B], [&[T]; B]) {
    let (mut chunks, mut rest): ([&[[T; LANES]]; B], [&[T]; B]) = ([&[]; B], [&[]; B]);
    for b in 0..B {
        let (whole, left) = slices[b][..len].as_chunks();
        (chunks[b], rest[b]) = (&whole[..len / LANES], left);
    }
    (chunks, rest)
}

/// The values of a chunk that ends early, and zeros.
#[inline(always)]
fn padded<T: Copy>(rest: &[T], value: impl Fn(T) -> f32) -> [f32; LANES] {
    let mut chunk = [0.0; LANES];
    chunk.iter_mut().zip(rest).for_each(|(place, &a)| *place = value(a));
    chunk
}

/// One step of every lane. A function of its own, so that it becomes one vector operation before the loops around it are
/// unrolled.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
fn add_products(mut lanes: [f32; LANES], a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    for i in 0..LANES {
        lanes[i] += a[i] * b[i];
    }
    lanes
}

/// [`add_lanes`] without its branches, which only matter on a chip.
// Always inlined: across a call the lanes would be kept in memory, and written there at every step.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
fn add_all_lanes(mut lanes: [f32; LANES]) -> f32 {
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
    }
    lanes[0]
}

/// `out[i] += factor * value(row[i])` for one row after the other, in one pass over `out`.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
pub(crate) fn add_block<T: Copy, const B: usize>(
    out: &mut [f32],
    rows: [&[T]; B],
    factors: [f32; B],
    value: impl Fn(T) -> f32,
) {
    let len = out.len().min(shortest(&rows));
    let (rows, rows_rest) = in_chunks(rows, len);
    let (out, out_rest) = out[..len].as_chunks_mut::<LANES>();
    for (chunk, out) in out.iter_mut().enumerate() {
        let mut sums = *out;
        for b in 0..B {
            for i in 0..LANES {
                sums[i] += factors[b] * value(rows[b][chunk][i]);
            }
        }
        *out = sums;
    }
    for (i, out) in out_rest.iter_mut().enumerate() {
        for b in 0..B {
            *out += factors[b] * value(rows_rest[b][i]);
        }
    }
}

/// The fixed tree at the end of a reduction: halves are added until one value is left.
///
/// With `len` terms the lanes from `len` on are still +0, and no lane is -0: adding them changes nothing, so a short
/// reduction skips them, which saves time on a chip without an FPU.
// With `simd`, always inlined: see `add_all_lanes`.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
pub(crate) fn add_lanes(mut lanes: [f32; LANES], len: usize) -> f32 {
    for half in [8, 4, 2, 1] {
        if half < len {
            for i in 0..half {
                lanes[i] += lanes[i + half];
            }
        }
    }
    lanes[0]
}

/// The scalar product of two vectors.
///
/// ```
/// assert_eq!(lopa_core::vector::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
#[inline]
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    reduce(a, b, |a, b| a * b)
}

/// The sum of a vector's elements.
#[inline]
#[must_use]
pub fn sum(a: &[f32]) -> f32 {
    reduce(a, a, |a, _| a)
}

/// The squared Euclidean norm.
#[inline]
#[must_use]
pub fn norm_squared(a: &[f32]) -> f32 {
    dot(a, a)
}

/// `out += scale * a`, element by element.
#[inline]
pub fn add_scaled(out: &mut [f32], scale: f32, a: &[f32]) {
    add_terms(out, a, |a| scale * a);
}

/// `out[i] += term(a[i])`.
#[inline]
pub(crate) fn add_terms<A: Copy>(out: &mut [f32], a: &[A], term: impl Fn(A) -> f32) {
    #[cfg(feature = "simd")]
    widest::run_long(out.len().min(a.len()), AddTerms(out, a, term));
    #[cfg(not(feature = "simd"))]
    AddTerms(out, a, term).run();
}

struct AddTerms<'a, A, F>(&'a mut [f32], &'a [A], F);

impl<A: Copy, F: Fn(A) -> f32> Work for AddTerms<'_, A, F> {
    type Output = ();

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) {
        for (out, &a) in self.0.iter_mut().zip(self.1) {
            *out += (self.2)(a);
        }
    }
}

/// `gap += weight * (theirs - own)`: one neighbour's pull on a node.
///
/// Differences instead of the plain weighted sum, because they vanish exactly when two nodes agree, and because the pull
/// of `j` on `i` is, bit for bit, the negative of the pull of `i` on `j`.
#[inline]
pub fn add_gap(gap: &mut [f32], weight: f32, theirs: &[f32], own: &[f32]) {
    #[cfg(feature = "simd")]
    widest::run_long(gap.len(), AddGap { gap, weight, theirs, own });
    #[cfg(not(feature = "simd"))]
    AddGap { gap, weight, theirs, own }.run();
}

struct AddGap<'a> {
    gap: &'a mut [f32],
    weight: f32,
    theirs: &'a [f32],
    own: &'a [f32],
}

impl Work for AddGap<'_> {
    type Output = ();

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) {
        for (gap, (&theirs, &own)) in self.gap.iter_mut().zip(self.theirs.iter().zip(self.own)) {
            *gap += self.weight * (theirs - own);
        }
    }
}

/// True if no element is infinite or NaN.
#[inline]
#[must_use]
pub fn all_finite(a: &[f32]) -> bool {
    // Both have an exponent of all ones; a bitwise or over the vector keeps the loop free of branches.
    a.iter().fold(0, |marks, a| marks | u32::from(!a.is_finite())) == 0
}

/// A running sum with Kahan's correction: the error does not grow with the number of terms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CompensatedSum {
    sum: f32,
    excess: f32,
}

impl CompensatedSum {
    /// Adds one term.
    #[inline]
    pub fn add(&mut self, term: f32) {
        let term = term - self.excess;
        let total = self.sum + term;
        self.excess = (total - self.sum) - term;
        self.sum = total;
    }

    /// The sum of all terms so far.
    #[inline]
    #[must_use]
    pub fn value(self) -> f32 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_the_documented_order() {
        let mut a = [0.0_f32; 1_003];
        for (i, a) in a.iter_mut().enumerate() {
            *a = 1.0 / (1.0 + i as f32);
        }
        let mut lanes = [0.0_f32; 16];
        for (i, a) in a.iter().enumerate() {
            lanes[i % 16] += a;
        }
        let quad = |i: usize| (lanes[i] + lanes[i + 8]) + (lanes[i + 4] + lanes[i + 12]);
        let expected = (quad(0) + quad(2)) + (quad(1) + quad(3));
        assert_eq!(sum(&a).to_bits(), expected.to_bits());
        assert_ne!(sum(&a).to_bits(), a.iter().sum::<f32>().to_bits());
    }

    #[test]
    fn skipped_lanes_change_no_bit() {
        for len in 0..=40 {
            for value in [0.1, -0.1, -0.0, f32::MIN_POSITIVE / 4.0] {
                let a = [value; 40];
                let mut lanes = [0.0_f32; 16];
                (0..len).for_each(|i| lanes[i % 16] += a[i]);
                let quad = |i: usize| (lanes[i] + lanes[i + 8]) + (lanes[i + 4] + lanes[i + 12]);
                let whole = (quad(0) + quad(2)) + (quad(1) + quad(3));
                assert_eq!(sum(&a[..len]).to_bits(), whole.to_bits());
            }
        }
    }

    #[test]
    fn a_reduction_stops_at_the_shorter_vector() {
        assert_eq!(dot(&[1.0; 20], &[2.0; 18]), 36.0);
        assert_eq!(dot(&[], &[2.0]), 0.0);
    }

    /// Blocks of `B` rows of `width` against one row after the other.
    fn assert_blocks_are_rows<const B: usize>(width: usize) {
        let row = |b: usize| -> [f32; 50] {
            core::array::from_fn(|i| ((7 * i + 13 * b) % 31) as f32 * 0.37 - 4.1)
        };
        let rows: [[f32; 50]; B] = core::array::from_fn(row);
        let rows: [&[f32]; B] = core::array::from_fn(|b| &rows[b][..width]);
        let vectors = [row(40), row(41)];
        let sums = reduce_block(rows, [&vectors[0][..width], &vectors[1]], |a| a - 0.3);
        let factors: [f32; B] = core::array::from_fn(|b| 0.1 + b as f32);
        let (mut out, mut want) = ([0.7_f32; 50], [0.7_f32; 50]);
        add_block(&mut out, rows, factors, |a| a - 0.3);
        for b in 0..B {
            for (sum, vector) in sums[b].iter().zip(&vectors) {
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
        for width in [0, 1, 5, 15, 16, 17, 31, 32, 47, 48, 50] {
            assert_blocks_are_rows::<1>(width);
            assert_blocks_are_rows::<2>(width);
            assert_blocks_are_rows::<3>(width);
            assert_blocks_are_rows::<4>(width);
            assert_blocks_are_rows::<8>(width);
        }
    }

    #[test]
    fn pulls_are_exact_opposites() {
        let (a, b) = ([0.1_f32, -7.3e9, 1.0e-20], [0.3_f32, 2.2, -4.0e-21]);
        let (mut on_a, mut on_b) = ([0.0; 3], [0.0; 3]);
        add_gap(&mut on_a, 1.0 / 3.0, &b, &a);
        add_gap(&mut on_b, 1.0 / 3.0, &a, &b);
        assert_eq!(on_a, on_b.map(|g| -g));
    }

    #[test]
    fn non_finite_values_are_found_wherever_they_are() {
        for i in 0..33 {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut a = [1.0; 33];
                assert!(all_finite(&a));
                a[i] = bad;
                assert!(!all_finite(&a));
            }
        }
    }

    #[test]
    fn a_compensated_sum_keeps_what_a_plain_one_loses() {
        let mut sum = CompensatedSum::default();
        for _ in 0..1_000_000 {
            sum.add(0.1);
        }
        assert_eq!(sum.value(), 100_000.0);
    }
}
