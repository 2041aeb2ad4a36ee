//! A study: an experiment of the paper, described in a file.

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::control::Control;
use super::costs::Costs;
use super::{Check, once_each};
use crate::campaign::{Arm, Plan, Tune};
use crate::config::{ConfigError, Experiment};
use crate::data::fetch::sha256;
use crate::metrics::{Choice, Metric};
use crate::record::Over;

/// An experiment of the paper: what it claims, what is run, and how the claim is judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its title.
    pub title: String,
    /// What the paper claims.
    pub claim: String,
    /// Where the paper claims it.
    pub place: String,
    /// Choices made where the paper leaves something open, and differences from it.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The horizontal axes of the charts: "iteration" or metrics.
    #[serde(default)]
    pub against: Vec<String>,
    /// The metrics that are drawn.
    #[serde(default)]
    pub figures: Vec<Metric>,
    /// Whether a chart compares cases: one for every variant, instead of one for every case.
    #[serde(default)]
    pub overlay: bool,
    /// Whether the labels of the nodes are drawn, one figure per case.
    #[serde(default)]
    pub labels: bool,
    /// The quantity in which the cases differ, if it is a number.
    #[serde(default)]
    pub quantity: String,
    #[serde(default = "number::<5>")]
    seeds: u16,
    #[serde(default = "number::<2>")]
    quick_seeds: u16,
    /// How many of the cases, from the first, the quick form has.
    quick_cases: Option<usize>,
    tune: Option<TuneTable>,
    /// The settings that all arms share.
    base: Table,
    /// Settings of the quick form.
    #[serde(default)]
    quick: Table,
    /// What is compared.
    variant: Vec<Setting>,
    /// The cases it is compared in; a single one if none are listed.
    #[serde(default)]
    case: Vec<Setting>,
    /// The rules by which the claim is judged.
    pub check: Vec<Check>,
    /// Further rules, which do not count in the verdict.
    #[serde(default)]
    pub aside: Vec<Check>,
    /// What reaching fixed values costs every arm, as tables.
    pub costs: Option<Costs>,
    /// Settings over the base, of a network whose runs are compared with what lemma 1 and the corollaries promise.
    bounds: Option<Table>,
    /// Set-ups in which the claim must fail, so that rules that cannot fail are found out.
    #[serde(default)]
    pub control: Vec<Control>,
    /// The rules whose effects stand in the table of all claims, by their place from 0.
    #[serde(default = "first")]
    pub headline: Vec<usize>,
    /// Why rules did not hold.
    #[serde(default)]
    pub reason: Vec<Reason>,
}

/// Why some rules did not hold, for the table of all claims.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The rules, by their place from 0: the sentence is only shown if none of them holds.
    pub rules: Vec<usize>,
    /// The sentence.
    pub why: String,
}

/// The search for step sizes, with the same budget for every arm.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneTable {
    trials: u16,
    quick_trials: u16,
    /// How many seeds each trial runs on.
    #[serde(default = "number::<1>")]
    seeds: u16,
    metric: Metric,
    #[serde(default)]
    over: Over,
    /// A value of the metric: then the rounds to first reach it count.
    reach: Option<f64>,
    range: [f32; 2],
    outer_range: Option<[f32; 2]>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    name: String,
    /// For a case: the value of the study's quantity.
    at: Option<f64>,
    /// For a variant: the power of the quantity by which its step sizes scale, except tau.
    #[serde(default)]
    steps: f64,
    /// For a variant: whether gamma keeps its value.
    #[serde(default)]
    hold_gamma: bool,
    /// Whether this variant or case takes part in the search for step sizes, if there is one.
    #[serde(default = "yes")]
    tune: bool,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    quick: Table,
}

/// How step sizes depend on the quantity in which cases differ.
#[derive(Debug, Clone, Copy)]
struct Scaling {
    /// The power of the quantity.
    steps: f64,
    /// Whether gamma keeps its value.
    hold_gamma: bool,
}

/// The size of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A few minutes: fewer rounds, seeds and trials.
    Quick,
    /// In full.
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
    /// Names the line that is not understood, and refuses a claim without a rule that judges it.
    pub fn parse(text: &str) -> Result<Self, StudyError> {
        let mut study: Self = toml::from_str(text).map_err(StudyError::Syntax)?;
        if study.case.is_empty() {
            study.case.push(Setting { tune: true, ..Setting::default() });
        }
        if study.check.is_empty() { Err(StudyError::Unjudged) } else { Ok(study) }
    }

    /// What is run: every variant in every case. Public data sets are expected in `data`, each in a folder of its name.
    ///
    /// # Errors
    /// Names the arm that is not sound, and checks of arms that do not exist.
    pub fn plan(&self, mode: Mode, data: Option<&Path>) -> Result<Plan, StudyError> {
        let few = self.quick_cases.filter(|_| mode == Mode::Quick);
        let mut arms = Vec::new();
        for (case, variant) in self.pairs(few) {
            let quick = [&self.quick, &case.quick, &variant.quick];
            let quick = if mode == Mode::Quick { &quick[..] } else { &[] };
            let over = [&case.set, &variant.set].into_iter().chain(quick.iter().copied());
            let Setting { steps, hold_gamma, .. } = *variant;
            let scaling = Scaling { steps, hold_gamma };
            let mut arm = self.arm(case, variant, &self.base, over, scaling)?;
            let source = arm.experiment.data.source();
            if source.is_public() {
                arm.experiment.data.dir = data.map(|data| data.join(source.to_string()));
            }
            let tuned = variant.tune && case.tune;
            arm.search = tuned.then(|| self.search(&arm.experiment, mode)).flatten();
            arms.push(arm);
        }
        self.named(&arms)?;
        self.bounded()?;
        Ok(Plan { arms, seeds: self.seeds(mode), labels: self.labels })
    }

    /// What a control runs: the study's arms with the control's settings, without a search for step sizes.
    ///
    /// # Errors
    /// Names the arm that is not sound.
    pub fn control_plan(&self, control: &Control) -> Result<Plan, StudyError> {
        let base = control.base.as_ref().unwrap_or(&self.base);
        for name in control.case.keys() {
            named(name, &self.case)?;
        }
        for name in control.variant.keys().chain(control.instead.keys()) {
            named(name, &self.variant)?;
        }
        let mut arms = Vec::new();
        for (case, variant) in self.pairs(control.cases) {
            let played = match control.instead.get(&variant.name) {
                Some(other) => named(other, &self.variant)?,
                None => variant,
            };
            let own = [control.case.get(&case.name), control.variant.get(&variant.name)];
            let case_set = control.base.is_none().then_some(&case.set);
            let over = case_set.into_iter().chain([&played.set, &control.set]);
            let over = over.chain(own.into_iter().flatten());
            let scaling = Scaling {
                steps: control.steps.unwrap_or(played.steps),
                hold_gamma: control.hold_gamma.unwrap_or(played.hold_gamma),
            };
            arms.push(self.arm(case, variant, base, over, scaling)?);
        }
        Ok(Plan { arms, seeds: control.seeds, labels: false })
    }

    /// Every variant in every case, or in the first `few` cases.
    fn pairs(&self, few: Option<usize>) -> Vec<(&Setting, &Setting)> {
        let all = self.case.iter().take(few.unwrap_or(self.case.len()).max(1));
        all.flat_map(|case| self.variant.iter().map(move |variant| (case, variant))).collect()
    }

    /// One variant in one case: the base with other settings over it, and steps scaled by a power of the quantity.
    fn arm<'t>(
        &self,
        case: &Setting,
        variant: &Setting,
        base: &Table,
        over: impl Iterator<Item = &'t Table>,
        Scaling { steps, hold_gamma }: Scaling,
    ) -> Result<Arm, StudyError> {
        let name = match case.name.as_str() {
            "" => variant.name.clone(),
            case => format!("{}, {case}", variant.name),
        };
        let mut table = base.clone();
        over.for_each(|over| merge(&mut table, over));
        let wrong = |error| StudyError::Arm { name: name.clone(), error };
        let mut experiment = Experiment::parse(&table.to_string()).map_err(wrong)?;
        // Nothing is chosen behind a claim's back.
        if experiment.is_open() {
            experiment.algorithm.steps().map_err(|error| wrong(error.into()))?;
        }
        experiment.run.metrics = Choice::These(self.metrics());
        let first = self.case.first().and_then(|first| first.at);
        if let (Some(at), Some(first)) = (case.at, first) {
            let gamma = experiment.algorithm.gamma;
            experiment.algorithm.scale(libm::pow(at / first, steps) as f32);
            if hold_gamma {
                experiment.algorithm.gamma = gamma;
            }
            experiment.algorithm.check().map_err(|error| wrong(error.into()))?;
        }
        Ok(Arm {
            name,
            variant: variant.name.clone(),
            case: case.name.clone(),
            quantity: self.quantity.clone(),
            at: case.at,
            search: None,
            found: Vec::new(),
            experiment,
        })
    }

    /// The network whose bounds are measured, if there is one.
    pub(super) fn bounded(&self) -> Result<Option<Experiment>, StudyError> {
        let Some(bounds) = &self.bounds else { return Ok(None) };
        let mut table = self.base.clone();
        merge(&mut table, bounds);
        let wrong = |error| StudyError::Arm { name: "bounds".into(), error };
        Experiment::parse(&table.to_string()).map(Some).map_err(wrong)
    }

    /// Refuses rules about arms that do not exist.
    fn named(&self, arms: &[Arm]) -> Result<(), StudyError> {
        let names: Vec<String> = arms.iter().map(|arm| arm.name.clone()).collect();
        let named = self.rules().flat_map(|check| check.arms(arms));
        match named.into_iter().find(|name| !names.contains(name)) {
            Some(name) => Err(StudyError::Missing { name, arms: names }),
            None => Ok(()),
        }
    }

    /// All rules: those that judge the claim, and then the others.
    pub(super) fn rules(&self) -> impl Iterator<Item = &Check> {
        self.check.iter().chain(&self.aside)
    }

    /// The places of rules that no control makes fail.
    #[must_use]
    pub fn uncontrolled(&self) -> Vec<usize> {
        let controlled =
            |rule: &usize| self.control.iter().any(|own| own.rules(self).contains(rule));
        (0..self.check.len()).filter(|rule| !controlled(rule)).collect()
    }

    /// A checksum of what is run: other rules, notes and figures do not change it.
    pub(super) fn setup(&self, mode: Mode) -> String {
        let mut text = format!("{mode:?} {:?}\n{}{}\n", self.tune, self.base, self.quick);
        for Setting { name, at, steps, hold_gamma, tune, set, quick } in
            self.variant.iter().chain(&self.case)
        {
            text += &format!("{name} {at:?} {steps} {hold_gamma} {tune}\n{set}{quick}\n");
        }
        // Reading from memory does not fail.
        sha256(text.as_bytes()).unwrap_or_default()
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
        let TuneTable { metric, over, reach, range, .. } = *table;
        let outer_range = table.outer_range.unwrap_or(range);
        let seeds = if mode == Mode::Quick { 1 } else { table.seeds };
        Some(Tune { experiment, trials, seed: 1, seeds, metric, over, reach, range, outer_range })
    }

    /// The metric that step sizes are tuned by, if they are.
    #[must_use]
    pub fn tuned_by(&self) -> Option<Metric> {
        self.tune.as_ref().map(|table| table.metric)
    }

    /// Every metric that is drawn or judged.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.figures.clone();
        metrics.extend(self.against.iter().filter_map(|name| Metric::named(name)));
        metrics.extend(self.rules().flat_map(Check::metrics));
        metrics.extend(self.costs.iter().flat_map(Costs::metrics));
        once_each(metrics)
    }
}

/// Merges one table into another, nested tables included.
fn merge(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            _ => drop(under.insert(key.clone(), value.clone())),
        }
    }
}

fn first() -> Vec<usize> {
    vec![0]
}

const fn yes() -> bool {
    true
}

/// A number that a file need not give.
const fn number<const N: u16>() -> u16 {
    N
}

/// The case or variant with a name.
fn named<'s>(name: &str, among: &'s [Setting]) -> Result<&'s Setting, StudyError> {
    among.iter().find(|setting| setting.name == name).ok_or_else(|| StudyError::Missing {
        name: name.to_owned(),
        arms: among.iter().map(|setting| setting.name.clone()).collect(),
    })
}

#[cfg(test)]
mod tests;
