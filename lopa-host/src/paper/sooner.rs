//! Which arm reaches a value at a lower cost.

use std::fmt;

use super::{Finding, Verdict};
use crate::campaign::Results;
use crate::metrics::Metric;
use crate::numerics::{number, spread};
use crate::record::Record;

/// The cost of reaching a value on one seed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    /// The cost when it was reached; if it never was, all that was spent, a lower bound.
    spent: f64,
    reached: bool,
}

/// An arm and its cost on every seed; none where the run diverged.
struct Bill<'a> {
    arm: &'a str,
    costs: Vec<Option<Cost>>,
}

impl Bill<'_> {
    fn mean(&self) -> Option<f64> {
        Some(spread(self.costs.iter().flatten().map(|cost| cost.spent))?.mean)
    }

    fn always_paid(&self) -> bool {
        self.costs.iter().all(|cost| cost.is_some_and(|cost| cost.reached))
    }

    /// Whether it is cheaper by the confidence interval of the differences, seed by seed.
    fn is_below(&self, other: &Self) -> bool {
        let pairs = self.costs.iter().zip(&other.costs);
        let gaps = pairs.filter_map(|(own, other)| Some((*other)?.spent - (*own)?.spent));
        // An arm that always diverged is later than any other.
        let ahead = spread(gaps).is_none_or(|all| all.band.map_or(all.mean, |[low, _]| low) > 0.0);
        self.always_paid() && ahead
    }
}

impl fmt::Display for Bill<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(mean) = self.mean() else { return write!(f, "divergence ({})", self.arm) };
        let more = if self.always_paid() { "" } else { "more than " };
        write!(f, "{more}{} ({})", number(mean), self.arm)
    }
}

fn cost(record: &Record, metric: Metric, target: f64, along: Metric) -> Option<Cost> {
    let (values, spent) = (record.values(metric.name())?, record.values(along.name())?);
    let sign = metric.sign();
    let there = |value: &Option<f64>| value.is_some_and(|a| sign * a >= sign * target);
    let row = values.iter().position(there);
    let spent = row.map_or(spent.last(), |row| spent.get(row)).copied().flatten()?;
    Some(Cost { spent, reached: row.is_some() })
}

/// The value that all records reach: the worst of their best values.
fn common<'a>(records: impl Iterator<Item = &'a Record>, metric: Metric) -> Option<f64> {
    let sign = metric.sign();
    let best = |record: &Record| {
        let values = record.values(metric.name())?.into_iter().flatten();
        values.map(|value| sign * value).reduce(f64::max)
    };
    Some(sign * records.filter_map(best).reduce(f64::min)?)
}

/// Whether every arm in `who` reaches `target` at a lower cost than every arm in `than`; without a target, each pair is
/// compared at the best value that both reach on every seed.
pub(super) fn judge(
    results: &Results,
    metric: Metric,
    target: Option<f64>,
    along: Metric,
    who: &[String],
    than: &[String],
) -> Finding {
    let (what, cost_of) = (metric.column().title, along.column().title);
    let of = |arm: &String| results.get(arm).map_or(&[][..], Vec::as_slice);
    let (ours, theirs) = (who.join(" and "), than.join(" and "));
    let to = match target {
        Some(target) => format!("{what} {}", number(target)),
        None => format!("the {what} that both reach"),
    };
    let need = if who.len() == 1 { "needs" } else { "need" };
    let question = format!("{ours} {need} fewer {cost_of} than {theirs} to reach {to}");
    let (mut right, mut answers) = (0, Vec::new());
    for (our, their) in who.iter().flat_map(|our| than.iter().map(move |their| (our, their))) {
        let both = of(our).iter().chain(of(their)).flatten();
        let Some(value) = target.or_else(|| common(both, metric)) else { continue };
        let [own, other] = [our, their].map(|arm| {
            let costs = of(arm).iter().map(|r| cost(r.as_ref()?, metric, value, along));
            Bill { arm, costs: costs.collect() }
        });
        let [ahead, behind] = [own.is_below(&other), other.is_below(&own)];
        right += usize::from(ahead);
        let mut text = format!("to {}: {own} against {other}", number(value));
        if let (Some(own), Some(other)) = (own.mean(), other.mean()) {
            text += &format!(", ratio {:.2}", other / own);
        }
        if !ahead && !behind {
            text += " (undecided)";
        }
        answers.push(text);
    }
    if answers.is_empty() {
        return Finding::nothing(question);
    }
    let verdict = Verdict::decided(right == who.len() * than.len(), right == 0, 0);
    Finding { question, answer: answers.join("; "), verdict }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, results};
    use super::*;

    fn sooner(results: &Results, target: Option<f64>, who: &[&str], than: &[&str]) -> Finding {
        let [who, than] =
            [who, than].map(|names| names.iter().map(|&a| a.to_owned()).collect::<Vec<_>>());
        judge(results, Metric::OuterLoss, target, Metric::HessianVectors, &who, &than)
    }

    #[test]
    fn arms_are_compared_by_the_cost_of_first_reaching_the_target() {
        let fast = record(&[(1.0, 0.0), (0.5, 1.0), (0.2, 2.0)]);
        let slow = record(&[(1.0, 0.0), (0.5, 10.0), (0.1, 20.0)]);
        let results = results(&[("a", vec![fast.clone(); 3]), ("b", vec![slow; 3])]);
        let finding = sooner(&results, Some(0.5), &["a"], &["b"]);
        assert_eq!(finding.verdict, Verdict::Holds);
        assert!(finding.question.starts_with("a needs fewer"), "{}", finding.question);
        assert_eq!(finding.answer, "to 0.5000: 1 (a) against 10 (b), ratio 10.00");
        // Without a target, the best value that both reach: 0.2, not 0.1.
        let finding = sooner(&results, None, &["a"], &["b"]);
        assert_eq!(finding.answer, "to 0.2000: 2 (a) against 20 (b), ratio 10.00");
        // An arm that never reaches the target is not sooner, whatever it cost.
        let finding = sooner(&results, Some(0.15), &["a"], &["b"]);
        assert_eq!(finding.verdict, Verdict::DoesNotHold);
        assert!(finding.answer.contains(": more than 2 (a) "), "{}", finding.answer);
        let backwards = sooner(&results, Some(0.5), &["b"], &["a"]);
        assert_eq!(backwards.verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn the_target_is_reached_on_every_seed() {
        let ends = |losses: [f64; 2]| losses.map(|loss| record(&[(1.0, 0.0), (loss, 7.0)])).into();
        let results = results(&[("a", ends([0.1, 0.3])), ("b", ends([0.2, 0.2]))]);
        let finding = sooner(&results, None, &["a"], &["b"]);
        assert_eq!(finding.answer, "to 0.3000: 7 (a) against 7 (b), ratio 1.00 (undecided)");
    }

    #[test]
    fn a_claim_about_several_arms_may_hold_partly() {
        let at = |cost: f64| vec![record(&[(1.0, 0.0), (0.1, cost)]); 2];
        let results = results(&[("a", at(1.0)), ("b", at(5.0)), ("c", at(3.0)), ("d", vec![None])]);
        let finding = sooner(&results, Some(0.1), &["a", "b"], &["c"]);
        assert_eq!(finding.verdict, Verdict::Partly);
        assert!(finding.question.starts_with("a and b need fewer"), "{}", finding.question);
        assert!(!finding.answer.contains("undecided"), "{}", finding.answer);
        let finding = sooner(&results, Some(0.1), &["a"], &["d"]);
        assert_eq!(
            (finding.verdict, finding.answer.as_str()),
            (Verdict::Holds, "to 0.1000: 1 (a) against divergence (d)")
        );
        let finding = sooner(&results, Some(0.1), &["d"], &["a"]);
        assert_eq!(finding.verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn a_lead_within_the_noise_does_not_count() {
        let at = |costs: [f64; 3]| costs.map(|cost| record(&[(1.0, 0.0), (0.1, cost)])).to_vec();
        let results = results(&[("a", at([1.0, 5.0, 3.0])), ("b", at([4.0, 3.0, 4.0]))]);
        let finding = sooner(&results, Some(0.1), &["a"], &["b"]);
        assert_eq!(finding.verdict, Verdict::DoesNotHold, "{}", finding.answer);
    }
}
