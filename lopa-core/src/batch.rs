//! Mini-batches: which samples an oracle uses.
//!
//! A batch holds no indices. It holds the stream they are drawn from and draws them again each time it is read, so a
//! batch of any size takes the same few bytes.

use core::num::NonZeroU32;

use crate::draw::{Draws, Purpose, Stream};

/// How many samples a batch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum BatchSize {
    /// Every sample once: the deterministic case.
    Full,
    /// This many, drawn with replacement.
    Drawn(NonZeroU32),
}

impl BatchSize {
    /// `size` samples drawn with replacement; the full set for zero.
    #[must_use]
    pub const fn drawn(size: u32) -> Self {
        match NonZeroU32::new(size) {
            Some(size) => Self::Drawn(size),
            None => Self::Full,
        }
    }
}

/// Whether the five oracles of a round share batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Sharing {
    /// Five independent batches per round, as the paper assumes.
    #[default]
    Independent,
    /// One batch per level: the three inner oracles share one, the two outer oracles another.
    PerLevel,
}

/// How a node draws its batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Sampler {
    /// Where the draws come from.
    pub draws: Draws,
    /// How many samples a batch has.
    pub size: BatchSize,
    /// Whether batches are shared.
    pub sharing: Sharing,
}

impl Sampler {
    /// Every sample in every round: no randomness at all.
    #[must_use]
    pub const fn full(node: u32) -> Self {
        let draws = Draws { seed: 0, node };
        Self { draws, size: BatchSize::Full, sharing: Sharing::Independent }
    }

    /// Independent batches of `size`.
    #[must_use]
    pub const fn drawn(seed: u64, node: u32, size: NonZeroU32) -> Self {
        let draws = Draws { seed, node };
        Self { draws, size: BatchSize::Drawn(size), sharing: Sharing::Independent }
    }

    /// The batch of one purpose in one round, out of `population` samples.
    #[must_use]
    pub fn batch(&self, round: u64, purpose: Purpose, population: usize) -> Batch {
        let purpose = match (self.sharing, purpose) {
            (Sharing::PerLevel, Purpose::HESSIAN_VECTOR | Purpose::CROSS_VECTOR) => {
                Purpose::INNER_GRADIENT
            }
            (Sharing::PerLevel, Purpose::OUTER_GRADIENT_OUTER) => Purpose::OUTER_GRADIENT_INNER,
            _ => purpose,
        };
        match self.size {
            BatchSize::Full => Batch::full(population),
            BatchSize::Drawn(size) => {
                Batch::drawn(self.draws.stream(round, purpose), size, population)
            }
        }
    }
}

/// A batch of samples, as a recipe for their indices.
///
/// ```
/// use lopa_core::batch::Batch;
/// let batch = Batch::full(3);
/// assert!(batch.indices().eq([0, 1, 2]));
/// assert_eq!(batch.weight(), 1.0 / 3.0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Batch {
    len: usize,
    source: Option<(Stream, NonZeroU32)>,
}

impl Batch {
    /// All of `population` samples, in order.
    #[must_use]
    pub const fn full(population: usize) -> Self {
        Self { len: population, source: None }
    }

    /// `size` samples out of `population`, drawn from `stream` with replacement; none out of none.
    #[must_use]
    pub fn drawn(stream: Stream, size: NonZeroU32, population: usize) -> Self {
        // A set has fewer than 2^32 samples; a problem that claims more is drawn from its first 2^32 - 1.
        match NonZeroU32::new(u32::try_from(population).unwrap_or(u32::MAX)) {
            Some(population) => {
                Self { len: size.get() as usize, source: Some((stream, population)) }
            }
            None => Self::full(0),
        }
    }

    /// The number of samples, repeated ones counted again.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if the batch has no sample.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One sample's share of the batch's mean: 1 / len, or 0 for an empty batch.
    #[must_use]
    pub fn weight(&self) -> f32 {
        if self.len == 0 { 0.0 } else { 1.0 / self.len as f32 }
    }

    /// The indices of the samples, the same ones on every call.
    #[must_use]
    pub fn indices(&self) -> Indices {
        Indices { next: 0, len: self.len, source: self.source.clone() }
    }
}

/// The indices of a batch's samples.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Indices {
    next: usize,
    len: usize,
    source: Option<(Stream, NonZeroU32)>,
}

impl Iterator for Indices {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.next >= self.len {
            return None;
        }
        let at = self.next;
        self.next = at.wrapping_add(1);
        Some(match &mut self.source {
            None => at,
            Some((stream, population)) => stream.below(*population) as usize,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len.saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Indices {}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLER: Sampler = Sampler::drawn(5, 1, NonZeroU32::new(50).unwrap());
    const ALL: [Purpose; 5] = [
        Purpose::INNER_GRADIENT,
        Purpose::HESSIAN_VECTOR,
        Purpose::CROSS_VECTOR,
        Purpose::OUTER_GRADIENT_INNER,
        Purpose::OUTER_GRADIENT_OUTER,
    ];

    #[test]
    fn a_batch_reads_the_same_every_time_and_stays_in_range() {
        let batch = SAMPLER.batch(3, Purpose::INNER_GRADIENT, 7);
        assert_eq!((batch.len(), batch.indices().len()), (50, 50));
        assert!(batch.indices().eq(batch.indices()));
        assert!(batch.indices().all(|i| i < 7));
    }

    #[test]
    fn the_five_batches_differ_unless_shared() {
        let shared = Sampler { sharing: Sharing::PerLevel, ..SAMPLER };
        for (i, &a) in ALL.iter().enumerate() {
            for (j, &b) in ALL.iter().enumerate() {
                let same = |s: Sampler| s.batch(3, a, 900) == s.batch(3, b, 900);
                assert_eq!(same(SAMPLER), i == j);
                assert_eq!(same(shared), (i < 3) == (j < 3));
            }
        }
    }

    #[test]
    fn full_batches_have_every_sample_and_empty_sets_none() {
        assert!(Sampler::full(1).batch(9, ALL[0], 4).indices().eq(0..4));
        let none = SAMPLER.batch(9, ALL[0], 0);
        assert_eq!((none.len(), none.weight(), none.indices().next()), (0, 0.0, None));
        assert_eq!(BatchSize::drawn(0), BatchSize::Full);
    }
}
