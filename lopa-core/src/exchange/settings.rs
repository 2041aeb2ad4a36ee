//! What an exchange is told before it starts.

use crate::math;
use crate::node::{Node, Scheme};
use crate::problem::Problem;
use crate::vector::Storage;
use crate::wire::{Identity, Seal};

/// Time in microseconds, from any starting point, never going back.
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

/// When to lose patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Timing {
    /// A chunk is sent again when no acknowledgement came for this long; doubled each time in a row.
    pub retry: Micros,
    /// The doubling ends here.
    pub retry_most: Micros,
    /// How long an acknowledgement waits for data to ride on, unless someone is held up by it.
    pub delay: Micros,
    /// A neighbour that gives no sign of life for this long is declared dead: it neither made progress nor answered a
    /// challenge. Longer than the longest computation of a round.
    pub silence: Micros,
    /// The same for a neighbour that gave none since boot.
    pub patience: Micros,
    /// How often a neighbour that is dead or refused is greeted, in case it is not.
    pub probe: Micros,
}

impl Timing {
    /// Whether an exchange can work with these times.
    pub(crate) const fn is_sound(&self) -> bool {
        self.retry > 0 && self.probe > 0 && self.patience > 0 && self.silence >= 64
    }

    /// After this long without a sign of life a neighbour is asked for one.
    pub(super) const fn doubt(&self) -> Micros {
        self.silence / 4
    }

    /// How often it is asked then: 48 times before it is declared dead. A line that loses half of all frames in both
    /// directions lets that many questions or answers be lost once in a million times.
    pub(super) const fn insist(&self) -> Micros {
        self.silence / 64
    }

    /// The least time between two greetings to a neighbour, whatever it sends.
    pub(super) const fn pace(&self) -> Micros {
        if self.retry < 8 { 1 } else { self.retry / 8 }
    }

    /// Times that suit a UART of `baud` bits a second: frames of at most `frame` bytes, at most `ahead` of them in
    /// front of an answer (the window, times the nodes that share the line), and a round that is computed in at
    /// most `compute`.
    ///
    /// ```
    /// use lopa_core::exchange::Timing;
    /// let timing = Timing::uart(115_200, 800, 4, 50_000);
    /// // A frame takes 70 ms, and so may four in front of the acknowledgement.
    /// assert!(timing.retry > 5 * 70_000 && timing.silence > 10 * timing.retry);
    /// ```
    #[must_use]
    pub const fn uart(baud: u32, frame: usize, ahead: u32, compute: Micros) -> Self {
        let baud = if baud == 0 { 1 } else { baud as u64 };
        // Ten bits a byte, and a moment for the software.
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
    /// This node's number; below 2^16.
    pub node: u32,
    /// What the network agrees on.
    pub identity: Identity,
    /// How many rounds to run.
    pub rounds: u64,
    /// The number of this boot, counted in flash from 1 on; a true random source will do, but makes longer frames. 0 if
    /// boots cannot be counted: such a node must start afresh, not from a checkpoint.
    pub boot: u32,
    /// When to lose patience.
    pub timing: Timing,
    /// How frames are sealed.
    pub seal: Seal,
}

impl Settings {
    /// The settings of a node that runs `rounds` rounds and sends `chunk` elements at a time: plain frames, boots that
    /// are not counted, and no number for its problem.
    #[must_use]
    pub fn of<P: Problem, X: Storage, T: Storage, D: Storage>(
        node: &Node<P, X, T, D>,
        rounds: u64,
        chunk: u32,
        timing: Timing,
    ) -> Self {
        let (size, config) = (node.problem().dimensions(), node.config());
        Self {
            node: config.sampler.draws.node,
            identity: Identity::new(0, size, node.scheme(), config, chunk, rounds),
            rounds,
            boot: 0,
            timing,
            seal: Seal::PLAIN,
        }
    }

    /// Those of an exchange that was not started.
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
        /// The room.
        room: usize,
    },
    /// Times of zero, or a silence shorter than 64 microseconds.
    Timing,
    /// The node is not the one the settings describe: its outer variable has another length, or it is in the middle of a
    /// round.
    Node,
    /// A chunk, with y behind x for gradient tracking, has no value or more than the exchange has room for.
    Chunk {
        /// The room, in floats.
        room: usize,
    },
}

impl core::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Number { node } => write!(f, "node number {node} is not below 65536"),
            Self::Neighbour { node } => {
                write!(f, "neighbour {node} is named twice or is the node itself")
            }
            Self::Link { node } => write!(f, "neighbour {node} is on a link that does not exist"),
            Self::Weight { node } => {
                write!(f, "the weight of neighbour {node} is not positive and finite")
            }
            Self::Weights => write!(f, "the weights sum to one or more"),
            Self::TooMany { room } => write!(f, "there is room for {room} neighbours only"),
            Self::Timing => {
                write!(
                    f,
                    "retry, probe and patience must not be 0, silence not below 64 microseconds"
                )
            }
            Self::Node => {
                write!(f, "the node's outer variable has another length, or a round is half done")
            }
            Self::Chunk { room } => write!(f, "a chunk must have 1 to {room} values, y included"),
        }
    }
}

impl core::error::Error for SettingsError {}
