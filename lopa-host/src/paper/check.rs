//! What is asked of a study's results, and what may come of it. Each rule has a file of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{gap, rate, sooner};
use crate::campaign::{Arm, Results};
use crate::metrics::Metric;
use crate::record::Over;

/// A rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// Everyone in `who` comes to a value at a lower cost than everyone in `than`.
    Sooner {
        /// The value's metric.
        metric: Metric,
        /// The value; without one, for each pair, the best that both come to on every seed.
        target: Option<f64>,
        /// The cost's metric.
        along: Metric,
        /// Who should be sooner.
        who: Vec<String>,
        /// Than whom.
        than: Vec<String>,
    },
    /// One is better than another, seed by seed.
    Better {
        /// In what.
        metric: Metric,
        /// When.
        #[serde(default)]
        over: Over,
        /// Who should be better.
        who: String,
        /// Than whom.
        than: String,
    },
    /// The first of a pair is ahead of the second by more than another pair's, seed by seed.
    More {
        /// In what.
        metric: Metric,
        /// When.
        #[serde(default)]
        over: Over,
        /// The pair that should be further apart.
        gap: [String; 2],
        /// The other pair.
        than: [String; 2],
    },
    /// A value goes with the quantity that tells the cases apart as a power of it, as the paper proves.
    Rate {
        /// Which value.
        metric: Metric,
        /// When.
        #[serde(default)]
        over: Over,
        /// Whose: a variant, in all cases.
        who: String,
        /// The power.
        power: f64,
        /// Whether it is the most or the least.
        #[serde(default)]
        sense: Sense,
        /// By how much it may be missed: constants and other terms bend what is measured.
        #[serde(default = "rate::slack")]
        slack: f64,
    },
}

/// What a proof says of a power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// It is so large at most: of quantities that grow.
    #[default]
    AtMost,
    /// It is so large at least: of quantities that vanish, and the value with them.
    AtLeast,
}

/// What is to be said of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// By its rule it is so.
    Holds,
    /// Of some and not of others, or these seeds do not decide it.
    Partly,
    /// By its rule it is not so.
    DoesNotHold,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::DoesNotHold => "does not hold",
        })
    }
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What was asked.
    pub question: String,
    /// What was found, in numbers.
    pub answer: String,
    /// What follows.
    pub verdict: Verdict,
}

impl Finding {
    /// Where there is nothing to judge by.
    pub(super) fn nothing(question: String) -> Self {
        Self { question, answer: "no seed ran to its end".into(), verdict: Verdict::Partly }
    }
}

/// On how many seeds something was found.
pub(super) fn seeds(runs: usize, left_out: usize) -> String {
    match left_out {
        0 => format!("{runs} seeds"),
        _ => format!("{runs} seeds, {left_out} left out"),
    }
}

impl Verdict {
    /// Of several findings: all of one mind, or partly.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let all = |verdict| findings.iter().all(|finding| finding.verdict == verdict);
        match () {
            () if all(Self::Holds) => Self::Holds,
            () if all(Self::DoesNotHold) => Self::DoesNotHold,
            () => Self::Partly,
        }
    }

    /// By an interval on the right side or on the wrong one. On seeds that were left out nothing was shown.
    pub(super) const fn decided(right: bool, wrong: bool, left_out: usize) -> Self {
        if right && left_out == 0 {
            Self::Holds
        } else if wrong {
            Self::DoesNotHold
        } else {
            Self::Partly
        }
    }

    /// By how many of several comparisons were as claimed.
    pub(super) const fn by(right: usize, all: usize) -> Self {
        if right == all {
            Self::Holds
        } else if right == 0 {
            Self::DoesNotHold
        } else {
            Self::Partly
        }
    }
}

impl Check {
    /// The arms it names.
    pub(super) fn arms(&self, arms: &[Arm]) -> Vec<String> {
        match self {
            Self::Rate { who, .. } => {
                let own: Vec<String> =
                    arms.iter().filter(|a| a.variant == *who).map(|a| a.name.clone()).collect();
                // A variant nobody has is told like an arm nobody has.
                if own.is_empty() { vec![who.clone()] } else { own }
            }
            Self::Sooner { who, than, .. } => [who.clone(), than.clone()].concat(),
            Self::Better { who, than, .. } => vec![who.clone(), than.clone()],
            Self::More { gap, than, .. } => [gap.clone(), than.clone()].concat(),
        }
    }

    /// The metrics it looks at.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        match self {
            Self::Sooner { metric, along, .. } => vec![*metric, *along],
            Self::Better { metric, .. } | Self::More { metric, .. } | Self::Rate { metric, .. } => {
                vec![*metric]
            }
        }
    }

    /// Judges what was measured.
    #[must_use]
    pub fn judge(&self, arms: &[Arm], results: &Results) -> Finding {
        match self {
            Self::Sooner { metric, target, along, who, than } => {
                sooner::judge(results, *metric, *target, *along, who, than)
            }
            Self::Better { metric, over, who, than } => {
                gap::better(results, *metric, *over, who, than)
            }
            Self::More { metric, over, gap, than } => gap::more(results, *metric, *over, gap, than),
            Self::Rate { metric, over, who, power, sense, slack } => {
                let proven = rate::Proven { power: *power, sense: *sense, slack: *slack };
                rate::judge(arms, results, *metric, *over, who, proven)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_add_up() {
        let finding = |verdict| Finding { question: String::new(), answer: String::new(), verdict };
        let all = [Verdict::Holds, Verdict::Partly, Verdict::DoesNotHold].map(finding);
        assert_eq!(Verdict::of(&all[..1]), Verdict::Holds);
        assert_eq!(Verdict::of(&all), Verdict::Partly);
        assert_eq!(Verdict::of(&all[2..]), Verdict::DoesNotHold);
    }
}
