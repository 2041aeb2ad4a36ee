//! Rows times the weights of a layer: many vectors, each with its own unit.

use super::group::{CHUNK, GROUP, Group};
use super::quantised::Word;
use super::scales::Scales;
use crate::samples::{Features, Samples};

/// Some rows of a batch, to be multiplied by many vectors.
pub(in crate::problems) struct LayerRows<'a> {
    group: Group<'a>,
    raw: &'a [u8],
    width: usize,
    scales: Scales<'a>,
    integers: [Word; CHUNK],
}

impl<'a> LayerRows<'a> {
    /// No rows of these samples.
    pub(in crate::problems) fn of(samples: &Samples<'a>) -> Self {
        let (raw, signed) = match samples.features() {
            Features::U8(raw) => (raw, false),
            Features::I8(raw) => (bytemuck::cast_slice(raw), true),
            // Refused when the samples were made.
            Features::F32(_) => (&[][..], false),
        };
        let (width, scales) = (samples.width(), Scales::new(samples.scaling()));
        Self { group: Group::new(signed), raw, width, scales, integers: [0; CHUNK] }
    }

    /// Adds a row, unless there are [`GROUP`] of them; false for a row beyond the end, which is left out.
    pub(in crate::problems) fn push(&mut self, index: usize) -> bool {
        self.group.push(self.raw, index, self.width)
    }

    /// The scalar products of every row with a vector; false if an element of the vector is not finite.
    pub(in crate::problems) fn multiply(
        &mut self,
        vector: &[f32],
        products: &mut [f32; GROUP],
    ) -> bool {
        let Some(unit) = self.scales.unit(vector) else { return false };
        self.group.multiply(vector, unit, &self.scales, &mut self.integers, products);
        true
    }

    /// Adds every row times its factor; false if one of them is not finite.
    pub(in crate::problems) fn add_to(
        &mut self,
        out: &mut [f32],
        factors: &mut [f32; GROUP],
    ) -> bool {
        let scale = self.scales.scale();
        factors.iter_mut().for_each(|factor| *factor *= scale);
        self.group.add_to(out, factors, &self.scales, &mut self.integers)
    }
}
