//! Do runs stay below the bound that a corollary promises?

use super::Corollary;

/// Runs with the same step sizes, as means over their seeds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Course {
    /// The number of runs, each with its own batches.
    pub seeds: u16,
    /// The number of rounds of each run that were measured, including the first and the last.
    pub measured: u64,
    /// The mean of ‖∇Φ(x̄)‖² over all rounds, interpolated linearly between measured ones.
    pub mean: f64,
    /// How far the nodes' x are from x₀ at the end: the root mean square over the nodes.
    pub moved: f64,
    /// The fraction of steps τ α y, over all elements of x in the measured rounds, that are lost because f32 rounds
    /// them away. Where y is zero there is no step to lose.
    pub lost: f64,
}

impl Course {
    /// The mean over runs; nothing if there are none.
    #[must_use]
    pub fn mean(runs: &[Self]) -> Option<Self> {
        let first = runs.first()?;
        let mean = |of: fn(&Self) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        Some(Self {
            seeds: runs.iter().map(|run| run.seeds).sum(),
            measured: first.measured,
            mean: mean(|run| run.mean),
            moved: mean(|run| run.moved),
            lost: mean(|run| run.lost),
        })
    }
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The runs stayed below the bound.
    Below,
    /// They did not: the bound does not hold with the measured constants.
    Above,
    /// A run left the range of f32, which is above any bound.
    Diverged,
    /// The steps are too small for f32: x never moved, so nothing follows about the theorem.
    Still,
}

impl Verdict {
    /// Whether the runs contradict the theory.
    #[must_use]
    pub const fn is_against(self) -> bool {
        matches!(self, Self::Above | Self::Diverged)
    }
}

/// A corollary's bound compared with runs that use its step sizes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Check {
    /// The result.
    pub verdict: Verdict,
    /// The corollary's bound on the mean.
    pub bound: f64,
    /// The runs; none if one diverged or a step is zero in f32.
    pub course: Option<Course>,
    /// How many times larger the bound is than the mean.
    pub factor: Option<f64>,
}

/// How the runs with a corollary's steps ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// All of them finished.
    Well(Course),
    /// One diverged.
    Diverged,
    /// None could start: a step is zero in f32.
    Vanished,
}

impl Check {
    /// Compares runs with a corollary's bound. A mean that is not a number is not below it.
    #[must_use]
    pub fn judge(corollary: &Corollary, ended: Ended) -> Self {
        let bound = corollary.bound;
        let without = |verdict| Self { verdict, bound, course: None, factor: None };
        match ended {
            Ended::Diverged => without(Verdict::Diverged),
            Ended::Vanished => without(Verdict::Still),
            Ended::Well(course) => {
                let verdict = if course.mean > bound || !course.mean.is_finite() {
                    Verdict::Above
                } else if course.moved == 0.0 {
                    Verdict::Still
                } else {
                    Verdict::Below
                };
                let factor = (course.mean > 0.0).then(|| bound / course.mean);
                Self { verdict, bound, course: Some(course), factor }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::theory;
    use lopa_core::node::Scheme;

    const COURSE: Course = Course { seeds: 1, measured: 11, mean: 0.5, moved: 1.0, lost: 0.0 };

    #[test]
    fn a_mean_above_the_bound_contradicts_the_theory() {
        let corollary = theory().corollary(Scheme::LocalGradient, 0.5, 99).unwrap();
        let corollary = Corollary { bound: 2.0, ..corollary };
        let judge =
            |mean, moved| Check::judge(&corollary, Ended::Well(Course { mean, moved, ..COURSE }));
        let below = judge(0.5, 1.0);
        assert_eq!((below.verdict, below.factor), (Verdict::Below, Some(4.0)));
        assert_eq!(
            judge(2.0, 1.0).verdict,
            Verdict::Below,
            "the theorems say at most, not less than"
        );
        let above = judge(8.0, 1.0);
        assert_eq!((above.verdict, above.factor), (Verdict::Above, Some(0.25)));
        for mean in [f64::NAN, f64::INFINITY] {
            assert_eq!(judge(mean, 1.0).verdict, Verdict::Above);
        }
        assert_eq!(judge(0.0, 1.0).factor, None);
        // Standing still does not pass, and a mean above the bound fails even so.
        assert_eq!(judge(0.5, 0.0).verdict, Verdict::Still);
        assert_eq!(judge(8.0, 0.0).verdict, Verdict::Above);
        let ended = |ended| Check::judge(&corollary, ended).verdict;
        assert_eq!(ended(Ended::Diverged), Verdict::Diverged);
        assert_eq!(ended(Ended::Vanished), Verdict::Still);
        let against = |verdict: Verdict| verdict.is_against();
        assert!(against(Verdict::Above) && against(Verdict::Diverged));
        assert!(!against(Verdict::Below) && !against(Verdict::Still));
    }

    #[test]
    fn seeds_are_averaged() {
        let other = Course { mean: 1.5, moved: 3.0, lost: 0.5, ..COURSE };
        let wanted = Course { seeds: 2, mean: 1.0, moved: 2.0, lost: 0.25, ..COURSE };
        assert_eq!(Course::mean(&[COURSE, other]), Some(wanted));
        assert_eq!(Course::mean(&[]), None);
    }
}
