//! Offsets and factors of features, moved out of the loops over bytes: (raw - offset) · factor · θ is
//! raw · (factor · θ) - offset · (factor · θ).

use super::quantised::{Unit, Word, larger, to_float, wide};
use crate::samples::{self, Scaling};

/// Binary places of an offset.
const PLACES: u32 = 16;

/// How raw bytes become values.
pub(super) enum Scales<'a> {
    /// The same for all features.
    Common { scale: f32, offset: i64 },
    /// Those of each feature.
    Each(&'a [samples::Scale]),
}

/// An offset in units of 2^-[`PLACES`].
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline(never))]
fn places(offset: f32) -> i64 {
    i64::from((offset * (1 << PLACES) as f32) as i32)
}

impl<'a> Scales<'a> {
    #[inline(always)]
    pub(super) fn new(scaling: Scaling<'a>) -> Self {
        match scaling {
            Scaling::Common { scale, offset } => Self::Common { scale, offset: places(offset) },
            Scaling::Each(scales) => Self::Each(scales),
        }
    }

    /// What all scalar products are multiplied by.
    #[inline(always)]
    pub(super) const fn scale(&self) -> f32 {
        match self {
            Self::Common { scale, .. } => *scale,
            Self::Each(_) => 1.0,
        }
    }

    /// The unit for a vector, with each element times the factor of its feature; `None` if one is not finite.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline(never))]
    pub(super) fn unit(&self, vector: &[f32]) -> Option<Unit> {
        match self {
            Self::Common { .. } => Unit::of(vector),
            Self::Each(scales) => {
                let mut largest = 0;
                for (a, scale) in vector.iter().zip(*scales) {
                    largest = larger(largest, a * scale.factor);
                }
                Unit::for_largest(largest)
            }
        }
    }

    /// The integers for a part of a vector, which begins at `start`; returns the sum of offset times integer, in units of
    /// 2^-[`PLACES`].
    #[inline(always)]
    pub(super) fn quantise(
        &self,
        start: usize,
        part: &[f32],
        unit: Unit,
        integers: &mut [Word],
    ) -> i64 {
        match self {
            Self::Common { offset, .. } => {
                let mut sum = 0;
                for (integer, &a) in integers.iter_mut().zip(part) {
                    *integer = unit.quantise(a);
                    sum += wide(*integer);
                }
                offset * i64::from(sum)
            }
            Self::Each(scales) => {
                let mut sum = 0;
                let scales = scales.get(start..).unwrap_or(&[]);
                for (integer, (a, scale)) in integers.iter_mut().zip(part.iter().zip(scales)) {
                    *integer = unit.quantise(a * scale.factor);
                    sum += places(scale.offset) * i64::from(*integer);
                }
                sum
            }
        }
    }

    /// The common offset times the sum of a vector's integers, in units of 2^-[`PLACES`].
    #[cfg(feature = "simd")]
    #[inline(always)]
    pub(super) const fn offset(&self, total: i64) -> i64 {
        match self {
            Self::Common { offset, .. } => *offset * total,
            Self::Each(_) => 0,
        }
    }

    /// A sum over a row's raw bytes, less the sum of offsets.
    #[inline(always)]
    pub(super) fn finish(&self, sum: i64, offset: i64) -> f32 {
        let sum = sum - (offset >> PLACES);
        match i32::try_from(sum) {
            // The same float, and cheaper on a chip.
            Ok(sum) if cfg!(not(target_pointer_width = "64")) => to_float(sum),
            _ => sum as f32,
        }
    }

    /// The common offset times the `total` of the factors of all rows; `None` if features have their own.
    #[inline(always)]
    pub(super) const fn common_offset(&self, total: i32) -> Option<i32> {
        match self {
            Self::Common { offset, .. } => Some(((*offset * total as i64) >> PLACES) as i32),
            Self::Each(_) => None,
        }
    }

    /// The value of a sum over raw bytes of a feature times factors, for features with their own scales.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline(never))]
    pub(super) fn value(&self, index: usize, sum: i32, total: i32, unit: Unit) -> f32 {
        let scale = match self {
            Self::Each(scales) => scales.get(index).copied().unwrap_or(samples::Scale::NONE),
            Self::Common { .. } => samples::Scale::NONE,
        };
        let offset = (places(scale.offset) * i64::from(total)) >> PLACES;
        unit.float(sum.wrapping_sub(offset as i32)) * scale.factor
    }
}
