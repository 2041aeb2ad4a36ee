//! The tables of a file.

use std::path::PathBuf;

use lopa_core::blob::Wiring;
use lopa_core::codec::{Codec, CodecError};
use lopa_core::samples::{Arithmetic, LabelKind};
use serde::{Deserialize, Serialize};

use crate::metrics::Choice;
use crate::topology::{Kind, WeightRule};

/// The table `network`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkTable {
    /// How many nodes.
    pub nodes: u32,
    /// The graph.
    #[serde(default = "ring")]
    pub topology: Kind,
    /// The weights: "metropolis", or a CSV file.
    #[serde(default)]
    pub weights: WeightRule,
    /// The seed of random graphs.
    #[serde(default = "one")]
    pub seed: u64,
}

/// The table `problem`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ProblemTable {
    /// Hyperparameters of logistic regression.
    Logistic {},
    /// Hyperparameters of ridge regression.
    Ridge {},
    /// A shared sigmoid layer with a personal softmax head.
    SharedLayer {
        /// Units of the shared layer.
        hidden: usize,
        /// The head's regularisation.
        mu: f32,
    },
    /// A starting point for a classifier that adapts in one step.
    MetaLogistic {
        /// One over the step size.
        nu: f32,
    },
    /// A starting point for a regression that adapts in one step.
    MetaSquared {
        /// One over the step size.
        nu: f32,
    },
    /// Random quadratics with a closed form, which need no data: a yardstick.
    Quadratic {
        /// n: the length of the shared variable.
        outer: usize,
        /// p: the length of a node's own variable.
        inner: usize,
        /// How much nodes differ: 0 not at all, 1 as much as they have in common.
        #[serde(default = "unit")]
        heterogeneity: f32,
        /// How much their inner goals differ, if not as much as the rest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner_goals: Option<f32>,
        /// How much their outer goals differ, if not as much as the rest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outer_goals: Option<f32>,
        /// The largest curvature of inner problems with a heterogeneity of 1; the smallest is about 1.
        #[serde(default = "two", skip_serializing_if = "is_two")]
        condition: f32,
    },
}

impl ProblemTable {
    /// Whether the shared variable holds logarithms of regularisation strengths.
    #[must_use]
    pub const fn has_strengths(&self) -> bool {
        matches!(self, Self::Logistic {} | Self::Ridge {})
    }

    /// Whether a node's model is one step from the shared variable.
    #[must_use]
    pub const fn adapts(&self) -> bool {
        matches!(self, Self::MetaLogistic { .. } | Self::MetaSquared { .. })
    }

    /// The labels it learns from; none for a quadratic, which has no samples.
    #[must_use]
    pub const fn labels(&self) -> Option<LabelKind> {
        match self {
            Self::Logistic {} | Self::MetaLogistic { .. } => Some(LabelKind::Binary),
            Self::Ridge {} | Self::MetaSquared { .. } => Some(LabelKind::Real),
            Self::SharedLayer { .. } => Some(LabelKind::Class),
            Self::Quadratic { .. } => None,
        }
    }
}

/// The table `links`: nodes talk over serial lines, in simulated time. The results have the same bits as in-process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinksTable {
    /// Whether lines are simulated; otherwise nodes exchange their vectors in-process, with the same results, and what this
    /// table says about lines is for boards only.
    #[serde(skip_serializing_if = "is_true")]
    pub simulate: bool,
    /// Bits per value, 8, 4 or 3: differences travel instead of floats, see [`lopa_core::codec`]. Another trajectory, with
    /// weights rounded to multiples of 1/256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
    /// With `bits`, the exponent of the unit that x is rounded to; -22 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<i8>,
    /// How nodes are wired.
    pub wiring: Wiring,
    /// Bits per second.
    pub baud: u32,
    /// Elements of x per frame.
    pub chunk: u32,
    /// Microseconds of computation per round.
    pub compute: u64,
    /// The probability that a frame is lost.
    pub drop: f32,
    /// The probability that a frame is damaged.
    pub corrupt: f32,
    /// The probability that a frame arrives twice.
    pub duplicate: f32,
    /// The probability that a frame is overtaken by later ones.
    pub reorder: f32,
    /// The longest extra delay of a frame, in microseconds.
    pub delay: u64,
    /// The seed of the faults.
    pub seed: u64,
    /// A file with a key, made by `lopa key`: frames are encrypted and authenticated with it. The results have the same
    /// bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

impl Default for LinksTable {
    fn default() -> Self {
        Self {
            simulate: true,
            bits: None,
            unit: None,
            wiring: Wiring::Direct,
            baud: 1_000_000,
            chunk: 64,
            compute: 2_000,
            drop: 0.0,
            corrupt: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            delay: 0,
            seed: 1,
            key: None,
        }
    }
}

impl LinksTable {
    /// How vectors travel with few bits; `None` for floats.
    ///
    /// # Errors
    /// Says what is wrong with `bits` or `unit`.
    pub fn codec(&self) -> Result<Option<Codec>, CodecError> {
        let unit = self.unit.unwrap_or(Codec::USUAL_UNIT);
        self.bits.map(|bits| Codec::new(bits, unit)).transpose()
    }
}

/// The table `fleet`: boards, and where they are plugged in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetTable {
    /// The board: a folder of `firmware`.
    pub board: Option<String>,
    /// Where each node is plugged in.
    #[serde(default)]
    pub node: Vec<FleetNode>,
    /// What the fleet is called in a network that it shares with others; the name of the file if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The machines that boards are plugged into, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateway: Vec<FleetGateway>,
    /// A configuration file of Zenoh, for certificates, access control or routers between gateways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zenoh: Option<PathBuf>,
}

/// A machine of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetGateway {
    /// Its name.
    pub name: String,
    /// Where the others reach it: "192.168.1.10:7447", or with a protocol "tls/attic.example:7447". Not needed if Zenoh's
    /// own configuration says how gateways meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The nodes that are plugged into it.
    pub nodes: Vec<u32>,
}

/// A board of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetNode {
    /// The node's number.
    pub id: u32,
    /// Its serial port, such as "/dev/ttyACM0", "tcp:HOST:PORT" of a serial server, or "unix:/path" of an emulator's
    /// socket. Not needed to flash it.
    pub port: Option<String>,
    /// Its debug probe, as `probe-rs list` names it: "VID:PID:serial".
    pub probe: Option<String>,
}

/// The table `run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTable {
    /// How many rounds.
    pub iterations: u64,
    /// The seed of batches, partitions and synthetic data.
    #[serde(default = "one")]
    pub seed: u64,
    /// How many rounds lie between rows of metrics.
    #[serde(default = "hundred")]
    pub record_every: u64,
    /// How sums over samples are computed, "float" or "integer": see lopa-core's page on integer arithmetic. It is for fleets of
    /// chips without an FPU, and needs features that are bytes.
    #[serde(default, skip_serializing_if = "is_float")]
    pub arithmetic: Arithmetic,
    /// The metrics: a list of names, "default" or "all".
    #[serde(default)]
    pub metrics: Choice,
    /// Whether the losses and accuracies of each node are recorded too, in `nodes.csv`.
    #[serde(default)]
    pub per_node: bool,
    /// How many rounds lie between checkpoints; half a minute if not given.
    pub checkpoint_every: Option<u64>,
    /// Where x starts: a number for every element, a CSV file, or `{ random = 0.1 }`. If not given, it is chosen together
    /// with step sizes that are not given, and otherwise 0.
    pub x0: Option<Start>,
    /// Whether, after the last round, every node fits its model again to all its samples with the x it has learned; if not
    /// given, only where step sizes are chosen, and not for models that adapt in one step.
    pub refit: Option<bool>,
    /// Whether the results are compared with each node alone and with one model for all; if not given, only where step sizes
    /// are chosen.
    pub baselines: Option<bool>,
}

impl std::fmt::Display for Start {
    /// As a file has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(x0) => write!(f, "{x0}"),
            Self::File(path) => write!(f, "{:?}", path.display().to_string()),
            Self::Random { random } => write!(f, "{{ random = {random} }}"),
        }
    }
}

/// Where x starts, the same on all nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "x0 must be a number, the name of a CSV file, or { random = 0.1 }")]
pub enum Start {
    /// The same number everywhere.
    Number(f32),
    /// The numbers of a file, separated by commas or lines.
    File(PathBuf),
    /// Uniform random numbers, drawn from the run's seed. A shared layer needs them: equal units stay equal for ever.
    Random {
        /// They lie between minus this and this.
        random: f32,
    },
}

fn is_float(arithmetic: &Arithmetic) -> bool {
    *arithmetic == Arithmetic::Float
}
#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
const fn is_true(simulate: &bool) -> bool {
    *simulate
}
const fn ring() -> Kind {
    Kind::Ring
}
const fn unit() -> f32 {
    1.0
}
const fn two() -> f32 {
    2.0
}
#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn is_two(condition: &f32) -> bool {
    *condition == two()
}
const fn one() -> u64 {
    1
}
const fn hundred() -> u64 {
    100
}
