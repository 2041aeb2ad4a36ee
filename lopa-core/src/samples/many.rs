//! Many rows at once, for problems that multiply each of them with many vectors.

use super::{Features, Samples, Scale, Scaling, minus};
use crate::vector::LANES;
use crate::vector::matrix::Matrix;
use crate::widest;

/// From how many vectors on lists pay: they are used for as many at once as there are lanes.
const LISTED: usize = LANES / 2;

impl Samples<'_> {
    /// The same samples as they are read for products with so many vectors.
    pub(crate) const fn for_products(mut self, vectors: usize) -> Self {
        if vectors < LISTED {
            self.forget_lists();
        }
        self
    }

    /// Adds a sample's features to a matrix; they are still to be multiplied by the [common scale](Samples::common_scale).
    #[inline(always)]
    pub(crate) fn push_to(&self, matrix: &mut Matrix, index: usize) {
        let (row, marks) = (self.row(index), self.filled(index));
        match (self.scaling, row.raw) {
            (Scaling::Common { offset, .. }, Features::U8(raw)) => {
                matrix.push(raw, marks, |_, a| minus(offset)(a));
            }
            (Scaling::Common { offset, .. }, Features::I8(raw)) => {
                matrix.push(raw, marks, |_, a| minus(offset)(a));
            }
            (Scaling::Common { offset, .. }, Features::F32(raw)) => {
                matrix.push(raw, marks, |_, a: f32| minus(offset)(a));
            }
            (Scaling::Each(scales), raw) => {
                let value = |at, scale: Scale| raw.value(at, &scale).unwrap_or(0.0);
                matrix.push(scales.get(..self.width).unwrap_or(&[]), marks, value);
            }
        }
    }

    /// Asks for a row. Many rows are then on their way at once, where the reading of one row would wait for the one before.
    #[inline(always)]
    pub(crate) fn fetch(&self, index: usize) {
        if let Some(list) = self.list(index) {
            return fetch(list);
        }
        match self.row(index).raw {
            Features::U8(raw) => fetch(raw),
            Features::I8(raw) => fetch(raw),
            Features::F32(raw) => fetch(raw),
        }
    }

    /// What the scalar products with [these rows](Samples::push_to) are multiplied by.
    pub(crate) const fn common_scale(&self) -> f32 {
        match self.scaling {
            Scaling::Common { scale, .. } => scale,
            Scaling::Each(_) => 1.0,
        }
    }
}

/// Asks for every line of memory of a row.
#[inline(always)]
pub(crate) fn fetch<T: Copy>(raw: &[T]) {
    const LINE: usize = 64;
    for first in raw.iter().step_by(LINE / size_of::<T>()) {
        if widest::FETCHES {
            widest::fetch(core::ptr::from_ref(first).cast());
        } else {
            core::hint::black_box(*first);
        }
    }
}
