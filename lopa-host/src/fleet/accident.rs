//! Accidents that can happen to a fleet, and how they are written.

use std::fmt;
use std::time::Duration;

/// When a cut line is repaired.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// Never.
    Never,
    /// Once a node has completed this many rounds.
    Round(u64),
    /// After a time.
    Time(Duration),
}

/// Something that happens to a fleet, when a board is first seen to have completed a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accident {
    /// A board loses its power.
    Kill {
        /// The node.
        node: u32,
        /// After this many rounds of its own.
        round: u64,
    },
    /// A board that lost its power gets it again.
    Restart {
        /// The node.
        node: u32,
        /// After this many rounds of any other.
        round: u64,
    },
    /// A line is cut.
    Cut {
        /// Between this node
        a: u32,
        /// and this one.
        b: u32,
        /// After this many rounds of one of them.
        round: u64,
        /// When it is repaired.
        until: Until,
    },
}

/// An accident makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AccidentError(pub(super) String);

impl fmt::Display for Accident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { node, round } => write!(f, "kill {node}@{round}"),
            Self::Restart { node, round } => write!(f, "restart {node}@{round}"),
            Self::Cut { a, b, round, until } => {
                write!(f, "cut {a}-{b}@{round}")?;
                match until {
                    Until::Never => Ok(()),
                    Until::Round(round) => write!(f, "..{round}"),
                    Until::Time(time) => write!(f, "+{}", time.as_secs_f64()),
                }
            }
        }
    }
}

impl Accident {
    /// A board loses its power: "2@50".
    ///
    /// # Errors
    /// Says how it is written.
    pub fn kill(text: &str) -> Result<Self, AccidentError> {
        node_at_round(text).map(|(node, round)| Self::Kill { node, round })
    }

    /// It gets it again: "2@80".
    ///
    /// # Errors
    /// Says how it is written.
    pub fn restart(text: &str) -> Result<Self, AccidentError> {
        node_at_round(text).map(|(node, round)| Self::Restart { node, round })
    }

    /// A line is cut: "0-1@50" for good, "0-1@50..80" until round 80, "0-1@50+2.5" for two and a half seconds.
    ///
    /// # Errors
    /// Says how it is written.
    pub fn cut(text: &str) -> Result<Self, AccidentError> {
        let parsed = || {
            let (nodes, when) = text.split_once('@')?;
            let (a, b) = nodes.split_once('-')?;
            let (round, until) = match (when.split_once(".."), when.split_once('+')) {
                (Some((round, end)), _) => (round, Until::Round(end.parse().ok()?)),
                (None, Some((round, seconds))) => {
                    let seconds = seconds.parse().ok()?;
                    (round, Until::Time(Duration::try_from_secs_f64(seconds).ok()?))
                }
                (None, None) => (when, Until::Never),
            };
            let round = round.parse().ok()?;
            Some(Self::Cut { a: a.parse().ok()?, b: b.parse().ok()?, round, until })
        };
        parsed().ok_or_else(|| {
            let forms = "A-B@ROUND, A-B@ROUND..ROUND or A-B@ROUND+SECONDS, such as 0-1@50..80";
            AccidentError(format!("{text:?} must be {forms}"))
        })
    }

    pub(super) const fn round(&self) -> u64 {
        match self {
            Self::Kill { round, .. } | Self::Restart { round, .. } | Self::Cut { round, .. } => {
                *round
            }
        }
    }

    /// Whether the network goes on without a node for a while, and so ends with other bits than a simulation.
    #[must_use]
    pub fn changes_bits(&self, silence: Duration) -> bool {
        !matches!(self, Self::Cut { until: Until::Time(time), .. } if *time < silence)
    }
}

fn node_at_round(text: &str) -> Result<(u32, u64), AccidentError> {
    let parts = text.split_once('@');
    let parsed = parts.and_then(|(node, round)| Some((node.parse().ok()?, round.parse().ok()?)));
    parsed.ok_or_else(|| AccidentError(format!("{text:?} must be NODE@ROUND, such as 2@50")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accidents_are_read_as_they_are_written() {
        for (accident, text) in [
            (Accident::kill("2@50"), "kill 2@50"),
            (Accident::restart("2@80"), "restart 2@80"),
            (Accident::cut("0-1@50"), "cut 0-1@50"),
            (Accident::cut("0-1@50..80"), "cut 0-1@50..80"),
            (Accident::cut("1-0@5+2.5"), "cut 1-0@5+2.5"),
        ] {
            let accident = accident.unwrap();
            assert_eq!(accident.to_string(), text);
        }
        for bad in ["", "2", "2@", "@5", "two@5", "2@-1", "2@5.5"] {
            assert!(Accident::kill(bad).unwrap_err().to_string().contains("NODE@ROUND"), "{bad}");
        }
        for bad in ["0-1", "0@5", "0-1@5..", "0-1@5+x", "0-1@5+-1", "0-1@5+nan"] {
            assert!(Accident::cut(bad).unwrap_err().to_string().contains("A-B@ROUND"), "{bad}");
        }
    }

    #[test]
    fn a_short_cut_leaves_the_bits_alone() {
        let silence = Duration::from_secs(10);
        let changes = |text| Accident::cut(text).unwrap().changes_bits(silence);
        assert!(!changes("0-1@5+2") && changes("0-1@5+10"));
        assert!(changes("0-1@5") && changes("0-1@5..7"));
    }
}
