//! Which arm is better, and which lead is larger: judged by the confidence interval of differences, seed by seed.

use super::measure::Measure;
use super::verdict::seeds;
use super::{Finding, Verdict};
use crate::campaign::Results;
use crate::numerics::{number, spread};
use crate::record::{Record, Scale};

/// Whether `who` is better than `than`.
pub(super) fn better(
    results: &Results,
    value: &Measure,
    who: &str,
    than: &str,
    least: Option<f64>,
) -> Finding {
    let question = format!("{who} is better than {than} in {}", value.title());
    let what = format!("{who} against {than}, {}", value.title());
    decided([question, what], value, &gaps(results, value, who, than), least)
}

/// Whether the first arm of a pair leads the second by more than in another pair.
pub(super) fn more(
    results: &Results,
    value: &Measure,
    [a, b]: &[String; 2],
    [c, d]: &[String; 2],
    least: Option<f64>,
) -> Finding {
    let (first, second) = (gaps(results, value, a, b), gaps(results, value, c, d));
    let pairs = first.iter().zip(&second);
    let gaps: Vec<Option<f64>> = pairs.map(|(a, b)| Some((*a)? - (*b)?)).collect();
    let question = format!("in {}, {a} leads {b} by more than {c} leads {d}", value.title());
    let what = format!("{a} against {b}, beyond {c} against {d}, {}", value.title());
    decided([question, what], value, &gaps, least)
}

/// The finding on differences that should be positive, by their confidence interval; `what` they are differences of.
fn decided(
    [question, what]: [String; 2],
    value: &Measure,
    gaps: &[Option<f64>],
    least: Option<f64>,
) -> Finding {
    let lost = gaps.iter().filter(|gap| gap.is_none()).count();
    let Some(all) = spread(gaps.iter().flatten()) else { return Finding::nothing(question) };
    let [low, high] = all.band.unwrap_or([all.mean; 2]);
    let seeds = seeds(all.runs, lost);
    let (least, effect) = match value.scale() {
        Scale::Linear => (least.unwrap_or(0.0), [all.mean, low, high].map(signed)),
        Scale::Logarithmic => {
            let factors = [all.mean, low, high].map(|gap| number(libm::exp(gap)));
            (least.map_or(0.0, libm::log), factors)
        }
    };
    let [mean, low, high] = effect;
    let brief = match value.scale() {
        Scale::Linear => mean,
        Scale::Logarithmic => format!("a factor of {mean}"),
    };
    let effect = format!("{brief} ({low} to {high}, {seeds})");
    Finding::new(question, effect, format!("{what}: {brief}"), Verdict::on(&all, least, lost))
}

/// A difference with its sign.
fn signed(a: f64) -> String {
    if a > 0.0 { format!("+{}", number(a)) } else { number(a) }
}

/// The lead of `who` over `than` on every seed; none where either diverged.
fn gaps(results: &Results, value: &Measure, who: &str, than: &str) -> Vec<Option<f64>> {
    let of = |arm: &str| results.get(arm).map_or(&[][..], Vec::as_slice);
    let compared = |record: &Option<Record>| value.compared(record.as_ref()?);
    let pairs = of(who).iter().zip(of(than));
    pairs.map(|(who, than)| Some(value.sign() * (compared(who)? - compared(than)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{loss, record, results};
    use super::*;
    use crate::record::Over;

    #[test]
    fn better_is_decided_by_the_interval_of_the_differences() {
        let ends =
            |losses: [f64; 3]| losses.map(|loss| record(&[(1.0, 0.0), (loss, 1.0)])).to_vec();
        let results = results(&[
            ("good", ends([0.10, 0.20, 0.30])),
            ("bad", ends([0.43, 0.57, 0.69])),
            ("noise", ends([0.30, 0.10, 0.30])),
        ]);
        let verdict = |who, than, over| better(&results, &loss(over), who, than, None).verdict;
        assert_eq!(verdict("good", "bad", Over::Last), Verdict::Holds);
        assert_eq!(verdict("good", "bad", Over::Course), Verdict::Holds);
        assert_eq!(verdict("good", "bad", Over::Tail), Verdict::Holds);
        assert_eq!(verdict("bad", "good", Over::Last), Verdict::DoesNotHold);
        assert_eq!(verdict("good", "noise", Over::Last), Verdict::Undecided);
        let last = loss(Over::Last);
        let finding = better(&results, &last, "good", "good", None);
        assert_eq!(finding.effect, "a factor of 1 (1 to 1, 3 seeds)");
        assert_eq!(finding.verdict, Verdict::Undecided);
        let least = |factor| better(&results, &last, "good", "bad", Some(factor)).verdict;
        assert_eq!([least(2.0), least(50.0)], [Verdict::Holds, Verdict::DoesNotHold]);
        let lead = |gap: [&str; 2], than: [&str; 2]| {
            let (gap, than) = (gap.map(str::to_owned), than.map(str::to_owned));
            more(&results, &last, &gap, &than, None).verdict
        };
        assert_eq!(lead(["good", "bad"], ["bad", "good"]), Verdict::Holds);
        assert_eq!(lead(["good", "good"], ["bad", "bad"]), Verdict::Undecided);
    }

    #[test]
    fn costs_of_reaching_a_value_are_compared_by_factors() {
        let at = |costs: [f64; 3]| costs.map(|cost| record(&[(1.0, 0.0), (0.1, cost)])).to_vec();
        let results = results(&[
            ("cheap", at([2.0, 3.0, 2.0])),
            ("dear", at([20.0, 31.0, 19.0])),
            ("never", vec![record(&[(1.0, 5.0)]); 3]),
        ]);
        let along = Some(crate::metrics::Metric::HessianVectors);
        let value = Measure { reach: Some(0.1), along, ..loss(Over::Last) };
        let finding = better(&results, &value, "cheap", "dear", None);
        assert_eq!(finding.verdict, Verdict::Holds, "{finding:?}");
        assert!(finding.question.contains("Hessian-vector products to reach outer loss 0.1"));
        assert!(finding.effect.starts_with("a factor of 9."), "{}", finding.effect);
        let never = better(&results, &value, "never", "dear", None);
        assert_eq!(never.verdict, Verdict::Undecided, "{}", never.effect);
    }

    #[test]
    fn an_arm_that_diverged_on_a_seed_is_not_better() {
        let end = |loss: f64| record(&[(loss, 1.0)]);
        let results = results(&[
            ("good", vec![end(0.10), end(0.11), end(0.12), None]),
            ("bad", vec![end(0.43), end(0.47), end(0.44), end(0.45)]),
        ]);
        let judged = |who, than| better(&results, &loss(Over::Last), who, than, None);
        let finding = judged("good", "bad");
        assert_eq!(finding.verdict, Verdict::Undecided, "{}", finding.effect);
        assert!(finding.effect.ends_with("3 seeds, 1 left out)"), "{}", finding.effect);
        // Nor does it count against the other.
        assert_eq!(judged("bad", "good").verdict, Verdict::Undecided);
    }
}
