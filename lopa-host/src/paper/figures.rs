//! The figures of a study: curves over the run, leads seed by seed, and powers with the slopes that are proven.

use super::measure::Measure;
use super::{Check, Study, once_each, rate};
use crate::campaign::{Arm, Results, of_case};
use crate::metrics::Metric;
use crate::plot::{Chart, Line, capital};
use crate::record::{Column, Record, Scale};
use crate::report::{Drawing, Figure, averaged, captioned};

/// All figures of a study.
pub(super) fn all(study: &Study, arms: &[Arm], results: &Results) -> Vec<Figure> {
    [curves(study, arms, results), leads(study, results), rates(study, arms, results)].concat()
}

/// Means over seeds with bands: a chart for every case with a line for every variant or, if cases are to be compared, the
/// other way round.
fn curves(study: &Study, arms: &[Arm], results: &Results) -> Vec<Figure> {
    let [panel, line]: [fn(&Arm) -> &str; 2] = match study.overlay {
        false => [|arm| &arm.case, |arm| &arm.variant],
        true => [|arm| &arm.variant, |arm| &arm.case],
    };
    let panels = once_each(arms.iter().map(panel));
    let mut all = Vec::new();
    for (number, name) in panels.iter().enumerate() {
        let own = arms.iter().filter(|arm| panel(arm) == *name);
        let records = |arm: &Arm| results.get(&arm.name).into_iter().flatten().flatten();
        let groups: Vec<(&str, Vec<&Record>)> =
            own.map(|arm| (line(arm), records(arm).collect())).collect();
        let wanted = |figure: &Figure| {
            figure.columns.iter().any(|column| study.figures.iter().any(|m| m.name() == *column))
        };
        for against in &study.against {
            let drawn = captioned(averaged(&groups, against)).into_iter().filter(wanted);
            all.extend(drawn.map(|mut figure| {
                figure.stem = format!("{}-{against}", figure.stem);
                of_case(missed(figure), name, number)
            }));
        }
    }
    all
}

/// An accuracy near one as what it lacks, on a logarithmic axis: otherwise all lines would lie on top of each other.
fn missed(mut figure: Figure) -> Figure {
    let accuracy =
        figure.columns.iter().all(|column| Metric::named(column).is_some_and(is_accuracy));
    let Drawing::Chart(chart) = &mut figure.drawing else { return figure };
    if accuracy {
        chart.y_title = format!("1 \u{2212} {}", chart.y_title);
        chart.y_scale = Scale::Logarithmic;
        for line in &mut chart.lines {
            line.points.iter_mut().for_each(|point| point[1] = 1.0 - point[1]);
            let bands = line.band.iter_mut().flatten();
            bands.for_each(|band| *band = [1.0 - band[1], 1.0 - band[0]]);
        }
    }
    figure
}

fn is_accuracy(metric: Metric) -> bool {
    metric.name().contains("accuracy")
}

/// Two arms that a rule compares.
type Pair<'s> = [&'s str; 2];

/// How far one arm is ahead of another, for all pairs that are compared in a metric: differences or factors seed by seed, so
/// that what the seeds have in common is not in the band.
fn leads(study: &Study, results: &Results) -> Vec<Figure> {
    let mut compared: Vec<(Metric, Pair<'_>)> = Vec::new();
    for check in &study.check {
        let (value, pairs): (&Measure, Vec<Pair<'_>>) = match check {
            Check::Better { value, who, than, .. } => (value, vec![[who, than]]),
            Check::More { value, gap: [a, b], than: [c, d], .. } => (value, vec![[a, b], [c, d]]),
            Check::Sooner { .. } | Check::Rate { .. } => continue,
        };
        // A cost of reaching a value is one number, not a course.
        if value.reach.is_none() {
            compared.extend(pairs.into_iter().map(|pair| (value.metric, pair)));
        }
    }
    let compared = once_each(compared);
    let metrics = once_each(compared.iter().map(|(metric, _)| *metric));
    let of = |metric: Metric| {
        let own = compared.iter().filter(|(known, _)| *known == metric).map(|(_, pair)| *pair);
        lead(metric, &own.collect::<Vec<_>>(), results)
    };
    metrics.into_iter().filter_map(of).collect()
}

fn lead(metric: Metric, pairs: &[Pair<'_>], results: &Results) -> Option<Figure> {
    let records = |[who, than]: &Pair<'_>| -> Vec<Record> {
        let of = |arm: &str| results.get(arm).map_or(&[][..], Vec::as_slice);
        let seeds = of(who).iter().zip(of(than));
        seeds.filter_map(|(who, than)| ahead(metric, who.as_ref()?, than.as_ref()?)).collect()
    };
    let groups: Vec<(String, Vec<Record>)> = pairs
        .iter()
        .map(|pair| (format!("{} against {}", pair[0], pair[1]), records(pair)))
        .collect();
    let groups: Vec<(&str, Vec<&Record>)> =
        groups.iter().map(|(name, records)| (name.as_str(), records.iter().collect())).collect();
    let mut figure = averaged(&groups, "iteration").into_iter().next()?;
    if let Drawing::Chart(chart) = &mut figure.drawing {
        let level = if by_factors(metric) { 1.0 } else { 0.0 };
        even(chart, level);
    }
    Some(figure.explained("Above the thin line the first arm is ahead; compared seed by seed."))
}

fn by_factors(metric: Metric) -> bool {
    metric.column().scale == Scale::Logarithmic
}

/// How far one run is ahead of another, where both were measured.
fn ahead(metric: Metric, who: &Record, than: &Record) -> Option<Record> {
    let title = metric.column().title;
    let title = if by_factors(metric) {
        format!("lead in {title} (factor)")
    } else {
        format!("lead in {title}")
    };
    let round = who.columns().first()?.clone();
    let lead = Column { name: format!("lead-{}", metric.name()), title, scale: Scale::Linear };
    let mut record = Record::new(vec![round, lead]);
    let course = |of: &Record| {
        Some(of.values("iteration")?.into_iter().zip(of.values(metric.name())?).collect::<Vec<_>>())
    };
    let others = course(than)?;
    for (round, own) in course(who)? {
        let other = others.iter().find(|(other, _)| *other == round).and_then(|(_, value)| *value);
        let (Some(own), Some(other)) = (own, other) else { continue };
        let factor = if metric.sign() > 0.0 { own / other } else { other / own };
        let lead = if by_factors(metric) { factor } else { metric.sign() * (own - other) };
        record.push(vec![round, Some(lead)]);
    }
    Some(record)
}

/// Adds the thin line at which nobody is ahead.
fn even(chart: &mut Chart, level: f64) {
    let across = || chart.lines.iter().flat_map(|line| &line.points).map(|point| point[0]);
    let (Some(first), Some(last)) = (across().reduce(f64::min), across().reduce(f64::max)) else {
        return;
    };
    chart.lines.push(Line::guide("even", vec![[first, level], [last, level]]));
}

/// A value, and the variants that are judged by it with the powers that rules expect.
type Expected<'s> = (Measure, Vec<(&'s str, f64)>);

/// What rates are judged by: one chart per value, with all variants, their measured powers in brackets, and the slopes that
/// rules expect.
fn rates(study: &Study, arms: &[Arm], results: &Results) -> Vec<Figure> {
    let mut groups: Vec<Expected<'_>> = Vec::new();
    for check in study.rules() {
        let Check::Rate { value, who, power, .. } = check else { continue };
        match groups.iter_mut().find(|(key, _)| key == value) {
            Some((_, variants)) if variants.iter().any(|(known, _)| known == who) => {}
            Some((_, variants)) => variants.push((who, *power)),
            None => groups.push((*value, vec![(who, *power)])),
        }
    }
    let figure = |(number, (value, variants)): (usize, Expected<'_>)| {
        let chart = rate::chart(arms, results, &value, &variants);
        let name = value.metric.name();
        let title = capital(&value.title());
        let stem = format!("rate-{name}-{number}");
        Figure::new(&stem, vec![name.into()], Drawing::Chart(chart)).explained(&format!(
            "{title}. The measured power, in brackets, is the slope of a straight line through the points; thin lines have the \
             slopes that the rules expect."
        ))
    };
    groups.into_iter().enumerate().map(figure).collect()
}
