//! Vectors that change element by element, and whether they stay finite.

use super::{Number, SOFT_FLOATS, soft};
#[cfg(feature = "simd")]
use crate::widest;
use crate::widest::Work;

/// `out = next(out, a)` for each pair. True if all results are finite.
#[inline]
pub(crate) fn update<'a, A>(
    pairs: impl Iterator<Item = (&'a mut f32, A)>,
    next: impl Fn(Number, A) -> Number,
) -> bool {
    let update = Update { pairs, next };
    #[cfg(feature = "simd")]
    return widest::run_long(update.pairs.size_hint().0, update);
    #[cfg(not(feature = "simd"))]
    update.run()
}

struct Update<I, F> {
    pairs: I,
    next: F,
}

impl<'a, A, I: Iterator<Item = (&'a mut f32, A)>, F: Fn(Number, A) -> Number> Work
    for Update<I, F>
{
    type Output = bool;

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) -> bool {
        let mut finite = Finite::default();
        for (out, a) in self.pairs {
            *out = (self.next)(Number(*out), a).0;
            finite.note(*out);
        }
        finite.all()
    }
}

/// a + b, for an `a` that is often +0, as the first term of a sum is added to.
#[inline(always)]
pub(crate) fn plus(a: f32, b: f32) -> f32 {
    if SOFT_FLOATS { plus_in_software(a, b) } else { a + b }
}

#[inline(always)]
fn plus_in_software(a: f32, b: f32) -> f32 {
    // Of all b, only -0 changes when it is added to +0.
    if a.to_bits() == 0 && b.to_bits() != 0x8000_0000 { b } else { soft::add(a, b) }
}

/// `(a[i], b[i]) = next(a[i], b[i])`, up to the end of the shorter slice. True if all elements of `a` are finite.
#[inline]
pub(crate) fn update_both(
    a: &mut [f32],
    b: &mut [f32],
    next: impl Fn(Number, Number) -> (Number, Number),
) -> bool {
    let update = UpdateBoth { a, b, next };
    #[cfg(feature = "simd")]
    return widest::run_long(update.a.len(), update);
    #[cfg(not(feature = "simd"))]
    update.run()
}

struct UpdateBoth<'a, F> {
    a: &'a mut [f32],
    b: &'a mut [f32],
    next: F,
}

impl<F: Fn(Number, Number) -> (Number, Number)> Work for UpdateBoth<'_, F> {
    type Output = bool;

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) -> bool {
        let mut finite = Finite::default();
        for (a, b) in self.a.iter_mut().zip(self.b) {
            let (next_a, next_b) = (self.next)(Number(*a), Number(*b));
            (*a, *b) = (next_a.0, next_b.0);
            finite.note(*a);
        }
        finite.all()
    }
}

/// Notes whether one of many values is infinite or NaN, in the way that is cheapest on the machine.
#[derive(Clone, Copy, Default)]
pub(crate) struct Finite {
    /// On a chip with an FPU: the sum of all values times zero, which is NaN if one is not finite.
    sum: f32,
    /// Without one: marks of those that are not finite. On a host: the largest magnitude, as an integer, since vectors have
    /// such a maximum.
    marks: u32,
}

impl Finite {
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    pub(crate) fn note(&mut self, a: f32) {
        if cfg!(target_pointer_width = "64") {
            self.marks = self.marks.max(a.abs().to_bits());
        } else if SOFT_FLOATS {
            // The exponent, counted up: only that of an infinity or NaN reaches the sign.
            self.marks |= (a.to_bits() & f32::INFINITY.to_bits()).wrapping_add(1 << 23);
        } else {
            self.sum += 0.0 * a;
        }
    }

    #[inline]
    pub(crate) fn all(self) -> bool {
        if cfg!(target_pointer_width = "64") {
            self.marks < f32::INFINITY.to_bits()
        } else if SOFT_FLOATS {
            self.marks >> 31 == 0
        } else {
            self.sum == 0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_begins_at_zero_has_the_bits_of_a_sum() {
        let values = [0.0, -0.0, 1.5, -2.5, f32::MIN_POSITIVE / 4.0, f32::MAX, f32::INFINITY];
        for a in values {
            for b in values {
                assert_eq!(plus_in_software(a, b).to_bits(), (a + b).to_bits(), "{a} + {b}");
                assert_eq!(plus(a, b).to_bits(), (a + b).to_bits(), "{a} + {b}");
            }
        }
    }
}
