//! The results of a study, and the files that hold them.

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::{Check, Finding, Mode, Parts, Study, Verdict, page, section};
use crate::algorithms::AlgorithmTable;
use crate::campaign::{Arm, Measured, trials_csv};
use crate::csv;
use crate::data::fetch::sha256;
use crate::files::WriteError;
use crate::metrics::Metric;
use crate::record::Record;
use crate::report::{Outputs, Table};

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
    /// What the paper's bounds promise, if the study asks for it.
    pub promised: Option<Table>,
    /// Where and when.
    pub machine: Machine,
}

/// The contents of `study.json`.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    study: &'a str,
    title: &'a str,
    claim: &'a str,
    place: &'a str,
    verdict: Verdict,
    #[serde(flatten)]
    parts: Parts,
    /// The effects that the page's first table shows.
    effects: Vec<String>,
    /// Why the claim did not hold.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    findings: &'a [Finding],
    asides: &'a [Finding],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Steps<'a>>,
    /// A checksum of what was run.
    setup: String,
    /// The SHA-256 of records.csv, which is too large to be kept everywhere.
    records: String,
    quick: bool,
    seeds: usize,
    command: String,
    call: &'a str,
    options: &'a str,
}

/// The step sizes that searches found for an arm, one for each seed.
#[derive(Debug, Serialize)]
struct Steps<'a> {
    arm: &'a str,
    trials: usize,
    found: &'a [AlgorithmTable],
}

/// The contents of `run.json`: what differs from run to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    #[serde(flatten)]
    pub(super) machine: Machine,
    /// What rules say about seconds.
    pub(super) timed: Vec<Finding>,
}

impl Account<'_> {
    /// The findings that judge the claim.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.judged(self.study.check.iter().filter(|check| !check.is_timed()))
    }

    /// Further findings, which do not count in the verdict.
    #[must_use]
    pub fn asides(&self) -> Vec<Finding> {
        self.judged(self.study.aside.iter().filter(|check| !check.is_timed()))
    }

    /// Findings about seconds: another machine may find otherwise, so they do not count in the verdict either.
    #[must_use]
    pub fn timed(&self) -> Vec<Finding> {
        self.judged(self.study.rules().filter(|check| check.is_timed()))
    }

    fn judged<'c>(&self, checks: impl Iterator<Item = &'c Check>) -> Vec<Finding> {
        let Measured { arms, results, .. } = self.measured;
        checks.flat_map(|check| check.judge(arms, results)).collect()
    }

    /// The verdict on the claim.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.findings().iter().map(|finding| finding.verdict))
    }

    /// How many comparisons behind the verdict hold.
    #[must_use]
    pub fn parts(&self) -> Parts {
        Parts::sum(self.findings().iter().map(|finding| finding.parts))
    }

    /// The verdict, with numbers where only a part of the claim holds.
    pub(super) fn judgement(&self) -> String {
        self.parts().beside(self.verdict())
    }

    /// Why the claim did not hold: the study's own sentences about the rules that did not, or the first part that is not
    /// shown.
    pub(super) fn reason(&self) -> String {
        let shown = |rule: &usize| {
            let found = self.judged(self.study.check.get(*rule).into_iter());
            found.iter().all(|finding| finding.verdict == Verdict::Holds)
        };
        let told = self.study.reason.iter().filter(|reason| !reason.rules.iter().any(shown));
        let told: Vec<&str> = told.map(|reason| reason.why.as_str()).collect();
        let findings = self.findings();
        let missing = findings.iter().find(|finding| finding.verdict != Verdict::Holds);
        match missing {
            None => String::new(),
            Some(missing) if told.is_empty() => {
                format!("{}: {}", missing.question, missing.parts.beside(missing.verdict))
            }
            Some(_) => told.join(" "),
        }
    }

    /// Further tables, if the study asks for them: what is promised, and what reaching fixed values costs every arm.
    pub(super) fn tables(&self) -> Vec<Table> {
        let Measured { arms, results, .. } = self.measured;
        let costs = self.study.costs.as_ref().map(|costs| costs.tables(arms, results));
        self.promised.iter().cloned().chain(costs.into_iter().flatten()).collect()
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

    /// The arms that were tuned, each with its number of trials per search and of searches in which all of them diverged.
    pub(super) fn tuned(&self) -> impl Iterator<Item = (&Arm, usize, usize)> {
        self.measured.arms.iter().filter_map(|arm| {
            let search = arm.search.as_ref()?;
            let before = format!("{}, search ", arm.name);
            let searches = &self.measured.searches;
            let own = searches.iter().filter(|(name, _)| name.starts_with(&before));
            let vain =
                own.filter(|(_, trials)| trials.first().is_none_or(|best| best.value.is_none()));
            Some((arm, search.trials.into(), vain.count()))
        })
    }

    /// A summary for the terminal: the verdict, and every finding.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.name, self.judgement());
        let kinds = [("", self.findings()), ("also measured, ", self.asides())];
        for (also, all) in kinds.into_iter().chain([("on this machine, ", self.timed())]) {
            for Finding { effect, question, verdict, parts, .. } in all {
                let verdict = parts.beside(verdict);
                text += &format!("  {verdict}: {effect}: {also}{question}\n");
            }
        }
        text
    }

    /// The files in its folder, but for its figures.
    pub const FILES: [&'static str; 7] = [
        "report.html",
        "records.csv",
        "seconds.csv",
        "run.json",
        "study.json",
        "section.md",
        "tune.csv",
    ];

    /// Writes its folder: figures, `records.csv`, `study.json`, `report.html`, `section.md`, and `tune.csv` if step sizes
    /// were searched for. These repeat byte for byte; what depends on the machine is in `run.json` and, if the study
    /// measures seconds, in `seconds.csv`.
    ///
    /// # Errors
    /// Names the path that could not be written; the files of an earlier run are then unchanged.
    pub fn write(&self, outputs: &Outputs) -> Result<(), WriteError> {
        // The only thing that can fail here is a path that is not UTF-8.
        let report = page::report(self).map_err(|error| outputs.failed("report.html", error))?;
        let records = self.records(|name| name != Metric::Seconds.name());
        let json = self.json(&records).map_err(|error| outputs.failed("study.json", error))?;
        let mut batch = outputs.batch();
        batch.add_report(&report)?;
        batch.add("records.csv", records);
        let run = Run { machine: self.machine.clone(), timed: self.timed() };
        let run = serde_json::to_string_pretty(&run).map_err(|e| outputs.failed("run.json", e))?;
        batch.add("run.json", run + "\n");
        if self.study.metrics().contains(&Metric::Seconds) {
            let kept = |name: &str| ["iteration", Metric::Seconds.name()].contains(&name);
            batch.add("seconds.csv", self.records(kept));
        } else {
            batch.remove("seconds.csv");
        }
        batch.add("study.json", json);
        batch.add("section.md", section::markdown(self, &report));
        match self.study.tuned_by() {
            Some(metric) => batch.add("tune.csv", trials_csv(&self.measured.searches, metric)),
            // A search of an earlier run does not belong to this study.
            None => batch.remove("tune.csv"),
        }
        batch.write()
    }

    fn json(&self, records: &str) -> serde_json::Result<String> {
        let (findings, asides) = (self.findings(), self.asides());
        let steps = self.tuned().map(|(arm, trials, _)| Steps {
            arm: &arm.name,
            trials,
            found: &arm.found,
        });
        let headline = self.study.headline.iter().filter_map(|rule| self.study.check.get(*rule));
        let effects = self.judged(headline.filter(|check| !check.is_timed()));
        let summary = Summary {
            study: self.name,
            title: &self.study.title,
            claim: &self.study.claim,
            place: &self.study.place,
            verdict: self.verdict(),
            parts: self.parts(),
            effects: effects.into_iter().map(|finding| finding.brief).collect(),
            reason: self.reason(),
            findings: &findings,
            asides: &asides,
            steps: steps.collect(),
            setup: self.study.setup(self.mode),
            records: sha256(records.as_bytes()).unwrap_or_default(),
            quick: self.mode == Mode::Quick,
            seeds: self.seeds(),
            command: self.command(),
            call: self.call,
            options: self.options,
        };
        Ok(serde_json::to_string_pretty(&summary)? + "\n")
    }

    /// Columns of all records in one table, after columns for the arm and the seed.
    fn records(&self, kept: impl Fn(&str) -> bool + Copy) -> String {
        let all = &self.measured.results;
        let Some(first) = all.values().flatten().flatten().next() else { return String::new() };
        let mut text = format!("arm,seed,{}", first.only(kept).names());
        for (arm, records) in all {
            for (seed, record) in records.iter().enumerate() {
                let before = format!("{},{seed},", csv::quoted(arm));
                let lines = |record: &Record| record.only(kept).lines(&before);
                text += &record.as_ref().map_or(String::new(), lines);
            }
        }
        text
    }
}
