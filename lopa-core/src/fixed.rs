//! The exponential and the sigmoid in integers, for chips without an FPU: the results are floats, with a relative error
//! below 1e-6, at a fraction of the cost of `libm` on software floats. A host computes the same bits.
//!
//! Only [integer arithmetic](crate::samples::Arithmetic) uses them.

use crate::vector::plus;
use crate::widest::{self, Work};

/// 2 e^a, with a relative error below 1e-6. Infinite from 87 on, zero from -87 on.
#[inline(always)]
fn twice_exp(a: f32, series: Series) -> f32 {
    let bits = a.to_bits();
    let (power, fraction) = split(bits);
    let usual = assemble(power.wrapping_add(1), mantissa(fraction, series));
    match () {
        () if bits & MAGNITUDE > INFINITY => a,
        () if bits & MAGNITUDE < LARGE => usual,
        () if bits >> 31 == 0 => f32::INFINITY,
        () => 0.0,
    }
}

/// 2 e^(base + a) of every element, up to the end of the shorter slice.
pub(crate) fn twice_exp_all(base: f32, a: &[f32], out: &mut [f32]) {
    widest::run(TwiceExpAll(base, a, out));
}

struct TwiceExpAll<'a>(f32, &'a [f32], &'a mut [f32]);

impl Work for TwiceExpAll<'_> {
    type Output = ();

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) {
        let series = hidden();
        for (out, &a) in self.2.iter_mut().zip(self.1) {
            *out = twice_exp(plus(self.0, a), series);
        }
    }
}

/// 1 / (1 + e^-a), with a relative error below 1e-6 down to -87, and zero beyond.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
pub(crate) fn sigmoid(a: f32) -> f32 {
    let (power, tail, rest) = parts(a);
    let (power, size) = if a.to_bits() >> 31 == 0 { (0, rest) } else { (power, high(tail, rest)) };
    finish(a, power, size)
}

/// The derivative of the sigmoid, with a relative error below 1e-6 from -87 to 87, and zero beyond.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
pub(crate) fn sigmoid_slope(a: f32) -> f32 {
    let (power, tail, rest) = parts(a);
    finish(a, power, high(tail, high(rest, rest)))
}

const MAGNITUDE: u32 = 0x7fff_ffff;
const INFINITY: u32 = 0x7f80_0000;
/// From 87.0 on, an exponential is too large or too small for a normal float, or nearly so.
const LARGE: u32 = 0x42ae_0000;

/// The upper half of a product.
#[inline(always)]
const fn high(a: u32, b: u32) -> u32 {
    // Without an instruction for the whole product, its quarters are cheaper than a product of 64 bits.
    if cfg!(target_arch = "arm") { high_of_quarters(a, b) } else { high_of_whole(a, b) }
}

#[inline(always)]
const fn high_of_whole(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> 32) as u32
}

#[inline(always)]
const fn high_of_quarters(a: u32, b: u32) -> u32 {
    let (a_low, a_high, b_low, b_high) = (a & 0xffff, a >> 16, b & 0xffff, b >> 16);
    let first = (a_high * b_low).wrapping_add((a_low * b_low) >> 16);
    let second = (a_low * b_high).wrapping_add(first & 0xffff);
    (a_high * b_high).wrapping_add(first >> 16).wrapping_add(second >> 16)
}

/// a · log2(e) for the bits of an `a` below 87 in magnitude, as a whole number and a fraction of 2^32.
#[inline(always)]
const fn split(bits: u32) -> (i32, u32) {
    const LOG2_E_FRACTION: u32 = 1_901_360_723;
    let exponent = (bits & MAGNITUDE) >> 23;
    let digits = (bits & 0x007f_ffff) | 0x0080_0000;
    // In units of 2^-23: shifted to the left first, so that one shift serves all sizes.
    let right = 133_u32.saturating_sub(exponent);
    let right = if right > 31 { 31 } else { right };
    let size = (digits << 6) >> right;
    let size = size.wrapping_add(high(size, LOG2_E_FRACTION)) as i32;
    let signed = if bits >> 31 == 0 { size } else { size.wrapping_neg() };
    (signed >> 23, (signed as u32) << 9)
}

/// The coefficients of a series for 2^fraction - 1, from the highest power on.
type Series = [u32; 5];

const SERIES: Series = [0x007c_4956, 0x024b_ded8, 0x0e49_ab5d, 0x3d7b_f92c, 0xb172_3349];

/// The series for a loop over a vector. A host's compiler must not know its numbers: it would see that no sum exceeds 32
/// bits, add in 64 bits, and then multiply 64 bits by 64, which takes three times as long as 32 by 32.
#[inline(always)]
fn hidden() -> Series {
    if cfg!(feature = "simd") { SERIES.map(core::hint::black_box) } else { SERIES }
}

/// 2^fraction - 1, as a fraction of 2^32: 1 + f (c1 + f (c2 + …)), exact at both ends, within 3.1e-7 between them.
#[inline(always)]
const fn mantissa(fraction: u32, series: Series) -> u32 {
    let [fifth, fourth, third, second, first] = series;
    let sum = high(fifth, fraction) + fourth;
    let sum = high(sum, fraction) + third;
    let sum = high(sum, fraction) + second;
    let sum = high(sum, fraction) + first;
    high(sum, fraction)
}

/// 2^power · (1 + fraction), rounded.
#[inline(always)]
const fn assemble(power: i32, fraction: u32) -> f32 {
    let rounded = (fraction >> 9) + ((fraction >> 8) & 1);
    f32::from_bits(((power.wrapping_add(127) as u32) << 23).wrapping_add(rounded))
}

/// e^-|a| as 2^power · tail / 2^32 with tail / 2^32 from a half to one, and 1 / (1 + e^-|a|) in units of 2^-32, at most one
/// unit below one.
// Once on a chip: it is longer than what uses it.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline(never))]
fn parts(a: f32) -> (i32, u32, u32) {
    let magnitude = (a.to_bits() & MAGNITUDE).min(LARGE);
    let (power, fraction) = split(magnitude | 0x8000_0000);
    let tail = 0x8000_0000 | (mantissa(fraction, SERIES) >> 1);
    // From here on 2^power is 1/2 at most, or the tail is one: 1 + tail in units of 2^-30.
    let power = power.wrapping_add(1);
    let right = (2_i32.wrapping_sub(power) as u32).min(31);
    let whole = 0x4000_0000 + (tail >> right);
    (power, tail, reciprocal(whole))
}

/// 2^62 / a for an `a` from 2^30 to 2^31, at most 2^32 - 1.
#[inline(always)]
const fn reciprocal(a: u32) -> u32 {
    // 70/33 - 16/11 a + 32/99 a² is within 1.1 % from one to two; each step of Newton's squares the error.
    // In units of 2^-30, which leaves room for values up to four.
    let square = high(high(a, a), 1_388_272_257) << 2;
    let guess = 2_277_634_172_u32.wrapping_sub(high(a, 3_123_612_579) << 1).wrapping_add(square);
    let guess = newton(guess, a);
    let guess = newton(guess, a);
    // It may be a few units above one.
    if guess >= 1 << 30 { u32::MAX } else { guess << 2 }
}

/// `guess` (2 - `a` `guess`), all in units of 2^-30.
#[inline(always)]
const fn newton(guess: u32, a: u32) -> u32 {
    let left = 0x8000_0000_u32.wrapping_sub(high(a, guess) << 2);
    high(guess, left) << 2
}

/// 2^power · size / 2^32 for a size from 2^28 on; zero for an `a` too large for its tail, and NaN for NaN.
#[inline(always)]
fn finish(a: f32, power: i32, size: u32) -> f32 {
    // Not counted by `leading_zeros`, for which chips without an FPU have no instruction either.
    let below = |power: u32| u32::from(size >> power == 0);
    let zeros = below(31) + below(30) + below(29);
    let (power, fraction) = (power.wrapping_sub(1).wrapping_sub(zeros as i32), size << zeros << 1);
    let usual = assemble(power, fraction);
    let magnitude = a.to_bits() & MAGNITUDE;
    match () {
        () if magnitude > INFINITY => a,
        () if magnitude >= LARGE && power < -100 => 0.0,
        () => usual,
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "std's f64 functions are the reference")]
mod tests {
    use super::*;

    fn twice_exp_of(a: f32) -> f32 {
        twice_exp(a, SERIES)
    }

    fn worst(f: fn(f32) -> f32, want: fn(f64) -> f64) -> f64 {
        let grid = (-869_999..870_000).map(|i| i as f32 * 1.0e-4);
        let near_zero = (-2_000..2_000).map(|i| i as f32 * 1.0e-8);
        let error = |a: f32| (f64::from(f(a)) / want(a.into()) - 1.0).abs();
        grid.chain(near_zero).map(error).fold(0.0, f64::max)
    }

    #[test]
    fn errors_are_within_a_millionth_over_the_whole_range() {
        for (name, f, want) in [
            ("exp", twice_exp_of as fn(f32) -> f32, (|a| 2.0 * a.exp()) as fn(f64) -> f64),
            ("sigmoid", sigmoid, |a| 1.0 / (1.0 + (-a).exp())),
            ("slope", sigmoid_slope, |a: f64| {
                let tail = (-a.abs()).exp();
                tail / ((1.0 + tail) * (1.0 + tail))
            }),
        ] {
            let worst = worst(f, want);
            assert!(worst < 1.0e-6, "{name}: {worst:e}");
            assert!(worst > 1.0e-8, "{name}: {worst:e} is too good to be a test");
        }
    }

    #[test]
    fn the_ends_of_the_range_and_nan_are_as_documented() {
        for (a, want) in [
            (87.0, [f32::INFINITY, 1.0, 0.0]),
            (-87.0, [0.0, 0.0, 0.0]),
            (f32::INFINITY, [f32::INFINITY, 1.0, 0.0]),
            (f32::NEG_INFINITY, [0.0, 0.0, 0.0]),
            (f32::MAX, [f32::INFINITY, 1.0, 0.0]),
            (0.0, [2.0, 0.5, 0.25]),
            (-0.0, [2.0, 0.5, 0.25]),
            (f32::MIN_POSITIVE, [2.0, 0.5, 0.25]),
        ] {
            let found = [twice_exp_of(a), sigmoid(a), sigmoid_slope(a)];
            for (found, want) in found.into_iter().zip(want) {
                assert!((found - want).abs() <= 1.0e-6 || found == want, "{a}: {found} {want}");
            }
        }
        assert!([twice_exp_of, sigmoid, sigmoid_slope].iter().all(|f| f(f32::NAN).is_nan()));
    }

    #[test]
    fn quarters_and_whole_products_agree() {
        let mut a = 1_u32;
        for b in [0, 1, 0xffff, 0x1_0000, 0x8000_0001, u32::MAX] {
            for _ in 0..1_000 {
                a = a.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                assert_eq!(high_of_quarters(a, b), high_of_whole(a, b));
                assert_eq!(high_of_quarters(a, a ^ b), high_of_whole(a, a ^ b));
            }
            assert_eq!(high_of_quarters(u32::MAX, b), high_of_whole(u32::MAX, b));
        }
    }
}
