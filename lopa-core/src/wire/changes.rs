//! Blocks of differences as the values of a message.

use core::ops::Range;

use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::Floats;
use crate::codec::{BLOCK, Bits, Block, Outgoing};

/// Changes to be sent: the blocks of some elements of x, and then those of y. Serialised as bytes; as none if nothing changes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Changes<'a> {
    outgoing: Outgoing<'a>,
    elements: Range<usize>,
    /// In bytes; 0 if nothing changes.
    len: usize,
}

impl<'a> Changes<'a> {
    /// The changes of some elements of what a node sends.
    // The length comes first, so blocks are computed twice: that is cheap beside the line. Not inlined, so that its part of a
    // chip's stack is free again when they are written.
    #[must_use]
    #[inline(never)]
    pub fn new(outgoing: Outgoing<'a>, elements: Range<usize>) -> Self {
        let bits = outgoing.codec().bits();
        let blocks = outgoing.blocks(elements.clone());
        let (silent, len) = blocks.fold((true, 0_usize), |(silent, len), block| {
            (silent && block.is_silent(), len.saturating_add(block.written(bits)))
        });
        Self { outgoing, elements, len: if silent { 0 } else { len } }
    }
}

impl Serialize for Changes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits = self.outgoing.codec().bits();
        let mut out = serializer.serialize_seq(Some(self.len))?;
        if self.len == 0 {
            return out.end();
        }
        for block in self.outgoing.blocks(self.elements.clone()) {
            let mut bytes = [0; Block::LONGEST];
            let len = block.write(bits, &mut bytes).unwrap_or(0);
            for byte in bytes.iter().take(len) {
                out.serialize_element(byte)?;
            }
        }
        out.end()
    }
}

/// How the changes of a chunk are packed: blocks of `len` elements of one vector, then those of the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packing {
    pub bits: Bits,
    pub len: usize,
}

impl Packing {
    /// Whether bytes are the changes of so many vectors.
    pub fn is_of(self, vectors: usize, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        for (_, _, size) in self.blocks(vectors) {
            let Some((_, after)) = Block::read(self.bits, size, rest) else { return false };
            rest = after;
        }
        rest.is_empty()
    }

    /// Keeps bytes that [are such changes](Packing::is_of), each block at a place that does not depend on the others; no bytes
    /// as blocks that change nothing. They fit into the room of a chunk of floats: see [`Bits::chunk`].
    pub fn keep(self, vectors: usize, bytes: &[u8], out: &mut [u8]) {
        let mut rest = bytes;
        for (vector, from, size) in self.blocks(vectors) {
            let len = Block::read_len(self.bits, size, rest);
            let (block, after) = rest.split_at_checked(len).unwrap_or((&[Block::SILENT], &[]));
            let room = out.get_mut(self.place(vector, from)..).into_iter().flatten();
            room.zip(block).for_each(|(to, byte)| *to = *byte);
            rest = after;
        }
    }

    /// The block of a vector that begins with an element, from bytes that were [kept](Packing::keep).
    pub fn block(self, vector: usize, from: usize, kept: &[u8]) -> Option<Block> {
        let size = self.len.saturating_sub(from).min(BLOCK);
        Some(Block::read(self.bits, size, kept.get(self.place(vector, from)..)?)?.0)
    }

    /// Every block of so many vectors: the vector, its first element there, and its size.
    fn blocks(self, vectors: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..vectors).flat_map(move |vector| {
            let starts = (0..self.len).step_by(BLOCK);
            starts.map(move |from| (vector, from, self.len.saturating_sub(from).min(BLOCK)))
        })
    }

    /// Where a block is kept: as if all before it were as long as blocks can be.
    fn place(self, vector: usize, from: usize) -> usize {
        let longest = Block::bytes(self.bits, BLOCK);
        let whole = (self.len / BLOCK).saturating_mul(longest);
        let last = match self.len % BLOCK {
            0 => 0,
            rest => Block::bytes(self.bits, rest),
        };
        let before = vector.saturating_mul(whole.saturating_add(last));
        before.saturating_add((from / BLOCK).saturating_mul(longest))
    }
}

/// The values of a message that a node sends.
#[derive(Debug, Clone)]
pub(crate) enum Values<'a> {
    Floats(Floats<'a>),
    // Without the feature there is one variant, and no code for another.
    #[cfg(feature = "codec")]
    Changes(Changes<'a>),
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Floats(floats) => floats.serialize(serializer),
            #[cfg(feature = "codec")]
            Self::Changes(changes) => changes.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Sampler;
    use crate::codec::{Codec, CodedGtNode, whole_blocks};
    use crate::draw::{Draws, Purpose};
    use crate::node::{Config, Scratch};
    use crate::problems::{Quadratic, QuadraticParts};
    use crate::steps::StepSizes;

    /// Two blocks, the second one shorter.
    const N: usize = 40;

    type Tested = CodedGtNode<Quadratic<'static>, N, 1>;

    /// A node whose x has these values, before its first round: y is 0.
    fn node(bits: u32, x: [f32; N]) -> Tested {
        let problem = Quadratic::new(QuadraticParts {
            diagonal: &[1.0],
            spike: &[0.0],
            coupling: &[0.25; N],
            shift: &[0.5],
            target: &[1.0],
            centre: &[0.75; N],
            rigidity: 1.0,
        });
        let steps = StepSizes::new(0.2, 0.5, 0.5, 0.5, 0.5).unwrap();
        let config = Config { steps, sampler: Sampler::full(0) };
        let codec = Codec::new(bits, Codec::USUAL_UNIT).unwrap();
        Tested::gradient_tracking(problem.unwrap(), config, x, codec).unwrap()
    }

    /// The bytes of some elements, without their length.
    fn sent(node: &Tested, elements: Range<usize>) -> Vec<u8> {
        let mut bytes = [0; 256];
        let changes = Changes::new(node.outgoing(), elements);
        let bytes = postcard::to_slice(&changes, &mut bytes).unwrap();
        let (values, rest): (&[u8], _) = postcard::take_from_bytes(bytes).unwrap();
        assert!(rest.is_empty());
        values.to_vec()
    }

    /// What is received of two vectors: bytes are kept, beside others, and read block by block in any order.
    fn read(packing: Packing, bytes: &[u8]) -> Vec<i32> {
        let (len, room) = (packing.len, packing.place(2, 0));
        let mut kept = vec![0xee; room + 3];
        packing.keep(2, bytes, &mut kept);
        assert_eq!(kept[room..], [0xee; 3], "beyond its end");
        let mut all = vec![0; 2 * len];
        for vector in [1, 0] {
            for from in (0..len).step_by(BLOCK).rev() {
                let size = BLOCK.min(len - from);
                let block = packing.block(vector, from, &kept).unwrap();
                let places = &mut all[vector * len + from..][..size];
                places.copy_from_slice(&block.changes()[..size]);
            }
        }
        all
    }

    #[test]
    fn what_is_sent_is_what_the_node_adds_and_what_neighbours_read() {
        let mut stream = Draws { seed: 4, node: 0 }.stream(0, Purpose::INNER_GRADIENT);
        for (bits, longest) in [(8, 33), (4, 17), (3, 13)] {
            for _ in 0..200 {
                let mut node = node(bits, core::array::from_fn(|_| stream.signed_unit()));
                node.compute(&mut Scratch::<[f32; 1], [f32; 0]>::new()).unwrap();
                let codec = node.codec();
                for elements in [0..32, 32..N, 0..N] {
                    let len = elements.len();
                    let bytes = sent(&node, elements.clone());
                    assert!(bytes.len() <= 2 * len.div_ceil(BLOCK) * longest);
                    let packing = Packing { bits: codec.bits(), len };
                    assert!(packing.is_of(2, &bytes));
                    let read = read(packing, &bytes);
                    let lens = (0..len).step_by(BLOCK).map(|at| BLOCK.min(len - at)).cycle();
                    let blocks = node.outgoing().blocks(elements).zip(lens);
                    let changes =
                        blocks.flat_map(|(block, len)| block.changes().into_iter().take(len));
                    let want: Vec<i32> = changes.collect();
                    assert_eq!(read, want);
                    assert!(want.iter().any(|change| *change != 0));
                    // One byte fewer or more, or of another length, is not it.
                    let wrong = |len, bytes: &[u8]| !Packing { len, ..packing }.is_of(2, bytes);
                    assert!(wrong(len, &bytes[..bytes.len() - 1]));
                    assert!(wrong(len, &[&bytes[..], &[31]].concat()));
                    assert!(wrong(len + BLOCK, &bytes) && wrong(len - 8, &bytes));
                }
            }
        }
    }

    #[test]
    fn a_chunk_without_changes_has_no_bytes() {
        assert_eq!(sent(&node(4, [0.0; N]), 0..N), []);
        let mut x = [0.0; N];
        x[39] = 1.0;
        let node = node(4, x);
        // Only the first chunk of it is silent; in the second, y is.
        assert_eq!(sent(&node, 0..32), []);
        assert_eq!(sent(&node, 32..N).last(), Some(&31));
        assert_eq!(read(Packing { bits: node.codec().bits(), len: N }, &[]), [0; 2 * N]);
    }

    #[test]
    fn changes_fit_into_the_room_of_the_floats_they_replace() {
        for (bits, short, long) in
            [(Bits::Three, 288, 784), (Bits::Four, 224, 784), (Bits::Eight, 96, 416)]
        {
            assert_eq!([32, 128].map(|chunk| bits.chunk(chunk, 784).min(784)), [short, long]);
            for outer in 1..=600 {
                for chunk in (1..=outer).filter(|chunk| whole_blocks(*chunk, outer)) {
                    let size = bits.chunk(chunk as u32, outer as u32) as usize;
                    assert!(whole_blocks(size, outer));
                    // Its last chunk is shorter.
                    for len in [size.min(outer), outer % size] {
                        let packing = Packing { bits, len };
                        assert_eq!(packing.place(2, 0), 2 * packing.place(1, 0));
                        assert!(packing.place(1, 0) <= 4 * chunk, "{bits:?} {outer} {chunk} {len}");
                    }
                }
            }
        }
    }

    #[test]
    #[cfg(feature = "codec")]
    fn chunks_of_zeros_are_those_without_a_number() {
        let with = |at: usize, value: f32| {
            let mut x = [-0.0; N];
            x[at] = value;
            node(4, x)
        };
        let zero =
            |node: &Tested| [0..32, 32..N, 0..N].map(|elements| node.outgoing().is_zero(elements));
        assert_eq!(zero(&with(0, 0.0)), [true; 3]);
        assert_eq!(zero(&with(31, 1.0)), [false, true, false]);
        assert_eq!(zero(&with(39, -1.0)), [true, false, false]);
        // Half a unit is a number, less is not.
        let half = 0.5 * with(0, 0.0).codec().outer().unit();
        assert_eq!(zero(&with(32, half)), [true, false, false]);
        assert_eq!(zero(&with(32, 0.99 * half)), [true; 3]);
        // y counts too: after the first round it is not zero any more.
        let mut later = node(4, [0.0; N]);
        later.compute(&mut Scratch::<[f32; 1], [f32; 0]>::new()).unwrap();
        later.mix_with([]).unwrap();
        assert!(later.state().x.iter().all(|x| *x == 0.0) && zero(&later) == [false; 3]);
    }
}
