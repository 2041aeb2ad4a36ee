//! The rules that judge a study's results, and their verdicts. Each rule has a file of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{gap, rate, sooner};
use crate::campaign::{Arm, Results};
use crate::metrics::Metric;
use crate::record::Over;
use crate::words::counted;

/// A rule that judges results.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// Every arm in `who` reaches a value at a lower cost than every arm in `than`.
    Sooner {
        /// The value's metric.
        metric: Metric,
        /// The value; without one, for each pair, the best that both reach on every seed.
        target: Option<f64>,
        /// The cost's metric.
        along: Metric,
        /// The arms that should need less.
        who: Vec<String>,
        /// The arms they are compared with.
        than: Vec<String>,
    },
    /// One arm is better than another, compared seed by seed.
    Better {
        /// The metric.
        metric: Metric,
        /// Over which rounds.
        #[serde(default)]
        over: Over,
        /// The arm that should be better.
        who: String,
        /// The arm it is compared with.
        than: String,
    },
    /// The first arm of a pair leads the second by more than in another pair, compared seed by seed.
    More {
        /// The metric.
        metric: Metric,
        /// Over which rounds.
        #[serde(default)]
        over: Over,
        /// The pair whose lead should be larger.
        gap: [String; 2],
        /// The other pair.
        than: [String; 2],
    },
    /// A metric scales as a power of the quantity in which the cases differ, as the paper proves.
    Rate {
        /// The metric.
        metric: Metric,
        /// Over which rounds.
        #[serde(default)]
        over: Over,
        /// The variant, in all cases.
        who: String,
        /// The proven power.
        power: f64,
        /// Whether the power is an upper or a lower bound.
        #[serde(default)]
        sense: Sense,
        /// The tolerance: constants and other terms change the measured power.
        #[serde(default = "rate::slack")]
        slack: f64,
    },
}

/// What a proof says about a power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// It is an upper bound: for quantities that grow.
    #[default]
    AtMost,
    /// It is a lower bound: for quantities that vanish, and the metric with them.
    AtLeast,
}

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds by its rule.
    Holds,
    /// It holds for some arms only, or these seeds do not decide it.
    Partly,
    /// It does not hold by its rule.
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
    /// The question.
    pub question: String,
    /// The answer, in numbers.
    pub answer: String,
    /// The verdict.
    pub verdict: Verdict,
}

impl Finding {
    /// The finding where there is nothing to judge.
    pub(super) fn nothing(question: String) -> Self {
        Self { question, answer: "no seed finished".into(), verdict: Verdict::Partly }
    }
}

/// The number of seeds behind a finding.
pub(super) fn seeds(runs: usize, left_out: usize) -> String {
    let seeds = counted(runs, "seed");
    if left_out == 0 { seeds } else { format!("{seeds}, {left_out} left out") }
}

impl Verdict {
    /// The verdict on several findings: the one they agree on, or partly.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let all = |verdict| findings.iter().all(|finding| finding.verdict == verdict);
        Self::decided(all(Self::Holds), all(Self::DoesNotHold), 0)
    }

    /// The verdict on what is as claimed, the opposite, or neither, such as an interval that lies on one side or on
    /// both. Seeds that were left out show nothing.
    pub(super) const fn decided(right: bool, wrong: bool, left_out: usize) -> Self {
        if right && left_out == 0 {
            Self::Holds
        } else if wrong {
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
                // A variant that does not exist is reported like an arm that does not exist.
                if own.is_empty() { vec![who.clone()] } else { own }
            }
            Self::Sooner { who, than, .. } => [who.clone(), than.clone()].concat(),
            Self::Better { who, than, .. } => vec![who.clone(), than.clone()],
            Self::More { gap, than, .. } => [gap.clone(), than.clone()].concat(),
        }
    }

    /// The metrics it needs.
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
