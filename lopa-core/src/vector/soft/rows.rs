//! Rows times vectors, with sums that stay in parts.
//!
//! A byte minus a whole offset is an integer of 8 bits: its product with a mantissa of 24 bits is exact in 32. Products and
//! sums are rounded as IEEE 754 says, to the nearest float and ties to even, but are not put together before the end.

use super::{
    FIRST, FRACTION, add_bits, at_front, exponent, joined, joined_normal, mantissa, multiply,
    rounded,
};
use crate::vector::LANES;

/// Zeros below a mantissa in [`Sum`], for what is moved out of it.
const GUARD: u32 = 5;

/// Exponents (with their bias) of numbers whose products with bytes, 2^32 of them, have a finite sum.
const LARGEST: u32 = 192;

/// A rounded sum as a signed mantissa and an exponent.
///
/// The mantissa's size is from 2^28 to 2^29 with zeros in its last [`GUARD`] bits, or 0. The exponent is the float's, with
/// its bias, if the size is below 2^29, but it has no bounds.
#[derive(Clone, Copy)]
struct Sum {
    mantissa: i32,
    exponent: i32,
}

impl Sum {
    /// +0. Its exponent is so far below all others that a sum with anything is the other.
    const ZERO: Self = Self { mantissa: 0, exponent: -4096 };

    /// A number with its mantissa at the front of its word, rounded.
    #[inline(always)]
    fn new((size, exponent): (u32, u32), sign: u32) -> Self {
        let all = sign.cast_signed() >> 31;
        let mantissa = ((rounded(size) << GUARD).cast_signed() ^ all).wrapping_sub(all);
        Self { mantissa, exponent: exponent.cast_signed() }
    }

    /// The float.
    #[inline(always)]
    fn float(self) -> f32 {
        if self.mantissa == 0 {
            return 0.0;
        }
        let (size, sign) = (self.mantissa.unsigned_abs(), self.mantissa.cast_unsigned());
        // Moved to the front with one bit less, so that a power of two fits.
        let (size, exponent) = at_front(size << (7 - GUARD), self.exponent.cast_unsigned());
        joined(size, exponent.wrapping_add(1), sign)
    }

    /// The rounded sum.
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let ahead = self.exponent.wrapping_sub(other.exponent);
        let (large, small) = if ahead < 0 { (other, self) } else { (self, other) };
        let ahead = ahead.unsigned_abs();
        // Less than a quarter of the last place, which is half of it if `large` is a power of two: nothing changes.
        if ahead > 25 {
            return large;
        }
        // What is moved out sets the last bit: it decides whether a half is a tie.
        let low = small.mantissa >> ahead;
        let low = low | i32::from(low << ahead != small.mantissa);
        let mut sum = large.mantissa.wrapping_add(low);
        if sum == 0 {
            return Self::ZERO;
        }
        // Up to one bit more than a mantissa has. If there are fewer, nothing was moved out, and the sum is exact.
        let mut exponent = large.exponent.wrapping_add(1);
        while (sum ^ (sum << 1)) & (1 << (FRACTION + GUARD + 2)) == 0 {
            sum <<= 1;
            exponent = exponent.wrapping_sub(1);
        }
        let odd = (sum >> (GUARD + 1)) & 1;
        let rounded = sum.wrapping_add(odd).wrapping_add((1 << GUARD) - 1) >> (GUARD + 1);
        Self { mantissa: rounded << GUARD, exponent }
    }

    /// [`Sum::plus`], not inlined: for the few sums at the end of a reduction.
    #[inline(never)]
    fn plus_called(self, other: Self) -> Self {
        self.plus(other)
    }
}

/// Bytes of a row, and what they stand for: a byte, with some bits flipped, minus an offset.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    bytes: &'a [u8],
    flip: u8,
    offset: i32,
}

impl<'a> Bytes<'a> {
    /// Unsigned bytes minus an offset; `None` unless that is a whole number from 0 to 255.
    #[inline]
    pub(crate) fn unsigned(bytes: &'a [u8], offset: f32) -> Option<Self> {
        Some(Self { bytes, flip: 0, offset: whole(offset)? })
    }

    /// Signed bytes without an offset.
    #[inline]
    pub(crate) fn signed(bytes: &'a [i8], offset: f32) -> Option<Self> {
        let bytes = bytemuck::cast_slice(bytes);
        // -128 becomes 0 and 127 becomes 255.
        (offset == 0.0).then_some(Self { bytes, flip: 0x80, offset: 128 })
    }

    #[inline(always)]
    fn value(&self, byte: u8) -> i32 {
        i32::from(byte ^ self.flip).wrapping_sub(self.offset)
    }
}

/// A whole number from 0 to 255.
#[inline]
fn whole(a: f32) -> Option<i32> {
    let bits = a.to_bits();
    if bits << 1 == 0 {
        return Some(0);
    }
    // How many bits are after the point: with eight bits before it, all but seven of the fraction.
    let after = (FRACTION + 127).wrapping_sub(bits >> FRACTION);
    if !(FRACTION - 7..=FRACTION).contains(&after) {
        return None;
    }
    let whole = mantissa(bits) >> after;
    (whole << after == mantissa(bits)).then_some(whole.cast_signed())
}

/// Each number of 8 bits, shifted to the left until the first of them is set (low byte), and by how much (high byte).
static SHIFTED: [u16; 256] = {
    let mut table = [0; 256];
    let mut i = 1_u16;
    while i < 256 {
        let shift = i.leading_zeros() as u16 - 8;
        table[i as usize] = (shift << 8) | (i << shift);
        i += 1;
    }
    table
};

/// The product of a normal number and a whole one that is not zero and has at most 8 bits: exact, with its exponent.
#[inline(always)]
fn times(bits: u32, exponent: u32, whole: i32) -> (u32, u32) {
    let [shifted, shift] = SHIFTED[usize::from(whole.unsigned_abs() as u8)].to_le_bytes();
    let size = mantissa(bits).wrapping_mul(u32::from(shifted));
    let exponent = exponent.wrapping_add(8).wrapping_sub(u32::from(shift));
    at_front(size, exponent)
}

/// The sum of `row[i] * weights[i]` in lanes, with the bits of [`reduce`](crate::vector::reduce).
#[inline(never)]
pub(crate) fn dot_bytes(row: Bytes<'_>, weights: &[f32]) -> Option<f32> {
    sum_in_lanes(row.bytes, weights, |sum, byte, weight| {
        let bits = weight.to_bits();
        let exponent = exponent(bits);
        if exponent == 0 {
            // A product with zero changes nothing.
            return (bits << 1 == 0).then_some(sum);
        }
        if exponent >= LARGEST {
            return None;
        }
        let value = row.value(byte);
        if value == 0 {
            return Some(sum);
        }
        let product = times(bits, exponent, value);
        Some(sum.plus(Sum::new(product, bits ^ value.cast_unsigned())))
    })
}

/// The sum of `a[i] * b[i]` in lanes, with the bits of [`reduce`](crate::vector::reduce).
#[inline(never)]
pub(crate) fn dot_floats(a: &[f32], b: &[f32]) -> Option<f32> {
    sum_in_lanes(a, b, |sum, a, b| {
        let (a, b) = (a.to_bits(), b.to_bits());
        let (above, below) = (exponent(a).wrapping_sub(1), exponent(b).wrapping_sub(1));
        if above >= 254 || below >= 254 {
            // A product with zero changes nothing, if it is not NaN.
            let finite = exponent(a) < 255 && exponent(b) < 255;
            return (finite && (a << 1 == 0 || b << 1 == 0)).then_some(sum);
        }
        let exponents = above.wrapping_add(below);
        if exponents.wrapping_sub(127) >= LARGEST - 3 {
            return None;
        }
        Some(sum.plus(Sum::new(multiply(a, b, exponents), a ^ b)))
    })
}

/// Sums in lanes, with `add` for each pair; `None` if `add` is.
#[inline(always)]
fn sum_in_lanes<A: Copy>(
    a: &[A],
    b: &[f32],
    add: impl Fn(Sum, A, f32) -> Option<Sum>,
) -> Option<f32> {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut lanes = [Sum::ZERO; LANES];
    // One lane after the other, so that only one is not in memory.
    for (first, lane) in lanes.iter_mut().enumerate() {
        let mut sum = Sum::ZERO;
        let mut at = first;
        while at < len {
            sum = add(sum, a[at], b[at])?;
            at = at.wrapping_add(LANES);
        }
        *lane = sum;
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut_checked(half)?;
        low.iter_mut().zip(high).for_each(|(low, high)| *low = low.plus_called(*high));
        half /= 2;
    }
    Some(lanes[0].float())
}

/// `out[i] += factor * row[i]`. False, and nothing is done, if the factor is not of a usual size.
#[inline(never)]
pub(crate) fn add_bytes(out: &mut [f32], factor: f32, row: Bytes<'_>) -> bool {
    let bits = factor.to_bits();
    let exponent = exponent(bits);
    if exponent.wrapping_sub(1) >= LARGEST - 1 {
        return false;
    }
    for (out, &byte) in out.iter_mut().zip(row.bytes) {
        let value = row.value(byte);
        if value == 0 {
            // Nothing changes, but -0 + 0 = 0.
            if out.to_bits() == FIRST && bits & FIRST == 0 {
                *out = 0.0;
            }
            continue;
        }
        let (size, exponent) = times(bits, exponent, value);
        let product = joined_normal(size, exponent, bits ^ value.cast_unsigned());
        *out = add_bits(out.to_bits(), product);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::tests::{any, assert_same, source};
    use super::*;
    use crate::vector::reduce;

    /// A number whose products with others, and their sums, are far from both ends of the range.
    fn usual(random: &mut impl FnMut() -> u32) -> f32 {
        loop {
            let a = any(random);
            if a == 0.0 || (1e-9..1e9).contains(&a.abs()) {
                return a;
            }
        }
    }

    fn bytes<const N: usize>(random: &mut impl FnMut() -> u32) -> [u8; N] {
        // A quarter of them zero, as in images.
        core::array::from_fn(|_| if random() < 1 << 30 { 0 } else { (random() >> 8) as u8 })
    }

    #[test]
    fn products_with_every_byte_have_the_bits_of_the_operator() {
        let mut random = source();
        for _ in 0..2_000 {
            let factor = usual(&mut random);
            let all: [u8; 256] = core::array::from_fn(|i| i as u8);
            for offset in [0.0, 1.0, 128.0, 255.0] {
                let row = Bytes::unsigned(&all, offset).unwrap();
                let mut products = [0.0; 256];
                assert_eq!(add_bytes(&mut products, factor, row), factor != 0.0);
                for (byte, product) in all.into_iter().zip(products) {
                    let wanted = 0.0 + factor * (f32::from(byte) - offset);
                    assert_same(product, wanted, format_args!("{factor:e} * ({byte} - {offset})"));
                }
            }
        }
    }

    #[test]
    fn rows_are_added_with_the_bits_of_the_operators() {
        let mut random = source();
        for round in 0..20_000 {
            let (unsigned, factor) = (bytes::<40>(&mut random), any(&mut random));
            let signed = unsigned.map(|byte| byte as i8);
            let offset = if round % 2 == 0 { 0.0 } else { (random() % 256) as f32 };
            let before: [f32; 40] = core::array::from_fn(|_| any(&mut random));
            let rows = [Bytes::unsigned(&unsigned, offset), Bytes::signed(&signed, 0.0)];
            for (i, row) in rows.map(Option::unwrap).into_iter().enumerate() {
                let mut after = before;
                if !add_bytes(&mut after, factor, row) {
                    assert_eq!(after.map(f32::to_bits), before.map(f32::to_bits));
                    continue;
                }
                for at in 0..40 {
                    let a = [f32::from(unsigned[at]) - offset, f32::from(signed[at])][i];
                    let wanted = before[at] + factor * a;
                    assert_same(
                        after[at],
                        wanted,
                        format_args!("{:e} + {factor:e} * {a}", before[at]),
                    );
                }
            }
        }
    }

    #[test]
    fn scalar_products_of_bytes_have_the_bits_of_a_reduction() {
        let mut random = source();
        for round in 0..20_000 {
            let (unsigned, len) = (bytes::<70>(&mut random), round % 71);
            let signed = unsigned.map(|byte| byte as i8);
            let offset = if round % 2 == 0 { 0.0 } else { (random() % 256) as f32 };
            let weights: [f32; 70] = core::array::from_fn(|_| usual(&mut random));
            let found = dot_bytes(Bytes::unsigned(&unsigned[..len], offset).unwrap(), &weights);
            let wanted = reduce(&unsigned[..len], &weights, |a, b| (f32::from(a) - offset) * b);
            assert_same(found.unwrap(), wanted, format_args!("{len} bytes"));
            let found = dot_bytes(Bytes::signed(&signed[..len], 0.0).unwrap(), &weights);
            let wanted = reduce(&signed[..len], &weights, |a, b| f32::from(a) * b);
            assert_same(found.unwrap(), wanted, format_args!("{len} signed bytes"));
        }
    }

    #[test]
    fn scalar_products_of_floats_have_the_bits_of_a_reduction() {
        let mut random = source();
        for round in 0..20_000 {
            let len = round % 71;
            let [a, b]: [[f32; 70]; 2] =
                core::array::from_fn(|_| core::array::from_fn(|_| usual(&mut random)));
            let wanted = reduce(&a[..len], &b, |a, b| a * b);
            let found = dot_floats(&a[..len], &b).unwrap();
            assert_same(found, wanted, format_args!("{len} floats"));
        }
    }

    #[test]
    fn scalar_products_with_unusual_numbers_are_exact_or_left_to_the_operators() {
        let (mut random, mut left) = (source(), 0);
        for _ in 0..200_000 {
            let row = bytes::<5>(&mut random);
            let weights: [f32; 5] = core::array::from_fn(|_| any(&mut random));
            let wanted = reduce(&row, &weights, |a, b| f32::from(a) * b);
            match dot_bytes(Bytes::unsigned(&row, 0.0).unwrap(), &weights) {
                Some(found) => assert_same(found, wanted, format_args!("{row:?} * {weights:?}")),
                None => left += 1,
            }
            let others: [f32; 5] = core::array::from_fn(|_| any(&mut random));
            let wanted = reduce(&others, &weights, |a, b| a * b);
            match dot_floats(&others, &weights) {
                Some(found) => assert_same(found, wanted, format_args!("{others:?} * {weights:?}")),
                None => left += 1,
            }
        }
        assert!((1_000..399_000).contains(&left), "{left}");
    }

    #[test]
    fn offsets_are_whole_numbers_of_eight_bits() {
        for offset in -10..300 {
            let wanted = (0..256).contains(&offset).then_some(offset);
            assert_eq!(whole(offset as f32), wanted);
            assert_eq!(whole(offset as f32 + 0.5), None);
        }
        assert_eq!(whole(-0.0), Some(0));
        for other in [f32::NAN, f32::INFINITY, f32::MIN_POSITIVE, 1e-40, 0.25, 127.000_01, 1e30] {
            assert_eq!(whole(other), None);
        }
        assert!(Bytes::signed(&[1], 3.0).is_none());
    }
}
