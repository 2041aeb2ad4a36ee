//! What protects a frame: a checksum or, with a key, authenticated encryption.

#[cfg(feature = "encrypt")]
use ascon_aead::{
    AsconAead128,
    aead::{AeadInOut, KeyInit},
};
use crc::{CRC_32_ISO_HDLC, Crc, Digest, Table};

use super::cobs::FrameError;

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// The length of a key in bytes.
pub const KEY_BYTES: usize = 32;

/// The length of a checksum in bytes.
const CHECKSUM: usize = 4;
/// The length of a nonce, and of a tag, in bytes.
#[cfg(feature = "encrypt")]
const HALF: usize = KEY_BYTES / 2;

/// The length of the longest seal in bytes.
pub(crate) const LONGEST: usize = if cfg!(feature = "encrypt") { 32 } else { CHECKSUM };

/// How frames are sealed: the same on all nodes of a network.
///
/// Plain frames end with a CRC-32, which detects damage. With the feature `encrypt` and a key, the whole message is
/// encrypted and authenticated: it cannot be read without the key, and a frame that was made or changed without the key is
/// dropped like a damaged one. What an attacker can still do is in the [threat model](crate::security).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Seal {
    #[cfg(feature = "encrypt")]
    key: Option<[u8; KEY_BYTES]>,
}

impl Seal {
    /// A checksum only.
    pub const PLAIN: Self = Self {
        #[cfg(feature = "encrypt")]
        key: None,
    };

    /// Encrypts and authenticates with a key: 32 random bytes, kept secret, the same for all nodes of a network.
    #[cfg(feature = "encrypt")]
    #[must_use]
    pub const fn keyed(key: [u8; KEY_BYTES]) -> Self {
        Self { key: Some(key) }
    }

    /// The number of bytes it adds to a message.
    #[must_use]
    pub const fn overhead(&self) -> usize {
        #[cfg(feature = "encrypt")]
        if self.key.is_some() {
            return 2 * HALF;
        }
        CHECKSUM
    }

    /// Whether it has a key.
    #[must_use]
    pub const fn is_keyed(&self) -> bool {
        self.key().is_some()
    }

    /// The key, only to be written into a blob.
    pub(crate) const fn key(&self) -> Option<&[u8; KEY_BYTES]> {
        #[cfg(feature = "encrypt")]
        return self.key.as_ref();
        #[cfg(not(feature = "encrypt"))]
        None
    }

    /// The number of bytes it adds before a message; the others follow the message.
    pub(super) const fn front(&self) -> usize {
        #[cfg(feature = "encrypt")]
        if self.key.is_some() {
            return HALF;
        }
        0
    }

    /// Seals the message in `frame` in place, between the two parts of the seal; `None` if there is no room for them.
    pub(super) fn close(&self, frame: &mut [u8]) -> Option<()> {
        #[cfg(feature = "encrypt")]
        if let Some(key) = &self.key {
            let (nonce, message, tag) = parts(frame)?;
            let (own, other) = halves(key);
            *nonce = encrypt(other, &[0; HALF], message, &mut [])?;
            *tag = encrypt(own, nonce, &[], message)?;
            return Some(());
        }
        let (message, checksum) = frame.split_last_chunk_mut::<CHECKSUM>()?;
        *checksum = CRC.checksum(message).to_le_bytes();
        Some(())
    }

    /// Opens a frame in place and returns its message, if its seal is valid.
    pub(super) fn open<'f>(&self, frame: &'f mut [u8]) -> Result<&'f [u8], FrameError> {
        #[cfg(feature = "encrypt")]
        if let Some(key) = &self.key {
            // Too short to be sealed with any key: it may be a plain frame.
            let (nonce, message, tag) = parts(frame).ok_or(FrameError::Seal)?;
            let opened = decrypt(halves(key).0, nonce, message, tag);
            return opened.map(|()| &*message).ok_or(FrameError::Seal);
        }
        let (message, checksum) =
            frame.split_last_chunk::<CHECKSUM>().ok_or(FrameError::Truncated)?;
        let right = CRC.checksum(message).to_le_bytes() == *checksum;
        if right { Ok(message) } else { Err(FrameError::Seal) }
    }
}

/// A key for the cipher, and one for nonces.
#[cfg(feature = "encrypt")]
fn halves(key: &[u8; KEY_BYTES]) -> (&[u8; HALF], &[u8; HALF]) {
    let [own, other] = key.as_chunks::<HALF>().0 else {
        // A key has exactly two halves; the compiler sees this too.
        return (&[0; HALF], &[0; HALF]);
    };
    (own, other)
}

/// Encrypts a message in place, and returns the tag over `associated` and the message.
#[cfg(feature = "encrypt")]
// Not inlined, as it is called twice.
#[inline(never)]
fn encrypt(
    key: &[u8; HALF],
    nonce: &[u8; HALF],
    associated: &[u8],
    message: &mut [u8],
) -> Option<[u8; HALF]> {
    let cipher = AsconAead128::new(key.into());
    let tag = cipher.encrypt_inout_detached(nonce.into(), associated, message.into());
    tag.ok().map(Into::into)
}

/// Decrypts a message in place, if its tag is valid.
#[cfg(feature = "encrypt")]
// Not inlined, so that its part of a chip's stack is free again when the message is read.
#[inline(never)]
fn decrypt(
    key: &[u8; HALF],
    nonce: &[u8; HALF],
    message: &mut [u8],
    tag: &[u8; HALF],
) -> Option<()> {
    let cipher = AsconAead128::new(key.into());
    cipher.decrypt_inout_detached(nonce.into(), &[], message.into(), tag.into()).ok()
}

/// Nonce, message and tag of a frame.
#[cfg(feature = "encrypt")]
fn parts(frame: &mut [u8]) -> Option<(&mut [u8; HALF], &mut [u8], &mut [u8; HALF])> {
    let (nonce, rest) = frame.split_first_chunk_mut()?;
    let (message, tag) = rest.split_last_chunk_mut()?;
    Some((nonce, message, tag))
}

impl core::fmt::Debug for Seal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Keys must not appear in logs.
        f.write_str("Seal")
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Seal {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Seal");
    }
}

/// CRC-32 for checkpoints and blobs, which are not messages.
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

#[cfg(all(test, feature = "encrypt"))]
mod tests {
    use super::*;

    const KEY: [u8; KEY_BYTES] = {
        let mut key = [0; KEY_BYTES];
        let mut i = 0;
        while i < KEY_BYTES {
            key[i] = i as u8;
            i += 1;
        }
        key
    };

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn sealed(seal: &Seal, message: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; seal.front()];
        frame.extend(message);
        frame.resize(message.len() + seal.overhead(), 0);
        seal.close(&mut frame).unwrap();
        frame
    }

    #[test]
    fn the_cipher_is_ascon_aead128() {
        // Known answers 1, 34 and 1057 for NIST SP 800-232: key and nonce 00..0f, messages 00.., no associated data.
        let bytes: [u8; 16] = core::array::from_fn(|i| i as u8);
        for (len, want) in [
            (0, "4427d64b8e1e1451fc445960f0839bb0"),
            (1, "e79f58f1f541fc51b5d438f8e1dd03f147"),
            (
                32,
                "e770d289d2a44aee7cd0a48ece5274e381bad7e163dcc4970f7873610debbeb1\
                 a28657f6e82fe53d08b09eff9330bd2b",
            ),
        ] {
            let mut text: Vec<u8> = (0..len).collect();
            let tag = encrypt(&bytes, &bytes, &[], &mut text).unwrap();
            text.extend(tag);
            assert_eq!(hex(&text), want);
        }
        // And number 2: one byte of associated data and an empty message.
        let tag = encrypt(&bytes, &bytes, &[0], &mut []).unwrap();
        assert_eq!(hex(&tag), "103ab79d913a0321287715a979bb8585");
    }

    #[test]
    fn a_frame_is_its_nonce_then_ciphertext_and_tag_under_it() {
        let (own, other) = halves(&KEY);
        let message = *b"a message of some length";
        let frame = sealed(&Seal::keyed(KEY), &message);
        let nonce = encrypt(other, &[0; HALF], &message, &mut []).unwrap();
        let mut text = message;
        let tag = encrypt(own, &nonce, &[], &mut text).unwrap();
        assert_eq!(frame, [&nonce[..], &text, &tag].concat());
        // The bytes in the docs.
        assert_eq!(
            hex(&sealed(&Seal::keyed(KEY), b"123456789")),
            "fc6fec8b40ada5815a5d8accdc061e23c478f1789384dccd80a444d9f1176816ca4ed449da5f31a00e"
        );
    }

    #[test]
    fn a_sealed_message_is_unreadable_until_it_is_opened() {
        let seal = Seal::keyed(KEY);
        for len in 0..100 {
            let message: Vec<u8> = (0..len).map(|i| i as u8 ^ 0x5a).collect();
            let mut frame = sealed(&seal, &message);
            assert_eq!(frame.len(), len + seal.overhead());
            assert!(len < 8 || !frame.windows(8).any(|part| part == &message[..8]));
            assert_eq!(seal.open(&mut frame), Ok(&message[..]));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_other_key_is_refused() {
        let seal = Seal::keyed(KEY);
        let frame = sealed(&seal, b"a message of some length, longer than two blocks");
        for bit in 0..8 * frame.len() {
            let mut damaged = frame.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(seal.open(&mut damaged), Err(FrameError::Seal), "bit {bit}");
        }
        for bit in 0..8 * HALF {
            let mut key = KEY;
            key[bit / 8] ^= 1 << (bit % 8);
            let opened = Seal::keyed(key).open(&mut frame.clone()).map(<[u8]>::len);
            assert_eq!(opened, Err(FrameError::Seal), "key bit {bit}");
        }
        let plain = Seal::PLAIN.open(&mut frame.clone()).map(<[u8]>::len);
        assert_eq!(plain, Err(FrameError::Seal));
        let mut unsealed = sealed(&Seal::PLAIN, b"a message of some length without a key");
        assert_eq!(seal.open(&mut unsealed), Err(FrameError::Seal));
        for len in 0..2 * HALF {
            assert_eq!(seal.open(&mut frame.clone()[..len]), Err(FrameError::Seal));
        }
    }

    #[test]
    fn equal_messages_seal_to_equal_bytes_and_different_ones_to_different_nonces() {
        let seal = Seal::keyed(KEY);
        let mut nonces: Vec<Vec<u8>> = Vec::new();
        for number in 0..10_000_u32 {
            let message = number.to_le_bytes();
            let frame = sealed(&seal, &message);
            assert_eq!(frame, sealed(&seal, &message));
            nonces.push(frame[..HALF].to_vec());
        }
        nonces.sort_unstable();
        nonces.dedup();
        assert_eq!(nonces.len(), 10_000);
    }

    #[test]
    fn nothing_prints_a_key() {
        let seal = Seal::keyed(*b"a key that must never be printed");
        assert_eq!(format!("{seal:?} {seal:#?}"), "Seal Seal");
    }
}
