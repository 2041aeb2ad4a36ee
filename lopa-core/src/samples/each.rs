//! Rows whose features have scales of their own.
//!
//! Written for little flash rather than for speed: in an image these loops exist once, beside those for samples with a
//! common scaling, which are specialised for each encoding.

use super::{Features, Scale};
use crate::vector::{LANES, Number, add_lanes};

impl Features<'_> {
    /// The value at a place, on its own scale; `None` beyond the end.
    // Built for speed, it becomes part of the loops below, and the match is moved out of them.
    #[inline]
    pub(super) fn value(&self, at: usize, scale: &Scale) -> Option<f32> {
        let raw = match self {
            Self::U8(raw) => f32::from(*raw.get(at)?),
            Self::I8(raw) => f32::from(*raw.get(at)?),
            Self::F32(raw) => *raw.get(at)?,
        };
        Some(scale.value(raw))
    }

    /// The scalar product of a row with `weights`, with the bits of a row of floats.
    #[inline(never)]
    pub(super) fn dot_scaled(&self, scales: &[Scale], weights: &[f32]) -> f32 {
        let mut lanes = [0.0; LANES];
        for (at, (scale, weight)) in scales.iter().zip(weights).enumerate() {
            let Some(value) = self.value(at, scale) else { break };
            let lane = &mut lanes[at % LANES];
            *lane = (Number(*lane) + Number(value) * weight).0;
        }
        add_lanes(lanes, LANES)
    }

    /// `out += factor * row`, with the bits of a row of floats.
    #[inline(never)]
    pub(super) fn add_to(&self, scales: &[Scale], factor: f32, out: &mut [f32]) {
        for (at, (scale, out)) in scales.iter().zip(out).enumerate() {
            let Some(value) = self.value(at, scale) else { break };
            *out = (Number(*out) + Number(factor) * value).0;
        }
    }
}
