//! Functions of one variable that do not overflow and stay accurate in the tails, with the same bits on every chip.
//!
//! By default the pure-Rust `libm` computes them. With the feature `micromath`, the two functions that the others build
//! on, [`exp`] and [`ln`], are the short series of that crate, with a relative error of up to 2.5e-3 in `exp` and an
//! absolute error of up to 1.2e-4 in `ln` (both measured by this module's tests). The gain is small: a step of the
//! problems in this crate is not faster with it, not even on chips without an FPU (see the rows with `micromath` in
//! [what a step costs](crate#what-a-step-costs)). On such chips [integer arithmetic](crate#integer-arithmetic) makes a step four
//! to eight times faster and is far more exact, so `micromath` is only meant for firmware that links it anyway. Different bits
//! mean a different trajectory, so all nodes of a fleet must be built alike: [`KIND`] is the implementation of a build, and
//! neighbours compare [`IDENTITY`].

use crate::vector::{LANES, Number, SOFT_FLOATS, WRITTEN_OUT};
use crate::widest::{self, Work};

/// Which implementation computes [`exp`] and [`ln`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub enum Kind {
    /// The pure-Rust `libm`, with an error of less than one unit in the last place.
    Libm,
    /// `micromath`, with about three correct digits.
    Micromath,
}

/// The implementation this build uses.
pub const KIND: Kind = if cfg!(feature = "micromath") { Kind::Micromath } else { Kind::Libm };

/// The patch of `libm` 0.2 that this build uses. The crate is pinned, because another patch may change a bit.
pub const LIBM_PATCH: u32 = 16;

/// How float functions are computed, as neighbours compare it when they [meet](crate::wire::Identity): patches of `libm`
/// 0.2 since 0.2.16, times two, plus one with `micromath` 2.1.0.
pub const IDENTITY: u32 = 2 * (LIBM_PATCH - 16) + matches!(KIND, Kind::Micromath) as u32;

/// e to the power of `a`. Infinite above 88.7, zero below -104 (below -87 with `micromath`).
#[inline]
#[must_use]
pub fn exp(a: f32) -> f32 {
    if SOFT && is_usual(a) {
        return soft_exp(a);
    }
    #[cfg(not(feature = "micromath"))]
    return libm::expf(a);
    #[cfg(feature = "micromath")]
    // The series does not handle NaN, and its exponent arithmetic fails outside this range.
    return match a {
        _ if a.is_nan() => a,
        _ if a > 88.72 => f32::INFINITY,
        _ if a < -87.0 => 0.0,
        _ => micromath::F32(a).exp().0,
    };
}

/// Twice the [`exp`] of every element plus a base, bit for bit: `out[i] = 2.0 * exp(base + a[i])`, up to the end of the
/// shorter slice.
///
/// ```
/// use lopa_core::math::{exp, twice_exp_all};
/// let mut out = [0.0; 3];
/// twice_exp_all(-6.0, &[-1.0, 0.5, 200.0], &mut out);
/// assert_eq!(out, [2.0 * exp(-7.0), 2.0 * exp(-5.5), f32::INFINITY]);
/// ```
#[inline]
pub fn twice_exp_all(base: f32, a: &[f32], out: &mut [f32]) {
    if IN_LANES {
        widest::run(TwiceExpAll(base, a, out));
    } else {
        let exp = |a| if INLINE && is_usual(a) { exp_of_usual(a) } else { exp(a) };
        let twice = |a: f32| (Number(exp((Number(base) + a).0)) * 2.0).0;
        out.iter_mut().zip(a).for_each(|(out, &a)| *out = twice(a));
    }
}

struct TwiceExpAll<'a>(f32, &'a [f32], &'a mut [f32]);

impl Work for TwiceExpAll<'_> {
    type Output = ();

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) {
        let Self(base, a, out) = self;
        let len = a.len().min(out.len());
        let (a, a_rest) = a[..len].as_chunks::<LANES>();
        let (out, out_rest) = out[..len].as_chunks_mut::<LANES>();
        for (out, a) in out.iter_mut().zip(a) {
            if a.iter().fold(true, |usual, &a| usual & is_usual(base + a)) {
                for i in 0..LANES {
                    out[i] = 2.0 * exp_of_usual(base + a[i]);
                }
            } else {
                out.iter_mut().zip(a).for_each(|(out, &a)| *out = 2.0 * exp(base + a));
            }
        }
        out_rest.iter_mut().zip(a_rest).for_each(|(out, &a)| *out = 2.0 * exp(base + a));
    }
}

/// Whether [`twice_exp_all`] computes in lanes; a chip without vector registers gains nothing.
const IN_LANES: bool = cfg!(target_pointer_width = "64") && matches!(KIND, Kind::Libm);

/// Whether [`twice_exp_all`] has the exponential itself in its loop rather than a call.
const INLINE: bool = WRITTEN_OUT && matches!(KIND, Kind::Libm);

/// Whether [`exp`] is computed with operators that are faster without an FPU.
const SOFT: bool = SOFT_FLOATS && matches!(KIND, Kind::Libm);

/// True if neither the result nor any intermediate value is subnormal, infinite or NaN.
#[inline]
const fn is_usual(a: f32) -> bool {
    a.to_bits() & 0x7fff_ffff < 0x42ae_ac50
}

/// `libm::expf`, operation by operation, for values that are [usual](is_usual). It has no branches, so it vectorises.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
#[allow(clippy::excessive_precision, reason = "copied from libm")]
fn exp_of_usual(a: f32) -> f32 {
    const LN2_HI: f32 = 6.931_457_519_5e-1;
    const LN2_LO: f32 = 1.428_606_765_3e-6;
    const INV_LN2: f32 = 1.442_695_021_6;
    const LARGE: f32 = 12_582_912.0; // 1.5 * 2^23
    const P1: f32 = 1.666_662_544_0e-1;
    const P2: f32 = -2.766_733_290_6e-3;
    let size = a.to_bits() & 0x7fff_ffff;
    // e^a = 2^k e^x, with x within half a ln 2.
    let sign = if a < 0.0 { -1.0 } else { 1.0 };
    let scaled = (Number(INV_LN2) * a + 0.5 * sign).0;
    let far = if cfg!(target_pointer_width = "32") {
        scaled as i32 as f32
    } else {
        // Truncate by adding a large number and subtracting it again: a cast would not vectorise.
        let round = (scaled + LARGE) - LARGE;
        if round.abs() > scaled.abs() { round - sign } else { round }
    };
    let near = if size > 0x3eb1_7218 { sign } else { 0.0 };
    let k = if size > 0x3f85_1592 { far } else { near };
    let hi = Number(a) - Number(k) * LN2_HI;
    let lo = Number(k) * LN2_LO;
    let x = hi - lo;
    let xx = x * x;
    let c = x - xx * (Number(P1) + xx * P2);
    let y = Number(1.0) + (x * c / (Number(2.0) - c) - lo + hi);
    // The last bits of k + LARGE are k.
    let power = f32::from_bits((Number(k) + LARGE).0.to_bits().wrapping_add(127) << 23);
    if size > 0x3900_0000 { (y * power).0 } else { 1.0 + a }
}

/// [`exp_of_usual`] as a function of its own, so that it is in an image only once.
#[inline(never)]
fn soft_exp(a: f32) -> f32 {
    exp_of_usual(a)
}

/// The natural logarithm; NaN for negative numbers, minus infinity for zero.
#[inline]
#[must_use]
pub fn ln(a: f32) -> f32 {
    #[cfg(not(feature = "micromath"))]
    return libm::logf(a);
    #[cfg(feature = "micromath")]
    return match a {
        _ if a.is_nan() || a < 0.0 => f32::NAN,
        _ if a < f32::MIN_POSITIVE => f32::NEG_INFINITY,
        _ if a > f32::MAX => a,
        // Below one the crate approximates the reciprocal; a true division keeps the digits.
        _ if a < 1.0 => -micromath::F32(1.0 / a).ln().0,
        _ => micromath::F32(a).ln().0,
    };
}

/// ln(1 + a) for `a` in [0, 1], accurate for small `a` too.
#[inline]
fn ln_1p(a: f32) -> f32 {
    #[cfg(not(feature = "micromath"))]
    return libm::log1pf(a);
    #[cfg(feature = "micromath")]
    // Near zero `1 + a` loses the digits of `a`: three terms of the series are closer.
    return if a < 0.03 { a * (1.0 - a * (0.5 - a / 3.0)) } else { ln(1.0 + a) };
}

/// The square root, correctly rounded on every target.
#[inline]
#[must_use]
pub fn sqrt(a: f32) -> f32 {
    libm::sqrtf(a)
}

/// 1 / (1 + e^-a).
///
/// ```
/// use lopa_core::math::sigmoid;
/// assert_eq!(sigmoid(0.0), 0.5);
/// assert!(sigmoid(-80.0) > 0.0 && sigmoid(200.0) == 1.0);
/// ```
#[inline]
#[must_use]
pub fn sigmoid(a: f32) -> f32 {
    let tail = exp(-a.abs());
    (if a >= 0.0 { 1.0 } else { tail }) / (1.0 + tail)
}

/// The sigmoid and its derivative. The derivative stays accurate where `s * (1 - s)` would round to zero.
#[inline]
#[must_use]
pub fn sigmoid_with_slope(a: f32) -> (f32, f32) {
    let tail = exp(-a.abs());
    let whole = 1.0 + tail;
    ((if a >= 0.0 { 1.0 } else { tail }) / whole, tail / (whole * whole))
}

/// [`exp`] of every element, bit for bit.
#[inline(always)]
pub(crate) fn exps<const N: usize>(a: [f32; N]) -> [f32; N] {
    let mut exps = a;
    if IN_LANES && a.iter().fold(true, |usual, &a| usual & is_usual(a)) {
        for i in 0..N {
            exps[i] = exp_of_usual(a[i]);
        }
    } else {
        for exp_of in &mut exps {
            *exp_of = exp(*exp_of);
        }
    }
    exps
}

/// e to the power of minus the size of each element.
#[inline(always)]
fn tails<const N: usize>(a: [f32; N]) -> [f32; N] {
    let mut sizes = a;
    for size in &mut sizes {
        *size = -size.abs();
    }
    exps(sizes)
}

/// [`sigmoid`] of every element, bit for bit.
#[inline(always)]
pub(crate) fn sigmoids<const N: usize>(a: [f32; N]) -> [f32; N] {
    let mut sigmoids = tails(a);
    for (sigmoid, a) in sigmoids.iter_mut().zip(a) {
        let tail = *sigmoid;
        *sigmoid = (if a >= 0.0 { 1.0 } else { tail }) / (1.0 + tail);
    }
    sigmoids
}

/// The derivative of [`sigmoid_with_slope`] at every element, bit for bit.
#[inline(always)]
pub(crate) fn slopes_of_sigmoid<const N: usize>(a: [f32; N]) -> [f32; N] {
    let mut slopes = tails(a);
    for slope in &mut slopes {
        let whole = 1.0 + *slope;
        *slope /= whole * whole;
    }
    slopes
}

/// ln(1 + e^a).
#[inline]
#[must_use]
pub fn softplus(a: f32) -> f32 {
    a.max(0.0) + ln_1p(exp(-a.abs()))
}

/// Replaces logits with their softmax and returns their log-sum-exp.
pub fn softmax(logits: &mut [f32]) -> f32 {
    let top = logits.iter().fold(f32::NEG_INFINITY, |top, &l| if l > top { l } else { top });
    let mut total = 0.0;
    for logit in logits.iter_mut() {
        *logit = exp(*logit - top);
        total += *logit;
    }
    for logit in logits.iter_mut() {
        *logit /= total;
    }
    top + ln(total)
}

/// The logarithm of the sum of exponentials.
#[must_use]
pub fn log_sum_exp(logits: &[f32]) -> f32 {
    let top = logits.iter().fold(f32::NEG_INFINITY, |top, &l| if l > top { l } else { top });
    top + ln(logits.iter().fold(0.0, |total, &l| total + exp(l - top)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "std's f64 functions are the reference")]
mod tests {
    use super::*;

    const EXACT: bool = matches!(KIND, Kind::Libm);

    fn grid() -> impl Iterator<Item = f32> {
        (-34_000..=34_000).map(|i| i as f32 / 400.0)
    }

    fn relative(got: f32, want: f64) -> f64 {
        (f64::from(got) - want).abs() / want.abs().max(f64::MIN_POSITIVE)
    }

    #[test]
    fn exp_is_as_close_as_the_docs_say() {
        let worst = grid().map(|a| relative(exp(a), f64::from(a).exp())).fold(0.0, f64::max);
        let bound = if EXACT { 1.2e-7 } else { 2.5e-3 };
        assert!(worst < bound, "{worst:e}");
    }

    #[test]
    fn exp_in_lanes_has_the_bits_of_exp() {
        let check = |a: [f32; 19]| {
            for base in [0.0, -6.0] {
                let mut out = [0.0; 19];
                twice_exp_all(base, &a, &mut out);
                for (a, out) in a.into_iter().zip(out) {
                    let twice = 2.0 * exp(base + a);
                    assert_eq!(out.to_bits(), twice.to_bits(), "exp({base} + {a:e})");
                }
            }
        };
        // All 2^32 values were compared once; every test run compares every 4,099th, and those around each limit.
        for first in (0..u32::MAX - 19 * 4_099).step_by(19 * 4_099) {
            check(core::array::from_fn(|i| f32::from_bits(first + 4_099 * i as u32)));
        }
        for limit in [
            0_u32,
            0x0080_0000,
            0x3900_0000,
            0x3eb1_7218,
            0x3f85_1592,
            0x42ae_ac50,
            0x42b1_7218,
            0x42cf_f1b5,
            0x7f80_0000,
        ] {
            for sign in [0, 0x8000_0000] {
                let near = |i: usize| (limit | sign).wrapping_add(i as u32).wrapping_sub(9);
                check(core::array::from_fn(|i| f32::from_bits(near(i))));
            }
        }
        let mut short = [7.0; 3];
        twice_exp_all(0.0, &[0.0; 2], &mut short);
        assert_eq!(short, [2.0, 2.0, 7.0]);
    }

    #[test]
    fn ln_is_as_close_as_the_docs_say() {
        let worst = grid()
            .map(|a| (a.abs() + 1.0e-6) * (a.abs() + 1.0e-6))
            .map(|a| {
                (f64::from(ln(a)) - f64::from(a).ln()).abs() / f64::from(a).ln().abs().max(1.0)
            })
            .fold(0.0, f64::max);
        let bound = if EXACT { 1.2e-7 } else { 1.2e-4 };
        assert!(worst < bound, "{worst:e}");
    }

    #[test]
    fn sigmoid_slope_and_softplus_keep_their_tails() {
        let bound = if EXACT { 4.0e-7 } else { 5.0e-3 };
        for a in grid() {
            let b = f64::from(a);
            let (s, slope) = sigmoid_with_slope(a);
            assert_eq!(s, sigmoid(a));
            assert!(relative(s, 1.0 / (1.0 + (-b).exp())) < bound, "sigmoid({a})");
            let tail = (-b.abs()).exp();
            assert!(relative(slope, tail / (1.0 + tail).powi(2)) < bound, "slope({a})");
            assert!(relative(softplus(a), b.max(0.0) + tail.ln_1p()) < bound, "softplus({a})");
        }
    }

    #[test]
    fn nothing_overflows_and_nan_stays_nan() {
        assert_eq!((exp(1.0e9), exp(-1.0e9)), (f32::INFINITY, 0.0));
        assert_eq!((sigmoid(1.0e9), sigmoid(-1.0e9)), (1.0, 0.0));
        assert_eq!((softplus(1.0e9), softplus(-1.0e9)), (1.0e9, 0.0));
        assert_eq!(sigmoid_with_slope(-1.0e9), (0.0, 0.0));
        assert_eq!(ln(0.0), f32::NEG_INFINITY);
        assert!(ln(-1.0).is_nan());
        for f in [exp, ln, sigmoid, softplus, sqrt] {
            assert!(f(f32::NAN).is_nan());
        }
    }

    #[test]
    fn softmax_does_not_depend_on_a_shift() {
        let bound = if EXACT { 1.0e-6 } else { 5.0e-4 };
        for shift in [-3.0e4_f32, 0.0, 3.0e4] {
            let mut logits = [shift + 1.0, shift - 2.0, shift, shift - 30.0];
            let total = log_sum_exp(&logits);
            assert_eq!(total, softmax(&mut logits));
            assert!((total - shift - 1.349_012).abs() < 4.0e-3);
            assert!((logits.iter().sum::<f32>() - 1.0).abs() < bound);
            assert!(logits[3] > 0.0);
        }
    }
}
