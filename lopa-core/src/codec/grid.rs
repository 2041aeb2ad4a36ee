//! Floats as whole numbers of units, and gaps as floats.

use crate::vector::Number;

/// The largest number of units of a value. Twice that still fits in an i32, with the rounding of a step to spare.
pub const LIMIT: i32 = 1 << 29;

/// The grid of a vector: its unit is a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Grid {
    exponent: i32,
}

impl Grid {
    /// A grid with units of 2^`exponent`, as far as gaps and limits are normal floats.
    #[must_use]
    pub const fn new(exponent: i32) -> Self {
        let exponent = match exponent {
            e if e < -100 => -100,
            e if e > 80 => 80,
            e => e,
        };
        Self { exponent }
    }

    /// One unit.
    #[must_use]
    pub const fn unit(self) -> f32 {
        power(self.exponent)
    }

    /// The nearest number of units, from -[`LIMIT`] to [`LIMIT`]: a value beyond, or NaN, is moved to the end of that range.
    ///
    /// In integers, because that is the same everywhere and short on a chip without an FPU.
    #[must_use]
    pub const fn number(self, value: f32) -> i32 {
        let bits = value.to_bits();
        let exponent = (bits >> 23) & 0xff;
        let (digits, exponent) = match exponent {
            0 => (bits & 0x007f_ffff, 1),
            _ => ((bits & 0x007f_ffff) | 0x0080_0000, exponent as i32),
        };
        let left = exponent.wrapping_sub(150).wrapping_sub(self.exponent);
        let size = match left {
            // 24 digits and six more are 2^30 at most: they fit, and are then cut to the limit.
            0..=6 => digits << left as u32,
            7.. if digits == 0 => 0,
            7.. => LIMIT as u32,
            // Half a unit is rounded up.
            -24..0 => ((digits >> (left.wrapping_neg() as u32 - 1)) + 1) >> 1,
            _ => 0,
        };
        let size = if size > LIMIT as u32 { LIMIT } else { size as i32 };
        if bits >> 31 == 0 { size } else { size.wrapping_neg() }
    }

    /// Whether a value is within the range of the grid, so that neighbours can know it.
    #[must_use]
    pub const fn holds(self, value: f32) -> bool {
        let size = self.number(value);
        -LIMIT < size && size < LIMIT
    }

    /// A gap as a float: it counts in units of 1/256. Exact up to 2^24, which is a disagreement of 2^16 units.
    #[inline]
    #[must_use]
    pub fn pull(self, gap: i32) -> f32 {
        (Number(gap as f32) * power(self.exponent.wrapping_sub(8))).0
    }
}

/// 2^exponent, for exponents from -126 to 127.
const fn power(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Draws, Purpose};

    /// The definition, in f64, which holds every product here exactly.
    fn rounded(exponent: i32, value: f32) -> i32 {
        let units = f64::from(value) / libm::exp2(exponent.into());
        libm::round(units).clamp(-f64::from(LIMIT), f64::from(LIMIT)) as i32
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_unit() {
        let mut stream = Draws { seed: 1, node: 0 }.stream(0, Purpose::INNER_GRADIENT);
        let special = [0.0, -0.0, 0.5, 1.5, -2.5, f32::MIN_POSITIVE, f32::MAX, f32::MIN, 1.0e-45];
        for exponent in [-100, -60, -30, -24, -22, -1, 0, 7, 20, 80] {
            let grid = Grid::new(exponent);
            for value in special {
                let scaled = value * grid.unit();
                assert_eq!(grid.number(value), rounded(exponent, value), "{exponent} {value:e}");
                assert_eq!(grid.number(scaled), rounded(exponent, scaled), "{exponent} {scaled:e}");
            }
            for _ in 0..20_000 {
                let any = f32::from_bits(stream.next());
                let near = stream.signed_unit() * grid.unit() * 1.0e3;
                for value in [any, near].into_iter().filter(|a| a.is_finite()) {
                    let want = rounded(exponent, value);
                    assert_eq!(grid.number(value), want, "{exponent} {value:e}");
                }
            }
        }
    }

    #[test]
    fn values_beyond_the_range_are_moved_to_its_end_and_told() {
        let grid = Grid::new(-22);
        assert!(grid.holds(127.9) && grid.holds(-127.9) && grid.holds(0.0));
        for (value, end) in [(128.0, LIMIT), (-1.0e30, -LIMIT), (f32::INFINITY, LIMIT)] {
            assert_eq!(grid.number(value), end);
            assert!(!grid.holds(value));
        }
        assert!(!grid.holds(f32::NAN) && !grid.holds(f32::NEG_INFINITY));
    }

    #[test]
    fn pulls_are_exact_for_small_gaps_and_finite_for_all() {
        for exponent in [-100, -22, 0, 80, i32::MIN, i32::MAX] {
            let grid = Grid::new(exponent);
            for gap in [0, 1, -1, 255, 256, 0x00ff_ffff, -0x0100_0000] {
                let exact = f64::from(gap) * f64::from(grid.unit()) / 256.0;
                assert_eq!(f64::from(grid.pull(gap)), exact, "{exponent} {gap}");
            }
            assert!(grid.pull(i32::MIN).is_finite() && grid.pull(i32::MAX).is_finite());
        }
    }
}
