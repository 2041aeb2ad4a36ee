//! Blocks of differences: one step, and a few bits per element.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the exponent of the step, in units: 0 to 29; or 31 if nothing changes, and then nothing follows |
//! | ⌈len · bits / 8⌉ | for each element a multiple of the step, as a two's complement of `bits` bits, the lowest bit first; unused bits of the last byte are zero |

use super::{Bits, Grid};

/// The elements of a block; the last one of a vector may be shorter.
pub const BLOCK: usize = 32;

/// The largest exponent of a step: two values within [`LIMIT`](super::LIMIT) are never farther apart than three such steps.
const LARGEST: u8 = 29;

/// The differences of a block: what a node sends, and adds to what its neighbours know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Block {
    step: u8,
    len: u8,
    multiples: [i8; BLOCK],
}

impl Block {
    /// The most bytes of a block.
    pub const LONGEST: usize = 1 + BLOCK;

    /// Instead of a step: nothing changes.
    pub(crate) const SILENT: u8 = 31;

    /// The differences between values and what is known of them, up to the end of the shorter slice and at most [`BLOCK`]: the
    /// nearest multiples of the smallest step with which all of them have few enough bits.
    #[must_use]
    pub fn quantise(bits: Bits, grid: Grid, values: &[f32], known: &[i32]) -> Self {
        // Computed twice, because a chip's stack is short.
        let apart = || {
            let each = values.iter().zip(known).take(BLOCK);
            each.map(|(&value, &known)| grid.number(value).wrapping_sub(known))
        };
        let largest = apart().map(i32::unsigned_abs).fold(0, u32::max);
        let mut step = 0;
        while step < LARGEST && rounded(largest, step) > bits.most() {
            step += 1;
        }
        let (len, mut multiples) = (values.len().min(known.len()).min(BLOCK), [0; BLOCK]);
        for (multiple, apart) in multiples.iter_mut().zip(apart()) {
            let size = rounded(apart.unsigned_abs(), step).min(bits.most()) as i8;
            *multiple = if apart < 0 { size.wrapping_neg() } else { size };
        }
        Self { step, len: len as u8, multiples }
    }

    /// What is added to each element, in units; zero beyond the block's end.
    #[must_use]
    pub fn changes(&self) -> [i32; BLOCK] {
        self.multiples.map(|multiple| i32::from(multiple) << self.step)
    }

    /// The same, one after the other: an array is long for a chip's stack.
    pub(super) fn each(&self) -> impl Iterator<Item = i32> + '_ {
        self.multiples.iter().map(|&multiple| i32::from(multiple) << self.step)
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.multiples.iter().all(|&multiple| multiple == 0)
    }

    /// The length of a block of `len` elements that changes, in bytes.
    #[must_use]
    pub const fn bytes(bits: Bits, len: usize) -> usize {
        let len = if len < BLOCK { len } else { BLOCK };
        1 + (len * bits.count() as usize).div_ceil(8)
    }

    /// The length of this block in bytes.
    #[must_use]
    pub fn written(&self, bits: Bits) -> usize {
        if self.is_silent() { 1 } else { Self::bytes(bits, self.len.into()) }
    }

    /// The length of the block of `len` elements that bytes begin with.
    pub(crate) fn read_len(bits: Bits, len: usize, bytes: &[u8]) -> usize {
        if bytes.first() == Some(&Self::SILENT) { 1 } else { Self::bytes(bits, len) }
    }

    /// Writes the block and returns its length in bytes; `None` if it does not fit.
    #[must_use]
    pub fn write(&self, bits: Bits, out: &mut [u8]) -> Option<usize> {
        if self.is_silent() {
            *out.first_mut()? = Self::SILENT;
            return Some(1);
        }
        let len = Self::bytes(bits, self.len.into());
        let (head, rest) = out.get_mut(..len)?.split_first_mut()?;
        *head = self.step;
        let (mut waiting, mut count) = (0_u32, 0);
        let mut multiples = self.multiples.iter();
        for byte in rest {
            while count < 8 {
                // Beyond the end there are zeros.
                let next = multiples.next().copied().unwrap_or(0);
                waiting |= (u32::from(next as u8) & mask(bits)) << count;
                count += bits.count();
            }
            *byte = waiting as u8;
            waiting >>= 8;
            count -= 8;
        }
        Some(len)
    }

    /// Reads a block of `len` elements, at most [`BLOCK`], and returns it with the bytes after it; `None` if these bytes do not
    /// begin with such a block.
    #[must_use]
    pub fn read(bits: Bits, len: usize, bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&step, rest) = bytes.split_first()?;
        let mut block = Self { step: 0, len: u8::try_from(len).ok()?, multiples: [0; BLOCK] };
        let multiples = block.multiples.get_mut(..len)?;
        if step == Self::SILENT {
            return Some((block, rest));
        }
        let (packed, rest) = rest.split_at_checked(Self::bytes(bits, len).wrapping_sub(1))?;
        if step > LARGEST {
            return None;
        }
        let (mut waiting, mut count) = (0_u32, 0);
        let mut packed = packed.iter();
        for multiple in multiples {
            if count < bits.count() {
                waiting |= u32::from(*packed.next()?) << count;
                count += 8;
            }
            let unsigned = waiting & mask(bits);
            // The lowest number is that without a positive counterpart; no writer uses it.
            if unsigned == bits.most() + 1 {
                return None;
            }
            let sign = if unsigned > bits.most() { !mask(bits) } else { 0 };
            *multiple = (unsigned | sign) as i8;
            waiting >>= bits.count();
            count -= bits.count();
        }
        // What is left are the unused bits of the last byte.
        if waiting != 0 {
            return None;
        }
        block.step = step;
        Some((block, rest))
    }
}

/// The lowest `bits` bits.
const fn mask(bits: Bits) -> u32 {
    (1 << bits.count()) - 1
}

/// `size` in steps of 2^`step`, rounded; half a step is rounded up.
const fn rounded(size: u32, step: u8) -> u32 {
    match step {
        0 => size,
        _ => ((size >> (step as u32 - 1)) + 1) >> 1,
    }
}

#[cfg(test)]
mod tests {
    use super::super::LIMIT;
    use super::*;
    use crate::draw::{Draws, Purpose, Stream};

    const ALL: [Bits; 3] = [Bits::Eight, Bits::Four, Bits::Three];

    fn stream(seed: u64) -> Stream {
        Draws { seed, node: 0 }.stream(0, Purpose::INNER_GRADIENT)
    }

    fn below(stream: &mut Stream, bound: u32) -> u32 {
        stream.below(bound.try_into().unwrap())
    }

    #[test]
    fn what_is_written_is_read_and_what_follows_is_left() {
        let mut stream = stream(1);
        for round in 0..30_000 {
            let bits = ALL[round % 3];
            let len = 1 + below(&mut stream, 32) as usize;
            let scale = libm::exp2f(below(&mut stream, 40) as f32 - 20.0);
            let values: Vec<f32> = (0..len).map(|_| scale * stream.signed_unit()).collect();
            let block = Block::quantise(bits, Grid::new(-22), &values, &[0; BLOCK]);
            let mut bytes = [0xaa; Block::LONGEST + 1];
            let written = block.write(bits, &mut bytes).unwrap();
            assert!(written == 1 || written == Block::bytes(bits, len));
            assert_eq!(bytes[written], 0xaa, "wrote beyond its end");
            let (read, rest) = Block::read(bits, len, &bytes[..written + 1]).unwrap();
            assert_eq!((read.changes(), rest), (block.changes(), &[0xaa][..]));
            assert!(block.changes()[len..].iter().all(|&change| change == 0));
            assert_eq!(block.write(bits, &mut bytes[..written - 1]), None);
            assert_eq!(Block::read(bits, len, &bytes[..written - 1]), None);
        }
    }

    #[test]
    fn a_block_is_these_bytes() {
        let grid = Grid::new(0);
        for (bits, values, want) in [
            (Bits::Eight, &[1.0, -1.0, 127.0, -127.0][..], &[0, 0x01, 0xff, 0x7f, 0x81][..]),
            (Bits::Eight, &[254.0, 1.0, -3.0], &[1, 127, 1, 0xfe]),
            (Bits::Four, &[7.0, -7.0, 1.0], &[0, 0x97, 0x01]),
            (Bits::Four, &[-112.0], &[4, 0x09]),
            (Bits::Three, &[3.0, -3.0, 1.0, -1.0], &[0, 0x6b, 0x0e]),
            (Bits::Three, &[0.0, 0.4, -0.4], &[31]),
        ] {
            let block = Block::quantise(bits, grid, values, &[0; BLOCK]);
            let mut bytes = [0; Block::LONGEST];
            let len = block.write(bits, &mut bytes).unwrap();
            assert_eq!(&bytes[..len], want, "{bits:?} {values:?}");
        }
        assert_eq!(ALL.map(|bits| Block::bytes(bits, 32)), [33, 17, 13]);
    }

    #[test]
    fn bytes_that_no_writer_writes_are_refused() {
        for (bits, len, bytes) in [
            (Bits::Eight, 1, &[][..]),
            (Bits::Eight, 1, &[30, 1]),
            (Bits::Eight, 1, &[32, 1]),
            (Bits::Eight, 1, &[255, 1]),
            (Bits::Eight, 1, &[0, 0x80]),
            (Bits::Four, 2, &[0, 0x81]),
            // The unused half of the byte.
            (Bits::Four, 1, &[0, 0x11]),
            (Bits::Three, 1, &[0, 0x04]),
            (Bits::Three, 1, &[0, 0x08]),
            (Bits::Eight, 33, &[31]),
            (Bits::Eight, 300, &[0; 301]),
        ] {
            assert_eq!(Block::read(bits, len, bytes), None, "{bits:?} {len} {bytes:?}");
        }
        // Any bytes are read or refused, and what was read is written again.
        let mut stream = stream(2);
        for round in 0..100_000 {
            let (bits, len) = (ALL[round % 3], below(&mut stream, 40) as usize);
            let bytes: Vec<u8> = (0..below(&mut stream, 40)).map(|_| stream.next() as u8).collect();
            if let Some((block, rest)) = Block::read(bits, len, &bytes) {
                let mut again = [0; Block::LONGEST];
                let written = block.write(bits, &mut again).unwrap();
                let read = &bytes[..bytes.len() - rest.len()];
                assert!(block.is_silent() || again[..written] == *read, "{bits:?} {bytes:?}");
            }
        }
    }

    #[test]
    fn rounding_leaves_half_a_step_and_the_known_value_stays_in_range() {
        let grid = Grid::new(-22);
        let mut stream = stream(3);
        for bits in ALL {
            let mut known = [0_i32; BLOCK];
            for _ in 0..5_000 {
                // Jumps from one end of the range to the other and beyond, and small steps.
                let scale = libm::exp2f(below(&mut stream, 40) as f32 - 30.0);
                let values: [f32; BLOCK] = core::array::from_fn(|_| scale * stream.signed_unit());
                let block = Block::quantise(bits, grid, &values, &known);
                let half = (1_i64 << block.step) / 2;
                for ((known, change), value) in known.iter_mut().zip(block.changes()).zip(values) {
                    *known = known.checked_add(change).unwrap();
                    let left = i64::from(grid.number(value)) - i64::from(*known);
                    assert!(left.abs() <= half, "{bits:?} {left} {half}");
                    assert!(known.abs() <= LIMIT + LIMIT / 2);
                }
            }
        }
    }

    #[test]
    fn a_value_that_stands_still_is_known_exactly_after_a_few_rounds() {
        let grid = Grid::new(-22);
        for (bits, most) in [(Bits::Eight, 5), (Bits::Four, 11), (Bits::Three, 19)] {
            let mut stream = stream(4);
            let values: [f32; BLOCK] = core::array::from_fn(|_| 100.0 * stream.signed_unit());
            let mut known = [0_i32; BLOCK];
            let mut rounds = 0;
            loop {
                let block = Block::quantise(bits, grid, &values, &known);
                if block.is_silent() {
                    break;
                }
                known.iter_mut().zip(block.changes()).for_each(|(a, change)| *a += change);
                rounds += 1;
            }
            assert_eq!(known, values.map(|a| grid.number(a)));
            assert!(rounds <= most, "{bits:?}: {rounds}");
        }
    }
}
