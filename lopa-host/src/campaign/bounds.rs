//! Runs with the step sizes of the corollaries, beside what those promise.

use std::sync::atomic::AtomicBool;

use lopa_core::batch::BatchSize;
use lopa_core::node::{Scheme, State};
use lopa_core::steps::StepSizes;
use rayon::prelude::*;

use crate::exact::Exact;
use crate::metrics::NodeSamples;
use crate::numerics::vector::squared_distance;
use crate::run::{Prepared, RunError, drive};
use crate::theory::{Check, Corollary, Course, Ended, Theory};

/// About this many rounds of a run are measured.
const MEASURED: u64 = 200;

/// The runs that show whether theory holds: LG and GT with the step sizes of their corollaries, and the file's own.
///
/// Each has the file's number of rounds, in-process even if the file has links. Seeds count up from the file's and
/// change the batches only: data and start stay the same, since the theorems' mean is over batches. With full batches one
/// run is enough.
#[derive(Debug)]
pub struct CheckRuns<'p> {
    prepared: &'p Prepared,
    lg: Option<Corollary>,
    gt: Option<Corollary>,
    own: Option<(Scheme, StepSizes)>,
    seeds: u16,
}

/// The results of a [`CheckRuns`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Checks {
    /// LG with the steps of corollary 1 or 3, if there are any.
    pub lg: Option<Check>,
    /// GT with the steps of corollary 2 or 4, if there are any.
    pub gt: Option<Check>,
    /// The file's own step sizes, if its algorithm is LoPA.
    pub practice: Option<Practice>,
}

/// The file's own step sizes beside the theory's, for the file's scheme.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Practice {
    /// The file's α.
    pub alpha: f32,
    /// How many times larger that is than the theory's, if it has one.
    pub larger: Option<f64>,
    /// The runs; nothing if one diverged.
    pub course: Option<Course>,
    /// How many times lower their mean of ‖∇Φ(x̄)‖² is than with the theory's steps.
    pub lower: Option<f64>,
}

impl Checks {
    /// Whether a bound of the theory does not hold.
    #[must_use]
    pub fn is_against(&self) -> bool {
        [self.lg, self.gt].into_iter().flatten().any(|check| check.verdict.is_against())
    }
}

/// In f32, as nodes have them; `None` if one underflows.
fn steps(corollary: &Corollary) -> Option<StepSizes> {
    let Corollary { alpha, beta, lambda, gamma, tau, .. } = *corollary;
    let [alpha, beta, lambda, gamma, tau] = [alpha, beta, lambda, gamma, tau].map(|a| a as f32);
    StepSizes::new(alpha, beta, lambda, gamma, tau).ok()
}

impl<'p> CheckRuns<'p> {
    /// Plans the runs of a network, of which `theory` was measured, with a relaxation τ.
    #[must_use]
    pub fn new(prepared: &'p Prepared, theory: &Theory, tau: f64, seeds: u16) -> Self {
        let experiment = prepared.experiment();
        let corollary = |scheme| theory.corollary(scheme, tau, experiment.run.iterations);
        let own = || Some((experiment.algorithm.scheme().ok()?, experiment.steps().ok()?));
        let random = experiment.batch() != BatchSize::Full && experiment.problem.labels().is_some();
        Self {
            prepared,
            lg: corollary(Scheme::LocalGradient),
            gt: corollary(Scheme::GradientTracking),
            own: own(),
            seeds: if random { seeds.max(1) } else { 1 },
        }
    }

    /// The total number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        let runs = self.kinds().iter().flatten().count() as u64 * u64::from(self.seeds);
        self.prepared.experiment().run.iterations.saturating_mul(runs)
    }

    /// The kinds of runs: LG, GT, and the file's own; `None` where there is nothing to run.
    fn kinds(&self) -> [Option<(Scheme, StepSizes)>; 3] {
        let with = |scheme, corollary: Option<Corollary>| Some((scheme, steps(&corollary?)?));
        [with(Scheme::LocalGradient, self.lg), with(Scheme::GradientTracking, self.gt), self.own]
    }

    /// Runs on all cores, calling `tick` after every round of each. `None` if `stop` became true before all ended.
    ///
    /// # Errors
    /// Says what is wrong with the network.
    pub fn run(
        &self,
        stop: &AtomicBool,
        tick: impl Fn() + Sync,
    ) -> Result<Option<Checks>, RunError> {
        let samples = self.prepared.material().samples()?;
        let mut jobs = Vec::new();
        for own in self.prepared.experiment().for_seeds(self.seeds) {
            let kinds = self.kinds().into_iter().enumerate();
            jobs.extend(kinds.filter_map(|(kind, steps)| Some((kind, steps?, own.run.seed))));
        }
        let go = |&(_, steps, seed): &_| self.go(steps, seed, &samples, stop, &tick);
        // In order, whatever the threads do.
        let ended: Vec<Result<Option<Ended>, RunError>> = jobs.par_iter().map(go).collect();
        let mut kinds: [Vec<Ended>; 3] = Default::default();
        for ((kind, ..), ended) in jobs.iter().zip(ended) {
            let Some(ended) = ended? else { return Ok(None) };
            kinds[*kind].push(ended);
        }
        let [lg, gt, own] = kinds.map(|all| together(&all));
        let lg = self.lg.map(|corollary| Check::judge(&corollary, lg));
        let gt = self.gt.map(|corollary| Check::judge(&corollary, gt));
        let practice = self.own.map(|(scheme, steps)| {
            let (corollary, check) = match scheme {
                Scheme::LocalGradient => (self.lg, lg),
                Scheme::GradientTracking => (self.gt, gt),
            };
            let course = if let Ended::Well(course) = own { Some(course) } else { None };
            let careful = check.and_then(|check| check.course);
            Practice {
                alpha: steps.alpha(),
                larger: corollary.map(|c| f64::from(steps.alpha()) / c.alpha),
                course,
                lower: course.zip(careful).map(|(own, careful)| careful.mean / own.mean),
            }
        });
        Ok(Some(Checks { lg, gt, practice }))
    }

    /// One run; `None` if it was stopped.
    fn go<'a>(
        &'a self,
        (scheme, steps): (Scheme, StepSizes),
        seed: u64,
        samples: &[NodeSamples<'a>],
        stop: &AtomicBool,
        tick: &(impl Fn() + Sync),
    ) -> Result<Option<Ended>, RunError> {
        let mut network = self.prepared.simulation_with(samples, scheme, steps, seed)?;
        let (mut exact, mut tally) = (Exact::default(), Tally::default());
        let rounds = self.prepared.experiment().run.iterations;
        let measured = measured(rounds);
        let x0 = network.nodes().first().map_or_else(Vec::new, |node| node.state().x.to_vec());
        let mut solved = true;
        let driven = drive(&mut network, rounds, Some(stop), false, |network, progress| {
            if progress.round > 0 {
                tick();
            }
            if solved && measured.binary_search(&progress.round).is_ok() {
                let nodes = || network.nodes().iter().map(|node| (node.problem(), node.state()));
                match exact.measure(nodes()) {
                    Ok(measured) => tally.values.push((progress.round, measured.hypergradient)),
                    Err(_) => solved = false,
                }
                nodes().for_each(|(_, state)| tally.steps(&state, &steps));
            }
            Ok(())
        });
        match driven {
            Ok(false) => return Ok(None),
            Ok(true) if solved => {}
            Ok(true) | Err(RunError::Diverged(_)) => return Ok(Some(Ended::Diverged)),
            Err(error) => return Err(error),
        }
        let moved =
            network.nodes().iter().map(|node| squared_distance(node.state().x, &x0)).sum::<f64>();
        let moved = (moved / network.nodes().len().max(1) as f64).sqrt();
        Ok(Some(Ended::Well(tally.course(moved))))
    }
}

/// How the runs of one kind ended.
fn together(all: &[Ended]) -> Ended {
    let mut courses = Vec::new();
    for ended in all {
        match ended {
            Ended::Well(course) => courses.push(*course),
            other => return *other,
        }
    }
    Course::mean(&courses).map_or(Ended::Vanished, Ended::Well)
}

/// What a run gathers.
#[derive(Default)]
struct Tally {
    /// Measured rounds, and their ‖∇Φ(x̄)‖².
    values: Vec<(u64, f64)>,
    steps: u64,
    lost: u64,
}

impl Tally {
    /// Counts the elements of x that a step moves, and those it is too small for, in the arithmetic of a node.
    fn steps(&mut self, state: &State<'_>, steps: &StepSizes) {
        for (x, y) in state.x.iter().zip(state.y).filter(|(_, y)| **y != 0.0) {
            self.steps += 1;
            let moved = x + steps.tau() * (0.0 - steps.alpha() * y);
            self.lost += u64::from(moved == *x);
        }
    }

    fn course(&self, moved: f64) -> Course {
        Course {
            seeds: 1,
            measured: self.values.len() as u64,
            mean: mean(&self.values),
            moved,
            lost: self.lost as f64 / self.steps.max(1) as f64,
        }
    }
}

/// Which of rounds 0 to `last` are measured: all of a short run; of a long one half of them evenly apart, and half ever
/// denser towards the start, where the norm falls fastest.
fn measured(last: u64) -> Vec<u64> {
    if last <= MEASURED {
        return (0..=last).collect();
    }
    let half = MEASURED / 2;
    let even = (0..=half).map(|i| (u128::from(last) * u128::from(i) / u128::from(half)) as u64);
    let dense = (0..half).map(|i| libm::pow(last as f64, i as f64 / half as f64) as u64);
    let mut rounds: Vec<u64> = even.chain(dense).collect();
    rounds.sort_unstable();
    rounds.dedup();
    rounds
}

/// The mean over all rounds from the first measured to the last, with linear interpolation in between.
fn mean(values: &[(u64, f64)]) -> f64 {
    let Some(((first, _), (last, end))) = values.first().zip(values.last()) else { return 0.0 };
    let until = |pair: &[(u64, f64)]| {
        let [(a, from), (b, to)] = [pair[0], pair[1]];
        // Rounds a to b - 1.
        from + (b - a - 1) as f64 * (from + to) / 2.0
    };
    (values.windows(2).map(until).sum::<f64>() + end) / (last - first + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_measured_in_full_and_long_ones_densely_at_the_start() {
        assert_eq!(measured(1), [0, 1]);
        assert_eq!(measured(200).len(), 201);
        for last in [201, 5_000, 1_000_000, u64::MAX] {
            let rounds = measured(last);
            assert!(rounds.is_sorted_by(|a, b| a < b) && rounds.len() <= 201, "{last}");
            assert!(rounds.len() > 100 && rounds[..3] == [0, 1, 2], "{last}: {rounds:?}");
            assert_eq!(rounds.last(), Some(&last));
        }
    }

    #[test]
    fn the_mean_over_measured_rounds_is_the_mean_over_all() {
        // On lines it is exact: 8, 6, 4, 2, 2, 2.
        assert_eq!(mean(&[(0, 8.0), (3, 2.0), (5, 2.0)]), 4.0);
        assert_eq!(mean(&[(0, 8.0)]), 8.0);
        // Of a fast fall it is close, where rounds evenly apart are not.
        let fall = |round: u64| libm::exp(-(round as f64) / 30.0) + 1.0e-3;
        let last = 100_000;
        let all = (0..=last).map(fall).sum::<f64>() / (last + 1) as f64;
        let dense: Vec<_> = measured(last).into_iter().map(|r| (r, fall(r))).collect();
        assert!((mean(&dense) / all - 1.0).abs() < 0.01, "{} of {all}", mean(&dense));
        let even: Vec<_> = (0..=last).step_by(500).map(|r| (r, fall(r))).collect();
        assert!(mean(&even) > 2.0 * all, "{} of {all}", mean(&even));
    }

    #[test]
    fn steps_below_rounding_are_counted() {
        let steps = StepSizes::new(1.0e-8, 0.1, 0.1, 0.1, 0.5).unwrap();
        let zero = [0.0; 4];
        // 5e-9 is less than half of the last place of 1, but not of 0; 4e-7 is enough; where y is 0 no step is lost.
        let (x, y) = ([1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, -80.0]);
        let epoch = lopa_core::epoch::Epoch::FIRST;
        let state = State { round: 1, epoch, x: &x, theta: &zero, v: &zero, z: &y, y: &y };
        let mut tally = Tally::default();
        tally.steps(&state, &steps);
        assert_eq!((tally.steps, tally.lost), (3, 1));
    }
}
