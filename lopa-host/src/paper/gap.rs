//! Which arm is better, and which lead is larger: judged by the confidence interval of differences, seed by seed.

use super::check::seeds;
use super::{Finding, Verdict};
use crate::campaign::Results;
use crate::metrics::Metric;
use crate::numerics::{number, spread};
use crate::record::{Over, Record, Scale};

/// Whether `who` is better than `than`.
pub(super) fn better(
    results: &Results,
    metric: Metric,
    over: Over,
    who: &str,
    than: &str,
) -> Finding {
    let what = metric.column().title;
    let question = format!("{who} has a better {what} than {than}, {over}");
    decided(question, metric, &gaps(results, metric, over, who, than))
}

/// Whether the first arm of a pair leads the second by more than in another pair.
pub(super) fn more(
    results: &Results,
    metric: Metric,
    over: Over,
    [a, b]: &[String; 2],
    [c, d]: &[String; 2],
) -> Finding {
    let (first, second) = (gaps(results, metric, over, a, b), gaps(results, metric, over, c, d));
    let pairs = first.iter().zip(&second);
    let gaps: Vec<Option<f64>> = pairs.map(|(a, b)| Some((*a)? - (*b)?)).collect();
    let what = metric.column().title;
    let question = format!("in {what}, {over}, {a} leads {b} by more than {c} leads {d}");
    decided(question, metric, &gaps)
}

/// The finding on differences that should be positive, by their confidence interval.
fn decided(question: String, metric: Metric, gaps: &[Option<f64>]) -> Finding {
    let lost = gaps.iter().filter(|gap| gap.is_none()).count();
    let Some(all) = spread(gaps.iter().flatten()) else { return Finding::nothing(question) };
    let [low, high] = all.band.unwrap_or([all.mean; 2]);
    let verdict = Verdict::decided(low > 0.0, high < 0.0, lost);
    let seeds = seeds(all.runs, lost);
    let answer = match metric.column().scale {
        Scale::Linear => {
            let [mean, low, high] = [all.mean, low, high].map(number);
            format!("by {mean} ({low} to {high}, {seeds})")
        }
        Scale::Logarithmic => {
            let [mean, low, high] = [all.mean, low, high].map(|gap| number(libm::exp(gap)));
            format!("by a factor of {mean} ({low} to {high}, {seeds})")
        }
    };
    Finding { question, answer, verdict }
}

/// The lead of `who` over `than` on every seed; none where either diverged. Errors and losses shrink by factors, so their
/// logarithms are compared.
fn gaps(results: &Results, metric: Metric, over: Over, who: &str, than: &str) -> Vec<Option<f64>> {
    let of = |arm: &str| results.get(arm).map_or(&[][..], Vec::as_slice);
    let value = |record: &Option<Record>| {
        let value = record.as_ref()?.value(metric.name(), over)?;
        match metric.column().scale {
            Scale::Linear => Some(value),
            Scale::Logarithmic => (value > 0.0).then(|| libm::log(value)),
        }
    };
    let pairs = of(who).iter().zip(of(than));
    pairs.map(|(who, than)| Some(metric.sign() * (value(who)? - value(than)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, results};
    use super::*;

    #[test]
    fn better_is_decided_by_the_interval_of_the_differences() {
        let ends =
            |losses: [f64; 3]| losses.map(|loss| record(&[(1.0, 0.0), (loss, 1.0)])).to_vec();
        let results = results(&[
            ("good", ends([0.10, 0.20, 0.30])),
            ("bad", ends([0.43, 0.57, 0.69])),
            ("noise", ends([0.30, 0.10, 0.30])),
        ]);
        let loss = Metric::OuterLoss;
        let verdict = |who, than, over| better(&results, loss, over, who, than).verdict;
        assert_eq!(verdict("good", "bad", Over::Last), Verdict::Holds);
        assert_eq!(verdict("good", "bad", Over::Course), Verdict::Holds);
        assert_eq!(verdict("good", "bad", Over::Tail), Verdict::Holds);
        assert_eq!(verdict("bad", "good", Over::Last), Verdict::DoesNotHold);
        assert_eq!(verdict("good", "noise", Over::Last), Verdict::Partly);
        let finding = better(&results, loss, Over::Last, "good", "good");
        assert_eq!(finding.answer, "by a factor of 1 (1 to 1, 3 seeds)");
        let lead = |gap: [&str; 2], than: [&str; 2]| {
            let (gap, than) = (gap.map(str::to_owned), than.map(str::to_owned));
            more(&results, loss, Over::Last, &gap, &than).verdict
        };
        assert_eq!(lead(["good", "bad"], ["bad", "good"]), Verdict::Holds);
        assert_eq!(lead(["good", "good"], ["bad", "bad"]), Verdict::Partly);
    }

    #[test]
    fn an_arm_that_diverged_on_a_seed_is_not_better() {
        let end = |loss: f64| record(&[(loss, 1.0)]);
        let results = results(&[
            ("good", vec![end(0.10), end(0.11), None]),
            ("bad", vec![end(0.43), end(0.47), end(0.44)]),
        ]);
        let judged = |who, than| better(&results, Metric::OuterLoss, Over::Last, who, than);
        let finding = judged("good", "bad");
        assert_eq!(finding.verdict, Verdict::Partly, "{}", finding.answer);
        assert!(finding.answer.ends_with("2 seeds, 1 left out)"), "{}", finding.answer);
        assert_eq!(judged("bad", "good").verdict, Verdict::DoesNotHold);
    }
}
