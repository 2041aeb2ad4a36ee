//! A study: an experiment of the paper as a file.

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::Check;
use crate::campaign::{Arm, Plan, Tune};
use crate::config::{ConfigError, Experiment};
use crate::metrics::{Choice, Metric};
use crate::record::Over;

/// An experiment of the paper: what is claimed, what is run, and how it is judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What it is about.
    pub title: String,
    /// What the paper says.
    pub claim: String,
    /// Where it says so.
    pub place: String,
    /// Choices made where the paper leaves them open, and what differs from it.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the curves are drawn against: "iteration" or metrics.
    #[serde(default)]
    pub against: Vec<String>,
    /// What is drawn.
    #[serde(default)]
    pub figures: Vec<Metric>,
    /// Whether the nodes' labels are drawn, case by case.
    #[serde(default)]
    pub labels: bool,
    /// What tells the cases apart, if it is a number.
    #[serde(default)]
    pub quantity: String,
    #[serde(default = "five")]
    seeds: u16,
    #[serde(default = "two")]
    quick_seeds: u16,
    /// With how many of the cases, the first ones, one may do when time is short.
    quick_cases: Option<usize>,
    tune: Option<TuneTable>,
    /// What all arms have in common.
    base: Table,
    /// What is less when time is short.
    #[serde(default)]
    quick: Table,
    /// Who is compared.
    variant: Vec<Setting>,
    /// In which circumstances; in one if none are named.
    #[serde(default)]
    case: Vec<Setting>,
    check: Vec<Check>,
    /// What is measured besides.
    #[serde(default)]
    aside: Vec<Check>,
}

/// How step sizes are sought, with the same budget for every arm.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneTable {
    trials: u16,
    quick_trials: u16,
    /// On how many seeds each trial runs.
    #[serde(default = "one")]
    seeds: u16,
    metric: Metric,
    #[serde(default)]
    over: Over,
    range: [f32; 2],
    outer_range: Option<[f32; 2]>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    name: String,
    /// Of a case: what the study's quantity is in it.
    at: Option<f64>,
    /// Of a variant: with which power of the quantity its step sizes go, all but tau.
    #[serde(default)]
    steps: f64,
    /// Of a variant: whether gamma stays where it is.
    #[serde(default)]
    hold_gamma: bool,
    /// Whether the step sizes of this variant, or in this case, are sought, if any are.
    #[serde(default = "yes")]
    tune: bool,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    quick: Table,
}

/// How much time there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Minutes: fewer rounds and seeds.
    Quick,
    /// As the study says.
    Whole,
}

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// It is not a study.
    #[error("{}", .0.to_string().trim_end())]
    Syntax(#[source] toml::de::Error),
    /// An arm is not a network.
    #[error("{name}: {error}")]
    Arm {
        /// Which one.
        name: String,
        /// Why.
        #[source]
        error: ConfigError,
    },
    /// Nothing judges its claim: it would hold whatever is measured.
    #[error("check is empty: a claim needs a rule that judges it")]
    Unjudged,
    /// A check names an arm that does not exist.
    #[error("a check names {name:?}, but there are {}", .arms.join("; "))]
    Missing {
        /// The name.
        name: String,
        /// The arms that exist.
        arms: Vec<String>,
    },
}

impl Study {
    /// Reads a study.
    ///
    /// # Errors
    /// Names the line of what nobody understands, and refuses a claim that nothing judges.
    pub fn parse(text: &str) -> Result<Self, StudyError> {
        let study: Self = toml::from_str(text).map_err(StudyError::Syntax)?;
        if study.check.is_empty() { Err(StudyError::Unjudged) } else { Ok(study) }
    }

    /// What is run: every variant in every case. Public data sets are expected in `data`, each in a folder of its name.
    ///
    /// # Errors
    /// Names the arm that is not sound, and checks of arms that do not exist.
    pub fn plan(&self, mode: Mode, data: Option<&Path>) -> Result<Plan, StudyError> {
        let one = [Setting { tune: true, ..Setting::default() }];
        let cases = if self.case.is_empty() { &one[..] } else { &self.case };
        let few = self.quick_cases.filter(|_| mode == Mode::Quick).unwrap_or(cases.len());
        let cases = &cases[..few.clamp(1, cases.len())];
        let mut arms = Vec::new();
        for case in cases {
            for variant in &self.variant {
                let name = match case.name.as_str() {
                    "" => variant.name.clone(),
                    case => format!("{}, {case}", variant.name),
                };
                let mut table = self.base.clone();
                let quick = [&self.quick, &case.quick, &variant.quick];
                let quick = if mode == Mode::Quick { &quick[..] } else { &[] };
                for over in [&case.set, &variant.set].into_iter().chain(quick.iter().copied()) {
                    merge(&mut table, over);
                }
                let wrong = |error| StudyError::Arm { name: name.clone(), error };
                let mut experiment = Experiment::parse(&table.to_string()).map_err(wrong)?;
                experiment.run.metrics = Choice::These(self.metrics());
                let source = &experiment.data.source;
                if ["mnist", "covtype", "cifar10"].contains(&source.as_str()) {
                    experiment.data.dir = data.map(|data| data.join(source));
                }
                if let (Some(at), Some(first)) = (case.at, cases[0].at) {
                    let gamma = experiment.algorithm.gamma;
                    experiment.algorithm.scale(libm::pow(at / first, variant.steps) as f32);
                    if variant.hold_gamma {
                        experiment.algorithm.gamma = gamma;
                    }
                    experiment.algorithm.check().map_err(wrong)?;
                }
                let tuned = variant.tune && case.tune;
                arms.push(Arm {
                    name,
                    variant: variant.name.clone(),
                    case: case.name.clone(),
                    quantity: self.quantity.clone(),
                    at: case.at,
                    search: tuned.then(|| self.search(&experiment, mode)).flatten(),
                    experiment,
                });
            }
        }
        let names: Vec<String> = arms.iter().map(|arm| arm.name.clone()).collect();
        let asked = self.rules().flat_map(|check| check.arms(&arms));
        match asked.into_iter().find(|name| !names.contains(name)) {
            Some(name) => Err(StudyError::Missing { name, arms: names }),
            None => Ok(Plan { arms, seeds: self.seeds(mode), labels: self.labels }),
        }
    }

    /// The rules by which the claim is judged.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.check
    }

    /// Rules for what is worth knowing but does not decide on the claim.
    #[must_use]
    pub fn asides(&self) -> &[Check] {
        &self.aside
    }

    /// Those that judge the claim, and then the others.
    pub(super) fn rules(&self) -> impl Iterator<Item = &Check> {
        self.check.iter().chain(&self.aside)
    }

    /// How many seeds every arm gets.
    #[must_use]
    pub const fn seeds(&self, mode: Mode) -> u16 {
        match mode {
            Mode::Quick => self.quick_seeds,
            Mode::Whole => self.seeds,
        }
    }

    /// The search for an arm's step sizes, if there is one: on seeds that no measured run has.
    fn search(&self, experiment: &Experiment, mode: Mode) -> Option<Tune> {
        let table = self.tune.as_ref()?;
        let trials = if mode == Mode::Quick { table.quick_trials } else { table.trials };
        let mut experiment = experiment.clone();
        experiment.run.seed = experiment.run.seed.wrapping_add(1_000_000);
        let TuneTable { metric, over, range, .. } = *table;
        let outer_range = table.outer_range.unwrap_or(range);
        let seeds = if mode == Mode::Quick { 1 } else { table.seeds };
        Some(Tune { experiment, trials, seed: 1, seeds, metric, over, range, outer_range })
    }

    /// What a search for step sizes goes by, if there is one.
    #[must_use]
    pub fn sought(&self) -> Option<Metric> {
        self.tune.as_ref().map(|table| table.metric)
    }

    /// Everything that is drawn or judged.
    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.figures.clone();
        metrics.extend(self.against.iter().filter_map(|name| Metric::named(name)));
        metrics.extend(self.rules().flat_map(Check::metrics));
        let mut seen = Vec::new();
        metrics.retain(|metric| !seen.contains(metric) && (seen.push(*metric), true).1);
        metrics
    }
}

/// Puts one table over another, tables within them too.
fn merge(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            _ => drop(under.insert(key.clone(), value.clone())),
        }
    }
}

const fn yes() -> bool {
    true
}

const fn one() -> u16 {
    1
}

const fn five() -> u16 {
    5
}

const fn two() -> u16 {
    2
}

#[cfg(test)]
mod tests;
