//! Floats as integers of 16 bits, with one power of two as their common scale.

use crate::vector::SOFT_FLOATS;

/// Bits of an integer besides its sign: a byte times an integer, summed over 256 of them, fits 32 bits.
pub(super) const BITS: u32 = 15;

/// An integer: 16 bits on a host, where they are multiplied in pairs; a whole register on a chip, because a Cortex-M0 loads
/// signed 16-bit numbers slowly.
#[cfg(target_pointer_width = "64")]
pub(super) type Word = i16;
#[cfg(not(target_pointer_width = "64"))]
pub(super) type Word = i32;

/// The same number as an `i32`, which a word is on chips.
#[inline(always)]
#[allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "a word has 16 or 32 bits")]
pub(super) const fn wide(word: Word) -> i32 {
    word as i32
}

/// The bits of a float without its sign, in the order of their magnitudes.
const MAGNITUDE: u32 = 0x7fff_ffff;

/// A vector whose largest element is below 2^-94 counts as zero, and from 2^96 on as infinite, so that no unit and no
/// conversion is subnormal or overflows.
const LEAST: u32 = 33;
const MOST: u32 = 223;

/// The larger of a magnitude so far and that of a float, as bits shifted to the left by the sign. NaN is larger than all
/// numbers.
#[inline(always)]
pub(super) fn larger(largest: u32, a: f32) -> u32 {
    largest.max(a.to_bits() << 1)
}

/// What one unit of a vector's integers stands for: a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// The biased exponent of the largest element.
    top: u32,
}

impl Unit {
    /// The unit for some floats; `None` if one of them is not finite or too large.
    #[inline(always)]
    pub(super) fn of(floats: &[f32]) -> Option<Self> {
        let mut largest = 0;
        // Written out for chips; a host's loop is vectorised.
        let host = cfg!(target_pointer_width = "64");
        let (fours, rest) = if host { (&[][..], floats) } else { floats.as_chunks::<4>() };
        for four in fours {
            for a in four {
                largest = larger(largest, *a);
            }
        }
        for a in rest {
            largest = larger(largest, *a);
        }
        Self::for_largest(largest)
    }

    /// The unit for floats of which the [largest](larger) is given; `None` if one of them is not finite or too large.
    #[inline(always)]
    pub(super) fn for_largest(largest: u32) -> Option<Self> {
        let exponent = largest >> 24;
        (exponent < MOST).then_some(Self { top: exponent.max(LEAST) })
    }

    /// For numbers up to one.
    pub(super) const ONE: Self = Self { top: 127 };

    /// The integer nearest to a float that the unit was made for, away from zero if two are.
    #[inline(always)]
    pub(super) fn quantise(self, a: f32) -> Word {
        let bits = a.to_bits();
        let exponent = (bits & MAGNITUDE) >> 23;
        let digits = (bits & 0x007f_ffff) | 0x0080_0000;
        // One bit more than the integer has, to round it.
        let right = (self.top + (23 - BITS)).wrapping_sub(exponent).min(31);
        let size = ((digits >> right) + 1) >> 1;
        let size = size.min((1 << BITS) - 1) as i32;
        let sign = (bits as i32) >> 31;
        ((size ^ sign) - sign) as Word
    }

    /// What one unit of the integers stands for, as the power of two's exponent.
    #[inline(always)]
    const fn exponent(self) -> i32 {
        self.top as i32 - 127 - (BITS as i32 - 1)
    }

    /// What one unit of the integers stands for.
    #[inline(always)]
    pub(super) const fn value(self) -> f32 {
        f32::from_bits(((self.exponent() + 127) as u32) << 23)
    }

    /// The float that a sum of integers stands for. Never -0.
    #[inline(always)]
    pub(super) fn float(self, sum: i32) -> f32 {
        match sum {
            // Neither a float nor its product with a unit is subnormal, so the unit can be added to the exponent.
            _ if SOFT_FLOATS => nearest(sum, self.exponent()),
            sum if cfg!(target_pointer_width = "64") || sum == 0 => sum as f32 * self.value(),
            sum => {
                f32::from_bits((sum as f32).to_bits().wrapping_add_signed(self.exponent() << 23))
            }
        }
    }
}

/// The float nearest to an integer.
#[inline(always)]
pub(super) fn to_float(a: i32) -> f32 {
    if SOFT_FLOATS { nearest(a, 0) } else { a as f32 }
}

/// The float nearest to `a` · 2^`exponent`, if that is neither subnormal nor too large: as `as f32` rounds, without counting
/// zeros, for which chips without an FPU have no instruction either.
// Not inlined: it is as long as a call is worth.
#[inline(never)]
fn nearest(a: i32, exponent: i32) -> f32 {
    let mut digits = a.unsigned_abs();
    if digits == 0 {
        return 0.0;
    }
    let mut exponent = exponent.wrapping_add(157);
    while digits >> 28 == 0 {
        digits <<= 4;
        exponent = exponent.wrapping_sub(4);
    }
    // How many of four binary digits are zeros in front, two bits for each value of the four.
    let left = (0x55ac_u32 >> (digits >> 28 << 1)) & 3;
    let (digits, exponent) = (digits << left, exponent.wrapping_sub_unsigned(left));
    let (whole, rest) = (digits >> 8, digits & 0xff);
    let whole = whole + ((rest + 0x7f + (whole & 1)) >> 8);
    let sign = (a as u32) & 0x8000_0000;
    // The leading digit is one, and adds one to the exponent.
    f32::from_bits(sign | ((exponent as u32) << 23).wrapping_add(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_within_half_a_unit_and_use_all_bits() {
        for power in [-90_i32, -40, -3, 0, 5, 90] {
            let size = f32::from_bits(((127 + power) as u32) << 23);
            for largest in [1.0, 1.3, 1.999_999_9] {
                let unit = Unit::of(&[0.0, -largest * size, 0.1 * size]).unwrap();
                let top = wide(unit.quantise(largest * size));
                assert!(top >= 1 << (BITS - 1), "{largest}: {top}");
                for i in -1_000_i32..=1_000 {
                    let a = largest * size * i as f32 * 1.0e-3;
                    let back = unit.float(wide(unit.quantise(a)));
                    // The very largest may be one unit too small.
                    let bound = if i.abs() == 1_000 { 1.0 } else { 0.5 };
                    assert!((a - back).abs() <= bound * unit.value(), "{a} {back}");
                }
            }
        }
    }

    #[test]
    fn zeros_are_zero_and_what_is_not_finite_has_no_scale() {
        for zero in [0.0, -0.0, f32::MIN_POSITIVE, 1.0e-44] {
            let unit = Unit::of(&[zero]).unwrap();
            assert_eq!(unit.quantise(zero), 0, "{zero:e}");
            assert_eq!(unit.float(0).to_bits(), 0);
        }
        for large in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0e29] {
            assert_eq!(Unit::of(&[1.0, large, 2.0]), None, "{large:e}");
        }
        assert!(Unit::of(&[1.0e28]).is_some());
    }

    #[test]
    fn a_sum_becomes_the_same_float_by_its_exponent_as_by_a_product() {
        let mut sums = vec![0, 1, -1, 77, -123_456_789, i32::MAX, i32::MIN];
        // Around every power of two, and halfway between floats.
        for power in 0..31 {
            let around = [-1, 0, 1].map(|a| (1_i32 << power) + a);
            let halfway = [-1, 0, 1, 2, 3].map(|a| (0x0100_0001_i32 << 6 >> (30 - power)) + a);
            sums.extend(around.into_iter().chain(halfway).flat_map(|a| [a, -a]));
        }
        let mut state = 1_u32;
        for right in (0..32).cycle().take(10_000) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            sums.push(state as i32 >> right);
        }
        for unit in [1.0e-28, 3.0e-5, 0.7, 7.0e28].map(|a| Unit::of(&[a]).unwrap()) {
            for &sum in &sums {
                let product = sum as f32 * unit.value();
                assert_eq!(product.to_bits(), unit.float(sum).to_bits(), "{sum} {unit:?}");
                assert_eq!(product.to_bits(), nearest(sum, unit.exponent()).to_bits(), "{sum}");
                if sum != 0 {
                    let moved = (sum as f32).to_bits().wrapping_add_signed(unit.exponent() << 23);
                    assert_eq!(product.to_bits(), moved, "{sum} {unit:?}");
                    assert!(product.is_normal());
                }
            }
        }
    }
}
