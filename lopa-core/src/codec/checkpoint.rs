//! The state of a [`CodedNode`] as bytes: the [checkpoint](crate::checkpoint) of its node, and then words of 32 bits,
//! little-endian:
//!
//! | words | what |
//! |---|---|
//! | 1 | the [codec](Codec::identity); plus 65,536 if the next round opens an epoch |
//! | 2n | what neighbours know of x, and the gap of x |
//! | 2n | the same of y, with gradient tracking only |
//! | 1 | CRC-32 (ISO HDLC) of these words before |

use core::slice;

#[cfg(doc)]
use super::Codec;
use super::{CodedNode, Integers, Ledgers};
use crate::checkpoint::{self, CheckpointError};
use crate::node::Scheme;
use crate::problem::Problem;
use crate::vector::Storage;
use crate::wire::seal::Checksum;

const OPENING: u32 = 1 << 16;

/// The length of a checkpoint in bytes.
///
/// ```
/// use lopa_core::{checkpoint, codec, node::Scheme};
/// let plain = checkpoint::len(Scheme::GradientTracking, 784, 784);
/// let coded = codec::checkpoint_len(Scheme::GradientTracking, 784, 784);
/// assert_eq!(coded - plain, 4 * (2 + 4 * 784));
/// ```
#[must_use]
pub const fn checkpoint_len(scheme: Scheme, outer: usize, inner: usize) -> usize {
    checkpoint::len(scheme, outer, inner) + 4 * (2 + vectors(scheme) * outer)
}

/// How many vectors of integers a node has.
pub(crate) const fn vectors(scheme: Scheme) -> usize {
    match scheme {
        Scheme::LocalGradient => 2,
        Scheme::GradientTracking => 4,
    }
}

/// A checkpoint as a stream of words; write them little-endian. That of a plain node has no integers, and ends before them.
pub struct Words<'a> {
    node: checkpoint::Words<'a>,
    head: Option<u32>,
    vectors: [slice::Iter<'a, i32>; 4],
    /// That of the integers; `None` once it was written, and if there are none.
    digest: Option<Checksum>,
}

impl<'a> From<checkpoint::Words<'a>> for Words<'a> {
    fn from(node: checkpoint::Words<'a>) -> Self {
        Self {
            node,
            head: None,
            vectors: [const { [].as_slice() }; 4].map(<[i32]>::iter),
            digest: None,
        }
    }
}

impl Iterator for Words<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if let Some(word) = self.node.next() {
            return Some(word);
        }
        let digest = self.digest.as_mut()?;
        let vectors = &mut self.vectors;
        let integer = || vectors.iter_mut().find_map(Iterator::next).map(|&a| a as u32);
        let Some(word) = self.head.take().or_else(integer) else {
            return self.digest.take().map(Checksum::finalize);
        };
        digest.update(&word.to_le_bytes());
        Some(word)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Words<'_> {
    // Its default compares two hints and panics if they differ.
    fn len(&self) -> usize {
        let ends = usize::from(self.head.is_some()) + usize::from(self.digest.is_some());
        let integers = self.vectors.iter().map(ExactSizeIterator::len);
        integers.fold(self.node.len().saturating_add(ends), usize::saturating_add)
    }
}

impl core::fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Words({} left)", self.len())
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Words<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Words({} left)", self.len());
    }
}

impl<P: Problem, X: Storage, T: Storage, D: Storage, I: Integers, J: Integers>
    CodedNode<P, X, T, D, I, J>
{
    /// The node's state between two rounds, word by word.
    ///
    /// # Errors
    /// Refuses in the middle of a round.
    pub fn checkpoint(&self) -> Result<Words<'_>, CheckpointError> {
        let Ledgers { x_known, x_gap, y_known, y_gap } = &self.ledgers;
        let (y_known, y_gap) = match self.node.scheme() {
            Scheme::LocalGradient => (&[][..], &[][..]),
            Scheme::GradientTracking => (y_known.as_ref(), y_gap.as_ref()),
        };
        let vectors = [x_known.as_ref(), x_gap.as_ref(), y_known, y_gap].map(<[i32]>::iter);
        let digest = Some(Checksum::start());
        Ok(Words { node: self.node.checkpoint()?, head: Some(self.head()), vectors, digest })
    }

    /// The length of this node's checkpoint in bytes.
    #[must_use]
    pub fn checkpoint_len(&self) -> usize {
        let (scheme, state) = (self.node.scheme(), self.node.state());
        checkpoint_len(scheme, state.x.len(), state.theta.len())
    }

    /// Writes the checkpoint into `bytes` and returns its length.
    ///
    /// # Errors
    /// Refuses in the middle of a round, and if `bytes` is too short.
    pub fn save(&self, bytes: &mut [u8]) -> Result<usize, CheckpointError> {
        checkpoint::save(self.checkpoint()?, bytes)
    }

    /// Restores a checkpoint of this node. Everything is checked before anything changes.
    ///
    /// # Errors
    /// Refuses bytes that are not a complete and undamaged checkpoint of this node with this codec.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let (needed, found) = (self.checkpoint_len(), bytes.len());
        let split = bytes.split_at_checked(self.node.checkpoint_len());
        let Some((node, own)) = split.filter(|_| found == needed) else {
            return Err(CheckpointError::Length { needed, found });
        };
        let words = checkpoint::undamaged(own.as_chunks().0)?;
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        let head = words.next().unwrap_or(0);
        if head & !OPENING != self.head() & !OPENING {
            return Err(CheckpointError::OtherNode { name: "codec" });
        }
        self.node.restore(node)?;
        (self.opening, self.left) = (head & OPENING != 0, false);
        let Ledgers { x_known, x_gap, y_known, y_gap } = &mut self.ledgers;
        for vector in [x_known.as_mut(), x_gap.as_mut()] {
            vector.iter_mut().zip(&mut words).for_each(|(a, word)| *a = word as i32);
        }
        if self.node.scheme() == Scheme::GradientTracking {
            for vector in [y_known.as_mut(), y_gap.as_mut()] {
                vector.iter_mut().zip(&mut words).for_each(|(a, word)| *a = word as i32);
            }
        }
        Ok(())
    }

    fn head(&self) -> u32 {
        let opening = if self.opening { OPENING } else { 0 };
        self.codec.identity() | opening
    }
}
