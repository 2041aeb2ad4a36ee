//! The head of a blob: its first words, written and read in one place.

use bytemuck::{Pod, Zeroable};

use crate::samples::Arithmetic;

/// The letters "LoPB".
pub(super) const MAGIC: u32 = u32::from_le_bytes(*b"LoPB");

/// The version of a blob says what it has that older readers must not skip. It is 1, plus 1 for a key, plus 2 for scales
/// of features, plus 4 for a base of strengths, plus 8 for a codec.
pub(super) const fn version(keyed: bool, scaled: bool, based: bool, coded: bool) -> u16 {
    1 + keyed as u16 + 2 * scaled as u16 + 4 * based as u16 + 8 * coded as u16
}

/// Words of the head, in all versions.
pub(super) const HEAD: usize = size_of::<Head>() / 4;

/// The validation set is the training set, stored once.
pub(super) const SAME: u8 = 0xff;

/// Added to the kind of mathematics if sums over samples are computed in integers.
pub(super) const INTEGER: u8 = 2;

/// A set of samples, as the head describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct SetHead {
    /// 0 u8, 1 i8, 2 f32; [`SAME`] for a validation set that is the training set.
    pub(super) encoding: u8,
    /// 0 binary, 1 class, 2 real.
    pub(super) labels: u8,
    pub(super) zeros: [u8; 2],
    pub(super) rows: u32,
    pub(super) width: u32,
    pub(super) scale: u32,
    pub(super) offset: u32,
}

/// The head, with every field as it is stored: in memory it has the layout that the docs describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Head {
    pub(super) magic: u32,
    pub(super) version: u16,
    /// How many words of head there are: later builds may have more.
    pub(super) words: u16,
    pub(super) length: u32,
    pub(super) network: u32,
    pub(super) node: u32,
    pub(super) problem: u8,
    pub(super) scheme: u8,
    pub(super) math: u8,
    pub(super) sharing: u8,
    pub(super) rounds: u64,
    pub(super) seed: u64,
    pub(super) batch: u32,
    pub(super) steps: [u32; 5],
    pub(super) outer: u32,
    pub(super) inner: u32,
    pub(super) hidden: u32,
    pub(super) classes: u32,
    pub(super) parameter: u32,
    pub(super) chunk: u32,
    pub(super) baud: u32,
    pub(super) wiring: u8,
    /// 0 a number, 1 a vector.
    pub(super) start: u8,
    pub(super) peers: u16,
    pub(super) checkpoint_every: u32,
    pub(super) x0: u32,
    pub(super) timing: [u64; 6],
    pub(super) sets: [SetHead; 2],
}

impl Head {
    /// Whether there is a key.
    pub(super) const fn keyed(&self) -> bool {
        self.has(1)
    }

    /// How sums over samples are computed.
    pub(super) const fn arithmetic(&self) -> Arithmetic {
        if self.math & INTEGER == 0 { Arithmetic::Float } else { Arithmetic::Integer }
    }

    /// Whether features have scales of their own.
    pub(super) const fn scaled(&self) -> bool {
        self.has(2)
    }

    /// Whether strengths have a base other than 0.
    pub(super) const fn based(&self) -> bool {
        self.has(4)
    }

    /// Whether vectors travel in few bits.
    pub(super) const fn coded(&self) -> bool {
        self.has(8)
    }

    const fn has(&self, part: u16) -> bool {
        self.version.wrapping_sub(1) & part != 0
    }
}

/// Bytes of a section with its padding.
pub(super) const fn padded(len: usize) -> Option<usize> {
    len.checked_next_multiple_of(4)
}
