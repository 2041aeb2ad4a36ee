//! The rules that judge a study's results. Each rule has a file of its own.

use serde::Deserialize;

use super::measure::Measure;
use super::{Finding, gap, rate, sooner};
use crate::campaign::{Arm, Results};
use crate::metrics::Metric;

/// A rule that judges results.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// Every arm in `who` reaches each of some values at a lower cost than every arm in `than`.
    Sooner {
        /// The metric of these values.
        metric: Metric,
        /// The values: fixed, so that no arm chooses where it is measured.
        targets: Vec<f64>,
        /// The cost's metric.
        along: Metric,
        /// The arms that should need less.
        who: Vec<String>,
        /// The arms they are compared with.
        than: Vec<String>,
    },
    /// One arm is better than another, compared seed by seed.
    Better {
        /// What is compared.
        value: Measure,
        /// The arm that should be better.
        who: String,
        /// The arm it is compared with.
        than: String,
        /// The smallest mean effect that matters: a difference or, where factors are compared, a factor.
        least: Option<f64>,
    },
    /// The first arm of a pair leads the second by more than in another pair, compared seed by seed.
    More {
        /// What is compared.
        value: Measure,
        /// The pair whose lead should be larger.
        gap: [String; 2],
        /// The other pair.
        than: [String; 2],
        /// The smallest mean effect that matters: a difference or, where factors are compared, a factor.
        least: Option<f64>,
    },
    /// A value scales as a power of the quantity in which the cases differ, as the paper proves.
    Rate {
        /// What should scale.
        value: Measure,
        /// The variant, in all cases.
        who: String,
        /// The proven power.
        power: f64,
        /// Whether the power is an upper bound, a lower bound, or both.
        #[serde(default)]
        sense: Sense,
        /// The tolerance: constants and other terms change the measured power.
        #[serde(default = "rate::slack")]
        slack: f64,
    },
}

/// What a claim says about a power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// It is an upper bound: for quantities that grow.
    #[default]
    AtMost,
    /// It is a lower bound: for quantities that vanish, and the value with them.
    AtLeast,
    /// It is what is measured, within the tolerance on both sides.
    About,
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
            Self::Better { value, .. } | Self::More { value, .. } | Self::Rate { value, .. } => {
                value.metrics().collect()
            }
        }
    }

    /// Whether it depends on how fast a machine is, and so does not repeat.
    pub(super) fn is_timed(&self) -> bool {
        self.metrics().contains(&Metric::Seconds)
    }

    /// Judges what was measured: one finding, or one per pair of arms.
    #[must_use]
    pub fn judge(&self, arms: &[Arm], results: &Results) -> Vec<Finding> {
        match self {
            Self::Sooner { metric, targets, along, who, than } => {
                sooner::judge(results, *metric, targets, *along, who, than)
            }
            Self::Better { value, who, than, least } => {
                vec![gap::better(results, value, who, than, *least)]
            }
            Self::More { value, gap, than, least } => {
                vec![gap::more(results, value, gap, than, *least)]
            }
            Self::Rate { value, who, power, sense, slack } => {
                let proven = rate::Proven { power: *power, sense: *sense, slack: *slack };
                vec![rate::judge(arms, results, value, who, proven)]
            }
        }
    }
}
