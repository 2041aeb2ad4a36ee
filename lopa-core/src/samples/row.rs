//! One sample's features.

use super::{Features, Scaling, minus};
#[cfg(not(feature = "simd"))]
use crate::vector::LANES;
#[cfg(not(feature = "simd"))]
use crate::vector::narrow::{self, add_row, dots_of_row};
#[cfg(feature = "simd")]
use crate::vector::wide::dots_of_row;
use crate::vector::{
    Number, SOFT_FLOATS, WRITTEN_OUT, add_scaled, add_terms, dot, reduce_row, soft,
};
use crate::widest::{self, Work};

/// The features of one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Row<'a> {
    pub(super) raw: Features<'a>,
    pub(super) scaling: Scaling<'a>,
}

impl<'a> Row<'a> {
    /// A row of floats without scaling, for a prediction on a fresh reading.
    #[must_use]
    pub const fn new(features: &'a [f32]) -> Self {
        Self { raw: Features::F32(features), scaling: Scaling::Common { scale: 1.0, offset: 0.0 } }
    }

    /// The scalar product with `weights`.
    #[inline]
    #[must_use]
    pub fn dot(&self, weights: &[f32]) -> f32 {
        let (scale, offset) = match self.scaling {
            Scaling::Common { scale, offset } => (scale, offset),
            Scaling::Each(scales) => return self.raw.dot_scaled(scales, weights),
        };
        if SOFT_FLOATS
            && let Some(bytes) = self.bytes(offset)
            && let Some(raw) = soft::dot_bytes(bytes, weights)
        {
            return scale * raw;
        }
        let raw = match self.raw {
            // Images have no offset: subtracting zero from a whole number can be left out.
            Features::U8(raw) if WRITTEN_OUT && offset == 0.0 => {
                reduce_row(raw, weights, f32::from)
            }
            Features::U8(raw) => reduce_row(raw, weights, minus(offset)),
            Features::I8(raw) => reduce_row(raw, weights, minus(offset)),
            Features::F32(raw) if SOFT_FLOATS && offset.to_bits() == 0 => dot(raw, weights),
            Features::F32(raw) => reduce_row(raw, weights, minus(offset)),
        };
        scale * raw
    }

    /// The scalar products with the first `out.len()` vectors, each with the bits of [`Row::dot`].
    #[inline]
    pub(crate) fn dot_each<'v>(&self, vectors: impl Iterator<Item = &'v [f32]>, out: &mut [f32]) {
        widest::run(DotEach { row: *self, vectors, out });
    }

    /// The scalar products with some vectors: the row's values are converted once for all of them.
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn dots<const V: usize>(&self, vectors: [&[f32]; V]) -> [f32; V] {
        let mut sums = [0.0; V];
        let Scaling::Common { scale, offset } = self.scaling else {
            for v in 0..V {
                sums[v] = self.dot(vectors[v]);
            }
            return sums;
        };
        sums = match self.raw {
            Features::U8(raw) if offset == 0.0 => dots_of_row(raw, vectors, f32::from),
            Features::U8(raw) => dots_of_row(raw, vectors, minus(offset)),
            Features::I8(raw) => dots_of_row(raw, vectors, minus(offset)),
            Features::F32(raw) => dots_of_row(raw, vectors, minus(offset)),
        };
        for sum in &mut sums {
            *sum *= scale;
        }
        sums
    }

    /// `out += factor * row`.
    #[inline]
    pub fn add_scaled(&self, factor: f32, out: &mut [f32]) {
        let (factor, offset) = match self.scaling {
            Scaling::Common { scale, offset } => (factor * scale, offset),
            Scaling::Each(scales) => return self.raw.add_to(scales, factor, out),
        };
        let factor = Number(factor);
        if SOFT_FLOATS
            && let Some(bytes) = self.bytes(offset)
            && soft::add_bytes(out, factor.0, bytes)
        {
            return;
        }
        match self.raw {
            Features::U8(raw) if WRITTEN_OUT && offset == 0.0 => {
                add_terms(out, raw, |r| factor * f32::from(r));
            }
            Features::U8(raw) => add_terms(out, raw, |r| factor * minus(offset)(r)),
            Features::I8(raw) => add_terms(out, raw, |r| factor * minus(offset)(r)),
            Features::F32(raw) if SOFT_FLOATS && offset.to_bits() == 0 => {
                add_scaled(out, factor.0, raw);
            }
            Features::F32(raw) => add_terms(out, raw, |r| factor * minus(offset)(r)),
        }
    }

    /// Bytes as whole numbers, for chips without an FPU.
    #[inline]
    fn bytes(&self, offset: f32) -> Option<soft::Bytes<'a>> {
        match self.raw {
            Features::U8(raw) => soft::Bytes::unsigned(raw, offset),
            Features::I8(raw) => soft::Bytes::signed(raw, offset),
            Features::F32(_) => None,
        }
    }
}

#[cfg(any(not(feature = "simd"), test))]
impl Row<'_> {
    /// `out += factor * row` for each factor and vector.
    #[inline]
    pub(crate) fn add_to_each<'o>(
        &self,
        factors: &[f32],
        out: impl Iterator<Item = &'o mut [f32]>,
    ) {
        #[cfg(not(feature = "simd"))]
        let (factors, out) = self.add_to_some(factors, out);
        for (out, &factor) in out.zip(factors) {
            self.add_scaled(factor, out);
        }
    }
}

#[cfg(not(feature = "simd"))]
impl Row<'_> {
    /// Does the part of [`Row::add_to_each`] that converts the row once for several vectors; returns what is left.
    #[inline]
    fn add_to_some<'f, 'o, I: Iterator<Item = &'o mut [f32]>>(
        &self,
        factors: &'f [f32],
        mut out: I,
    ) -> (&'f [f32], I) {
        let (true, Scaling::Common { scale, offset }) = (WRITTEN_OUT, self.scaling) else {
            return (factors, out);
        };
        let (blocks, rest) = factors.as_chunks::<ADDED>();
        for factors in blocks {
            let mut own = [(); ADDED].map(|()| Default::default());
            own.iter_mut().zip(&mut out).for_each(|(own, out)| *own = out);
            let mut factors = *factors;
            for factor in &mut factors {
                *factor *= scale;
            }
            match self.raw {
                Features::U8(raw) if offset == 0.0 => add_row(own, factors, raw, f32::from),
                Features::U8(raw) => add_row(own, factors, raw, minus(offset)),
                Features::I8(raw) => add_row(own, factors, raw, minus(offset)),
                Features::F32(raw) => add_row(own, factors, raw, minus(offset)),
            }
        }
        (rest, out)
    }

    /// The scale and the values of a row with at most one feature for each lane of a sum.
    #[inline]
    fn short(&self) -> Option<(f32, [f32; LANES])> {
        let Scaling::Common { scale, offset } = self.scaling else { return None };
        if self.raw.len() > LANES {
            return None;
        }
        let mut values = [0.0; LANES];
        match self.raw {
            Features::U8(raw) => convert(&mut values, raw, minus(offset)),
            Features::I8(raw) => convert(&mut values, raw, minus(offset)),
            Features::F32(raw) => convert(&mut values, raw, minus(offset)),
        }
        Some((scale, values))
    }
}

#[cfg(not(feature = "simd"))]
#[inline]
fn convert<T: Copy>(values: &mut [f32], raw: &[T], value: impl Fn(T) -> f32) {
    values.iter_mut().zip(raw).for_each(|(place, &a)| *place = value(a));
}

/// How many vectors a row is added to at once.
#[cfg(not(feature = "simd"))]
const ADDED: usize = 4;

/// How many vectors a row is multiplied with at once: on a host their sums do not wait for each other.
const VECTORS: usize = match (cfg!(feature = "simd"), WRITTEN_OUT) {
    (true, _) => 4,
    (false, true) => 2,
    (false, false) => 1,
};

struct DotEach<'a, 'o, I> {
    row: Row<'a>,
    vectors: I,
    out: &'o mut [f32],
}

impl<'v, I: Iterator<Item = &'v [f32]>> Work for DotEach<'_, '_, I> {
    type Output = ();

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) {
        let Self { row, mut vectors, mut out } = self;
        #[cfg(not(feature = "simd"))]
        if WRITTEN_OUT && let Some((scale, values)) = row.short() {
            // Converted once for all vectors.
            let values = values.get(..row.raw.len()).unwrap_or(&values);
            narrow::short(values, vectors, out);
            out.iter_mut().for_each(|out| *out *= scale);
            return;
        }
        if VECTORS > 1 {
            let (blocks, rest) = out.as_chunks_mut::<VECTORS>();
            for block in blocks {
                let mut own: [&[f32]; VECTORS] = [&[]; VECTORS];
                own.iter_mut().zip(&mut vectors).for_each(|(own, vector)| *own = vector);
                *block = row.dots(own);
            }
            out = rest;
        }
        for (out, vector) in out.iter_mut().zip(vectors) {
            *out = row.dot(vector);
        }
    }
}
