//! Blocks of differences as the values of a message.

use core::ops::Range;

use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::Floats;
use crate::codec::{BLOCK, Bits, Block, Outgoing};

/// Changes to be sent: the blocks of some elements of x, and then those of y. Serialised as bytes; as none if nothing changes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Changes<'a> {
    /// What the node sends.
    pub outgoing: Outgoing<'a>,
    /// The elements of the chunk.
    pub elements: Range<usize>,
}

impl Serialize for Changes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits = self.outgoing.codec().bits();
        let blocks = self.outgoing.blocks(self.elements.clone());
        // The length comes first, so blocks are computed twice: that is cheap beside the line.
        let (silent, len) = blocks.clone().fold((true, 0_usize), |(silent, len), block| {
            (silent && block.is_silent(), len.saturating_add(block.written(bits)))
        });
        if silent {
            return serializer.serialize_seq(Some(0))?.end();
        }
        let mut out = serializer.serialize_seq(Some(len))?;
        for block in blocks {
            let mut bytes = [0; Block::LONGEST];
            let len = block.write(bits, &mut bytes).unwrap_or(0);
            for byte in bytes.iter().take(len) {
                out.serialize_element(byte)?;
            }
        }
        out.end()
    }
}

/// Reads the changes of `len` elements of each of `vectors` vectors into `out`, one vector after the other, as floats that
/// hold them exactly. Returns whether the bytes are such changes; elements beyond the end of `out` are only checked.
pub(crate) fn read_changes(
    bits: Bits,
    vectors: usize,
    len: usize,
    bytes: &[u8],
    out: &mut [f32],
) -> bool {
    if bytes.is_empty() {
        out.iter_mut().take(len.saturating_mul(vectors)).for_each(|place| *place = 0.0);
        return true;
    }
    let (mut rest, mut places) = (bytes, out.iter_mut());
    for _ in 0..vectors {
        let mut left = len;
        while left > 0 {
            let size = left.min(BLOCK);
            let Some((block, after)) = Block::read(bits, size, rest) else { return false };
            for (change, place) in block.changes().iter().take(size).zip(places.by_ref()) {
                *place = *change as f32;
            }
            (rest, left) = (after, left.saturating_sub(size));
        }
    }
    rest.is_empty()
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
    use crate::codec::{Codec, CodedGtNode};
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
        let changes = Changes { outgoing: node.outgoing(), elements };
        let bytes = postcard::to_slice(&changes, &mut bytes).unwrap();
        let (values, rest): (&[u8], _) = postcard::take_from_bytes(bytes).unwrap();
        assert!(rest.is_empty());
        values.to_vec()
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
                    let mut read = [f32::NAN; 2 * N + 1];
                    assert!(read_changes(codec.bits(), 2, len, &bytes, &mut read));
                    let lens = (0..len).step_by(BLOCK).map(|at| BLOCK.min(len - at)).cycle();
                    let blocks = node.outgoing().blocks(elements).zip(lens);
                    let changes =
                        blocks.flat_map(|(block, len)| block.changes().into_iter().take(len));
                    let want: Vec<f32> = changes.map(|change| change as f32).collect();
                    assert_eq!(read[..2 * len], want);
                    assert!(read[2 * len].is_nan() && want.iter().any(|change| *change != 0.0));
                    // One byte fewer or more, or of another length, is not it.
                    let wrong =
                        |len, bytes: &[u8]| !read_changes(codec.bits(), 2, len, bytes, &mut []);
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
        let (node, mut read) = (node(4, x), [f32::NAN; 2 * N + 1]);
        // Only the first chunk of it is silent; in the second, y is.
        assert_eq!(sent(&node, 0..32), []);
        assert_eq!(sent(&node, 32..N).last(), Some(&31));
        assert!(read_changes(node.codec().bits(), 2, N, &[], &mut read));
        assert!(read[..2 * N].iter().all(|change| *change == 0.0) && read[2 * N].is_nan());
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
