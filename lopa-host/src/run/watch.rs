//! Looking on while a network runs.

use std::fmt;

use lopa_core::problems::AnyProblem;

use crate::algorithms::Algorithm;
use crate::metrics::NodeValues;
use crate::record::Record;

/// A network between two rounds.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a, 'p> {
    /// The network.
    pub network: &'a (dyn Algorithm<AnyProblem<'p>> + 'p),
    /// Rounds completed.
    pub round: u64,
    /// Whether no round follows.
    pub ends: bool,
    /// What was measured so far.
    pub record: &'a Record,
    /// What was measured of single nodes, for the last row of the record: [`crate::metrics::Meter::NODE`]. Empty before the first.
    pub values: &'a [NodeValues],
}

/// Looks on while a network runs. It cannot change anything; what it does delays the next round.
pub trait Watch: fmt::Debug + Sync {
    /// Sees the network where it starts, and after every round.
    fn see(&self, seen: &Seen<'_, '_>);
}
