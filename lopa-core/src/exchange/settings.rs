//! The settings of an exchange.

#[cfg(feature = "codec")]
use crate::codec::{BLOCK, CodedNode, Integers};
use crate::math;
use crate::node::{Node, Scheme};
use crate::problem::Problem;
use crate::vector::Storage;
use crate::wire::{Identity, Seal};

/// Time in microseconds, from any starting point; it never goes back.
pub type Micros = u64;

/// A neighbour and the link that leads to it. Several neighbours can share a link.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Peer {
    /// The neighbour's number.
    pub node: u32,
    /// The link.
    pub link: u8,
    /// The weight of the link, the same at both ends.
    pub weight: f32,
}

/// How long to wait for neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Timing {
    /// A chunk is sent again if no acknowledgement arrives for this long; doubled each time in a row.
    pub retry: Micros,
    /// The longest such time: the doubling ends here.
    pub retry_most: Micros,
    /// How long an acknowledgement waits for data to travel with, unless a neighbour is held up by it.
    pub delay: Micros,
    /// A neighbour that gives no sign of life for this long, neither progress nor the echo of a challenge, is declared
    /// dead. It must be longer than the longest computation of a round.
    pub silence: Micros,
    /// The same for a neighbour that has given none since boot.
    pub patience: Micros,
    /// The time between greetings to a neighbour that is dead or refused, in case it returns.
    pub probe: Micros,
}

impl Timing {
    /// Whether an exchange can work with these times.
    pub(crate) const fn is_sound(&self) -> bool {
        self.retry > 0 && self.probe > 0 && self.patience > 0 && self.silence >= 64
    }

    /// After this long without a sign of life, a neighbour is asked for one.
    pub(super) const fn doubt(&self) -> Micros {
        self.silence / 4
    }

    /// The time between these requests: there are 48 of them before it is declared dead. On a line that loses half of all
    /// frames in both directions, they or their answers are all lost about once in a million times.
    pub(super) const fn insist(&self) -> Micros {
        self.silence / 64
    }

    /// The least time between two greetings to a neighbour, whatever it sends.
    pub(super) const fn pace(&self) -> Micros {
        if self.retry < 8 { 1 } else { self.retry / 8 }
    }

    /// Times for a UART of `baud` bits per second: with frames of at most `frame` bytes, at most `ahead` of them before an
    /// answer (the window, times the nodes that share the line), and at most `compute` to compute a round.
    ///
    /// ```
    /// use lopa_core::exchange::Timing;
    /// let timing = Timing::uart(115_200, 800, 4, 50_000);
    /// // A frame takes 70 ms, and four more may go before the acknowledgement.
    /// assert!(timing.retry > 5 * 70_000 && timing.silence > 10 * timing.retry);
    /// ```
    #[must_use]
    pub const fn uart(baud: u32, frame: usize, ahead: u32, compute: Micros) -> Self {
        let baud = if baud == 0 { 1 } else { baud as u64 };
        // Ten bits per byte, and a moment for the software.
        let flight = (frame as u64).saturating_mul(10_000_000) / baud + 1_000;
        let retry = flight.saturating_mul(2 + ahead as u64).saturating_add(compute);
        Self {
            retry,
            retry_most: retry.saturating_mul(8),
            delay: flight.saturating_mul(ahead as u64) / 16,
            silence: retry.saturating_mul(40),
            patience: retry.saturating_mul(400),
            probe: retry.saturating_mul(8),
        }
    }
}

/// An exchange's settings.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Settings {
    /// This node's number, below 2^16.
    pub node: u32,
    /// What all nodes must agree on.
    pub identity: Identity,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of this boot, counted in flash from 1 on; a true random number also works, but makes frames longer. 0 if
    /// boots cannot be counted: such a node must start from scratch, not from a checkpoint.
    pub boot: u32,
    /// How long to wait for neighbours.
    pub timing: Timing,
    /// How frames are sealed.
    pub seal: Seal,
}

impl Settings {
    /// Settings for a node that runs `rounds` rounds and sends `chunk` elements at a time, with plain frames, no boot number
    /// and no number for its problem.
    #[must_use]
    pub fn of<P: Problem, X: Storage, T: Storage, D: Storage>(
        node: &Node<P, X, T, D>,
        rounds: u64,
        chunk: u32,
        timing: Timing,
    ) -> Self {
        let (size, config) = (node.problem().dimensions(), node.config());
        let mut identity = Identity::new(0, size, node.scheme(), config, chunk, rounds);
        identity.math += node.problem().arithmetic().identity();
        Self {
            node: config.sampler.draws.node,
            identity,
            rounds,
            boot: 0,
            timing,
            seal: Seal::PLAIN,
        }
    }

    /// The same for a node whose vectors travel in few bits.
    #[cfg(feature = "codec")]
    #[must_use]
    pub fn coded<P: Problem, X: Storage, T: Storage, D: Storage, I: Integers, J: Integers>(
        node: &CodedNode<P, X, T, D, I, J>,
        rounds: u64,
        chunk: u32,
        timing: Timing,
    ) -> Self {
        let floats = Self::of(node.node(), rounds, chunk, timing);
        Self { identity: floats.identity.with_codec(node.codec()), ..floats }
    }

    /// The settings of an exchange that has not started.
    pub(super) const VACANT: Self = Self {
        node: 0,
        identity: Identity {
            problem: 0,
            outer: 0,
            inner: 0,
            scheme: Scheme::LocalGradient,
            math: math::IDENTITY,
            chunk: 0,
            digest: 0,
        },
        rounds: 0,
        boot: 0,
        timing: Timing { retry: 0, retry_most: 0, delay: 0, silence: 0, patience: 0, probe: 0 },
        seal: Seal::PLAIN,
    };
}

/// Why settings were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SettingsError {
    /// A node's number is 2^16 or more.
    Number {
        /// The number.
        node: u32,
    },
    /// A neighbour is named twice, or is the node itself.
    Neighbour {
        /// Its number.
        node: u32,
    },
    /// A neighbour's link is not one of the exchange's.
    Link {
        /// The neighbour's number.
        node: u32,
    },
    /// A weight is not positive and finite.
    Weight {
        /// The neighbour's number.
        node: u32,
    },
    /// The weights sum to one or more: nothing is left for the node itself.
    Weights,
    /// More neighbours than the exchange has room for.
    TooMany {
        /// The number it has room for.
        room: usize,
    },
    /// A time is zero, or the silence is shorter than 64 microseconds.
    Timing,
    /// The settings do not describe the node: its outer variable has another length, or it is in the middle of a round.
    Node,
    /// A chunk (with gradient tracking, of x and y together) has no values, or more than the exchange has room for.
    Chunk {
        /// The number of floats it has room for.
        room: usize,
    },
    /// The settings name another codec than the node has, or the program has none.
    Codec,
    /// With a codec, a chunk is neither a number of whole blocks nor the whole vector.
    #[cfg(feature = "codec")]
    Blocks,
    /// With a codec, a weight is not a multiple of 1/256.
    #[cfg(feature = "codec")]
    Share {
        /// The neighbour's number.
        node: u32,
    },
}

impl core::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Number { node } => write!(f, "node number {node} must be below 65536"),
            Self::Neighbour { node } => {
                write!(f, "neighbour {node} is named twice or is the node itself: remove it")
            }
            Self::Link { node } => write!(
                f,
                "neighbour {node} is on a link that does not exist: they are 0 to LINKS - 1"
            ),
            Self::Weight { node } => {
                write!(f, "the weight of neighbour {node} must be positive and finite")
            }
            Self::Weights => write!(f, "the weights of the neighbours must sum to less than one"),
            Self::TooMany { room } => {
                write!(f, "the exchange has room for only {room} neighbours: raise NEIGHBOURS")
            }
            Self::Timing => {
                write!(
                    f,
                    "retry, probe and patience must not be 0, and silence must be at least 64 microseconds"
                )
            }
            Self::Node => {
                write!(
                    f,
                    "the settings do not describe the node: its outer variable has another length, or it is in the middle of a round"
                )
            }
            Self::Chunk { room } => write!(f, "a chunk must have 1 to {room} values, y included"),
            Self::Codec => write!(f, "the settings name another codec than the node's"),
            #[cfg(feature = "codec")]
            Self::Blocks => write!(
                f,
                "with a codec, a chunk must be a multiple of {BLOCK} elements, or as long as the outer variable"
            ),
            #[cfg(feature = "codec")]
            Self::Share { node } => {
                write!(
                    f,
                    "with a codec, the weight of neighbour {node} must be a multiple of 1/256"
                )
            }
        }
    }
}

impl core::error::Error for SettingsError {}
