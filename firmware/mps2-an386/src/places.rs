//! Where this program's memories are, in the board's second RAM: the first half of it is for the blob.

use mps2::places::SECOND;

/// Where the flash is mirrored, and its size.
pub const FLASH: (usize, usize) =
    (SECOND + 0x80_0000, if cfg!(feature = "large") { 0x20_0000 } else { 0x4_0000 });
/// Where a large node's floats are, and how many fit.
pub const LARGE: (usize, usize) = (SECOND + 0xa0_0000, 0x60_0000 / 4);
/// A word that a reset leaves alone; the emulator starts with zeros.
#[cfg(feature = "planted")]
pub const LIFE: usize = SECOND + 0xf0_0000;
