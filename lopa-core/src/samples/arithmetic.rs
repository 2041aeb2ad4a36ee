//! How sums over samples are computed.

use super::{Features, Samples, SamplesError, Scaling};

/// How sums over samples are computed. All nodes of a fleet must use the same, because it decides bits: nodes that differ
/// refuse each other.
///
/// A node's variables are floats either way. [Integer arithmetic](crate#integer-arithmetic) is for chips without an FPU, and
/// needs samples stored as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// In floats.
    #[default]
    Float,
    /// In integers: what samples are multiplied by and the factors of a batch have 16 bits and a common power of two as their
    /// scale.
    Integer,
}

impl Arithmetic {
    /// Added to [`math::IDENTITY`](crate::math::IDENTITY) when nodes [meet](crate::wire::Identity).
    #[must_use]
    pub const fn identity(self) -> u32 {
        match self {
            Self::Float => 0,
            Self::Integer => 1 << 16,
        }
    }
}

/// The largest offset of a feature: with larger ones, sums over a batch would need more than 32 bits.
pub(crate) const LARGEST_OFFSET: f32 = 1024.0;

impl Samples<'_> {
    /// Chooses how sums over these samples are computed.
    ///
    /// # Errors
    /// Refuses integers for samples that are floats, for offsets beyond ±1024, and in a build without the feature
    /// `integer`.
    ///
    /// ```
    /// use lopa_core::samples::{Arithmetic, Features, Labels, Samples, SamplesError};
    /// # #[cfg(feature = "integer")] {
    /// let bytes = Samples::new(Features::U8(&[7, 9]), 1, Labels::Binary(&[0, 1]))?;
    /// assert_eq!(bytes.computed_in(Arithmetic::Integer)?.arithmetic(), Arithmetic::Integer);
    /// let floats = Samples::new(Features::F32(&[0.7, 0.9]), 1, Labels::Binary(&[0, 1]))?;
    /// assert_eq!(floats.computed_in(Arithmetic::Integer), Err(SamplesError::NotBytes));
    /// # }
    /// # Ok::<(), SamplesError>(())
    /// ```
    pub fn computed_in(mut self, arithmetic: Arithmetic) -> Result<Self, SamplesError> {
        if arithmetic == Arithmetic::Integer {
            if !cfg!(feature = "integer") {
                return Err(SamplesError::NoIntegers);
            }
            let near = |offset: f32| offset.abs() <= LARGEST_OFFSET;
            match (self.features, self.scaling) {
                (Features::F32(_), _) => return Err(SamplesError::NotBytes),
                (_, Scaling::Common { offset, .. }) if near(offset) => {}
                (_, Scaling::Each([features @ .., _]))
                    if features.iter().all(|scale| near(scale.offset)) => {}
                _ => return Err(SamplesError::Offset),
            }
        }
        self.arithmetic = arithmetic;
        Ok(self)
    }

    /// How sums over these samples are computed.
    #[must_use]
    pub const fn arithmetic(&self) -> Arithmetic {
        // So that builds without it contain none of its code.
        if cfg!(feature = "integer") { self.arithmetic } else { Arithmetic::Float }
    }
}
