//! The runs of a study: step sizes are searched for, then every arm is measured on every seed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{CampaignError, Trial, Tune};
use crate::algorithms::AlgorithmTable;
use crate::config::Experiment;
use crate::data::Shelf;
use crate::record::Record;
use crate::report::{self, Figure};
use crate::run::{Options, Outcome, Prepared, RunError};

/// One algorithm in one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The variant's name, followed by a comma and the case's if there are several cases.
    pub name: String,
    /// The variant's name.
    pub variant: String,
    /// The case's name; empty if there is only one case.
    pub case: String,
    /// The quantity in which cases differ, if it is a number.
    pub quantity: String,
    /// The value of that quantity.
    pub at: Option<f64>,
    /// How its step sizes are searched for; none if they are the file's.
    pub search: Option<Tune>,
    /// What the searches found, one per seed: tuning is luck, so every measured seed has a search of its own.
    pub found: Vec<AlgorithmTable>,
    /// What is run.
    pub experiment: Experiment,
}

/// Every arm's records, one per seed in the order of seeds; `None` where the run diverged.
pub type Results = BTreeMap<String, Vec<Option<Record>>>;

/// The trials of every search, named after its arm and numbered from 1.
pub type Searches = Vec<(String, Vec<Trial>)>;

/// What a study runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is compared.
    pub arms: Vec<Arm>,
    /// How many seeds every arm runs on, counted up from its own.
    pub seeds: u16,
    /// Whether the nodes' labels are drawn, one figure per case.
    pub labels: bool,
}

/// How far a study is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is counted: first the trials of the search for step sizes, then the rounds of the measured runs.
    pub what: &'static str,
    /// How many are done.
    pub done: u64,
    /// Of how many.
    pub all: u64,
}

/// What a study measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What was run, with the step sizes that were found.
    pub arms: Vec<Arm>,
    /// The searches.
    pub searches: Searches,
    /// The records.
    pub results: Results,
    /// The labels of the nodes, one figure per case, if they are wanted.
    pub labels: Vec<Figure>,
}

impl Plan {
    /// Runs everything, calling `observe` as it proceeds. Nothing is returned if `stop` became true before the end.
    ///
    /// # Errors
    /// Names the arm, and says what is wrong with its file, its data or its metric.
    pub fn run(
        mut self,
        stop: &AtomicBool,
        observe: impl Fn(Progress) + Sync,
    ) -> Result<Option<Measured>, CampaignError> {
        let _shelf = Shelf::new();
        self.check()?;
        let Some(searches) = self.tune(stop, &observe)? else { return Ok(None) };
        let Some(results) = self.measure(stop, &observe)? else { return Ok(None) };
        let labels = self.dealt()?;
        Ok(Some(Measured { arms: self.arms, searches, results, labels }))
    }

    /// Prepares what will be run, so that a file or a deal of data that is refused costs no measured run: every arm once, and
    /// the first arm of every case on all seeds, as the others of its case have the same data.
    fn check(&self) -> Result<(), CampaignError> {
        let mut cases = Vec::new();
        for arm in &self.arms {
            let known = cases.contains(&&arm.case);
            let seeds = if known { 1 } else { self.seeds };
            for experiment in arm.experiment.for_seeds(seeds) {
                Prepared::new(experiment)
                    .map_err(|error| CampaignError::from(error).of(&arm.name))?;
            }
            cases.push(&arm.case);
        }
        Ok(())
    }

    /// The labels of the nodes of every case, if they are wanted: those of its first arm on its first seed.
    ///
    /// # Errors
    /// Names the arm, and says what is wrong with its file or its data.
    pub fn dealt(&self) -> Result<Vec<Figure>, CampaignError> {
        let (mut labels, mut cases) = (Vec::new(), Vec::new());
        for arm in self.arms.iter().filter(|_| self.labels) {
            if !cases.contains(&&arm.case) {
                let prepared = Prepared::new(arm.experiment.clone());
                let prepared =
                    prepared.map_err(|error| CampaignError::from(error).of(&arm.name))?;
                labels.extend(dealt(&prepared, &arm.case, cases.len()));
                cases.push(&arm.case);
            }
        }
        Ok(labels)
    }

    /// Gives every arm the best step sizes of a search, for each of its seeds.
    fn tune(
        &mut self,
        stop: &AtomicBool,
        observe: &(impl Fn(Progress) + Sync),
    ) -> Result<Option<Searches>, CampaignError> {
        let searches = self.arms.iter().filter_map(|arm| arm.search.as_ref());
        let once: u64 = searches.flat_map(Tune::rungs).map(|(trials, _)| trials as u64).sum();
        let all = once * u64::from(self.seeds);
        let done = AtomicU64::new(0);
        let tick = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            observe(Progress { what: "trials", done, all });
        };
        let mut found = Vec::new();
        for arm in &mut self.arms {
            let Some(search) = &arm.search else { continue };
            for number in 0..self.seeds {
                let trials =
                    search.numbered(number).run(stop, tick).map_err(|error| error.of(&arm.name))?;
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let best = trials.first().filter(|best| best.value.is_some());
                let own = || arm.experiment.algorithm.clone();
                arm.found.push(best.map_or_else(own, |best| best.algorithm.clone()));
                found.push((format!("{}, search {}", arm.name, number + 1), trials));
            }
        }
        Ok(Some(found))
    }

    /// Runs every arm on every seed.
    fn measure(
        &self,
        stop: &AtomicBool,
        observe: &(impl Fn(Progress) + Sync),
    ) -> Result<Option<Results>, CampaignError> {
        let rounds: u64 = self.arms.iter().map(|arm| arm.experiment.run.iterations).sum();
        let all = rounds * u64::from(self.seeds);
        let mut results = Results::new();
        let options = Options { stop: Some(stop), ..Options::default() };
        let mut before = 0;
        for arm in &self.arms {
            let wrong = |error: RunError| CampaignError::from(error).of(&arm.name);
            let mut records = Vec::new();
            for (number, mut experiment) in arm.experiment.for_seeds(self.seeds).enumerate() {
                if let Some(found) = arm.found.get(number) {
                    experiment.algorithm = found.clone();
                }
                let prepared = Prepared::new(experiment).map_err(wrong)?;
                let tick = |round| {
                    observe(Progress { what: "rounds", done: before + round, all });
                };
                match prepared.run(options, tick) {
                    Ok(Outcome { finished: false, .. }) => return Ok(None),
                    Ok(Outcome { record, .. }) => records.push(Some(record)),
                    Err(RunError::Diverged(_)) => records.push(None),
                    Err(error) => return Err(wrong(error)),
                }
                before += arm.experiment.run.iterations;
            }
            results.insert(arm.name.clone(), records);
        }
        Ok(Some(results))
    }
}

/// The labels of a case's nodes.
fn dealt(prepared: &Prepared, case: &str, number: usize) -> Option<Figure> {
    let mut figure =
        report::labels(prepared.material().shards(), prepared.experiment().data.validation())?;
    figure.explanation += " This is the deal of the first seed.";
    Some(of_case(figure, case, number))
}

/// A figure of one case: `number` tells its file from those of other cases, and its title names the case.
pub(crate) fn of_case(mut figure: Figure, case: &str, number: usize) -> Figure {
    if !case.is_empty() {
        figure.stem = format!("{}-{number}", figure.stem);
        *figure.drawing.title_mut() = format!("{}, {case}", figure.drawing.name());
    }
    figure
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::campaign::tune::tests::tune;

    /// Two arms on two seeds; the second is tuned in three trials.
    fn plan() -> Plan {
        let tuned = Tune { trials: 3, seed: 1, range: [0.01, 0.1], ..tune("dgd", "") };
        let arm = |name: &str, search| Arm {
            name: name.into(),
            variant: name.into(),
            case: String::new(),
            quantity: String::new(),
            at: None,
            search,
            found: Vec::new(),
            experiment: tuned.experiment.clone(),
        };
        let arms = vec![arm("given", None), arm("tuned", Some(tuned.clone()))];
        Plan { arms, seeds: 2, labels: false }
    }

    #[test]
    fn arms_are_tuned_and_measured_with_progress_to_the_end() {
        let seen = Mutex::new(Vec::new());
        let measured = plan()
            .run(&AtomicBool::new(false), |progress| seen.lock().unwrap().push(progress))
            .unwrap()
            .unwrap();
        assert_eq!(measured.results["given"].len(), 2);
        assert_ne!(measured.results["given"], measured.results["tuned"]);
        // One search per seed, each with draws of its own.
        assert_eq!(measured.searches.len(), 2);
        assert_eq!(measured.searches[1].0, "tuned, search 2");
        let [given, tuned] = &measured.arms[..] else { panic!("two arms") };
        assert!(given.found.is_empty() && tuned.found.len() == 2);
        assert_ne!(tuned.found[0], tuned.found[1]);
        let seen = seen.into_inner().unwrap();
        // Twice three trials, the best one again, and that one again; two arms on two seeds of ninety rounds.
        assert!(seen.contains(&Progress { what: "trials", done: 10, all: 10 }), "{seen:?}");
        assert_eq!(seen.last(), Some(&Progress { what: "rounds", done: 360, all: 360 }));
    }

    #[test]
    fn a_stopped_study_returns_nothing_and_a_failed_one_names_its_arm() {
        assert_eq!(plan().run(&AtomicBool::new(true), |_| ()).unwrap(), None);
        let mut wrong = plan();
        wrong.arms[1].experiment.algorithm.alpha = Some(-1.0);
        let run = |_| panic!("an arm was run before all were checked");
        let error = wrong.run(&AtomicBool::new(false), run).unwrap_err();
        assert!(error.to_string().starts_with("tuned: algorithm.alpha = -1"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}
