//! Which step sizes suit a network? Every combination of given values, each on several seeds.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{CampaignError, MOST_RUNS};
use crate::algorithms::{AlgorithmName, AlgorithmTable, Key};
use crate::config::Experiment;
use crate::csv;
use crate::data::Shelf;
use crate::metrics::{Choice, Metric};
use crate::numerics::{Spread, spread};
use crate::record::Record;
use crate::run::{Options, Outcome, Prepared, RunError};

/// Values to try: `0.1,0.2,0.5`, or `0.01:1:5` for five values from 0.01 to 1, evenly spaced on a logarithmic scale.
///
/// ```
/// use lopa_host::campaign::Values;
/// let values: Values = "0.01:1:3".parse()?;
/// assert_eq!(values.0, [0.01, 0.1, 1.0]);
/// assert!("1:0.1:3".parse::<Values>().is_err());
/// # Ok::<(), lopa_host::campaign::CampaignError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Values(pub Vec<f32>);

/// The most values of one step size.
const MOST: usize = 1_000;

impl FromStr for Values {
    type Err = CampaignError;

    fn from_str(text: &str) -> Result<Self, CampaignError> {
        let wrong = || CampaignError::Values(text.to_owned());
        let number = |word: &str| -> Result<f32, CampaignError> {
            word.trim().parse().ok().filter(|a: &f32| a.is_finite()).ok_or_else(wrong)
        };
        let parts: Vec<&str> = text.split(':').collect();
        let [from, to, count] = parts[..] else {
            let values: Vec<f32> = text.split(',').map(number).collect::<Result<_, _>>()?;
            return if values.len() <= MOST { Ok(Self(values)) } else { Err(wrong()) };
        };
        let (from, to) = (f64::from(number(from)?), f64::from(number(to)?));
        let count: u16 = count.trim().parse().map_err(|_| wrong())?;
        if !(from > 0.0 && to > from && (2..=MOST).contains(&usize::from(count))) {
            return Err(wrong());
        }
        let ratio = to / from;
        // Rounded to a number that is easy to read.
        let value = |i: u16| {
            let value = from * libm::pow(ratio, f64::from(i) / f64::from(count - 1));
            format!("{value:.3e}").parse().map_err(|_| wrong())
        };
        (0..count).map(value).collect::<Result<_, _>>().map(Self)
    }
}

/// What to try.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The network.
    pub experiment: Experiment,
    /// The step sizes to vary, and their values.
    pub axes: Vec<(Key, Values)>,
    /// How many seeds, counted up from the file's.
    pub seeds: u16,
    /// Combinations are ranked by the last value of this metric.
    pub metric: Metric,
}

/// One combination of step sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The step sizes.
    pub algorithm: AlgorithmTable,
    /// What was measured: one record per seed that did not diverge.
    pub records: Vec<Record>,
    /// How many seeds diverged.
    pub diverged: usize,
    /// The last value of the metric, over the seeds.
    pub value: Option<Spread>,
}

impl Sweep {
    /// The combinations, the last axis moving fastest.
    #[must_use]
    pub fn algorithms(&self) -> Vec<AlgorithmTable> {
        let mut all = vec![self.experiment.algorithm.clone()];
        for (key, Values(values)) in &self.axes {
            let with = |algorithm: &AlgorithmTable, value: f32| {
                let mut algorithm = algorithm.clone();
                algorithm.set_step(*key, value);
                algorithm
            };
            all = all.iter().flat_map(|a| values.iter().map(|v| with(a, *v))).collect();
        }
        all
    }

    /// The number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        let values = self.axes.iter().map(|(_, values)| values.0.len());
        values.fold(usize::from(self.seeds), usize::saturating_mul)
    }

    /// Runs everything on all cores, calling `tick` after every run. Combinations are returned from best to worst, those
    /// that diverged last. Runs that have not finished when `stop` becomes true are left out.
    ///
    /// # Errors
    /// Says what is wrong with the file, the data, a value or the metric, before anything runs.
    pub fn run(
        &self,
        stop: &AtomicBool,
        tick: impl Fn() + Sync,
    ) -> Result<Vec<Cell>, CampaignError> {
        if self.runs() > MOST_RUNS {
            return Err(CampaignError::TooMany(self.runs()));
        }
        let algorithms = self.algorithms();
        let mut experiment = self.experiment.clone();
        let mut metrics = experiment.run.metrics.metrics();
        metrics.push(self.metric);
        experiment.run.metrics = Choice::These(metrics);
        let mut by_seed = Vec::new();
        let shelf = Shelf::new();
        for experiment in experiment.for_seeds(self.seeds) {
            let prepared = Prepared::new(experiment)?;
            let with = |own: &AlgorithmTable| {
                prepared.with(|experiment| experiment.algorithm = own.clone())
            };
            by_seed.push(algorithms.iter().map(with).collect::<Result<Vec<_>, _>>()?);
        }
        drop(shelf);
        let jobs: Vec<(usize, &Prepared)> =
            by_seed.iter().flat_map(|cells| cells.iter().enumerate()).collect();
        let options = Options { stop: Some(stop), ..Options::default() };
        let run = |(cell, prepared): &(usize, &Prepared)| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let record = prepared.run(options, |_| ()).map(Outcome::complete);
            tick();
            Some((*cell, record))
        };
        // Collected in order, so that the number of threads does not matter.
        let records: Vec<_> = jobs.par_iter().map(run).collect();
        let mut cells: Vec<Cell> = algorithms
            .into_iter()
            .map(|algorithm| Cell { algorithm, records: Vec::new(), diverged: 0, value: None })
            .collect();
        for (cell, record) in records.into_iter().flatten() {
            match record {
                Ok(record) => cells[cell].records.extend(record),
                Err(RunError::Diverged(_)) => cells[cell].diverged += 1,
                Err(other) => return Err(other.into()),
            }
        }
        for cell in &mut cells {
            let last = |record: &Record| record.last(self.metric.name());
            let values: Option<Vec<f64>> = cell.records.iter().map(last).collect();
            cell.value = spread(&values.ok_or(CampaignError::Metric(self.metric))?);
        }
        cells.retain(|cell| cell.diverged > 0 || !cell.records.is_empty());
        cells.sort_by(|a, b| {
            self.rank(a).partial_cmp(&self.rank(b)).unwrap_or(a.diverged.cmp(&b.diverged))
        });
        Ok(cells)
    }

    /// First how often it diverged, then the value, negated where more is better.
    fn rank(&self, cell: &Cell) -> (usize, f64) {
        let value = cell.value.map_or(f64::INFINITY, |value| value.mean);
        (cell.diverged, -self.metric.sign() * value)
    }

    /// The step sizes of a combination that the sweep varies: `alpha 0.1, beta 0.05`.
    #[must_use]
    pub fn label(&self, cell: &Cell) -> String {
        let word = |(key, _): &(Key, Values)| Some((key.name(), cell.algorithm.step(*key)?));
        let words = self.axes.iter().filter_map(word);
        let words: Vec<String> = words.map(|(name, value)| format!("{name} {value}")).collect();
        if words.is_empty() { "as in the file".into() } else { words.join(", ") }
    }

    /// The combinations as a CSV table: rank, step sizes, value and band, and how many seeds finished and diverged.
    #[must_use]
    pub fn csv(&self, cells: &[Cell]) -> String {
        let metric = self.metric.name();
        let [low, high] = ["low", "high"].map(|end| format!("{metric}_{end}"));
        let steps = AlgorithmName::LopaGt.about().needs;
        let names = ["rank"].into_iter().chain(steps.iter().map(|key| key.name()));
        let mut text = csv::line(names.chain([metric, &low, &high, "seeds", "diverged"]));
        for (rank, Cell { algorithm, records, diverged, value }) in (1..).zip(cells) {
            let mean = value.map(|value| value.mean);
            let band = value.and_then(|value| value.band).map_or([None; 2], |band| band.map(Some));
            let counts = [records.len().to_string(), diverged.to_string()];
            let steps = steps.iter().map(|key| csv::maybe(algorithm.step(*key)));
            let cells = [rank.to_string()].into_iter().chain(steps).chain([csv::maybe(mean)]);
            text += &csv::line(cells.chain(band.map(csv::maybe)).chain(counts));
        }
        text
    }
}
