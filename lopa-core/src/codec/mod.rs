//! Few bits on the wire: differences of 8, 4 or 3 bits instead of floats, with sums that stay exact.
//!
//! Links are the bottleneck of a fleet. Near the end of a run x and y hardly change, and then a difference of a few bits says
//! as much as a float of 32. The scheme belongs to the family of CHOCO-gossip, C-GT and BEER:
//!
//! 1. A node keeps x̂, which is what its neighbours know of its x.
//! 2. It sends q = Q(x - x̂), a few bits per element, and all of them, it too, add q to what they know: x̂ += q.
//! 3. Instead of every neighbour's x̂ it keeps one sum, its *gap* Σ_j w_ij (x̂_j - x̂): gap += Σ_j w_ij (q_j - q).
//! 4. It mixes with the gap where it would have mixed with Σ_j w_ij (x_j - x).
//!
//! What Q leaves out stays in x - x̂ and is sent later. Q is a function of x and x̂ alone, without dither or seed, so a lost
//! chunk is computed again instead of being kept, and all nodes compute the same bits. With gradient tracking y travels in
//! the same way.
//!
//! # The grid
//!
//! A gap is never computed anew, so an error made in it once would stay forever, and gradient tracking would add it to y in
//! every round: with floats and w = 1/3 the error grows linearly. So x̂ and the gap are integers.
//!
//! - x̂ counts in [units](Grid) of 2^e. The exponent is part of the [`Codec`], the same for all nodes and all rounds.
//! - Weights are multiples of 1/256, [`Share`]s. The gap counts in units of 2^e / 256.
//! - Q rounds x to the grid and sends, for each [`Block`] of 32 elements, one power of two as the step and for each element a
//!   small multiple of it. The step is at least one unit, so q is a whole number of units.
//!
//! **No rounding, no drift.** Write k_ij for 256 w_ij. After any number of rounds, gap_i = Σ_j k_ij (x̂_j - x̂_i), exactly:
//! it holds at the start of an epoch, where x̂ and gap are computed from values sent in full, and step 3 adds to both sides
//! the same integers. The sum over all nodes is Σ_i Σ_j k_ij (x̂_j - x̂_i) = 0, exactly, because k_ij = k_ji: every
//! pair appears once with each sign. So mixing keeps the sum of x, and that of y, up to the rounding of x and y themselves, as
//! it does with floats.
//!
//! **The end.** When x stands still, x̂ is x to within half a unit after a few rounds, however few the bits: the step
//! shrinks with the largest difference, by a factor of at least 127 per round with 8 bits, 7 with 4 and 3 with 3. From then on
//! a block without a change is one byte.
//!
//! # Ranges
//!
//! | | in units of x | with the usual 2^-22 |
//! |---|---:|---:|
//! | resolution | 1 | 2.4e-7 |
//! | x̂, and so x: [`LIMIT`] | ±2^29 | ±128 |
//! | gap, the weighted disagreement with neighbours | ±2^23 | ±2 |
//!
//! A node whose x leaves its range stops, as one whose x is infinite does; the same holds for its gap ([`OutOfRange`]).
//! Nothing wraps around, and a neighbour cannot cause a panic, whatever it sends.
//!
//! **The unit of y** follows from that of x: it is the unit of x divided by α, rounded up to a power of two, because α y is
//! what x moves by. A coarser y does not cost accuracy: the mean of y is exact, and only the disagreement of the nodes about it
//! is rounded.
//!
//! # Bytes
//!
//! A block of 32 elements takes 33 bytes with 8 bits, 17 with 4 and 13 with 3; floats take 128. The first round of an epoch sends
//! floats, unless all values of a chunk are zero on the grid, as at the start of most runs: then it sends none.
//!
//! A [`CodedNode`] is a node that mixes in this way. With the feature `codec`, an [`Exchange`](crate::exchange::Exchange)
//! drives it over links.
//!
//! Two bits, so -1, 0 and 1, are refused: the network diverges, because what Q leaves out grows faster than it is sent.

mod block;
mod checkpoint;
mod grid;
mod ledger;
mod node;
mod outgoing;

pub use block::{BLOCK, Block};
pub(crate) use checkpoint::vectors;
pub use checkpoint::{Words, checkpoint_len};
pub use grid::{Grid, LIMIT};
pub use ledger::{Ledger, OutOfRange, Pull, Share};
pub use node::{CodedGtNode, CodedLgNode, CodedNeighbour, CodedNode, Integers, Ledgers};
pub use outgoing::Outgoing;
pub(crate) use outgoing::part;

/// Whether chunks of so many elements consist of whole [blocks](BLOCK), or of the whole vector: a block must not depend on where
/// chunks end.
#[must_use]
pub const fn whole_blocks(chunk: usize, outer: usize) -> bool {
    chunk.is_multiple_of(BLOCK) || chunk >= outer
}

/// How vectors travel: the bits per difference, and the unit of x.
///
/// ```
/// use lopa_core::codec::{Block, Codec};
/// let codec = Codec::new(8, Codec::USUAL_UNIT)?;
/// let (x, known) = ([0.5, -0.25, 0.0_f32], [0; 3]);
/// let block = Block::quantise(codec.bits(), codec.outer(), &x, &known);
///
/// let mut bytes = [0; Block::LONGEST];
/// let len = block.write(codec.bits(), &mut bytes).unwrap();
/// assert_eq!(len, 4);
/// let (received, rest) = Block::read(codec.bits(), 3, &bytes[..len]).unwrap();
/// assert_eq!((received, rest), (block, &[][..]));
/// // Half of 2^22 units, a quarter of them, and none.
/// assert_eq!(received.changes()[..3], [1 << 21, -(1 << 20), 0]);
/// # Ok::<(), lopa_core::codec::CodecError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
pub struct Codec {
    bits: Bits,
    unit: i8,
}

/// Bits per difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
pub enum Bits {
    /// From -3 to 3.
    Three,
    /// From -7 to 7.
    Four,
    /// From -127 to 127.
    Eight,
}

impl Bits {
    /// The number.
    #[must_use]
    pub const fn count(self) -> u32 {
        match self {
            Self::Three => 3,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The elements of a chunk of changes, where one of floats has `chunk` elements: a round has as few chunks as fit into the
    /// room of those floats, all about as long.
    ///
    /// ```
    /// use lopa_core::codec::Bits;
    /// // 784 elements in chunks of at most 7 blocks, and of 15: four chunks of 224 or less, and two of 416 or less.
    /// assert_eq!((Bits::Four.chunk(32, 784), Bits::Eight.chunk(128, 784)), (224, 416));
    /// ```
    #[must_use]
    pub const fn chunk(self, chunk: u32, outer: u32) -> u32 {
        const fn above(number: u32) -> u32 {
            if number == 0 { 1 } else { number }
        }
        let room = chunk.saturating_mul(size_of::<f32>() as u32);
        let fit = above(room / Block::bytes(self, BLOCK) as u32);
        let blocks = above(outer.div_ceil(BLOCK as u32));
        let chunks = above(blocks.div_ceil(fit));
        blocks.div_ceil(chunks).saturating_mul(BLOCK as u32)
    }

    /// The largest multiple of a step.
    #[must_use]
    pub const fn most(self) -> u32 {
        (1 << (self.count() - 1)) - 1
    }
}

impl Codec {
    /// The exponent of the unit that suits values of about one: x up to 128, with a resolution of 2.4e-7.
    pub const USUAL_UNIT: i8 = -22;

    /// Checks a number of bits, and the exponent of the unit of x.
    ///
    /// # Errors
    /// Refuses numbers of bits other than 8, 4 and 3, and units below 2^-60 or above 2^20.
    pub const fn new(bits: u32, unit: i8) -> Result<Self, CodecError> {
        let bits = match bits {
            8 => Bits::Eight,
            4 => Bits::Four,
            3 => Bits::Three,
            bits => return Err(CodecError::Bits { bits }),
        };
        if unit < -60 || unit > 20 {
            return Err(CodecError::Unit { unit });
        }
        Ok(Self { bits, unit })
    }

    /// Bits per difference.
    #[must_use]
    pub const fn bits(self) -> Bits {
        self.bits
    }

    /// The codec as a number of ten bits, for greetings and checkpoints: 1, 2 or 3 for 3, 4 or 8 bits, plus 4 times the exponent
    /// of the unit as a byte. It is never 0, which stands for floats.
    #[must_use]
    pub const fn identity(self) -> u32 {
        let bits = match self.bits {
            Bits::Three => 1,
            Bits::Four => 2,
            Bits::Eight => 3,
        };
        bits | ((self.unit as u8 as u32) << 2)
    }

    /// The codec with this number; `None` for floats, and if there is no such codec.
    #[must_use]
    pub const fn from_identity(identity: u32) -> Option<Self> {
        let bits = match identity & 3 {
            1 => 3,
            2 => 4,
            3 => 8,
            _ => return None,
        };
        if identity >= 1 << 10 {
            return None;
        }
        match Self::new(bits, (identity >> 2) as u8 as i8) {
            Ok(codec) => Some(codec),
            Err(_) => None,
        }
    }

    /// The grid of x.
    #[must_use]
    pub const fn outer(self) -> Grid {
        Grid::new(self.unit as i32)
    }

    /// The grid of y, for the step size α: its unit is that of x, divided by α rounded down to a power of two.
    #[must_use]
    pub const fn direction(self, alpha: f32) -> Grid {
        let power = ((alpha.to_bits() >> 23) & 0xff) as i32 - 127;
        Grid::new((self.unit as i32).wrapping_sub(power))
    }
}

/// Why there is no such codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
#[non_exhaustive]
pub enum CodecError {
    /// The number of bits is not 8, 4 or 3.
    Bits {
        /// The number given.
        bits: u32,
    },
    /// The unit is too fine or too coarse.
    Unit {
        /// Its exponent.
        unit: i8,
    },
}

impl core::fmt::Display for CodecError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Bits { bits: bits @ 0..=2 } => {
                write!(f, "{bits} bits per difference are too few to converge: use 8, 4 or 3")
            }
            Self::Bits { bits } => write!(f, "there is no codec of {bits} bits: use 8, 4 or 3"),
            Self::Unit { unit } => {
                write!(f, "a unit of 2^{unit} is out of range: its exponent must be -60 to 20")
            }
        }
    }
}

impl core::error::Error for CodecError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_which_bits_and_units_there_are() {
        let text = |bits, unit| Codec::new(bits, unit).unwrap_err().to_string();
        assert!(text(2, -22).contains("too few to converge"));
        assert!(text(5, -22).contains("no codec of 5 bits: use 8, 4 or 3"));
        assert!(text(8, -61).contains("2^-61") && text(8, 21).contains("2^21"));
        for (bits, most) in [(8, 127), (4, 7), (3, 3)] {
            let bits = Codec::new(bits, 20).unwrap().bits();
            assert_eq!(bits.most(), most);
        }
    }

    #[test]
    fn numbers_of_codecs_read_back() {
        let mut found = 0;
        for identity in 0..1 << 12 {
            if let Some(codec) = Codec::from_identity(identity) {
                assert_eq!(codec.identity(), identity);
                found += 1;
            }
        }
        assert_eq!(found, 3 * 81);
        assert_eq!(Codec::from_identity(u32::MAX), None);
    }

    #[test]
    fn the_unit_of_y_is_that_of_x_over_alpha() {
        let codec = Codec::new(8, -22).unwrap();
        for (alpha, exponent) in [(1.0, -22), (0.5, -21), (0.1, -18), (0.01, -15), (3.0, -23)] {
            assert_eq!(codec.direction(alpha), Grid::new(exponent), "{alpha}");
            // One unit of y moves x by one to two units.
            let moved = alpha * codec.direction(alpha).unit() / codec.outer().unit();
            assert!((1.0..2.0).contains(&moved), "{alpha} {moved}");
        }
        // Whatever α is, there is a grid.
        for alpha in [f32::MIN_POSITIVE / 8.0, f32::MIN_POSITIVE, f32::MAX] {
            assert!(codec.direction(alpha).unit() > 0.0);
            assert!(codec.direction(alpha).pull(i32::MIN).is_finite());
        }
    }
}
