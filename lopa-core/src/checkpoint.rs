//! A node's state as bytes: written in pieces, read in place.
//!
//! Words of 32 bits, little-endian:
//!
//! | words | what |
//! |---|---|
//! | 1 | `0x4150_6f4c`, the letters "LoPA" |
//! | 1 | format version 3, plus 256 with gradient tracking |
//! | 2 | n, p |
//! | 2 | the seed, low word first |
//! | 1 | the node's number |
//! | 3 | the epoch: its number, low word first; its mark |
//! | 2 | rounds completed, low word first |
//! | 10 | the five evaluation counters, low words first |
//! | 2n + 2p | x, θ, v, z as floats |
//! | n | y, with gradient tracking only: with LG it equals z |
//! | 1 | CRC-32 (ISO HDLC) of all bytes before |

use core::slice;

use crate::epoch::Epoch;
use crate::node::{Node, Phase, Scheme};
use crate::oracles::Evaluations;
use crate::problem::Problem;
use crate::vector::Storage;
use crate::wire::seal::Checksum;

const MAGIC: u32 = u32::from_le_bytes(*b"LoPA");
/// In version 2, x of strengths had no base: see [`Regularised::around`](crate::problems::Regularised::around).
const VERSION: u32 = 3;
const TRACKING: u32 = 0x100;
const HEADER: usize = 22;

/// The length of a checkpoint in bytes.
///
/// ```
/// use lopa_core::{checkpoint, node::Scheme};
/// assert_eq!(checkpoint::len(Scheme::LocalGradient, 784, 784), 4 * (23 + 4 * 784));
/// ```
#[must_use]
pub const fn len(scheme: Scheme, outer: usize, inner: usize) -> usize {
    let tracked = match scheme {
        Scheme::LocalGradient => 0,
        Scheme::GradientTracking => outer,
    };
    4 * (HEADER + 2 * outer + 2 * inner + tracked + 1)
}

/// Why a checkpoint was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A checkpoint can only be taken between rounds, not of a node that is mixing or diverged.
    MidRound,
    /// The bytes are not a checkpoint of this version; erased flash is not either.
    NotACheckpoint,
    /// There are too few or too many bytes.
    Length {
        /// The bytes this node's checkpoint has.
        needed: usize,
        /// The bytes given.
        found: usize,
    },
    /// It was taken from a node with another scheme, dimension, seed or number.
    OtherNode {
        /// What differs.
        name: &'static str,
    },
    /// The checksum is wrong: a write was cut short, or the memory is worn.
    Corrupt,
    /// The checksum is right, but a value is infinite or NaN.
    NonFinite,
}

impl core::fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::MidRound => {
                write!(f, "a checkpoint can only be taken between rounds: finish the round first")
            }
            Self::NotACheckpoint => {
                write!(f, "these bytes are not a checkpoint of this version: start without one")
            }
            Self::Length { needed, found } => {
                write!(
                    f,
                    "a checkpoint of this node has {needed} bytes, not {found}: restore another one"
                )
            }
            Self::OtherNode { name } => {
                write!(
                    f,
                    "the checkpoint was taken from a node with another {name}: restore one of this node"
                )
            }
            Self::Corrupt => {
                write!(
                    f,
                    "the checkpoint's checksum is wrong, it was cut short or damaged: restore an older one"
                )
            }
            Self::NonFinite => write!(
                f,
                "the checkpoint contains a value that is infinite or NaN: restore an older one"
            ),
        }
    }
}

impl core::error::Error for CheckpointError {}

/// A checkpoint as a stream of words, the checksum last; write them little-endian.
pub struct Words<'a> {
    header: [u32; HEADER],
    vectors: [slice::Iter<'a, f32>; 5],
    at: usize,
    len: usize,
    digest: Checksum,
}

impl Iterator for Words<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.at >= self.len {
            return None;
        }
        let at = self.at;
        self.at = at.wrapping_add(1);
        if self.at == self.len {
            return Some(self.digest.clone().finalize());
        }
        let word = match self.header.get(at) {
            Some(&word) => word,
            None => self.vectors.iter_mut().find_map(Iterator::next).map_or(0, |a| a.to_bits()),
        };
        self.digest.update(&word.to_le_bytes());
        Some(word)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Words<'_> {
    // Its default compares two hints and panics if they differ.
    fn len(&self) -> usize {
        self.len.saturating_sub(self.at)
    }
}

impl core::fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Words({} of {})", self.at, self.len)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Words<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Words({} of {})", self.at, self.len);
    }
}

/// Writes the words of a checkpoint into `bytes` and returns its length.
pub(crate) fn save(
    words: impl ExactSizeIterator<Item = u32>,
    bytes: &mut [u8],
) -> Result<usize, CheckpointError> {
    let (needed, found) = (words.len().saturating_mul(4), bytes.len());
    if found < needed {
        return Err(CheckpointError::Length { needed, found });
    }
    for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    Ok(needed)
}

/// The words before the last one, which must be their checksum.
#[inline]
pub(crate) fn undamaged(words: &[[u8; 4]]) -> Result<&[[u8; 4]], CheckpointError> {
    let Some((checksum, words)) = words.split_last() else {
        return Err(CheckpointError::NotACheckpoint);
    };
    let mut digest = Checksum::start();
    words.iter().for_each(|word| digest.update(word));
    if digest.finalize() != u32::from_le_bytes(*checksum) {
        return Err(CheckpointError::Corrupt);
    }
    Ok(words)
}

impl<P: Problem, X: Storage, T: Storage, D: Storage> Node<P, X, T, D> {
    /// The node's state between two rounds, word by word.
    ///
    /// # Errors
    /// Refuses in the middle of a round.
    pub fn checkpoint(&self) -> Result<Words<'_>, CheckpointError> {
        if self.phase != Phase::Ready {
            return Err(CheckpointError::MidRound);
        }
        let state = self.state();
        let y = match self.scheme {
            Scheme::LocalGradient => &[],
            Scheme::GradientTracking => state.y,
        };
        Ok(Words {
            header: self.header(),
            vectors: [state.x, state.theta, state.v, state.z, y].map(<[f32]>::iter),
            at: 0,
            len: self.checkpoint_len() / 4,
            digest: Checksum::start(),
        })
    }

    /// The length of this node's checkpoint in bytes.
    #[must_use]
    pub fn checkpoint_len(&self) -> usize {
        len(self.scheme, self.buffers.x.as_ref().len(), self.buffers.theta.as_ref().len())
    }

    /// Writes the checkpoint into `bytes` and returns its length.
    ///
    /// # Errors
    /// Refuses in the middle of a round, and if `bytes` is too short.
    pub fn save(&self, bytes: &mut [u8]) -> Result<usize, CheckpointError> {
        save(self.checkpoint()?, bytes)
    }

    /// Restores a checkpoint of this node. Everything is checked before anything changes.
    ///
    /// # Errors
    /// Refuses bytes that are not a complete and undamaged checkpoint of this node.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let (words, _) = bytes.as_chunks::<4>();
        let mut header = [0; HEADER];
        for (word, bytes) in header.iter_mut().zip(words) {
            *word = u32::from_le_bytes(*bytes);
        }
        let own = self.header();
        if header[0] != own[0] || (header[1] & 0xff) != VERSION {
            return Err(CheckpointError::NotACheckpoint);
        }
        const NAMES: [&str; 6] =
            ["scheme", "outer dimension", "inner dimension", "seed", "seed", "node number"];
        for (name, (own, read)) in NAMES.into_iter().zip(own[1..].iter().zip(&header[1..])) {
            if own != read {
                return Err(CheckpointError::OtherNode { name });
            }
        }
        let (needed, found) = (self.checkpoint_len(), bytes.len());
        if found != needed {
            return Err(CheckpointError::Length { needed, found });
        }
        let words = undamaged(words)?;
        let mut floats = words.iter().skip(HEADER).map(|word| f32::from_le_bytes(*word));
        if floats.clone().any(|a| !a.is_finite()) {
            return Err(CheckpointError::NonFinite);
        }

        let buffers = &mut self.buffers;
        read(&mut floats, buffers.x.as_mut());
        read(&mut floats, buffers.theta.as_mut());
        read(&mut floats, buffers.v.as_mut());
        read(&mut floats, buffers.z.as_mut());
        let wide = |low: u32, high: u32| u64::from(low) | (u64::from(high) << 32);
        let [.., p0, p1, mark, r0, r1, a0, a1, b0, b1, c0, c1, d0, d1, e0, e1] = header;
        // LG: y = z between rounds, which is what a restart makes it.
        self.restart(Epoch { number: wide(p0, p1), mark }, wide(r0, r1));
        if self.scheme == Scheme::GradientTracking {
            read(&mut floats, self.buffers.y.as_mut());
        }
        self.evaluations = Evaluations::from_array([
            wide(a0, a1),
            wide(b0, b1),
            wide(c0, c1),
            wide(d0, d1),
            wide(e0, e1),
        ]);
        Ok(())
    }

    fn header(&self) -> [u32; HEADER] {
        let tracking = match self.scheme {
            Scheme::LocalGradient => 0,
            Scheme::GradientTracking => TRACKING,
        };
        let draws = self.config.sampler.draws;
        let [s0, s1] = halves(draws.seed);
        let [p0, p1] = halves(self.epoch.number);
        let [r0, r1] = halves(self.round);
        let [[a0, a1], [b0, b1], [c0, c1], [d0, d1], [e0, e1]] =
            self.evaluations.to_array().map(halves);
        let n = self.buffers.x.as_ref().len() as u32;
        let p = self.buffers.theta.as_ref().len() as u32;
        [
            MAGIC,
            VERSION | tracking,
            n,
            p,
            s0,
            s1,
            draws.node,
            p0,
            p1,
            self.epoch.mark,
            r0,
            r1, //
            a0,
            a1,
            b0,
            b1,
            c0,
            c1,
            d0,
            d1,
            e0,
            e1,
        ]
    }
}

/// The low and the high word.
const fn halves(a: u64) -> [u32; 2] {
    [a as u32, (a >> 32) as u32]
}

/// Fills a vector from a stream of floats.
fn read(floats: &mut impl Iterator<Item = f32>, vector: &mut [f32]) {
    for (a, read) in vector.iter_mut().zip(floats) {
        *a = read;
    }
}
