//! A search for practical step sizes with a stated budget, the same for every algorithm.
//!
//! Step sizes are drawn log-uniformly. A draw depends only on the seed, the trial and the key, so two algorithms that
//! both have a `beta` are tried with the same values of it. Successive halving follows: all trials run for a ninth of the
//! rounds, the best third of them for a third, and the best third of those for all. If every trial of a rung diverges, the
//! next best take their place. Trial 0 is the file unchanged.

use std::sync::atomic::{AtomicBool, Ordering};

use lopa_core::draw::Draws;
use rayon::prelude::*;

use super::CampaignError;
use crate::algorithms::{AlgorithmTable, Key};
use crate::config::Experiment;
use crate::csv;
use crate::data::Shelf;
use crate::metrics::{Choice, Metric};
use crate::record::{Over, Record};
use crate::run::{Options, Outcome, Prepared, RunError};

/// A search: its budget, its ranges and the metric it optimises.
#[derive(Debug, Clone, PartialEq)]
pub struct Tune {
    /// The network.
    pub experiment: Experiment,
    /// How many sets of step sizes are tried.
    pub trials: u16,
    /// The seed of the search.
    pub seed: u64,
    /// How many of the network's seeds each trial runs on: the mean counts, and trials that diverge on any seed are
    /// discarded.
    pub seeds: u16,
    /// The metric to optimise.
    pub metric: Metric,
    /// Which of its values counts.
    pub over: Over,
    /// A value of the metric: then the rounds to first reach it count instead.
    pub reach: Option<f64>,
    /// The range of `beta` and `lambda`, and of the only step size of a single-level method.
    pub range: [f32; 2],
    /// The range of `alpha` in a bilevel method: good steps of x and of the models may differ by orders of magnitude.
    pub outer_range: [f32; 2],
}

/// One run of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The rung: 0, 1 or 2.
    pub rung: usize,
    /// The number of the trial; 0 has the file's own step sizes.
    pub trial: u16,
    /// How many rounds it ran.
    pub rounds: u64,
    /// The step sizes.
    pub algorithm: AlgorithmTable,
    /// The mean of the metric over seeds; none if the trial diverged on any of them.
    pub value: Option<f64>,
}

/// A rung has the file's rounds divided by these; one trial in `KEPT` goes on to the next.
const PARTS: [u64; 3] = [9, 3, 1];
const KEPT: usize = 3;
/// The range of momenta and of the relaxation.
const SHARES: [f32; 2] = [0.05, 0.95];

impl Tune {
    /// The same search with other draws, on other seeds.
    #[must_use]
    pub(super) fn numbered(&self, number: u16) -> Self {
        let mut own = self.clone();
        own.seed += u64::from(number);
        let seeds = u64::from(self.seeds.max(1));
        own.experiment.run.seed = own.experiment.run.seed.wrapping_add(seeds * u64::from(number));
        own
    }

    /// The step sizes of a trial.
    ///
    /// The keys that the algorithm needs or the file gives are drawn; the lengths of its loops stay the file's.
    #[must_use]
    pub fn algorithm(&self, trial: u16) -> AlgorithmTable {
        let mut table = self.experiment.algorithm.clone();
        if trial == 0 {
            return table;
        }
        let draws = Draws { seed: self.seed, node: trial.into() };
        let mut stream = draws.stream(0, crate::purposes::TUNE);
        let mut draw = |[low, high]: [f32; 2]| -> f32 {
            let (low, high) = (f64::from(low), f64::from(high));
            let value = low * libm::pow(high / low, stream.unit().into());
            // Rounded to a number that is easy to read.
            format!("{value:.2e}").parse().unwrap_or(value as f32)
        };
        let single = table.name.is_single_level();
        let outer_range = if single { self.range } else { self.outer_range };
        let needs = table.name.about().needs;
        for key in Key::STEPS {
            // Drawn for every algorithm, so that all of them see the same draws.
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

    /// The rounds of a search in which nothing diverges: its budget.
    #[must_use]
    pub fn budget(&self) -> u64 {
        let rounds: u64 = self.rungs().iter().map(|(trials, rounds)| *trials as u64 * rounds).sum();
        u64::from(self.seeds.max(1)) * rounds
    }

    /// Searches on all cores, calling `tick` after every trial. The best trial comes first; rungs are in order from the
    /// last to the first. Trials that have not finished when `stop` becomes true are left out.
    ///
    /// # Errors
    /// Says what is wrong with the file, the data or the metric.
    pub fn run(
        &self,
        stop: &AtomicBool,
        tick: impl Fn() + Sync,
    ) -> Result<Vec<Trial>, CampaignError> {
        let mut experiment = self.experiment.clone();
        experiment.run.metrics = Choice::These(vec![self.metric]);
        experiment.run.per_node = false;
        let seeds = experiment.for_seeds(self.seeds.max(1));
        let shelf = Shelf::new();
        let prepared = seeds.map(Prepared::new).collect::<Result<Vec<_>, _>>()?;
        drop(shelf);
        let options = Options { stop: Some(stop), ..Options::default() };
        let mut left: Vec<u16> = (0..self.trials.max(1)).collect();
        let mut all: Vec<Trial> = Vec::new();
        for (rung, (count, rounds)) in self.rungs().into_iter().enumerate() {
            // If only the last value counts, nothing is measured before it.
            let every = match self.over {
                Over::Last if self.reach.is_none() => rounds,
                _ => self.experiment.run.record_every,
            };
            let run = |trial: &u16| -> Result<Option<Trial>, CampaignError> {
                let algorithm = self.algorithm(*trial);
                let mut sum = 0.0;
                for prepared in &prepared {
                    let prepared = prepared.with(|experiment| {
                        experiment.algorithm = algorithm.clone();
                        experiment.run.iterations = rounds;
                        experiment.run.record_every = every;
                    })?;
                    match prepared.run(options, |_| ()).map(Outcome::complete) {
                        Ok(None) => return Ok(None),
                        Ok(Some(record)) => {
                            let value = self.value(&record, rounds as f64);
                            sum += value.ok_or(CampaignError::Metric(self.metric))?;
                        }
                        Err(RunError::Diverged(_)) => {
                            sum = f64::NAN;
                            break;
                        }
                        Err(other) => return Err(other.into()),
                    }
                }
                tick();
                // A run may finish with numbers so large that the metric overflows.
                let value = Some(sum / prepared.len() as f64).filter(|value| value.is_finite());
                Ok(Some(Trial { rung, trial: *trial, rounds, algorithm, value }))
            };
            let mut trials: Vec<Trial> = Vec::new();
            // The best of the previous rung, or the next best if all of those diverge.
            for chosen in left.chunks(count) {
                // Collected in order, so that the number of threads does not matter.
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

    /// What counts in a run of some rounds.
    fn value(&self, record: &Record, rounds: f64) -> Option<f64> {
        let (name, sign) = (self.metric.name(), self.metric.sign());
        let Some(target) = self.reach else { return record.value(name, self.over) };
        let cost = record.cost(name, sign, target, "iteration")?;
        // Runs that do not arrive come after those that do, by how far they are from the target.
        let left = || Some(rounds * (1.0 + (record.last(name)? - target).abs()));
        if cost.reached { Some(cost.spent) } else { left() }
    }

    /// Smaller is better; trials that diverged come last.
    fn rank(&self, trial: &Trial) -> f64 {
        let sign = if self.reach.is_some() { -1.0 } else { self.metric.sign() };
        trial.value.map_or(f64::INFINITY, |value| -sign * value)
    }
}

/// The trials of several searches as a CSV table; the first column is the name of a search.
#[must_use]
pub fn trials_csv(searches: &[(impl AsRef<str>, Vec<Trial>)], metric: Metric) -> String {
    let head = ["file", "algorithm", "rung", "trial", "rounds"];
    let names = head.into_iter().chain(Key::STEPS.map(Key::name)).chain([metric.name()]);
    let mut text = csv::line(names);
    for (file, trials) in searches {
        for Trial { rung, trial, rounds, algorithm, value } in trials {
            let before = [rung.to_string(), trial.to_string(), rounds.to_string()];
            let steps = Key::STEPS.map(|key| csv::maybe(algorithm.step(key)));
            let cells = [csv::quoted(file.as_ref()), algorithm.name.to_string()].into_iter();
            text += &csv::line(cells.chain(before).chain(steps).chain([csv::maybe(*value)]));
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A search of twelve trials for steps on four quadratics, in 90 rounds.
    pub(in crate::campaign) fn tune(name: &str, steps: &str) -> Tune {
        let text = format!(
            "[network]\nnodes = 4\n[problem]\nkind = \"quadratic\"\nouter = 3\ninner = 2\n\
             [algorithm]\nname = {name:?}\nalpha = 0.0001\n{steps}[run]\niterations = 90\n"
        );
        let experiment = Experiment::parse(&text).unwrap();
        let metric = Metric::OuterLoss;
        let (over, range, outer_range) = (Over::Last, [0.01, 3.0], [0.01, 3.0]);
        Tune {
            experiment,
            trials: 12,
            seed: 5,
            seeds: 1,
            metric,
            over,
            reach: None,
            range,
            outer_range,
        }
    }

    const LOPA: &str = "beta = 0.1\nlambda = 0.1\ngamma = 0.4\ntau = 0.4\n";

    #[test]
    fn rounds_to_a_value_count_if_one_is_given() {
        let text = "iteration,outer_loss\n0,4\n5,2\n9,1\n";
        let record = Record::parse(text, crate::metrics::column).unwrap();
        let value = |reach| Tune { reach, ..tune("dgd", "") }.value(&record, 9.0);
        assert_eq!([value(None), value(Some(2.0))], [Some(1.0), Some(5.0)]);
        // Behind all that arrive, the nearer the better.
        assert_eq!([value(Some(0.5)), value(Some(0.25))], [Some(13.5), Some(15.75)]);
    }

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
            assert!((0.01..=3.0).contains(&a.alpha.unwrap()) && a.tau.unwrap() < 1.0);
            a.check().unwrap();
        }
        assert_eq!(lopa.algorithm(0), lopa.experiment.algorithm);
        // A separate range for the shared variable changes nothing else, and no single-level method.
        let wide = |tune: Tune| Tune { outer_range: [100.0, 200.0], ..tune };
        let (far, near) = (wide(lopa.clone()).algorithm(3), lopa.algorithm(3));
        assert!(far.alpha.unwrap() >= 100.0 && (far.beta, far.tau) == (near.beta, near.tau));
        assert_eq!(wide(dgd.clone()).algorithm(3), dgd.algorithm(3));
        assert_ne!(lopa.algorithm(1), Tune { seed: 6, ..lopa.clone() }.algorithm(1));
    }

    #[test]
    fn a_search_improves_on_a_bad_file_with_any_number_of_threads() {
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
        let text = trials_csv(&[("a \"b\"", trials.clone())], Metric::OuterLoss);
        assert_eq!(text.lines().count(), 1 + trials.len());
        assert!(text.lines().all(|line| line.split(',').count() == 12), "{text}");
        // With two seeds the mean counts, and the budget is twice as large.
        let twice = Tune { seeds: 2, ..tune.clone() };
        assert_eq!(twice.budget(), 2 * tune.budget());
        let value = |seed: u64, seeds: u16| {
            let mut tune = Tune { trials: 1, seeds, ..tune.clone() };
            tune.experiment.run.seed += seed;
            tune.run(&stop, || ()).unwrap()[0].value.unwrap()
        };
        assert_eq!(value(0, 2), (value(0, 1) + value(1, 1)) / 2.0);
        assert_ne!(value(0, 1), value(1, 1));
        // Stopped before it began, it returns nothing.
        let stopped = tune.run(&AtomicBool::new(true), || ()).unwrap();
        assert!(stopped.is_empty());
    }
}
