//! FNV-1a over 64 bits: a few lines, and one changed bit anywhere changes the result.

/// A hash in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Adds one word, lowest byte first.
    pub fn word(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds a float bit by bit; every NaN counts as the same, because chips choose its payload.
    pub fn float(&mut self, float: f32) {
        let bits = if float.is_nan() { f32::NAN.to_bits() } else { float.to_bits() };
        self.word(u64::from(bits));
    }

    /// Adds a vector.
    pub fn floats(&mut self, floats: &[f32]) {
        for &float in floats {
            self.float(float);
        }
    }

    /// The hash so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}
