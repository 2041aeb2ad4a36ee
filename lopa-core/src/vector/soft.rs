//! Floats on chips without an FPU: the bits of the ordinary operators, in fewer instructions.
//!
//! There every operation on floats is a call. The routines that compilers bring are written for any width and any operand;
//! these are written for 32 bits and for normal numbers, which are almost all, and leave the others to the ordinary operators.

mod rows;

pub(crate) use rows::{Bytes, add_bytes, dot_bytes, dot_floats};

/// The bits of a mantissa below its leading one.
const FRACTION: u32 = 23;

/// The first bit of a word.
const FIRST: u32 = 1 << 31;

/// `a + b`.
#[inline(never)]
pub(crate) fn add(a: f32, b: f32) -> f32 {
    add_bits(a.to_bits(), b.to_bits())
}

/// The sum of two floats, in bits.
#[inline(always)]
fn add_bits(a: u32, b: u32) -> f32 {
    // The larger one first.
    let (a, b) = if a << 1 < b << 1 { (b, a) } else { (a, b) };
    let (mut exponent, below) = (exponent(a), exponent(b));
    if below == 0 || exponent == 255 {
        return add_rare(a, b);
    }
    let ahead = exponent.wrapping_sub(below);
    // Less than a quarter of the last place, which is half of it if `a` is a power of two: nothing changes.
    if ahead > 25 {
        return f32::from_bits(a);
    }
    // Mantissas at the front of a word: what is moved out of them has the last eight bits.
    let large = (a << 8) | FIRST;
    let small = marked((b << 8) | FIRST, ahead);
    let mut size;
    if (a ^ b).cast_signed() < 0 {
        size = large.wrapping_sub(small);
        if size == 0 {
            return 0.0;
        }
        // If more than one bit is lost, nothing was moved out, and the difference is exact.
        while size & FIRST == 0 {
            size <<= 1;
            exponent = exponent.wrapping_sub(1);
        }
    } else {
        size = large.wrapping_add(small);
        if size < small {
            size = (size >> 1) | (size & 1) | FIRST;
            exponent = exponent.wrapping_add(1);
        }
    }
    joined(size, exponent, a)
}

/// A sum with zero, a subnormal number, an infinity or NaN.
#[cold]
#[inline(never)]
fn add_rare(a: u32, b: u32) -> f32 {
    // Nothing changes, unless both are zero: -0 + 0 = 0.
    if b << 1 == 0 && exponent(a).wrapping_sub(1) < 254 {
        return f32::from_bits(a);
    }
    f32::from_bits(a) + f32::from_bits(b)
}

/// `a * b`.
#[inline(never)]
pub(crate) fn mul(a: f32, b: f32) -> f32 {
    let (a, b) = (a.to_bits(), b.to_bits());
    let (above, below) = (exponent(a).wrapping_sub(1), exponent(b).wrapping_sub(1));
    if above >= 254 || below >= 254 {
        return multiply_rare(a, b);
    }
    let (size, exponent) = multiply(a, b, above.wrapping_add(below));
    joined(size, exponent, a ^ b)
}

/// The product of two normal numbers, before it is rounded. `exponents` is the sum of theirs, less two.
#[inline(always)]
fn multiply(a: u32, b: u32, exponents: u32) -> (u32, u32) {
    at_front(product(mantissa(a), mantissa(b)), exponents.wrapping_sub(127 - 3))
}

/// A product with zero, a subnormal number, an infinity or NaN.
#[cold]
#[inline(never)]
fn multiply_rare(a: u32, b: u32) -> f32 {
    f32::from_bits(a) * f32::from_bits(b)
}

/// A number from 2^30, and the exponent it would have from 2^31, moved to the front of its word.
#[inline(always)]
const fn at_front(size: u32, exponent: u32) -> (u32, u32) {
    // All ones if the first bit is not set. In words rather than with `if`: chips have no conditional instructions.
    let short = !(size.cast_signed() >> 31).cast_unsigned();
    (size.wrapping_add(size & short), exponent.wrapping_add(short))
}

/// The first 24 bits of a word, rounded to even: up to 2^24.
#[inline(always)]
const fn rounded(size: u32) -> u32 {
    let mantissa = size >> 8;
    let up = (size & 0xff).wrapping_add(mantissa & 1).wrapping_add(0x7f) >> 8;
    mantissa.wrapping_add(up)
}

/// The rounded float with a mantissa at the front of its word; the last bit is set if any after it is. The first bit of `sign`
/// is the sign.
#[inline(always)]
fn joined(size: u32, exponent: u32, sign: u32) -> f32 {
    if exponent.wrapping_sub(1) >= 254 {
        return joined_beyond(size, exponent, sign);
    }
    f32::from_bits(joined_normal(size, exponent, sign))
}

/// [`joined`] for a normal number.
#[inline(always)]
const fn joined_normal(size: u32, exponent: u32, sign: u32) -> u32 {
    // The leading one is added to the exponent, and one more if the mantissa is rounded up to a power of two.
    (exponent.wrapping_sub(1) << FRACTION).wrapping_add(rounded(size)) | sign & FIRST
}

/// An infinite or a subnormal float.
#[cold]
#[inline(never)]
fn joined_beyond(size: u32, exponent: u32, sign: u32) -> f32 {
    let by = 1_u32.wrapping_sub(exponent);
    let bits = match by {
        0..32 => rounded(marked(size, by)),
        32..1024 => 0,
        _ => f32::INFINITY.to_bits(),
    };
    f32::from_bits(bits | sign & FIRST)
}

/// The first 32 of the 48 bits of the product of two mantissas; the last is set if any of those that follow is.
#[inline(always)]
fn product(a: u32, b: u32) -> u32 {
    if cfg!(target_arch = "arm") { product_in_parts(a, b) } else { product_at_once(a, b) }
}

#[inline(always)]
fn product_at_once(a: u32, b: u32) -> u32 {
    let product = u64::from(a << 8) * u64::from(b << 8);
    (product >> 32) as u32 | u32::from(product as u32 != 0)
}

/// For chips that multiply 32 bits by 32 bits to 32 bits only.
#[inline(always)]
fn product_in_parts(a: u32, b: u32) -> u32 {
    let ((a, a_low), (b, b_low)) = ((a >> 16, a & 0xffff), (b >> 16, b & 0xffff));
    let low = a_low.wrapping_mul(b_low);
    let middle = a.wrapping_mul(b_low).wrapping_add(a_low.wrapping_mul(b));
    let high = a.wrapping_mul(b) << 16;
    high.wrapping_add(middle).wrapping_add(low >> 16) | u32::from(low << 16 != 0)
}

/// A number moved to the right; the last bit is set if any of those that are lost was.
#[inline(always)]
const fn marked(a: u32, by: u32) -> u32 {
    let moved = a >> by;
    moved | (moved << by != a) as u32
}

/// A float's exponent, with its bias.
#[inline(always)]
const fn exponent(bits: u32) -> u32 {
    (bits << 1) >> (FRACTION + 1)
}

/// The mantissa of a normal float, with its leading one.
#[inline(always)]
const fn mantissa(bits: u32) -> u32 {
    (bits << 9 >> 9) | 1 << FRACTION
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every kind: both signs, all exponents, mantissas that tie or carry.
    pub(super) fn any(random: &mut impl FnMut() -> u32) -> f32 {
        let (bits, kind) = (random(), random());
        let fraction = match kind % 8 {
            0 => 0,
            1 => 0x7f_ffff,
            2 => 1 << (kind >> 8 & 15),
            3 => bits & 0x7f_f000,
            _ => bits & 0x7f_ffff,
        };
        let exponent = match kind >> 3 & 7 {
            0 => kind >> 8 & 255,
            1 => 0,
            2 => 254 + (kind >> 8 & 1),
            3 => 1 + (kind >> 8 & 31),
            _ => 112 + (kind >> 8 & 31),
        };
        f32::from_bits(bits & FIRST | exponent << FRACTION | fraction)
    }

    /// The same numbers in every run.
    pub(super) fn source() -> impl FnMut() -> u32 {
        let mut state = 7_u64;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        }
    }

    #[track_caller]
    pub(super) fn assert_same(found: f32, wanted: f32, what: core::fmt::Arguments<'_>) {
        let same = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
        assert!(same, "{what}: {found:e} instead of {wanted:e}");
    }

    fn assert_operators(a: f32, b: f32) {
        assert_same(add(a, b), a + b, format_args!("{a:e} + {b:e}"));
        assert_same(add(a, -b), a - b, format_args!("{a:e} - {b:e}"));
        assert_same(mul(a, b), a * b, format_args!("{a:e} * {b:e}"));
    }

    #[test]
    fn sums_and_products_of_any_numbers_have_the_bits_of_the_operators() {
        let mut random = source();
        for _ in 0..400_000 {
            assert_operators(any(&mut random), any(&mut random));
            assert_operators(f32::from_bits(random()), f32::from_bits(random()));
        }
    }

    #[test]
    fn so_have_those_of_neighbours_on_every_scale() {
        let edges = [0, 1, 2, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x7f_fffe, 0x7f_ffff];
        for exponent in 0..=255 {
            // Far enough for a tie, for what is beyond it, and for what changes nothing.
            for other in (exponent..(exponent + 30).min(256)).chain([254 - exponent.min(254)]) {
                for a in edges {
                    for b in edges {
                        let [a, b] = [exponent << FRACTION | a, other << FRACTION | b];
                        let [a, b] = [a, b].map(f32::from_bits);
                        assert_operators(a, b);
                        assert_operators(-b, a);
                        assert_operators(-a, -b);
                    }
                }
            }
        }
    }

    #[test]
    fn a_product_in_parts_is_that_at_once() {
        let mut random = source();
        for _ in 0..200_000 {
            let [a, b] = [random(), random()].map(mantissa);
            assert_eq!(product_in_parts(a, b), product_at_once(a, b), "{a} * {b}");
            let [a, b] = [a, b].map(|a| a & 0xff_ff00);
            assert_eq!(product_in_parts(a, b), product_at_once(a, b), "{a} * {b}");
        }
    }
}
