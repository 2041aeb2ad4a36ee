//! CRC-32 (ISO HDLC) at the end of every frame and checkpoint.

use crc::{CRC_32_ISO_HDLC, Crc, Digest, Table};

use super::cobs::FrameError;

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// The bytes of a checksum.
pub(crate) const LEN: usize = 4;

/// A checksum being computed.
#[derive(Clone)]
pub(crate) struct Checksum(Digest<'static, u32, Table<1>>);

/// Begins a checksum.
pub(crate) fn start() -> Checksum {
    Checksum(CRC.digest())
}

impl Checksum {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finalize(self) -> u32 {
        self.0.finalize()
    }
}

impl core::fmt::Debug for Checksum {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Checksum")
    }
}

/// The message in front of its checksum, if that is right.
pub(crate) fn strip(bytes: &[u8]) -> Result<&[u8], FrameError> {
    let (message, sum) = bytes.split_last_chunk::<LEN>().ok_or(FrameError::Truncated)?;
    if CRC.checksum(message) == u32::from_le_bytes(*sum) {
        Ok(message)
    } else {
        Err(FrameError::Checksum)
    }
}
