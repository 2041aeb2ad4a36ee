//! The results of a study, and the files that hold them.

use serde::Serialize;

use super::{Check, Finding, Mode, Study, Verdict, page, section};
use crate::algorithms::AlgorithmTable;
use crate::campaign::{Arm, Measured, trials_csv};
use crate::csv;
use crate::files::WriteError;
use crate::report::Outputs;

/// The results of a study.
#[derive(Debug, Clone)]
pub struct Account<'a> {
    /// Its name, which is also its folder's.
    pub name: &'a str,
    /// How the command line names it: its name, or its file.
    pub call: &'a str,
    /// The options that follow: those that change results, and where data and results are.
    pub options: &'a str,
    /// The study.
    pub study: &'a Study,
    /// Whether it ran in full.
    pub mode: Mode,
    /// What was measured.
    pub measured: &'a Measured,
}

/// The contents of `study.json`.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    study: &'a str,
    title: &'a str,
    claim: &'a str,
    place: &'a str,
    verdict: Verdict,
    findings: &'a [Finding],
    asides: &'a [Finding],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Steps<'a>>,
    quick: bool,
    seeds: usize,
    command: String,
    call: &'a str,
    options: &'a str,
}

/// The step sizes that a search found for an arm.
#[derive(Debug, Serialize)]
struct Steps<'a> {
    arm: &'a str,
    trials: usize,
    algorithm: &'a AlgorithmTable,
}

impl Account<'_> {
    /// The findings that judge the claim.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.judged(&self.study.check)
    }

    /// Further findings, which do not count in the verdict.
    #[must_use]
    pub fn asides(&self) -> Vec<Finding> {
        self.judged(&self.study.aside)
    }

    fn judged(&self, checks: &[Check]) -> Vec<Finding> {
        let Measured { arms, results, .. } = self.measured;
        checks.iter().map(|check| check.judge(arms, results)).collect()
    }

    /// The command that reproduces it.
    #[must_use]
    pub fn command(&self) -> String {
        format!("lopa paper {} {}", self.call, self.options)
    }

    /// How many seeds every arm ran on.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.measured.results.values().map(Vec::len).max().unwrap_or(0)
    }

    /// The arms that were tuned, each with its number of trials and whether any of them did not diverge.
    pub(super) fn tuned(&self) -> impl Iterator<Item = (&Arm, usize, bool)> {
        self.measured.arms.iter().filter_map(|arm| {
            let (_, trials) = self.measured.searches.iter().find(|(name, _)| *name == arm.name)?;
            let tried = trials.iter().filter(|trial| trial.rung == 0).count();
            Some((arm, tried, trials.iter().any(|trial| trial.value.is_some())))
        })
    }

    /// A summary for the terminal: the verdict, and every finding.
    #[must_use]
    pub fn text(&self) -> String {
        let findings = self.findings();
        let mut text = format!("{}: {}\n", self.name, Verdict::of(&findings));
        for (also, all) in [("", findings), ("also measured, ", self.asides())] {
            for Finding { question, answer, verdict } in all {
                text += &format!("  {also}{question}: {answer}: {verdict}\n");
            }
        }
        text
    }

    /// The files in its folder, but for its figures.
    pub const FILES: [&'static str; 5] =
        ["report.html", "records.csv", "study.json", "section.md", "tune.csv"];

    /// Writes its folder: figures, `records.csv`, `study.json`, `report.html`, `section.md`, and `tune.csv` if step sizes
    /// were searched for.
    ///
    /// # Errors
    /// Names the path that could not be written; the files of an earlier run are then unchanged.
    pub fn write(&self, outputs: &Outputs) -> Result<(), WriteError> {
        // The only thing that can fail here is a path that is not UTF-8.
        let report = page::report(self).map_err(|error| outputs.failed("report.html", error))?;
        let json = self.json().map_err(|error| outputs.failed("study.json", error))?;
        let mut batch = outputs.batch();
        batch.add_report(&report)?;
        batch.add("records.csv", self.records());
        batch.add("study.json", json);
        batch.add("section.md", section::markdown(self, &report));
        match self.study.tuned_by() {
            Some(metric) => batch.add("tune.csv", trials_csv(&self.measured.searches, metric)),
            // A search of an earlier run does not belong to this study.
            None => batch.remove("tune.csv"),
        }
        batch.write()
    }

    fn json(&self) -> serde_json::Result<String> {
        let (findings, asides) = (self.findings(), self.asides());
        let steps = self.tuned().map(|(arm, trials, _)| Steps {
            arm: &arm.name,
            trials,
            algorithm: &arm.experiment.algorithm,
        });
        let summary = Summary {
            study: self.name,
            title: &self.study.title,
            claim: &self.study.claim,
            place: &self.study.place,
            verdict: Verdict::of(&findings),
            findings: &findings,
            asides: &asides,
            steps: steps.collect(),
            quick: self.mode == Mode::Quick,
            seeds: self.seeds(),
            command: self.command(),
            call: self.call,
            options: self.options,
        };
        Ok(serde_json::to_string_pretty(&summary)? + "\n")
    }

    /// All records in one table, after columns for the arm and the seed.
    fn records(&self) -> String {
        let Some(first) = self.measured.results.values().flatten().flatten().next() else {
            return String::new();
        };
        let mut text = format!("arm,seed,{}", first.names());
        for (arm, records) in &self.measured.results {
            for (seed, record) in records.iter().enumerate() {
                let before = format!("{},{seed},", csv::quoted(arm));
                text += &record.as_ref().map_or(String::new(), |record| record.lines(&before));
            }
        }
        text
    }
}
