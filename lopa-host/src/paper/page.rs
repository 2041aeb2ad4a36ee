//! The report of a study.

use super::{Account, Finding, Mode, figures};
use crate::algorithms::Key;
use crate::campaign::{Arm, Measured};
use crate::metrics::Metric;
use crate::numerics::number;
use crate::record::Record;
use crate::report::{Provenance, Report, Table};
use crate::words::counted;

/// The title of the findings that judge the claim.
pub(super) const FOUND: &str = "Findings";

/// A study's report, with its figures.
pub(super) fn report(account: &Account<'_>) -> Result<Report, toml::ser::Error> {
    let Account { study, measured: Measured { arms, results, labels, .. }, .. } = *account;
    let findings = account.findings();
    let mut notes = notes(account);
    notes.insert(0, format!("The paper, {}: {}", study.place, study.claim));
    let mut tables = vec![found(FOUND, &findings)];
    let asides = account.asides();
    if !asides.is_empty() {
        tables.push(found("Also measured; not counted in the verdict", &asides));
    }
    let timed = account.timed();
    if !timed.is_empty() {
        tables.push(found(
            "In seconds, on the machine that ran it; not counted in the verdict",
            &timed,
        ));
    }
    tables.extend(account.tables());
    tables.extend(steps(account));
    let mut configuration = String::new();
    for arm in arms {
        configuration += &format!("# {}\n{}\n", arm.name, toml::to_string(&arm.experiment)?);
    }
    let files = ["records.csv", "seconds.csv", "run.json", "study.json", "section.md", "tune.csv"];
    let there = |file: &&str| match *file {
        "tune.csv" => study.tuned_by().is_some(),
        "seconds.csv" => study.metrics().contains(&Metric::Seconds),
        _ => true,
    };
    let files = files.into_iter().filter(there).map(str::to_owned).collect();
    let figures = [labels.clone(), figures::all(study, arms, results)];
    Ok(Report {
        title: study.title.clone(),
        subtitle: format!("{}, {}", account.command(), counted(account.seeds(), "seed")),
        tiles: vec![("the claim".into(), account.judgement())],
        figures: figures.concat(),
        tables,
        folded: vec![("Configuration of every arm".into(), configuration)],
        files,
        provenance: Some(Provenance::now()),
        notes,
        ..Report::default()
    })
}

/// What a reader should know: the study's own notes, and what happened on the way.
pub(super) fn notes(account: &Account<'_>) -> Vec<String> {
    let mut notes = account.study.notes.clone();
    if account.mode == Mode::Quick {
        notes.push("This is the quick form, with fewer rounds, seeds and trials: it shows that everything works, but decides little.".into());
    }
    for (arm, _, vain) in account.tuned() {
        if vain > 0 {
            notes.push(format!(
                "{}: all trials of {} diverged: those seeds have the step sizes of the study's file.",
                arm.name,
                counted(vain, "search")
            ));
        }
    }
    for (arm, records) in &account.measured.results {
        let lost = records.iter().filter(|record| record.is_none()).count();
        if lost > 0 {
            notes.push(format!("{arm} diverged on {lost} of {} seeds.", records.len()));
        }
        for (seed, record) in records.iter().enumerate() {
            notes.extend(record.as_ref().and_then(|record| risen(arm, seed, record)));
        }
    }
    notes
}

/// A run that ended worse than it began, though it did not diverge.
fn risen(arm: &str, seed: usize, record: &Record) -> Option<String> {
    let loss = Metric::OuterLoss;
    let first = record.values(loss.name())?.first().copied().flatten()?;
    let last = record.last(loss.name())?;
    let said = || {
        let [first, last] = [first, last].map(number);
        format!("{arm}, seed {seed}: the outer loss ends at {last}, above its start at {first}.")
    };
    (last > first).then(said)
}

/// A table of findings.
pub(super) fn found(title: &str, findings: &[Finding]) -> Table {
    let row = |finding: &Finding| {
        let verdict = finding.parts.beside(finding.verdict);
        vec![finding.effect.clone(), finding.question.clone(), verdict]
    };
    Table {
        title: title.into(),
        head: ["effect", "claim", "verdict"].map(str::to_owned).into(),
        rows: findings.iter().map(row).collect(),
        prose: true,
        ..Table::default()
    }
}

/// The step sizes of every arm that was tuned, from the smallest to the largest that its searches found.
pub(super) fn steps(account: &Account<'_>) -> Option<Table> {
    let values = |arm: &Arm, key: Key| -> Vec<f32> {
        arm.found.iter().filter_map(|found| found.step(key)).collect()
    };
    let given = |key: &Key| account.tuned().any(|(arm, ..)| !values(arm, *key).is_empty());
    let keys: Vec<Key> = Key::STEPS.into_iter().filter(given).collect();
    let head = keys.iter().map(|key| key.name().replace('_', " "));
    let range = |values: &[f32]| {
        let low = values.iter().copied().reduce(f32::min);
        let high = values.iter().copied().reduce(f32::max);
        match (low, high) {
            (Some(low), Some(high)) if low < high => format!("{low} to {high}"),
            (Some(low), _) => low.to_string(),
            _ => String::new(),
        }
    };
    let row = |(arm, tried, _): (&Arm, usize, usize)| {
        let own = keys.iter().map(|key| range(&values(arm, *key)));
        let budget = format!("{} \u{d7} {tried}", arm.found.len());
        [arm.name.clone()].into_iter().chain(own).chain([budget]).collect()
    };
    let table = Table {
        title: "Step sizes that the searches found (tune.csv)".into(),
        head: ["arm".to_owned()]
            .into_iter()
            .chain(head)
            .chain(["searches \u{d7} trials".to_owned()])
            .collect(),
        rows: account.tuned().map(row).collect(),
        ..Table::default()
    };
    (!table.rows.is_empty()).then_some(table)
}
