//! Negative controls: set-ups in which a claim must fail, so that a rule that cannot say no is found out.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use serde::Deserialize;
use toml::Table;

use super::{Check, Study, StudyError, Verdict};
use crate::campaign::{CampaignError, Measured};

/// A set-up in which some of a study's rules must not hold. It has the study's arms, without a search for step sizes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Why the claim must fail here.
    pub what: String,
    /// Settings in place of the study's base and cases: small, so that the control takes seconds.
    pub(super) base: Option<Table>,
    /// Settings of all arms, over all others.
    #[serde(default)]
    pub(super) set: Table,
    /// Settings of single cases, over those.
    #[serde(default)]
    pub(super) case: BTreeMap<String, Table>,
    /// Settings of single variants, over those.
    #[serde(default)]
    pub(super) variant: BTreeMap<String, Table>,
    /// Variants that run with the settings of another one in place of their own.
    #[serde(default)]
    pub(super) instead: BTreeMap<String, String>,
    /// The power of the quantity by which step sizes scale, in place of the variants' own.
    pub(super) steps: Option<f64>,
    /// Whether gamma keeps its value, in place of what the variants say.
    pub(super) hold_gamma: Option<bool>,
    /// How many of the cases, from the first, it runs.
    pub(super) cases: Option<usize>,
    /// On how many seeds.
    #[serde(default = "three")]
    pub(super) seeds: u16,
    /// Values in place of those that rules about costs name.
    targets: Option<Vec<f64>>,
    /// The rules that must fail, by their place in the study, from 0; all if none are listed.
    rules: Option<Vec<usize>>,
    /// The verdict that they must reach.
    #[serde(default = "refuted")]
    verdict: Verdict,
}

const fn three() -> u16 {
    3
}

const fn refuted() -> Verdict {
    Verdict::DoesNotHold
}

/// A rule that did not say no where it must.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}: {answer}")]
pub struct Blind {
    /// The control.
    pub what: String,
    /// The verdict that the rule must reach.
    pub expected: Verdict,
    /// The verdict that it reached.
    pub found: Verdict,
    /// What it measured.
    pub answer: String,
}

/// Why a control says nothing.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Its arms are not sound.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// It could not be run.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// It names a rule that the study does not have.
    #[error("rules: there is no rule {0}")]
    Rule(usize),
}

impl Control {
    /// The places of the rules that must fail.
    #[must_use]
    pub fn rules(&self, study: &Study) -> Vec<usize> {
        self.rules.clone().unwrap_or_else(|| (0..study.check.len()).collect())
    }

    /// Runs the control, and returns the rules that did not say no.
    ///
    /// # Errors
    /// Names the arm that cannot be run, or a rule that does not exist.
    pub fn run(&self, study: &Study) -> Result<Vec<Blind>, ControlError> {
        let mut checks = Vec::new();
        for place in self.rules(study) {
            let mut check = study.check.get(place).ok_or(ControlError::Rule(place))?.clone();
            if let (Check::Sooner { targets, .. }, Some(own)) = (&mut check, &self.targets) {
                targets.clone_from(own);
            }
            checks.push(check);
        }
        let mut plan = study.control_plan(self)?;
        // Only what the rules look at.
        let named: Vec<String> = checks.iter().flat_map(|check| check.arms(&plan.arms)).collect();
        plan.arms.retain(|arm| named.contains(&arm.name));
        let Some(Measured { arms, results, .. }) = plan.run(&AtomicBool::new(false), |_| ())?
        else {
            return Ok(Vec::new());
        };
        let mut blind = Vec::new();
        for check in checks {
            for finding in check.judge(&arms, &results) {
                if finding.verdict != self.verdict {
                    blind.push(Blind {
                        what: self.what.clone(),
                        expected: self.verdict,
                        found: finding.verdict,
                        answer: format!("{}: {}", finding.question, finding.effect),
                    });
                }
            }
        }
        Ok(blind)
    }
}
