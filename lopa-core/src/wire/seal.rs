//! What ends a frame: a checksum, or with a key a tag that only those who have the key can make.

#[cfg(feature = "auth")]
use core::hash::Hasher;

use crc::{CRC_32_ISO_HDLC, Crc, Digest, Table};
#[cfg(feature = "auth")]
use siphasher::sip::SipHasher24;

use super::cobs::FrameError;

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// The bytes of the longest seal.
pub(crate) const LONGEST: usize = if cfg!(feature = "auth") { 8 } else { 4 };

/// How frames are sealed: the same on all nodes of a network.
///
/// Plain frames end with CRC-32, which finds every accident. With the feature `auth` and a key they end with
/// `SipHash`-2-4 of the message instead, eight bytes that nobody makes without the key. Frames are not secret. An old
/// frame sent again changes nothing that is learned: data and acknowledgements count in their own session, epoch and
/// place only, greetings and refusals must echo a challenge, and requests count up. One thing it can do: within its own
/// session and epoch it passes for a sign of life, so whoever can play a recording can hide that a node has died.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Seal {
    #[cfg(feature = "auth")]
    key: Option<[u8; 16]>,
}

impl Seal {
    /// A checksum.
    pub const PLAIN: Self = Self {
        #[cfg(feature = "auth")]
        key: None,
    };

    /// A tag made with a key.
    #[cfg(feature = "auth")]
    #[must_use]
    pub const fn keyed(key: [u8; 16]) -> Self {
        Self { key: Some(key) }
    }

    /// Begins to seal a message.
    pub(crate) fn start(&self) -> Sealing {
        #[cfg(feature = "auth")]
        if let Some(key) = &self.key {
            return Sealing::Tag(SipHasher24::new_with_key(key));
        }
        Sealing::Checksum(CRC.digest())
    }

    /// The message in front of its seal, if that is right.
    pub(crate) fn open<'f>(&self, frame: &'f [u8]) -> Result<&'f [u8], FrameError> {
        let len = self.start().finish().as_ref().len();
        let at = frame.len().checked_sub(len).ok_or(FrameError::Truncated)?;
        let (message, seal) = frame.split_at_checked(at).ok_or(FrameError::Truncated)?;
        let mut sealing = self.start();
        sealing.update(message);
        // All bytes are compared whatever the first says: time tells nothing of the tag.
        let made = sealing.finish();
        let differ = made.as_ref().iter().zip(seal).fold(0, |differ, (a, b)| differ | (a ^ b));
        if differ == 0 { Ok(message) } else { Err(FrameError::Seal) }
    }
}

impl core::fmt::Debug for Seal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Keys do not belong in logs.
        f.write_str("Seal")
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Seal {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Seal");
    }
}

/// A seal being made.
#[derive(Clone)]
pub(crate) enum Sealing {
    Checksum(Digest<'static, u32, Table<1>>),
    #[cfg(feature = "auth")]
    Tag(SipHasher24),
}

impl Sealing {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Checksum(digest) => digest.update(bytes),
            #[cfg(feature = "auth")]
            Self::Tag(hasher) => hasher.write(bytes),
        }
    }

    pub(crate) fn finish(self) -> Made {
        match self {
            Self::Checksum(digest) => Made::Checksum(digest.finalize().to_le_bytes()),
            #[cfg(feature = "auth")]
            Self::Tag(hasher) => Made::Tag(hasher.finish().to_le_bytes()),
        }
    }
}

impl core::fmt::Debug for Sealing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Sealing")
    }
}

/// A finished seal.
pub(crate) enum Made {
    Checksum([u8; 4]),
    #[cfg(feature = "auth")]
    Tag([u8; 8]),
}

impl AsRef<[u8]> for Made {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Checksum(bytes) => bytes,
            #[cfg(feature = "auth")]
            Self::Tag(bytes) => bytes,
        }
    }
}

/// CRC-32 for checkpoints and blobs, which are nobody's messages.
#[derive(Clone)]
pub(crate) struct Checksum(Digest<'static, u32, Table<1>>);

impl Checksum {
    pub(crate) fn start() -> Self {
        Self(CRC.digest())
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finalize(self) -> u32 {
        self.0.finalize()
    }
}

#[cfg(all(test, feature = "auth"))]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_siphash_of_the_message() {
        // The test vector of the SipHash paper: key 00..0f, message 00..0e.
        let seal = Seal::keyed(core::array::from_fn(|i| i as u8));
        let mut sealing = seal.start();
        let message: Vec<u8> = (0..15).collect();
        sealing.update(&message);
        let made = sealing.finish();
        assert_eq!(made.as_ref(), 0xa129_ca61_49be_45e5_u64.to_le_bytes());
        let mut frame = [&message[..], made.as_ref()].concat();
        assert_eq!(seal.open(&frame), Ok(&message[..]));
        for bit in 0..8 * frame.len() {
            frame[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(seal.open(&frame), Err(FrameError::Seal));
            assert_eq!(Seal::keyed([7; 16]).open(&frame), Err(FrameError::Seal));
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(Seal::PLAIN.open(&frame), Err(FrameError::Seal));
    }
}
