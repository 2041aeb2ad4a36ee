//! The state of a [`CodedNode`] as bytes: the [checkpoint](crate::checkpoint) of its node, and then words of 32 bits,
//! little-endian:
//!
//! | words | what |
//! |---|---|
//! | 1 | the [codec](Codec::identity); plus 65,536 if the next round opens an epoch |
//! | 2n | what neighbours know of x, and the gap of x |
//! | 2n | the same of y, with gradient tracking only |
//! | 1 | CRC-32 (ISO HDLC) of these words before |

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

impl<P: Problem, X: Storage, T: Storage, D: Storage, I: Integers, J: Integers>
    CodedNode<P, X, T, D, I, J>
{
    /// The node's state between two rounds, word by word.
    ///
    /// # Errors
    /// Refuses in the middle of a round.
    pub fn checkpoint(&self) -> Result<impl Iterator<Item = u32> + '_, CheckpointError> {
        let Ledgers { x_known, x_gap, y_known, y_gap } = &self.ledgers;
        let y: [&[i32]; 2] = match self.node.scheme() {
            Scheme::LocalGradient => [&[], &[]],
            Scheme::GradientTracking => [y_known.as_ref(), y_gap.as_ref()],
        };
        let [y_known, y_gap] = y;
        let vectors = [x_known.as_ref(), x_gap.as_ref(), y_known, y_gap];
        let integers = vectors.into_iter().flatten().map(|&a| a as u32);
        Ok(self.node.checkpoint()?.chain(sealed([self.head()].into_iter().chain(integers))))
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
        let (needed, found) = (self.checkpoint_len(), bytes.len());
        if found < needed {
            return Err(CheckpointError::Length { needed, found });
        }
        for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(self.checkpoint()?) {
            *bytes = word.to_le_bytes();
        }
        Ok(needed)
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
        let (words, _) = own.as_chunks::<4>();
        let words = words.iter().map(|word| u32::from_le_bytes(*word));
        let head = words.clone().next().unwrap_or(0);
        let body = words.len().saturating_sub(1);
        if !sealed(words.clone().take(body)).eq(words.clone()) {
            return Err(CheckpointError::Corrupt);
        }
        if head & !OPENING != self.head() & !OPENING {
            return Err(CheckpointError::OtherNode { name: "codec" });
        }
        self.node.restore(node)?;
        (self.opening, self.left) = (head & OPENING != 0, false);
        let mut words = words.skip(1);
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

/// Words, and then their checksum.
fn sealed(mut words: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut digest = Some(Checksum::start());
    core::iter::from_fn(move || {
        let Some(word) = words.next() else { return digest.take().map(Checksum::finalize) };
        if let Some(digest) = &mut digest {
            digest.update(&word.to_le_bytes());
        }
        Some(word)
    })
}
