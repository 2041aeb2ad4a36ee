//! Consistent overhead byte stuffing: frames without zeros, ended by one.
//!
//! An own decoder, because one that is fed byte by byte, bounded, and proven free of panics is small; the
//! encoder stuffs while the message is being written, so a frame is never held twice.

use super::seal::{self, Seal, Sealing};

/// Writes one frame into a slice: stuffed, with its seal and its end.
#[derive(Debug)]
pub struct FrameWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    /// Where the current block's length goes.
    block: usize,
    sealing: Sealing,
    full: bool,
}

impl<'a> FrameWriter<'a> {
    /// Begins a frame in `out`.
    #[must_use]
    pub fn new(seal: &Seal, out: &'a mut [u8]) -> Self {
        let full = out.is_empty();
        Self { out, at: 1, block: 0, sealing: seal.start(), full }
    }

    /// Adds a byte of the message.
    pub fn push(&mut self, byte: u8) {
        self.sealing.update(&[byte]);
        self.stuff(byte);
    }

    /// Closes the frame and returns its length; `None` if it did not fit.
    #[must_use]
    pub fn finish(mut self) -> Option<usize> {
        for &byte in self.sealing.clone().finish().as_ref() {
            self.stuff(byte);
        }
        self.close_block();
        self.put(0);
        if self.full { None } else { Some(self.at) }
    }

    fn stuff(&mut self, byte: u8) {
        // A block has 254 bytes at most: its length, 1 to 255, is stored where the zero was.
        if self.at.wrapping_sub(self.block) == 255 {
            self.close_block();
            self.begin_block();
        }
        if byte == 0 {
            self.close_block();
            self.begin_block();
        } else {
            self.put(byte);
        }
    }

    fn put(&mut self, byte: u8) {
        match self.out.get_mut(self.at) {
            Some(place) => *place = byte,
            None => self.full = true,
        }
        self.at = self.at.wrapping_add(1);
    }

    fn close_block(&mut self) {
        let length = self.at.wrapping_sub(self.block);
        if let Some(place) = self.out.get_mut(self.block) {
            *place = length as u8;
        }
    }

    fn begin_block(&mut self) {
        self.block = self.at;
        self.put(0);
    }
}

/// Why bytes did not make a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrameError {
    /// Longer than any message this node understands.
    Oversize,
    /// The stuffing is broken, or it is too short to carry a seal.
    Truncated,
    /// The checksum or the tag is wrong.
    Seal,
}

/// Puts frames back together from bytes, in a buffer of `N` bytes.
///
/// After garbage it is back in step at the next zero.
#[derive(Debug, Clone)]
pub struct FrameReader<const N: usize> {
    seal: Seal,
    buffer: [u8; N],
    len: usize,
    /// Bytes left in the block.
    left: u8,
    /// Whether the block stands for a zero after it.
    zero: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a frame.
    Empty,
    Inside,
    /// Lost, until the next zero.
    Oversize,
}

impl<const N: usize> FrameReader<N> {
    /// A reader at the start of a frame.
    #[must_use]
    pub const fn new(seal: Seal) -> Self {
        Self { seal, buffer: [0; N], len: 0, left: 0, zero: false, state: State::Empty }
    }

    /// Takes one byte; with the last byte of a frame gives the message in it, without its seal.
    #[inline]
    pub fn push(&mut self, byte: u8) -> Option<Result<&[u8], FrameError>> {
        if byte == 0 {
            return self.end();
        }
        if self.left == 0 {
            let (first, zero) = (self.state == State::Empty, self.zero);
            // A block of 255 stands for no zero: it was full.
            (self.left, self.zero) = (byte.wrapping_sub(1), byte != 255);
            if first {
                self.state = State::Inside;
            } else if zero {
                self.keep(0);
            }
        } else {
            self.left = self.left.wrapping_sub(1);
            self.keep(byte);
        }
        None
    }

    fn keep(&mut self, byte: u8) {
        match self.buffer.get_mut(self.len) {
            Some(place) if self.state == State::Inside => {
                *place = byte;
                self.len = self.len.wrapping_add(1);
            }
            _ => self.state = State::Oversize,
        }
    }

    fn end(&mut self) -> Option<Result<&[u8], FrameError>> {
        let (state, left, len) = (self.state, self.left, self.len);
        (self.state, self.left, self.len, self.zero) = (State::Empty, 0, 0, false);
        match state {
            // Two zeros in a row are an idle line, not an error.
            State::Empty => None,
            State::Oversize => Some(Err(FrameError::Oversize)),
            State::Inside if left != 0 => Some(Err(FrameError::Truncated)),
            State::Inside => {
                let frame = self.buffer.get(..len).ok_or(FrameError::Oversize);
                Some(frame.and_then(|frame| self.seal.open(frame)))
            }
        }
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for FrameWriter<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "FrameWriter({} bytes)", self.at);
    }
}

#[cfg(feature = "defmt")]
impl<const N: usize> defmt::Format for FrameReader<N> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "FrameReader({} bytes)", self.len);
    }
}

/// The longest a frame can be on the wire for a message of `message` bytes.
#[must_use]
pub const fn frame_len(message: usize) -> usize {
    let stuffed = message + seal::LONGEST;
    stuffed + stuffed / 254 + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(message: &[u8]) -> Vec<u8> {
        let mut out = vec![0; frame_len(message.len())];
        let mut writer = FrameWriter::new(&Seal::PLAIN, &mut out);
        message.iter().for_each(|&byte| writer.push(byte));
        let len = writer.finish().unwrap();
        out.truncate(len);
        out
    }

    fn read<const N: usize>(
        reader: &mut FrameReader<N>,
        bytes: &[u8],
    ) -> Vec<Result<Vec<u8>, FrameError>> {
        bytes.iter().filter_map(|&b| reader.push(b).map(|r| r.map(<[u8]>::to_vec))).collect()
    }

    #[test]
    fn every_length_and_pattern_comes_back() {
        let mut reader = FrameReader::<800>::new(Seal::PLAIN);
        for len in 0..=780 {
            for pattern in 0..4 {
                let byte = |i: usize| [0, 1, (i % 255) as u8 + 1, (i * 7 % 256) as u8][pattern];
                let message: Vec<u8> = (0..len).map(byte).collect();
                let bytes = frame(&message);
                assert_eq!(bytes.iter().position(|&b| b == 0), Some(bytes.len() - 1));
                assert_eq!(read(&mut reader, &bytes), [Ok(message)]);
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_book() {
        // CRC-32 of "123456789" is 0xcbf43926: the check value of the catalogue.
        assert_eq!(frame(b"123456789"), b"\x0e123456789\x26\x39\xf4\xcb\x00");
        assert_eq!(frame(&[0]), [1, 5, 0x8d, 0xef, 0x02, 0xd2, 0]);
    }

    #[test]
    fn after_garbage_it_is_in_step_again() {
        let good = frame(b"hello");
        let mut reader = FrameReader::<40>::new(Seal::PLAIN);
        for garbage in [&[7, 7, 7][..], &[255; 100], &[1], &[3, 1], &good[2..]] {
            let mut bytes = garbage.to_vec();
            bytes.push(0);
            bytes.extend(&good);
            let got = read(&mut reader, &bytes);
            assert_eq!(got.last(), Some(&Ok(b"hello".to_vec())), "{garbage:?}");
            assert!(got[..got.len() - 1].iter().all(Result::is_err));
        }
        // An idle line is not an error.
        assert_eq!(read(&mut reader, &[0, 0, 0]), []);
    }

    #[test]
    fn what_is_wrong_with_a_frame_is_told_apart() {
        let mut reader = FrameReader::<12>::new(Seal::PLAIN);
        let mut bytes = frame(b"too long for it");
        assert_eq!(read(&mut reader, &bytes), [Err(FrameError::Oversize)]);
        bytes = frame(b"short");
        bytes[3] ^= 4;
        assert_eq!(read(&mut reader, &bytes), [Err(FrameError::Seal)]);
        assert_eq!(read(&mut reader, &[9, 1, 1, 0]), [Err(FrameError::Truncated)]);
        assert_eq!(read(&mut reader, &[3, 1, 1, 0]), [Err(FrameError::Truncated)]);
        let mut small = [0; 8];
        let mut writer = FrameWriter::new(&Seal::PLAIN, &mut small);
        b"hello".iter().for_each(|&b| writer.push(b));
        assert_eq!(writer.finish(), None);
        assert_eq!(FrameWriter::new(&Seal::PLAIN, &mut []).finish(), None);
    }

    #[test]
    fn no_single_error_gets_through() {
        let good = frame(&[0, 1, 2, 0, 0, 250, 9, 9, 9, 0]);
        let mut reader = FrameReader::<40>::new(Seal::PLAIN);
        for bit in 0..8 * good.len() {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes.push(0);
            assert!(read(&mut reader, &bytes).iter().all(Result::is_err), "bit {bit}");
        }
        for lost in 0..good.len() - 1 {
            let mut bytes = good.clone();
            bytes.remove(lost);
            assert!(read(&mut reader, &bytes).iter().all(Result::is_err), "byte {lost}");
        }
    }
}
