//! The factors of a group's rows for one vector.

use crate::problems::integer::group::GROUP;
use crate::problems::integer::lanes::PIECE;
use crate::problems::integer::quantised::Unit;
use crate::problems::integer::scales::Scales;

/// Factors as integers.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    /// Zeros for rows that are not there.
    pub(super) integers: [i16; GROUP],
    unit: Unit,
    offset: i32,
}

impl Factors {
    pub(super) const NONE: Self = Self { integers: [0; GROUP], unit: Unit::ONE, offset: 0 };

    /// Converts factors, which have been multiplied by the scale of the samples; `None` if one is not finite.
    #[inline(always)]
    pub(super) fn new(factors: &[f32], scales: &Scales<'_>) -> Option<Self> {
        let unit = Unit::of(factors)?;
        let (mut integers, mut total) = ([0; GROUP], 0);
        for (integer, &factor) in integers.iter_mut().zip(factors) {
            *integer = unit.quantise(factor);
            total += i32::from(*integer);
        }
        Some(Self { integers, unit, offset: scales.common_offset(total).unwrap_or(0) })
    }

    /// Adds the sums of a piece to a vector. Even a sum of zero is added: it makes -0 to +0.
    #[inline(always)]
    pub(super) fn add_to(&self, out: &mut [f32], sums: [i32; PIECE]) {
        let add = |out: &mut [f32; PIECE]| {
            for i in 0..PIECE {
                out[i] += self.unit.float(sums[i].wrapping_sub(self.offset));
            }
        };
        if let Some(out) = out.first_chunk_mut() {
            return add(out);
        }
        // As if it were whole: a compiler would gather the elements of a part one by one.
        let mut whole = [0.0; PIECE];
        whole[..out.len()].copy_from_slice(out);
        add(&mut whole);
        out.copy_from_slice(&whole[..out.len()]);
    }
}
