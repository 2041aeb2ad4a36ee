//! Practical step sizes by a search with a stated budget, the same for every algorithm.
//!
//! Step sizes are drawn log-uniformly, and the draws depend on (seed, trial, key) alone: two algorithms that both have a
//! `beta` are tried with the same ones. Then successive halving: all trials run for a ninth of the rounds, the best third
//! of them for a third, and the best third of those for all; should all of these diverge, the next best have their turn.
//! Trial 0 is the file as it is.

use std::sync::atomic::{AtomicBool, Ordering};

use lopa_core::draw::{Draws, Purpose};
use rayon::prelude::*;

use super::CampaignError;
use crate::config::{AlgorithmTable, Experiment, Key};
use crate::csv;
use crate::metrics::{Choice, Metric};
use crate::record::Over;
use crate::run::{Outcome, Prepared, RunError};

/// What a search may spend, and what it looks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Tune {
    /// The network.
    pub experiment: Experiment,
    /// How many step sizes are tried.
    pub trials: u16,
    /// The seed of the search.
    pub seed: u64,
    /// On how many of the network's seeds each trial runs: the mean is judged, and who diverges on one is out.
    pub seeds: u16,
    /// What is judged.
    pub metric: Metric,
    /// Which of its values.
    pub over: Over,
    /// Where `beta` and `lambda` are sought, and the one step size of a method with one level.
    pub range: [f32; 2],
    /// Where `alpha` is sought where there are two: x may want other steps than a model does, by decades.
    pub outer_range: [f32; 2],
}

/// One run of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// 0, 1 or 2.
    pub rung: usize,
    /// Which step sizes: 0 are the file's.
    pub trial: u16,
    /// How many rounds it ran.
    pub rounds: u64,
    /// The step sizes.
    pub algorithm: AlgorithmTable,
    /// The judged value, the mean over seeds; none if it diverged on one.
    pub value: Option<f64>,
}

/// Rounds of a rung are the file's, divided by these; the same part of the trials goes on.
const PARTS: [u64; 3] = [9, 3, 1];
const KEPT: usize = 3;
/// Where shares are sought: momenta and the relaxation.
const SHARES: [f32; 2] = [0.05, 0.95];
const PURPOSE: Purpose = Purpose::custom(0x7e57);

impl Tune {
    /// The step sizes of a trial.
    ///
    /// Tried are the keys the algorithm needs and those the file gives; how many steps its loops have is the file's.
    #[must_use]
    pub fn algorithm(&self, trial: u16) -> AlgorithmTable {
        let mut table = self.experiment.algorithm.clone();
        if trial == 0 {
            return table;
        }
        let draws = Draws { seed: self.seed, node: trial.into() };
        let mut stream = draws.stream(0, PURPOSE);
        let mut draw = |[low, high]: [f32; 2]| -> f32 {
            let (low, high) = (f64::from(low), f64::from(high));
            let value = low * libm::pow(high / low, stream.unit().into());
            // As a person would write it.
            format!("{value:.2e}").parse().unwrap_or(value as f32)
        };
        // Drawn for every algorithm, whether it has the key or not.
        let single = table.name.is_single_level();
        let outer_range = if single { self.range } else { self.outer_range };
        let needs = table.name.about().needs;
        for key in Key::STEPS {
            let drawn = draw(match key {
                Key::Alpha => outer_range,
                Key::Beta | Key::Lambda => self.range,
                _ => SHARES,
            });
            if needs.contains(&key) || table.step(key).is_some() {
                table.set_step(key, drawn);
            }
        }
        table
    }

    /// Trials and rounds of every rung.
    #[must_use]
    pub fn rungs(&self) -> [(usize, u64); 3] {
        let mut trials = usize::from(self.trials.max(1));
        PARTS.map(|part| {
            let rung = (trials, (self.experiment.run.iterations / part).max(1));
            trials = trials.div_ceil(KEPT);
            rung
        })
    }

    /// All rounds a search takes, if nothing diverges: its budget.
    #[must_use]
    pub fn budget(&self) -> u64 {
        let rounds: u64 = self.rungs().iter().map(|(trials, rounds)| *trials as u64 * rounds).sum();
        u64::from(self.seeds.max(1)) * rounds
    }

    /// Searches on all cores, calling `tick` after every run; the best comes first of what is returned, all of it in
    /// order of rungs from the last to the first. The results do not depend on the number of threads.
    ///
    /// # Errors
    /// Says what is wrong with the file, the data or the metric. What `stop` ended is left out.
    pub fn run(&self, stop: &AtomicBool, tick: impl Fn() + Sync) -> Result<Vec<Trial>, CampaignError> {
        let mut experiment = self.experiment.clone();
        experiment.run.metrics = Choice::These(vec![self.metric]);
        experiment.run.per_node = false;
        let seeds = experiment.for_seeds(self.seeds.max(1));
        let prepared = seeds.map(Prepared::new).collect::<Result<Vec<_>, _>>()?;
        let mut left: Vec<u16> = (0..self.trials.max(1)).collect();
        let mut all: Vec<Trial> = Vec::new();
        for (rung, (count, rounds)) in self.rungs().into_iter().enumerate() {
            // For the last value, nothing on the way is measured.
            let every = match self.over {
                Over::Last => rounds,
                Over::Course | Over::Tail => self.experiment.run.record_every,
            };
            let run = |trial: &u16| -> Result<Option<Trial>, CampaignError> {
                let algorithm = self.algorithm(*trial);
                let mut sum = Some(0.0);
                for prepared in &prepared {
                    let outcome = prepared
                        .shortened(algorithm.clone(), rounds, every)
                        .and_then(|prepared| prepared.measure(Some(stop), |_| ()));
                    let value = match outcome {
                        Ok(Outcome { finished: false, .. }) => return Ok(None),
                        Ok(Outcome { record, .. }) => {
                            let value = record.value(self.metric.name(), self.over);
                            Some(value.ok_or(CampaignError::Metric(self.metric))?)
                        }
                        Err(RunError::Diverged(_)) => None,
                        Err(other) => return Err(other.into()),
                    };
                    sum = sum.zip(value).map(|(sum, value)| sum + value);
                    if sum.is_none() {
                        break;
                    }
                }
                tick();
                let value = sum.map(|sum| sum / prepared.len() as f64);
                // A run may end in numbers too large for its value.
                let value = value.filter(|value| value.is_finite());
                Ok(Some(Trial { rung, trial: *trial, rounds, algorithm, value }))
            };
            let mut trials: Vec<Trial> = Vec::new();
            // The best of the rung below; where all of those diverge in the long run, the next best.
            for chosen in left.chunks(count) {
                // In order, whatever the threads do.
                let results: Vec<Result<Option<Trial>, CampaignError>> =
                    chosen.par_iter().map(run).collect();
                for result in results {
                    trials.extend(result?);
                }
                if trials.iter().any(|trial| trial.value.is_some()) {
                    break;
                }
            }
            trials.sort_by(|a, b| self.rank(a).total_cmp(&self.rank(b)));
            left = trials.iter().filter(|t| t.value.is_some()).map(|t| t.trial).collect();
            trials.append(&mut all);
            all = trials;
            if left.is_empty() || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(all)
    }

    /// Less is better; what diverged comes last.
    fn rank(&self, trial: &Trial) -> f64 {
        trial.value.map_or(f64::INFINITY, |value| -self.metric.sign() * value)
    }
}

/// The trials of several searches as a CSV table; the first column is the name of a search.
#[must_use]
pub fn trials_csv(searches: &[(&str, &[Trial])], metric: Metric) -> String {
    let head = ["file", "algorithm", "rung", "trial", "rounds"];
    let names = head.into_iter().chain(Key::STEPS.map(Key::name)).chain([metric.name()]);
    let mut text = csv::line(names);
    for (file, trials) in searches {
        for Trial { rung, trial, rounds, algorithm, value } in *trials {
            let before = [rung.to_string(), trial.to_string(), rounds.to_string()];
            let steps = Key::STEPS.map(|key| csv::maybe(algorithm.step(key)));
            let cells = [csv::quoted(file), algorithm.name.to_string()].into_iter().chain(before);
            text += &csv::line(cells.chain(steps).chain([csv::maybe(*value)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tune(name: &str, steps: &str) -> Tune {
        let text = format!(
            "[network]\nnodes = 4\n[problem]\nkind = \"quadratic\"\nouter = 3\ninner = 2\n\
             [algorithm]\nname = {name:?}\nalpha = 0.0001\n{steps}[run]\niterations = 90\n"
        );
        let experiment = Experiment::parse(&text).unwrap();
        let metric = Metric::OuterLoss;
        let (over, range, outer_range) = (Over::Last, [0.01, 3.0], [0.01, 3.0]);
        Tune { experiment, trials: 12, seed: 5, seeds: 1, metric, over, range, outer_range }
    }

    const LOPA: &str = "beta = 0.1\nlambda = 0.1\ngamma = 0.4\ntau = 0.4\n";

    #[test]
    fn algorithms_are_tried_with_the_same_draws() {
        let (lopa, spdb) = (tune("lopa-gt", LOPA), tune("spdb", "beta = 0.1\nlambda = 0.1\n"));
        let dgd = tune("dgd", "");
        assert_eq!((lopa.budget(), spdb.budget()), (12 * 10 + 4 * 30 + 2 * 90, dgd.budget()));
        for trial in 1..12 {
            let (a, b, c) = (lopa.algorithm(trial), spdb.algorithm(trial), dgd.algorithm(trial));
            assert_eq!((a.alpha, a.beta, a.lambda), (b.alpha, b.beta, b.lambda));
            assert_eq!((b.gamma, b.tau, c.beta), (None, None, None));
            assert_eq!(a.alpha, c.alpha);
            assert!((0.01..=3.0).contains(&a.alpha) && a.tau.unwrap() < 1.0);
            a.check().unwrap();
        }
        assert_eq!(lopa.algorithm(0), lopa.experiment.algorithm);
        // A range of its own for the shared variable moves nothing else, and no model.
        let wide = |tune: Tune| Tune { outer_range: [100.0, 200.0], ..tune };
        let (far, near) = (wide(lopa.clone()).algorithm(3), lopa.algorithm(3));
        assert!(far.alpha >= 100.0 && (far.beta, far.tau) == (near.beta, near.tau));
        assert_eq!(wide(dgd.clone()).algorithm(3), dgd.algorithm(3));
        assert_ne!(lopa.algorithm(1), Tune { seed: 6, ..lopa.clone() }.algorithm(1));
    }

    #[test]
    fn the_best_of_a_search_is_better_than_a_bad_file_whatever_the_threads() {
        let tune = tune("lopa-gt", LOPA);
        let stop = AtomicBool::new(false);
        let search = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| tune.run(&stop, || ()).unwrap())
        };
        let trials = search(1);
        assert_eq!(trials, search(3));
        let best = &trials[0];
        assert_eq!((best.rung, best.rounds), (2, 90));
        assert!(best.trial > 0, "a step of 0.0001 is not the best");
        assert_eq!(trials.iter().filter(|trial| trial.rung == 0).count(), 12);
        let last: Vec<f64> =
            trials.iter().filter(|t| t.rung == 2).filter_map(|trial| trial.value).collect();
        assert!(last.is_sorted() && last.len() == 2, "{last:?}");
        let text = trials_csv(&[("a \"b\"", &trials)], Metric::OuterLoss);
        assert_eq!(text.lines().count(), 1 + trials.len());
        assert!(text.lines().all(|line| line.split(',').count() == 12), "{text}");
        // Of two seeds the mean counts, and the budget is twice as large.
        let twice = Tune { seeds: 2, ..tune.clone() };
        assert_eq!(twice.budget(), 2 * tune.budget());
        let value = |seed: u64, seeds: u16| {
            let mut tune = Tune { trials: 1, seeds, ..tune.clone() };
            tune.experiment.run.seed += seed;
            tune.run(&stop, || ()).unwrap()[0].value.unwrap()
        };
        assert_eq!(value(0, 2), (value(0, 1) + value(1, 1)) / 2.0);
        assert_ne!(value(0, 1), value(1, 1));
        // Stopped before it began, it has nothing to say.
        let stopped = tune.run(&AtomicBool::new(true), || ()).unwrap();
        assert!(stopped.is_empty());
    }
}
