//! The report of a study.

use super::measure::Measure;
use super::{Account, Check, Finding, Mode, Study, rate};
use crate::algorithms::Key;
use crate::campaign::{Arm, Measured, Results, of_case};
use crate::metrics::Metric;
use crate::plot::capital;
use crate::record::Record;
use crate::report::{Drawing, Figure, Provenance, Report, Table, averaged, captioned};
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
    tables.extend(account.costs());
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
    let figures = [labels.clone(), figures(study, arms, results), rates(study, arms, results)];
    Ok(Report {
        title: study.title.clone(),
        subtitle: format!("{}, {} seeds", account.command(), account.seeds()),
        tiles: vec![("the claim".into(), account.verdict().to_string())],
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
    }
    notes
}

/// A table of findings.
pub(super) fn found(title: &str, findings: &[Finding]) -> Table {
    let row = |finding: &Finding| {
        vec![finding.effect.clone(), finding.question.clone(), finding.verdict.to_string()]
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

/// Means over seeds with bands, one chart per case.
fn figures(study: &Study, arms: &[Arm], results: &Results) -> Vec<Figure> {
    let mut cases: Vec<&str> = arms.iter().map(|arm| arm.case.as_str()).collect();
    cases.dedup();
    let mut all = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let own: Vec<&Arm> = arms.iter().filter(|arm| arm.case == *case).collect();
        let groups: Vec<(&str, Vec<&Record>)> = own
            .iter()
            .map(|arm| {
                let records = results.get(&arm.name).into_iter().flatten().flatten();
                let name = arm.name.strip_suffix(&format!(", {case}")).unwrap_or(&arm.name);
                (name, records.collect())
            })
            .collect();
        let wanted = |figure: &Figure| {
            figure.columns.iter().any(|column| study.figures.iter().any(|m| m.name() == *column))
        };
        for against in &study.against {
            let drawn = captioned(averaged(&groups, against)).into_iter().filter(wanted);
            all.extend(drawn.map(|mut figure| {
                figure.stem = format!("{}-{against}", figure.stem);
                of_case(figure, case, number)
            }));
        }
    }
    all
}

/// What rates are judged by: one chart per metric, with all variants and their powers in brackets.
fn rates(study: &Study, arms: &[Arm], results: &Results) -> Vec<Figure> {
    let mut groups: Vec<(Measure, Vec<&str>)> = Vec::new();
    for check in study.rules() {
        let Check::Rate { value, who, .. } = check else { continue };
        match groups.iter_mut().find(|(key, _)| key == value) {
            Some((_, variants)) if variants.contains(&who.as_str()) => {}
            Some((_, variants)) => variants.push(who),
            None => groups.push((*value, vec![who])),
        }
    }
    let figure = |(number, (value, variants)): (usize, (Measure, Vec<&str>))| {
        let chart = rate::chart(arms, results, &value, &variants);
        let name = value.metric.name();
        let title = capital(&value.title());
        let stem = format!("rate-{name}-{number}");
        Figure::new(&stem, vec![name.into()], Drawing::Chart(chart)).explained(&format!(
            "{title}. The measured power, in brackets, is the slope of a straight line through the points."
        ))
    };
    groups.into_iter().enumerate().map(figure).collect()
}
