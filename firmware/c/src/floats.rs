//! Checks that floats are computed as IEEE 754 says: other floats would give other bits than the rest of the fleet has.
//!
//! An FPU may be set to replace subnormal numbers by zero or to round in another direction, and vendors' float routines may do
//! the same.

use core::hint::black_box;

/// A number by its bits, unknown to the compiler.
fn number(bits: u32) -> f32 {
    black_box(f32::from_bits(bits))
}

/// Whether results have the bits that they must have.
#[inline(never)]
pub(crate) fn are_exact() -> bool {
    let (least, normal) = (number(1), number(0x0080_0000));
    let (one, next, tie) = (number(0x3f80_0000), number(0x3f80_0001), number(0x3380_0000));
    let half = number(0x3f00_0000);
    let found = [
        // Subnormal results, then subnormal operands.
        (normal * half, 0x0040_0000),
        (normal - least, 0x007f_ffff),
        (normal / number(0x4000_0000), 0x0040_0000),
        (least + least, 2),
        (least * number(0x4b00_0000), 0x0080_0000),
        // Ties go to even, in both directions, on both sides of zero.
        (one + tie, 0x3f80_0000),
        (next + tie, 0x3f80_0002),
        (-next - tie, 0xbf80_0002),
        // Half a unit in the last place of 1 from below: rounds to even, away from zero.
        (next * number(0x3f7f_ffff), 0x3f80_0000),
    ];
    found.iter().all(|(found, bits)| black_box(*found).to_bits() == *bits)
        && least > number(0)
        && number(0x8000_0001) < number(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_machines_floats_are_exact() {
        assert!(super::are_exact());
    }
}
