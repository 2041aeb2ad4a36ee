//! Consistent overhead byte stuffing: frames that contain no zeros, and end with one.
//!
//! The decoder is our own because one that takes single bytes, is bounded and provably free of panics is small. The encoder
//! is our own because it seals and stuffs in the buffer that the message was written to, so a frame is never stored twice.

use super::seal::{self, Seal};

/// Writes one frame into a slice: sealed, stuffed and terminated.
#[derive(Debug)]
pub struct FrameWriter<'a> {
    seal: &'a Seal,
    out: &'a mut [u8],
    /// The position of the next byte of the message, after the first block's length and the front of the seal.
    at: usize,
}

impl<'a> FrameWriter<'a> {
    /// Begins a frame in `out`.
    #[must_use]
    pub const fn new(seal: &'a Seal, out: &'a mut [u8]) -> Self {
        Self { seal, out, at: 1_usize.wrapping_add(seal.front()) }
    }

    /// Adds a byte of the message.
    pub fn push(&mut self, byte: u8) {
        if let Some(place) = self.out.get_mut(self.at) {
            *place = byte;
        }
        self.at = self.at.saturating_add(1);
    }

    /// Completes the frame and returns its length; `None` if it did not fit.
    #[must_use]
    pub fn finish(self) -> Option<usize> {
        let end = self.end()?;
        close(self.seal, self.out, end)
    }

    /// The end of the message and its seal; `None` if they do not fit.
    pub(super) fn end(&self) -> Option<usize> {
        let end = self.at.checked_add(self.seal.overhead().wrapping_sub(self.seal.front()))?;
        (end <= self.out.len()).then_some(end)
    }
}

/// Seals and stuffs a message that was written into `out`, and returns the length of its frame; `None` if it does not
/// fit.
// Not inlined, so that its part of a chip's stack is not needed while the message is written.
#[inline(never)]
pub(crate) fn close(seal: &Seal, out: &mut [u8], end: usize) -> Option<usize> {
    seal.close(out.get_mut(1..end)?)?;
    stuff(out, end)
}

/// Stuffs the bytes of `out` from 1 to `end` and appends a zero; returns the total length, `None` if there is no room.
fn stuff(out: &mut [u8], end: usize) -> Option<usize> {
    // A block has at most 254 bytes, and a full one takes one byte more than it replaces.
    let (mut run, mut full) = (0_u8, 0_usize);
    for &byte in out.get(1..end)? {
        if run == 254 {
            (run, full) = (0, full.wrapping_add(1));
        }
        run = if byte == 0 { 0 } else { run.wrapping_add(1) };
    }
    let last = end.checked_add(full)?;
    *out.get_mut(last)? = 0;
    // All bytes move up by the number of bytes that will be added, so that none is overwritten before it is read.
    if full > 0 {
        for from in (1..end).rev() {
            let byte = out.get(from).copied().unwrap_or(0);
            if let Some(place) = out.get_mut(from.wrapping_add(full)) {
                *place = byte;
            }
        }
    }
    let (mut block, mut at) = (0, 1_usize);
    for from in full.wrapping_add(1)..last {
        let byte = out.get(from).copied().unwrap_or(0);
        // The length of a block, 1 to 255, is stored where the zero was.
        let length = at.wrapping_sub(block);
        if length == 255 {
            put(out, block, 255);
            (block, at) = (at, at.wrapping_add(1));
        }
        if byte == 0 {
            put(out, block, at.wrapping_sub(block) as u8);
            block = at;
        } else {
            put(out, at, byte);
        }
        at = at.wrapping_add(1);
    }
    put(out, block, at.wrapping_sub(block) as u8);
    last.checked_add(1)
}

fn put(out: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = out.get_mut(at) {
        *place = byte;
    }
}

/// Why bytes are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrameError {
    /// Longer than any message this node understands.
    Oversize,
    /// The stuffing is invalid, or the frame is too short to contain a checksum.
    Truncated,
    /// The checksum is wrong, or the frame was not sealed with the key.
    Seal,
}

/// Assembles frames from single bytes, in a buffer of `N` bytes.
///
/// After garbage it is synchronised again at the next zero.
#[derive(Debug, Clone)]
pub struct FrameReader<const N: usize> {
    seal: Seal,
    frame: Unstuffer<[u8; N]>,
}

impl<const N: usize> FrameReader<N> {
    /// A reader at the start of a frame.
    #[must_use]
    pub const fn new(seal: Seal) -> Self {
        Self { seal, frame: Unstuffer::new([0; N]) }
    }

    /// Takes one byte. With the last byte of a frame it returns the message, without its seal.
    #[inline]
    pub fn push(&mut self, byte: u8) -> Option<Result<&[u8], FrameError>> {
        self.frame.push(byte, &self.seal)
    }
}

/// A [`FrameReader`] for any buffer, with its seal stored elsewhere: a chip has several readers but one key.
#[derive(Debug, Clone)]
pub(crate) struct Unstuffer<B> {
    buffer: B,
    len: usize,
    /// Bytes left in the block.
    left: u8,
    /// Whether a zero follows the block.
    zero: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a frame.
    Empty,
    Inside,
    /// Too long: skipped until the next zero.
    Oversize,
}

impl<B> Unstuffer<B> {
    /// At the start of a frame.
    pub(crate) const fn new(buffer: B) -> Self {
        Self { buffer, len: 0, left: 0, zero: false, state: State::Empty }
    }

    /// Goes to the start of a frame, and forgets what it has of the current one.
    pub(crate) const fn reset(&mut self) {
        (self.state, self.left, self.len, self.zero) = (State::Empty, 0, 0, false);
    }
}

impl<B: AsMut<[u8]>> Unstuffer<B> {
    /// As [`FrameReader::push`].
    #[inline]
    pub(crate) fn push(&mut self, byte: u8, seal: &Seal) -> Option<Result<&[u8], FrameError>> {
        if byte == 0 {
            return self.end(seal);
        }
        if self.left == 0 {
            let (first, zero) = (self.state == State::Empty, self.zero);
            // No zero follows a full block, whose length is 255.
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
        match self.buffer.as_mut().get_mut(self.len) {
            Some(place) if self.state == State::Inside => {
                *place = byte;
                self.len = self.len.wrapping_add(1);
            }
            _ => self.state = State::Oversize,
        }
    }

    fn end(&mut self, seal: &Seal) -> Option<Result<&[u8], FrameError>> {
        let (state, left, len) = (self.state, self.left, self.len);
        self.reset();
        match state {
            // Two zeros in a row are an idle line, not an error.
            State::Empty => None,
            State::Oversize => Some(Err(FrameError::Oversize)),
            State::Inside if left != 0 => Some(Err(FrameError::Truncated)),
            State::Inside => {
                let frame = self.buffer.as_mut().get_mut(..len).ok_or(FrameError::Oversize);
                Some(frame.and_then(|frame| seal.open(frame)))
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
        defmt::write!(f, "FrameReader({} bytes)", self.frame.len);
    }
}

/// The longest frame for a message of `message` bytes.
#[must_use]
pub const fn frame_len(message: usize) -> usize {
    let stuffed = message + seal::LONGEST;
    stuffed + stuffed / 254 + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(message: &[u8]) -> Vec<u8> {
        sealed_frame(&Seal::PLAIN, message)
    }

    fn sealed_frame(seal: &Seal, message: &[u8]) -> Vec<u8> {
        let mut out = vec![0xaa; frame_len(message.len())];
        let len = write(seal, message, &mut out).unwrap();
        out.truncate(len);
        out
    }

    fn write(seal: &Seal, message: &[u8], out: &mut [u8]) -> Option<usize> {
        let mut writer = FrameWriter::new(seal, out);
        message.iter().for_each(|&byte| writer.push(byte));
        writer.finish()
    }

    /// All seals that this build supports.
    fn seals() -> Vec<Seal> {
        #[cfg(feature = "encrypt")]
        return vec![Seal::PLAIN, Seal::keyed([3; 32])];
        #[cfg(not(feature = "encrypt"))]
        vec![Seal::PLAIN]
    }

    fn read<const N: usize>(
        reader: &mut FrameReader<N>,
        bytes: &[u8],
    ) -> Vec<Result<Vec<u8>, FrameError>> {
        bytes.iter().filter_map(|&b| reader.push(b).map(|r| r.map(<[u8]>::to_vec))).collect()
    }

    #[test]
    fn every_length_and_pattern_round_trips() {
        for seal in seals() {
            let mut reader = FrameReader::<820>::new(seal);
            for len in 0..=780 {
                for pattern in 0..4 {
                    let byte = |i: usize| [0, 1, (i % 255) as u8 + 1, (i * 7 % 256) as u8][pattern];
                    let message: Vec<u8> = (0..len).map(byte).collect();
                    let bytes = sealed_frame(&seal, &message);
                    assert_eq!(bytes.iter().position(|&b| b == 0), Some(bytes.len() - 1));
                    assert_eq!(read(&mut reader, &bytes), [Ok(message)]);
                }
            }
        }
    }

    #[test]
    fn a_frame_does_not_depend_on_the_size_of_its_buffer() {
        for seal in seals() {
            for len in (0..40).chain([200, 253, 254, 255, 300, 507, 508, 509, 800]) {
                // Without zeros, so that blocks are full; with a key the bytes are random anyway.
                let message: Vec<u8> = (0..len).map(|i| (i % 255) as u8 + 1).collect();
                let want = sealed_frame(&seal, &message);
                for room in 0..want.len() + 20 {
                    let mut out = vec![0xaa; room];
                    let written = write(&seal, &message, &mut out);
                    assert_eq!(written, (room >= want.len()).then_some(want.len()));
                    assert!(written.is_none_or(|len| out[..len] == want), "{len} in {room}");
                }
            }
        }
    }

    #[test]
    fn frames_match_known_bytes() {
        // CRC-32 of "123456789" is 0xcbf43926, the published check value.
        assert_eq!(frame(b"123456789"), b"\x0e123456789\x26\x39\xf4\xcb\x00");
        assert_eq!(frame(&[0]), [1, 5, 0x8d, 0xef, 0x02, 0xd2, 0]);
    }

    #[test]
    fn the_reader_resynchronises_after_garbage() {
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
    fn errors_of_frames_are_distinguished() {
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
    fn every_single_error_is_detected() {
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
