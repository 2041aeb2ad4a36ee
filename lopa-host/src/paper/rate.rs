//! The power of a quantity (rounds, nodes, the spectral gap) with which a metric scales.

use super::measure::Measure;
use super::verdict::seeds;
use super::{Finding, Sense, Verdict};
use crate::campaign::{Arm, Results};
use crate::numerics::{Spread, spread};
use crate::plot::{Chart, Line};
use crate::record::{Record, Scale};

/// Constants and terms of other orders change a measured power by about this much.
pub(super) const fn slack() -> f64 {
    0.1
}

/// What the paper proves about a power.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proven {
    pub(super) power: f64,
    pub(super) sense: Sense,
    pub(super) slack: f64,
}

/// The quantity of every case and the value there, one per seed.
type Points = Vec<(f64, Vec<Option<f64>>)>;

fn points(arms: &[Arm], results: &Results, value: &Measure, who: &str) -> Points {
    let value = |record: &Option<Record>| value.of(record.as_ref()?);
    let own = arms.iter().filter(|arm| arm.variant == who);
    own.filter_map(|arm| {
        let records = results.get(&arm.name)?;
        Some((arm.at?, records.iter().map(value).collect()))
    })
    .collect()
}

/// The slope of a straight line through points, by least squares.
fn slope(points: &[[f64; 2]]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: usize| points.iter().map(|point| point[of]).sum::<f64>() / count;
    let [x, y] = [mean(0), mean(1)];
    let along: f64 = points.iter().map(|point| (point[0] - x) * (point[0] - x)).sum();
    let both: f64 = points.iter().map(|point| (point[0] - x) * (point[1] - y)).sum();
    (points.len() > 1 && along > 0.0).then(|| both / along)
}

/// The measured power of every seed; none if a case diverged or reached zero.
fn powers(points: &Points) -> Vec<Option<f64>> {
    let seeds = points.iter().map(|(_, values)| values.len()).min().unwrap_or(0);
    let of = |seed: usize| -> Option<f64> {
        let logs = points.iter().map(|(at, values)| {
            let value = values[seed].filter(|value| *value > 0.0)?;
            Some([libm::log(*at), libm::log(value)])
        });
        slope(&logs.collect::<Option<Vec<_>>>()?)
    };
    (0..seeds).map(of).collect()
}

/// Whether the measured power respects the proven one.
pub(super) fn judge(
    arms: &[Arm],
    results: &Results,
    value: &Measure,
    who: &str,
    Proven { power, sense, slack }: Proven,
) -> Finding {
    let quantity = quantity(arms);
    let limit = match sense {
        Sense::AtMost => " or less",
        Sense::AtLeast => " or more",
        Sense::About => "",
    };
    let title = value.title();
    let question = format!("{who}: {title}, scales as {quantity} to the power {power}{limit}");
    let powers = powers(&points(arms, results, value, who));
    let Some(all) = spread(powers.iter().flatten()) else { return Finding::nothing(question) };
    let [low, high] = all.band.unwrap_or([all.mean; 2]);
    // How far the power is within the bound: negative beyond it.
    let within = |power_of: f64| match sense {
        Sense::AtMost => power + slack - power_of,
        Sense::AtLeast => power_of - (power - slack),
        Sense::About => slack - (power_of - power).abs(),
    };
    let mut ends = [within(low), within(high)];
    ends.sort_by(f64::total_cmp);
    if sense == Sense::About && (low..=high).contains(&power) {
        ends[1] = slack;
    }
    let room = Spread { mean: within(all.mean), band: all.band.and(Some(ends)), runs: all.runs };
    let left_out = powers.len() - all.runs;
    let seeds = seeds(all.runs, left_out);
    let brief = minus(&format!("{quantity}^{:.2}", all.mean));
    let effect = minus(&format!("{brief} ({low:.2} to {high:.2}, {seeds})"));
    let brief = format!("{who}, {title}: {brief}");
    Finding::new(question, effect, brief, Verdict::on(&room, 0.0, left_out))
}

fn quantity(arms: &[Arm]) -> &str {
    arms.first().map_or("", |arm| &arm.quantity)
}

/// The metric of every variant against the quantity, both on logarithmic axes: a power is a slope. Beside each variant is its
/// proven power, which has a thin line through the middle of that variant's points.
pub(super) fn chart(
    arms: &[Arm],
    results: &Results,
    value: &Measure,
    variants: &[(&str, f64)],
) -> Chart {
    let mut chart = Chart::new(quantity(arms), value.axis());
    [chart.x_scale, chart.y_scale] = [Scale::Logarithmic; 2];
    let mut guides: Vec<(f64, Line)> = Vec::new();
    for (who, proven) in variants {
        let points = points(arms, results, value, who);
        let power =
            spread(powers(&points).iter().flatten()).map(|all| format!(" ({:.2})", all.mean));
        let spreads =
            points.iter().filter_map(|(at, values)| Some((*at, spread(values.iter().flatten())?)));
        let (mut line, mut band) = (Vec::new(), Vec::new());
        for (at, all) in spreads {
            line.push([at, all.mean]);
            band.push(all.band.unwrap_or([all.mean; 2]));
        }
        if guides.iter().all(|(known, _)| known != proven) {
            guides.extend(guide(&line, *proven).map(|line| (*proven, line)));
        }
        let name = format!("{who}{}", minus(&power.unwrap_or_default()));
        chart.add(Line { band: Some(band), ..Line::new(name, line) });
    }
    chart.lines.extend(guides.into_iter().map(|(_, line)| line));
    chart
}

/// A line with a given power through the middle of some points, as far as it stays near them.
fn guide(points: &[[f64; 2]], power: f64) -> Option<Line> {
    let logs = points.iter().filter(|point| point.iter().all(|a| *a > 0.0));
    let logs: Vec<[f64; 2]> = logs.map(|point| point.map(libm::log)).collect();
    let ends = |of: usize| {
        let all = || logs.iter().map(|point| point[of]);
        Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
    };
    let ((left, right), (low, high)) = (ends(0)?, ends(1)?);
    let [x, y] = [f64::midpoint(left, right), f64::midpoint(low, high)];
    // On a logarithmic axis half of what the points span, or a factor of three, is near.
    let most = ((high - low) / 2.0).max(libm::log(3.0));
    let reach = ((right - left) / 2.0).min(most / power.abs().max(1.0e-9));
    let at = |x_of: f64| [x_of, y + power * (x_of - x)].map(libm::exp);
    let name = minus(&format!("power {power}"));
    (right > left).then(|| Line::guide(name, vec![at(x - reach), at(x + reach)]))
}

/// With the sign of print.
fn minus(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arm, loss, record};
    use super::*;
    use crate::record::Over;

    /// Arms in three cases, with losses that are a power of the quantity, slightly perturbed on each seed.
    fn measured(power: f64) -> (Vec<Arm>, Results) {
        let (mut arms, mut results) = (Vec::new(), Results::new());
        for (case, at) in [("few", 10.0), ("some", 100.0), ("many", 1_000.0)] {
            let arm = arm("a", case, Some(at));
            let loss = libm::pow(at, power);
            let seeds = [0.99, 1.0, 1.02].map(|part| record(&[(loss * part, 1.0)]));
            results.insert(arm.name.clone(), seeds.to_vec());
            arms.push(arm);
        }
        (arms, results)
    }

    #[test]
    fn a_power_is_measured_and_judged() {
        let (arms, results) = measured(-0.5);
        let sense = |sense, power, slack| {
            let proven = Proven { power, sense, slack };
            judge(&arms, &results, &loss(Over::Last), "a", proven)
        };
        let judge = |power, slack| sense(Sense::AtMost, power, slack);
        let finding = judge(-0.5, 0.01);
        assert_eq!(finding.verdict, Verdict::Holds);
        assert_eq!(finding.effect, "K^\u{2212}0.50 (\u{2212}0.50 to \u{2212}0.50, 3 seeds)");
        assert!(finding.question.contains("scales as K to the power"), "{}", finding.question);
        assert_eq!(judge(-1.0, 0.1).verdict, Verdict::DoesNotHold);
        assert_eq!(judge(0.0, 0.0).verdict, Verdict::Holds, "faster than proven is fine");
        assert_eq!(sense(Sense::AtLeast, -1.0, 0.0).verdict, Verdict::Holds);
        assert_eq!(sense(Sense::AtLeast, 0.0, 0.1).verdict, Verdict::DoesNotHold);
        let about = |power, slack| sense(Sense::About, power, slack).verdict;
        assert_eq!([about(-0.5, 0.1), about(-0.45, 0.1)], [Verdict::Holds; 2]);
        assert_eq!([about(-0.3, 0.1), about(-0.7, 0.1)], [Verdict::DoesNotHold; 2]);
    }

    #[test]
    fn a_chart_has_the_proven_slope_through_the_middle_of_the_points() {
        let (arms, results) = measured(-0.5);
        let last = loss(Over::Last);
        let chart = chart(&arms, &results, &last, &[("a", -0.5), ("a", -2.0)]);
        let guides: Vec<&Line> = chart.lines.iter().filter(|line| line.is_guide).collect();
        assert_eq!(guides.len(), 2);
        assert_eq!(
            (&guides[0].name[..], &guides[1].name[..]),
            ("power \u{2212}0.5", "power \u{2212}2")
        );
        // The right power meets all points; a steep one ends where it leaves them.
        let end = guides[0].points[1];
        assert!(
            (end[0] - 1_000.0).abs() < 1.0e-6
                && (end[1] / libm::pow(1_000.0, -0.5) - 1.0).abs() < 0.02
        );
        assert!(guides[1].points[1][0] < 500.0 && guides[1].points[1][1] > 0.02);
    }

    #[test]
    fn values_without_a_logarithm_are_left_out() {
        let (mut arms, mut results) = measured(1.0);
        let proven = Proven { power: 1.0, sense: Sense::AtMost, slack: 0.1 };
        results.get_mut("a, few").unwrap()[0] = record(&[(0.0, 1.0)]);
        results.get_mut("a, some").unwrap()[1] = None;
        let last = loss(Over::Last);
        let finding = judge(&arms, &results, &last, "a", proven);
        assert!(finding.effect.contains("1 seed, 2 left out"), "{}", finding.effect);
        assert_eq!(finding.verdict, Verdict::Undecided, "two seeds showed nothing");
        arms.truncate(1);
        let finding = judge(&arms, &results, &last, "a", proven);
        assert_eq!(finding.verdict, Verdict::Undecided, "a point has no slope");
        let chart = chart(&arms, &results, &last, &[("a", 1.0)]);
        assert_eq!((chart.lines.len(), chart.x_title.as_str()), (1, "K"));
    }
}
