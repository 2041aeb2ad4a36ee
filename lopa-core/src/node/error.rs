//! Errors of a node.

/// The variables of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub enum Variable {
    /// x.
    Outer,
    /// θ.
    Inner,
    /// v.
    HessianInverseVector,
    /// z.
    Hypergradient,
    /// y.
    Direction,
}

/// A variable was about to become infinite or NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Divergence {
    /// The round in which it happened.
    pub round: u64,
    /// The variable.
    pub variable: Variable,
}

/// Why a node could not be made or could not continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
#[non_exhaustive]
pub enum NodeError {
    /// A buffer does not have the length that the problem needs.
    Length {
        /// Which buffer.
        name: &'static str,
        /// The length it must have.
        needed: usize,
        /// The length it has.
        found: usize,
    },
    /// The problem has an outer or inner dimension of zero.
    Empty,
    /// The starting point has an infinite or NaN element.
    Start {
        /// Its index.
        index: usize,
    },
    /// `compute` was called in the middle of a round, or `mix` before `compute`.
    OutOfTurn,
    /// The node diverged and has stopped; restore a checkpoint, or start again with smaller steps.
    Diverged(Divergence),
    /// A variable left the range of the [codec](crate::codec), or neighbours are too far apart for it, and the node has
    /// stopped: choose a coarser unit, or start again with smaller steps.
    Range(Divergence),
}

impl core::fmt::Display for NodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Length { name, needed, found } => {
                write!(f, "{name} has {found} elements, {needed} are needed")
            }
            Self::Empty => write!(f, "the problem's dimensions must be at least 1"),
            Self::Start { index } => {
                write!(f, "element {index} of x0 is infinite or NaN: it must be finite")
            }
            Self::OutOfTurn => {
                write!(f, "called out of turn: call compute, then mix until the round is complete")
            }
            Self::Diverged(Divergence { round, variable }) => write!(
                f,
                "{variable:?} became infinite or NaN in round {round}: try smaller step sizes"
            ),
            Self::Range(Divergence { round, variable }) => write!(
                f,
                "{variable:?} left the range of the codec in round {round}, or neighbours are too far apart: try a coarser unit or smaller step sizes"
            ),
        }
    }
}

impl core::error::Error for NodeError {}
