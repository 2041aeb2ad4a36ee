//! Do runs stay below the bound that a corollary promises?

use super::Corollary;

/// What runs with the same step sizes did, a mean over their seeds.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Course {
    /// How many runs, each with batches of its own.
    pub seeds: u16,
    /// How many rounds of each were measured, the first and the last among them.
    pub measured: u64,
    /// The mean of ‖∇Φ(x̄)‖² over all rounds, those between two measured ones taken to lie on a line.
    pub mean: f64,
    /// How far the nodes' x are from x₀ at the end, the root of the mean square over the nodes.
    pub moved: f64,
    /// The part of the steps τ α y, of all elements of x in the measured rounds, that x cannot take: they are lost in
    /// f32's rounding. Where y is zero there is no step to lose.
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

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The runs stayed below the bound.
    Below,
    /// They did not: the bound does not hold, with the constants measured.
    Above,
    /// A run left the range of f32, which is above any bound.
    Diverged,
    /// The steps are so small that f32 cannot take them: x never moved, and nothing is said about the theorem.
    Still,
}

impl Verdict {
    /// Whether theory was found wrong.
    #[must_use]
    pub const fn is_against(self) -> bool {
        matches!(self, Self::Above | Self::Diverged)
    }
}

/// A corollary's promise beside runs with its step sizes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Check {
    /// What came of it.
    pub verdict: Verdict,
    /// The corollary's bound of the mean.
    pub bound: f64,
    /// The runs; nothing if one diverged, or its steps are zero in f32.
    pub course: Option<Course>,
    /// How many times larger the bound is than the mean.
    pub factor: Option<f64>,
}

/// How runs with its steps ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// All of them, so.
    Well(Course),
    /// One diverged.
    Diverged,
    /// None could begin: a step is zero in f32.
    Vanished,
}

impl Check {
    /// Judges runs by a corollary.
    ///
    /// A mean that is not a number is not below anything.
    #[must_use]
    pub fn judge(corollary: &Corollary, ended: Ended) -> Self {
        let bound = corollary.bound;
        let without = |verdict| Self { verdict, bound, course: None, factor: None };
        match ended {
            Ended::Diverged => without(Verdict::Diverged),
            Ended::Vanished => without(Verdict::Still),
            Ended::Well(course) => {
                let verdict = match () {
                    () if course.mean > bound || !course.mean.is_finite() => Verdict::Above,
                    () if course.moved == 0.0 => Verdict::Still,
                    () => Verdict::Below,
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
    use crate::theory::Limit;

    const COROLLARY: Corollary = Corollary {
        number: 3,
        alpha: 0.1,
        limit: Limit::Conditions,
        beta: 0.1,
        lambda: 0.1,
        gamma: 0.1,
        tau: 0.5,
        u: 0.1,
        a: [1.0, 0.0, 0.0],
        terms: [2.0, 0.0, 0.0],
        bound: 2.0,
    };
    const COURSE: Course = Course { seeds: 1, measured: 11, mean: 0.5, moved: 1.0, lost: 0.0 };

    #[test]
    fn a_run_above_the_bound_is_told() {
        let judge =
            |mean, moved| Check::judge(&COROLLARY, Ended::Well(Course { mean, moved, ..COURSE }));
        let below = judge(0.5, 1.0);
        assert_eq!((below.verdict, below.factor), (Verdict::Below, Some(4.0)));
        assert_eq!(judge(2.0, 1.0).verdict, Verdict::Below, "the theorems have at most, not less");
        let above = judge(8.0, 1.0);
        assert_eq!((above.verdict, above.factor), (Verdict::Above, Some(0.25)));
        for mean in [f64::NAN, f64::INFINITY] {
            assert_eq!(judge(mean, 1.0).verdict, Verdict::Above);
        }
        assert_eq!(judge(0.0, 1.0).factor, None);
        // Standing still is no way to pass, but above is above.
        assert_eq!(judge(0.5, 0.0).verdict, Verdict::Still);
        assert_eq!(judge(8.0, 0.0).verdict, Verdict::Above);
        let ended = |ended| Check::judge(&COROLLARY, ended).verdict;
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
