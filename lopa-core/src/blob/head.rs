//! The head of a blob: its first words, written and read in one place.

use core::array;

const MAGIC: u32 = u32::from_le_bytes(*b"LoPB");

/// The version of a blob without a key, and of one with a key in front of the other sections.
pub(super) const PLAIN: u32 = 1;
pub(super) const KEYED: u32 = 2;

/// Words of the head, in both versions.
pub(super) const HEAD: usize = 48;

/// The validation set is the training set, stored once.
pub(super) const SAME: u8 = 0xff;

/// A set of samples, as the head describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SetHead {
    /// 0 u8, 1 i8, 2 f32; [`SAME`] for a validation set that is the training set.
    pub(super) encoding: u8,
    /// 0 binary, 1 class, 2 real.
    pub(super) labels: u8,
    pub(super) rows: u32,
    pub(super) width: u32,
    pub(super) scale: u32,
    pub(super) offset: u32,
}

impl SetHead {
    fn words(&self) -> [u32; 5] {
        let kinds = u32::from_le_bytes([self.encoding, self.labels, 0, 0]);
        [kinds, self.rows, self.width, self.scale, self.offset]
    }

    fn from_words([kinds, rows, width, scale, offset]: [u32; 5]) -> Self {
        let [encoding, labels, ..] = kinds.to_le_bytes();
        Self { encoding, labels, rows, width, scale, offset }
    }
}

/// The head, with every field as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Head {
    pub(super) version: u32,
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
    /// The head as words.
    pub(super) fn words(&self) -> [u32; HEAD] {
        let [r0, r1] = halves(self.rounds);
        let [s0, s1] = halves(self.seed);
        let [p0, p1] = self.peers.to_le_bytes();
        let start = [
            MAGIC,
            self.version | ((HEAD as u32) << 16),
            self.length,
            self.network,
            self.node,
            u32::from_le_bytes([self.problem, self.scheme, self.math, self.sharing]),
            r0,
            r1,
            s0,
            s1,
            self.batch,
        ];
        let middle = [
            self.outer,
            self.inner,
            self.hidden,
            self.classes,
            self.parameter,
            self.chunk,
            self.baud,
            u32::from_le_bytes([self.wiring, self.start, p0, p1]),
            self.checkpoint_every,
            self.x0,
        ];
        let mut words = start
            .into_iter()
            .chain(self.steps)
            .chain(middle)
            .chain(self.timing.into_iter().flat_map(halves))
            .chain(self.sets.iter().flat_map(SetHead::words));
        array::from_fn(|_| words.next().unwrap_or(0))
    }

    /// The reverse; the first two words have been checked.
    pub(super) fn from_words(words: &[u32; HEAD]) -> Self {
        let mut words = words.iter().copied();
        let mut word = || words.next().unwrap_or(0);
        let (_, version, length, network, node) = (word(), word(), word(), word(), word());
        let [problem, scheme, math, sharing] = word().to_le_bytes();
        let rounds = wide(word(), word());
        let seed = wide(word(), word());
        let batch = word();
        let steps = array::from_fn(|_| word());
        let (outer, inner, hidden, classes) = (word(), word(), word(), word());
        let (parameter, chunk, baud) = (word(), word(), word());
        let [wiring, start, p0, p1] = word().to_le_bytes();
        let (checkpoint_every, x0) = (word(), word());
        let timing = array::from_fn(|_| wide(word(), word()));
        let sets = array::from_fn(|_| SetHead::from_words(array::from_fn(|_| word())));
        Self {
            version: version & 0xffff,
            length,
            network,
            node,
            problem,
            scheme,
            math,
            sharing,
            rounds,
            seed,
            batch,
            steps,
            outer,
            inner,
            hidden,
            classes,
            parameter,
            chunk,
            baud,
            wiring,
            start,
            peers: u16::from_le_bytes([p0, p1]),
            checkpoint_every,
            x0,
            timing,
            sets,
        }
    }
}

/// Whether a word begins a blob.
pub(super) const fn begins(word: u32) -> bool {
    word == MAGIC
}

/// The low and the high word.
const fn halves(a: u64) -> [u32; 2] {
    [a as u32, (a >> 32) as u32]
}

const fn wide(low: u32, high: u32) -> u64 {
    low as u64 | ((high as u64) << 32)
}

/// Bytes of a section with its padding.
pub(super) const fn padded(len: usize) -> Option<usize> {
    len.checked_next_multiple_of(4)
}
