//! What a rule concludes: one of four verdicts, with the measured effect beside it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::numerics::Spread;
use crate::words::counted;

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds by its rule.
    Holds,
    /// Some parts of it hold, others do not, or are undecided.
    Partly,
    /// These seeds do not decide it.
    Undecided,
    /// It does not hold by its rule.
    DoesNotHold,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::Undecided => "undecided",
            Self::DoesNotHold => "does not hold",
        })
    }
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The measured effect, with its confidence interval.
    pub effect: String,
    /// The same without the interval, for a table of all claims.
    #[serde(skip)]
    pub brief: String,
    /// What was to be shown.
    pub question: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How many of the comparisons behind it hold.
    #[serde(flatten)]
    pub parts: Parts,
}

/// How many comparisons hold, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Parts {
    /// How many hold.
    pub held: usize,
    /// Of how many.
    pub of: usize,
}

impl Parts {
    /// Those of some verdicts.
    pub(super) fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let one = |verdict| Self { held: usize::from(verdict == Verdict::Holds), of: 1 };
        Self::sum(verdicts.into_iter().map(one))
    }

    /// Those of several findings.
    pub(super) fn sum(parts: impl IntoIterator<Item = Self>) -> Self {
        let add = |a: Self, b: Self| Self { held: a.held + b.held, of: a.of + b.of };
        parts.into_iter().fold(Self::default(), add)
    }

    /// A verdict on them, with their numbers where only a part holds.
    pub(super) fn beside(self, verdict: Verdict) -> String {
        match verdict {
            Verdict::Partly => format!("{verdict} ({} of {})", self.held, self.of),
            _ => verdict.to_string(),
        }
    }
}

impl Finding {
    /// A finding of one comparison.
    pub(super) fn new(question: String, effect: String, brief: String, verdict: Verdict) -> Self {
        Self { effect, brief, question, verdict, parts: Parts::of([verdict]) }
    }

    /// The finding where there is nothing to judge.
    pub(super) fn nothing(question: String) -> Self {
        let effect = "nothing to compare: runs diverged, or never arrived".to_owned();
        Self::new(question, effect.clone(), effect, Verdict::Undecided)
    }
}

/// The number of seeds behind a finding.
pub(super) fn seeds(runs: usize, left_out: usize) -> String {
    let seeds = counted(runs, "seed");
    if left_out == 0 { seeds } else { format!("{seeds}, {left_out} left out") }
}

impl Verdict {
    /// The verdict on several parts of a claim.
    ///
    /// It holds if all of them hold, and partly if some do. If none holds, it does not hold once any is refuted, and is
    /// undecided otherwise.
    #[must_use]
    pub fn of(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.into_iter().collect();
        let any = |verdict| parts.contains(&verdict);
        if parts.iter().all(|part| *part == Self::Holds) && !parts.is_empty() {
            Self::Holds
        } else if any(Self::Holds) || any(Self::Partly) {
            Self::Partly
        } else if any(Self::DoesNotHold) {
            Self::DoesNotHold
        } else {
            Self::Undecided
        }
    }

    /// The verdict on an effect that should be positive, and on average at least `least`, by the confidence interval of its
    /// mean. Nothing is decided if seeds were left out, which might have shown anything, or by fewer than three
    /// seeds, which have no such interval.
    pub(super) fn on(effect: &Spread, least: f64, left_out: usize) -> Self {
        let [low, high] = effect.band.unwrap_or([effect.mean; 2]);
        if effect.runs < 3 || left_out > 0 {
            Self::Undecided
        } else if low > 0.0 && effect.mean >= least {
            Self::Holds
        } else if high < least {
            Self::DoesNotHold
        } else {
            Self::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_claim_add_up() {
        use Verdict::{DoesNotHold, Holds, Partly, Undecided};
        for (parts, whole) in [
            (&[Holds, Holds][..], Holds),
            (&[Holds, Undecided], Partly),
            (&[Holds, DoesNotHold], Partly),
            (&[Partly, Undecided], Partly),
            (&[DoesNotHold, Undecided], DoesNotHold),
            (&[DoesNotHold, DoesNotHold], DoesNotHold),
            (&[Undecided, Undecided], Undecided),
            (&[], Undecided),
        ] {
            assert_eq!(Verdict::of(parts.iter().copied()), whole, "{parts:?}");
        }
    }

    #[test]
    fn an_interval_over_zero_is_undecided_and_a_small_effect_does_not_hold() {
        let on = |low: f64, high: f64, least| {
            let mean = f64::midpoint(low, high);
            Verdict::on(&Spread { mean, band: Some([low, high]), runs: 5 }, least, 0)
        };
        assert_eq!(on(0.1, 0.2, 0.0), Verdict::Holds);
        assert_eq!(on(-0.1, 0.2, 0.0), Verdict::Undecided);
        assert_eq!(on(-0.2, -0.1, 0.0), Verdict::DoesNotHold);
        assert_eq!(on(0.0, 0.0, 0.0), Verdict::Undecided, "runs that are the same");
        assert_eq!(on(1e-7, 1e-6, 1e-3), Verdict::DoesNotHold, "clear, but too small to matter");
        assert_eq!(on(1e-4, 2e-2, 1e-3), Verdict::Holds);
        assert_eq!(on(-1e-4, 2e-2, 1e-3), Verdict::Undecided);
        let one = Spread { mean: 1.0, band: None, runs: 1 };
        assert_eq!(Verdict::on(&one, 0.0, 0), Verdict::Undecided, "one seed decides nothing");
        let two = Spread { mean: 1.0, band: Some([0.9, 1.1]), runs: 2 };
        assert_eq!(
            Verdict::on(&two, 0.0, 0),
            Verdict::Undecided,
            "the range of two is no interval"
        );
        let some = Spread { mean: 1.0, band: Some([0.9, 1.1]), runs: 4 };
        assert_eq!(Verdict::on(&some, 0.0, 1), Verdict::Undecided, "a seed diverged");
    }
}
