//! What came of a study, as a page and as a section of a results page.

use super::{Arm, Check, Finding, Mode, Results, Study, Verdict, rate};
use crate::metrics::Metric;
use crate::outputs::explained;
use crate::record::{Over, Record};
use crate::report::{Figure, Report, Table, averaged};

/// A study's page, with its figures; `command` is what gives it again.
#[must_use]
pub fn page(
    study: &Study,
    arms: &[Arm],
    results: &Results,
    findings: &[Finding],
    mode: Mode,
    command: &str,
) -> Report {
    let seeds = results.values().map(Vec::len).max().unwrap_or(0);
    let mut notes = vec![format!("The paper, {}: {}", study.place, study.claim)];
    notes.extend(study.notes.iter().cloned());
    if mode == Mode::Quick {
        notes.push("This is the quick form: fewer rounds, seeds and trials. It shows that all works, and decides little.".into());
    }
    for (arm, records) in results {
        let lost = records.iter().filter(|record| record.is_none()).count();
        if lost > 0 {
            notes.push(format!("{arm} diverged on {lost} of {} seeds.", records.len()));
        }
    }
    let row = |finding: &Finding| {
        vec![finding.question.clone(), finding.answer.clone(), finding.verdict.to_string()]
    };
    let table = Table {
        title: "What was found".into(),
        head: ["asked", "found", "verdict"].map(str::to_owned).into(),
        rows: findings.iter().map(row).collect(),
    };
    let configuration = arms
        .iter()
        .map(|arm| {
            let text = toml::to_string(&arm.experiment).unwrap_or_default();
            format!("# {}\n{text}\n", arm.name)
        })
        .collect();
    Report {
        title: study.title.clone(),
        subtitle: format!("{command}, {seeds} seeds"),
        tiles: vec![("the claim".into(), Verdict::of(findings).to_string())],
        figures: [figures(study, arms, results), rates(study, arms, results)].concat(),
        tables: vec![table],
        configuration,
        notes,
        ..Report::default()
    }
}

/// Means over seeds with bands, the cases apart.
fn figures(study: &Study, arms: &[Arm], results: &Results) -> Vec<Figure> {
    let mut cases: Vec<&str> = Vec::new();
    for arm in arms {
        if !cases.contains(&arm.case.as_str()) {
            cases.push(&arm.case);
        }
    }
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
            let drawn = explained(averaged(&groups, against)).into_iter().filter(wanted);
            all.extend(drawn.map(|mut figure| {
                let case_stem = if case.is_empty() { String::new() } else { format!("-{number}") };
                figure.stem = format!("{}-{against}{case_stem}", figure.stem);
                if !case.is_empty() {
                    let title = match figure.chart.title.as_str() {
                        "" => figure.chart.y_title.clone(),
                        title => title.to_owned(),
                    };
                    figure.chart.title = format!("{title}, {case}");
                }
                figure
            }));
        }
    }
    all
}

/// What rates are judged by: one chart a figure, with all variants in it and their powers in brackets.
fn rates(study: &Study, arms: &[Arm], results: &Results) -> Vec<Figure> {
    let mut groups: Vec<((Metric, Over), Vec<&str>)> = Vec::new();
    for check in study.checks() {
        let Check::Rate { metric, over, who, .. } = check else { continue };
        match groups.iter_mut().find(|(key, _)| *key == (*metric, *over)) {
            Some((_, variants)) => variants.push(who),
            None => groups.push(((*metric, *over), vec![who])),
        }
    }
    let figure = |(number, ((metric, over), variants)): (usize, ((Metric, Over), Vec<&str>))| {
        let chart = rate::chart(arms, results, metric, over, &variants);
        let stem = format!("rate-{}-{number}", metric.name());
        Figure::new(&stem, vec![metric.name().into()], chart)
            .explained("In brackets the measured power: the slope of a straight line here.")
    };
    groups.into_iter().enumerate().map(figure).collect()
}

/// A section of a results page: the claim, its verdict, the numbers, the figures, and the command that gives them again.
#[must_use]
pub fn markdown(
    name: &str,
    study: &Study,
    findings: &[Finding],
    page: &Report,
    command: &str,
) -> String {
    let mut text = format!(
        "## {}\n\n**{}.** {} ({}.)\n\n",
        study.title,
        capital(&Verdict::of(findings).to_string()),
        study.claim,
        study.place
    );
    text += "| asked | found | verdict |\n|---|---|---|\n";
    for finding in findings {
        let cell = |text: &str| text.replace('|', "\\|");
        let Finding { question, answer, verdict } = finding;
        text += &format!("| {} | {} | {verdict} |\n", cell(question), cell(answer));
    }
    text.push('\n');
    for note in page.notes.iter().skip(1) {
        text += &format!("- {note}\n");
    }
    text += &format!("\n```sh\n{command}\n```\n\n");
    for figure in &page.figures {
        let title =
            if figure.chart.title.is_empty() { &figure.chart.y_title } else { &figure.chart.title };
        text += &format!("![{title}]({name}/figures/{}.svg)\n", figure.stem);
    }
    text.push('\n');
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
