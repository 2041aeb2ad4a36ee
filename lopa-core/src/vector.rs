//! Vectors and their reductions, each in one fixed order.
//!
//! A sum of floats depends on its order. Every reduction here uses [`LANES`] strided lanes: element `i` is added to lane
//! `i % 16`, and a fixed tree adds the lanes at the end. Sixteen lanes fit the 32 registers of a Cortex-M4F and one
//! 512-bit vector, so compilers can vectorise without changing a bit.

#[cfg(feature = "simd")]
pub(crate) mod known;
#[cfg(feature = "simd")]
pub(crate) mod matrix;
#[cfg(not(feature = "simd"))]
pub(crate) mod narrow;
mod number;
pub(crate) mod soft;
#[cfg(feature = "simd")]
pub(crate) mod sparse;
#[cfg(feature = "simd")]
pub(crate) mod turn;
mod update;
#[cfg(feature = "simd")]
pub(crate) mod wide;

pub(crate) use number::Number;
pub(crate) use update::{Finite, plus, update, update_both};

#[cfg(feature = "simd")]
use crate::widest::{self, Work};
#[cfg(feature = "simd")]
#[doc(hidden)]
pub use widest::limit_vectors;

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

/// Sums `value(row[i]) * vector[i]`, as [`reduce`] does.
#[inline]
pub(crate) fn reduce_row<T: Copy>(row: &[T], vector: &[f32], value: impl Fn(T) -> f32) -> f32 {
    #[cfg(not(feature = "simd"))]
    if WRITTEN_OUT {
        let [sum] = narrow::dots_of_row(row, [vector], value);
        return sum;
    }
    reduce(row, vector, |a, b| (Number(value(a)) * b).0)
}

#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
fn in_lanes<A: Copy, B: Copy>(a: &[A], b: &[B], term: impl Fn(A, B) -> f32) -> f32 {
    let len = a.len().min(b.len());
    let mut lanes = [0.0_f32; LANES];
    if SOFT_FLOATS {
        // Not unrolled: beside the calls, a loop costs little.
        for (at, (&a, &b)) in a.iter().zip(b).enumerate() {
            let lane = &mut lanes[at % LANES];
            *lane = (Number(*lane) + term(a, b)).0;
        }
        return add_lanes(lanes, len);
    }
    let (a, a_rest) = a[..len].as_chunks::<LANES>();
    let (b, b_rest) = b[..len].as_chunks::<LANES>();
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

/// The length of the shortest slice.
#[inline(always)]
fn shortest<T, const B: usize>(rows: &[&[T]; B]) -> usize {
    rows.iter().fold(usize::MAX, |len, row| len.min(row.len()))
}

/// The first `len` elements of each slice in chunks, and the rest of them.
// Loops instead of `map`, which is not always inlined: the compiler then does not see that all have the same length.
#[inline(always)]
fn in_chunks<T, const L: usize, const B: usize>(
    slices: [&[T]; B],
    len: usize,
) -> ([&[[T; L]]; B], [&[T]; B]) {
    let (mut chunks, mut rest): ([&[[T; L]]; B], [&[T]; B]) = ([&[]; B], [&[]; B]);
    for b in 0..B {
        let (whole, left) = slices[b][..len].as_chunks();
        (chunks[b], rest[b]) = (&whole[..len / L], left);
    }
    (chunks, rest)
}

/// The fixed tree at the end of a reduction: halves are added until one value is left.
///
/// With `len` terms the lanes from `len` on are still +0, and no lane is -0: adding them changes nothing, so a short
/// reduction skips them where that is cheaper.
// With `simd`, always inlined: across a call the lanes would be kept in memory, and written there at every step.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
pub(crate) fn add_lanes(lanes: [f32; LANES], len: usize) -> f32 {
    add_first_lanes(lanes, if WRITTEN_OUT { LANES } else { len })
}

/// [`add_lanes`], always without the lanes that are still +0.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
fn add_first_lanes(mut lanes: [f32; LANES], len: usize) -> f32 {
    let plus = |a, b| (Number(a) + b).0;
    // Written out, because a loop over the halves is not unrolled, and its indices are checked.
    if len > 8 {
        for i in 0..8 {
            lanes[i] = plus(lanes[i], lanes[i + 8]);
        }
    }
    if len > 4 {
        for i in 0..4 {
            lanes[i] = plus(lanes[i], lanes[i + 4]);
        }
    }
    if len > 2 {
        lanes[0] = plus(lanes[0], lanes[2]);
        lanes[1] = plus(lanes[1], lanes[3]);
    }
    plus(lanes[0], lanes[1])
}

/// The scalar product of two vectors.
///
/// ```
/// assert_eq!(lopa_core::vector::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
#[inline]
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    if SOFT_FLOATS && let Some(sum) = soft::dot_floats(a, b) {
        return sum;
    }
    reduce_row(a, b, |a| a)
}

/// The scalar products of a vector with the first `out.len()` of others.
#[inline]
pub(crate) fn dot_each<'v>(a: &[f32], vectors: impl Iterator<Item = &'v [f32]>, out: &mut [f32]) {
    #[cfg(not(feature = "simd"))]
    if WRITTEN_OUT && a.len() <= LANES {
        return narrow::short(a, vectors, out);
    }
    out.iter_mut().zip(vectors).for_each(|(out, b)| *out = dot(a, b));
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
    update(out.iter_mut().zip(a), move |out, a| out + Number(scale) * a);
}

/// `gap += weight * (theirs - own)`: one neighbour's pull on a node.
///
/// Differences instead of the plain weighted sum, because they vanish exactly when two nodes agree, and because the pull
/// of `j` on `i` is, bit for bit, the negative of the pull of `i` on `j`.
#[inline]
pub fn add_gap(gap: &mut [f32], weight: f32, theirs: &[f32], own: &[f32]) {
    let pairs = gap.iter_mut().zip(theirs.iter().zip(own));
    update(pairs, move |gap, (theirs, own)| Number(plus(gap.0, pull(weight, *theirs, *own))));
}

/// `gap = weight * (theirs - own)`, up to the end of the shortest slice: the pull of the first neighbour, with the bits of
/// [`add_gap`] on zeros.
#[inline]
pub fn set_gap(gap: &mut [f32], weight: f32, theirs: &[f32], own: &[f32]) {
    let pairs = gap.iter_mut().zip(theirs.iter().zip(own));
    update(pairs, move |_, (theirs, own)| Number(plus(0.0, pull(weight, *theirs, *own))));
}

/// One neighbour's pull on one element.
#[inline(always)]
fn pull(weight: f32, theirs: f32, own: f32) -> f32 {
    (Number(weight) * (Number(theirs) - own)).0
}

/// `out[i] += term(a[i])`.
#[inline]
pub(crate) fn add_terms<A: Copy>(out: &mut [f32], a: &[A], term: impl Fn(A) -> Number) {
    update(out.iter_mut().zip(a), move |out, &a| out + term(a));
}

/// True if no element is infinite or NaN.
#[inline]
#[must_use]
pub fn all_finite(a: &[f32]) -> bool {
    let mut finite = Finite::default();
    a.iter().for_each(|&a| finite.note(a));
    finite.all()
}

/// Whether floats are computed in software, so that every operation on them is a call.
pub(crate) const SOFT_FLOATS: bool =
    cfg!(all(target_pointer_width = "32", not(target_abi = "eabihf"), not(target_feature = "f")));

/// Whether loops are written out so that many sums stay in registers, instead of as short as possible.
pub(crate) const WRITTEN_OUT: bool =
    !SOFT_FLOATS && cfg!(any(feature = "fast", target_pointer_width = "64"));

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
