//! The messages between nodes, and between a node and a host.

use heapless::Vec;
use serde::{Deserialize, Serialize};

use crate::codec::Codec;
use crate::math;
use crate::node::{Config, Scheme, Variable};
use crate::oracles::Evaluations;
use crate::problem::Dimensions;
use crate::wire::Trouble;

/// The version of this protocol. Nodes of another version are not understood.
pub const VERSION: u8 = 3;

/// The lowest bit of the codec in [`Identity::math`]. It shares that number, so that greetings of floats are no longer for it.
const CODEC: u32 = 17;

/// The number a host uses as a sender.
pub const HOST: u32 = u32::MAX;

/// The most acknowledgements of single neighbours in a frame; further ones wait for the next frame.
pub const ACKS: usize = 4;

/// A message: its sender, the sender's epoch, and the content.
///
/// `V` is the type of bulk values: [`Floats`] to send, `&[u8]` as received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Message<V> {
    /// [`VERSION`]; always the first byte.
    pub version: u8,
    /// The node that sends it; always the next field.
    pub sender: u32,
    /// Its boot number, by which messages from before a reboot are recognised.
    pub session: u32,
    /// The number of the epoch it is in.
    pub epoch: u64,
    /// The content.
    pub body: Body<V>,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Body<V> {
    /// A chunk of the sender's vectors, for all its neighbours on the link.
    Data(Data<V>),
    /// Acknowledgements on their own.
    Ack(Acks),
    /// A greeting to one neighbour.
    Hello(Hello),
    /// The sender refuses a neighbour.
    Refuse(Refuse),
    /// A host's request to a node.
    Request(Request),
    /// A node's answer to a host.
    Reply(Reply<V>),
}

/// Which chunks of its neighbours a node has. Chunks are counted through all rounds: round × chunks per round + chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Acks {
    /// All chunks before this one have been mixed, from every neighbour.
    pub next: u64,
    /// Bit b: chunk `next` + b of every neighbour on the link has been received.
    pub all: u32,
    /// Neighbours from which more than that has been received.
    pub held: Vec<Held, ACKS>,
}

/// A chunk of x, followed by the same chunk of y with gradient tracking: as floats or, with a [codec](crate::codec), as blocks of
/// differences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Data<V> {
    /// The round.
    pub round: u64,
    /// The chunk of the round.
    pub chunk: u32,
    /// Acknowledgements that travel with it.
    pub acks: Acks,
    /// The values.
    pub values: V,
}

/// Which chunks of one neighbour have been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Held {
    /// The neighbour this is for.
    pub to: u32,
    /// Bit b: its chunk `next` + b has been received.
    pub chunks: u32,
}

/// A greeting. Two neighbours have met in an epoch when each has received an echo of the challenge it gave last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Hello {
    /// The neighbour it is for.
    pub to: u32,
    /// A number to be echoed, used once: after an echo, the sender makes a new one.
    pub challenge: u32,
    /// The challenge last received from the neighbour; 0 for none.
    pub echo: u32,
    /// Whether the sender wants an answer.
    pub ask: bool,
    /// Whether the sender continues without the neighbour, because it is dead or refused.
    pub without: bool,
    /// Whether the sender booted in this epoch, from scratch or with a checkpoint of round `start`: its y continues from
    /// there, and no other node can join.
    pub resumed: bool,
    /// The mark of the sender's epoch; see [`Epoch`](crate::epoch::Epoch).
    pub mark: u32,
    /// The round in which the epoch began, for the sender.
    pub start: u64,
    /// The round the sender is in; `u64::MAX` if it has met no neighbour since it booted, and so does not decide.
    pub round: u64,
    /// As in an acknowledgement: the first chunk that the sender has not mixed.
    pub next: u64,
    /// As in an acknowledgement: the neighbour's chunks from `next` on that the sender holds.
    pub held: u32,
    /// How many chunks beyond its acknowledgement the sender can hold.
    pub window: u8,
    /// The weight of the link.
    pub weight: f32,
    /// What all nodes must agree on.
    pub identity: Identity,
}

/// What all nodes of a network must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Identity {
    /// The kind of problem, as a number.
    pub problem: u32,
    /// n.
    pub outer: u32,
    /// p.
    pub inner: u32,
    /// LG or GT.
    pub scheme: Scheme,
    /// Which exp and ln, to the patch, as [`math::IDENTITY`] numbers them, plus the number of the
    /// [arithmetic](crate::samples::Arithmetic::identity), plus 2^17 times that of the [codec](Codec::identity): they decide bits.
    pub math: u32,
    /// Elements of a chunk.
    pub chunk: u32,
    /// A digest of everything else: step sizes, seed, batches, rounds.
    pub digest: u64,
}

impl Identity {
    /// The identity of a network on this build, with vectors that travel as floats.
    #[must_use]
    pub fn new(
        problem: u32,
        size: Dimensions,
        scheme: Scheme,
        config: &Config,
        chunk: u32,
        rounds: u64,
    ) -> Self {
        let steps = &config.steps;
        let sampler = &config.sampler;
        let batch = match sampler.size {
            crate::batch::BatchSize::Full => 0,
            crate::batch::BatchSize::Drawn(size) => u64::from(size.get()),
        };
        let floats = [steps.alpha(), steps.beta(), steps.lambda(), steps.gamma(), steps.tau()];
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let words = floats.into_iter().map(|a| u64::from(a.to_bits()));
        let rest = [sampler.draws.seed, batch, sampler.sharing as u64, rounds];
        for byte in words.chain(rest).flat_map(u64::to_le_bytes) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Self {
            problem,
            outer: u32::try_from(size.outer).unwrap_or(u32::MAX),
            inner: u32::try_from(size.inner).unwrap_or(u32::MAX),
            scheme,
            math: math::IDENTITY,
            chunk,
            digest,
        }
    }

    /// The same network with vectors that travel in few bits.
    #[must_use]
    pub const fn with_codec(self, codec: Codec) -> Self {
        let rest = self.math & ((1 << CODEC) - 1);
        Self { math: rest | (codec.identity() << CODEC), ..self }
    }

    /// How vectors travel: [`Codec::identity`], or 0 for floats.
    #[must_use]
    pub const fn codec(&self) -> u32 {
        self.math >> CODEC
    }

    /// The first difference between two networks.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Reason> {
        let math = self.math ^ other.math;
        [
            (self.problem != other.problem, Reason::Problem),
            (self.outer != other.outer, Reason::OuterDimension),
            (self.inner != other.inner, Reason::InnerDimension),
            (self.scheme != other.scheme, Reason::Scheme),
            (math << (32 - CODEC) != 0, Reason::Math),
            (self.chunk != other.chunk, Reason::Chunk),
            (math >> CODEC != 0, Reason::Codec),
            (self.digest != other.digest, Reason::Configuration),
        ]
        .into_iter()
        .find_map(|(differs, reason)| differs.then_some(reason))
    }
}

/// A refusal, sent to the node that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Refuse {
    /// The node that is refused.
    pub to: u32,
    /// Its challenge, so that an old refusal has no effect on a node that was fixed since.
    pub echo: u32,
    /// Why.
    pub reason: Reason,
}

/// Why a node refuses another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Reason {
    /// The problems differ.
    Problem,
    /// The outer dimensions n differ.
    OuterDimension,
    /// The inner dimensions p differ.
    InnerDimension,
    /// One runs LG, the other GT.
    Scheme,
    /// The implementations or versions of exp and ln differ, or the arithmetic.
    Math,
    /// The lengths of the chunks differ.
    Chunk,
    /// The codecs differ: their bits or their units, or one sends floats.
    Codec,
    /// Step sizes, seed, batches or rounds differ.
    Configuration,
    /// The two ends give their link different weights.
    Weight,
    /// Two nodes have the same number.
    DuplicateNode,
}

impl core::fmt::Display for Reason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Problem => "it learns another problem",
            Self::OuterDimension => "its outer variable has another length",
            Self::InnerDimension => "its inner variable has another length",
            Self::Scheme => "one runs LG, the other GT",
            Self::Math => {
                "it was built with another version of libm, or one of the two with micromath, or one of the two computes in integers"
            }
            Self::Chunk => "its chunks have another length",
            Self::Codec => "its vectors travel in other bits or units",
            Self::Configuration => "its step sizes, seed, batches or rounds differ",
            Self::Weight => "the two ends give their link different weights",
            Self::DuplicateNode => "two nodes have the same number",
        })
    }
}

/// A host's request to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Request {
    /// The node it is for.
    pub to: u32,
    /// The challenge of the node's last status. A request that changes something is only carried out with it, and only
    /// once.
    pub echo: u32,
    /// A number that the reply repeats.
    pub tag: u32,
    /// What is requested.
    pub ask: Ask,
}

/// What a host can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Ask {
    /// Continue.
    Start,
    /// Pause after the round.
    Stop,
    /// Report where the node is.
    Status,
    /// Report the counters of the links.
    Counters,
    /// Report how the node learns.
    Metrics,
    /// Read some elements of a variable.
    Read {
        /// Which variable.
        variable: Variable,
        /// From which element on.
        offset: u32,
    },
    /// Write a checkpoint.
    Checkpoint,
}

/// A node's answer to a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reply<V> {
    /// The request's tag.
    pub tag: u32,
    /// The answer.
    pub answer: Answer<V>,
}

/// What a node can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Answer<V> {
    /// It is done.
    Done,
    /// It cannot be done here.
    Cannot,
    /// Where the node is.
    Status(Status),
    /// The counters of the links.
    Counters(Counters),
    /// How it learns.
    Metrics(Metrics),
    /// Elements of a variable.
    Values {
        /// Which variable.
        variable: Variable,
        /// From which element on.
        offset: u32,
        /// The elements.
        values: V,
    },
    /// The node does not start, and answers every request with the reason.
    Refused(Trouble),
}

/// Where a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Status {
    /// The node's boot number.
    pub session: u32,
    /// What a request that changes something must echo; a new one after each of them.
    pub challenge: u32,
    /// Rounds completed.
    pub round: u64,
    /// Rounds to do.
    pub rounds: u64,
    /// Neighbours it has met in this epoch.
    pub met: u8,
    /// Neighbours it considers dead.
    pub dead: u8,
    /// Neighbours it refuses, or that refuse it.
    pub refused: u8,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether it diverged.
    pub diverged: bool,
}

/// How a node learns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Metrics {
    /// ‖x‖².
    pub outer_norm: f32,
    /// ‖y‖².
    pub direction_norm: f32,
    /// ‖θ‖².
    pub inner_norm: f32,
    /// How often each oracle was evaluated, in the order of [`Evaluations::to_array`].
    pub evaluations: [u64; 5],
}

impl Metrics {
    /// Measures a node's state.
    #[must_use]
    pub fn of(state: &crate::node::State<'_>, evaluations: Evaluations) -> Self {
        use crate::vector::norm_squared;
        Self {
            outer_norm: norm_squared(state.x),
            direction_norm: norm_squared(state.y),
            inner_norm: norm_squared(state.theta),
            evaluations: evaluations.to_array(),
        }
    }
}

/// What happened on a node's links since it booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Frames sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Valid frames received.
    pub received: u64,
    /// Bytes received, in valid frames or not.
    pub received_bytes: u64,
    /// Chunks found to be lost, and sent again.
    pub repaired: u64,
    /// Frames with a wrong checksum or tag.
    pub corrupt: u64,
    /// Frames that were cut short or have invalid stuffing.
    pub truncated: u64,
    /// Frames longer than any this node understands.
    pub oversize: u64,
    /// Frames with an invalid message: unknown kind, wrong length, chunk out of range.
    pub malformed: u64,
    /// Frames of another version of the protocol.
    pub version: u64,
    /// Frames from nodes that are not neighbours on that link.
    pub foreign: u64,
    /// Frames from another epoch or session, or from a neighbour not met in this epoch, and requests with an old challenge.
    pub stale: u64,
    /// Chunks that had been received before.
    pub repeated: u64,
    /// Chunks too far ahead to be stored.
    pub early: u64,
    /// Chunks with an infinite or NaN value.
    pub non_finite: u64,
    /// Greetings refused, by this node or by a neighbour.
    pub refused: u64,
    /// Epochs begun or joined.
    pub epochs: u64,
}

impl Counters {
    /// Nothing has happened yet.
    pub(crate) const ZERO: Self = Self {
        sent: 0,
        sent_bytes: 0,
        received: 0,
        received_bytes: 0,
        repaired: 0,
        corrupt: 0,
        truncated: 0,
        oversize: 0,
        malformed: 0,
        version: 0,
        foreign: 0,
        stale: 0,
        repeated: 0,
        early: 0,
        non_finite: 0,
        refused: 0,
        epochs: 0,
    };
}

/// Floats to be sent, the second slice after the first: serialised as little-endian bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Floats<'a>(pub &'a [f32], pub &'a [f32]);

impl Serialize for Floats<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        // A sequence of bytes looks like a byte string in postcard, and needs no copy of the vector.
        let len = 4 * (self.0.len().wrapping_add(self.1.len()));
        let mut bytes = serializer.serialize_seq(Some(len))?;
        for byte in self.0.iter().chain(self.1).flat_map(|a| a.to_le_bytes()) {
            bytes.serialize_element(&byte)?;
        }
        bytes.end()
    }
}

/// The floats in received bytes, in order; bytes after the last whole float are left out.
#[must_use]
pub fn floats(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> + Clone + '_ {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}
