//! Which arm reaches fixed values at a lower cost: one finding per pair of arms.

use super::measure::cost;
use super::{Finding, Parts, Verdict};
use crate::campaign::Results;
use crate::metrics::Metric;
use crate::numerics::{Spread, spread};
use crate::record::{Cost, Record};

/// What a pair of arms paid for one target: on every seed ln(other / own), where all that an arm spent stands for its cost if
/// it never reached the target. That is a lower bound, so the ratio is a bound as well.
struct Comparison {
    ratios: Vec<f64>,
    /// The same ratios at their least and at their most: a cost is only known to lie between two records.
    least: Vec<f64>,
    most: Vec<f64>,
    /// On how many seeds each arm reached the target, and diverged: the own and the other.
    reached: [usize; 2],
    diverged: [usize; 2],
    /// Seeds on which neither arrived, or one was there from the start: they have no ratio.
    silent: usize,
    seeds: usize,
}

impl Comparison {
    fn new(
        own: &[Option<Record>],
        other: &[Option<Record>],
        at: impl Fn(&Record) -> Option<Cost>,
    ) -> Self {
        let seeds = own.len().min(other.len());
        let costs = |of: &[Option<Record>]| -> Vec<Option<Cost>> {
            of[..seeds].iter().map(|record| at(record.as_ref()?)).collect()
        };
        let (own, other) = (costs(own), costs(other));
        let reached =
            [&own, &other].map(|costs| costs.iter().flatten().filter(|cost| cost.reached).count());
        let diverged =
            [&own, &other].map(|costs| costs.iter().filter(|cost| cost.is_none()).count());
        let both: Vec<(Cost, Cost)> =
            own.iter().zip(&other).filter_map(|(own, other)| (*own).zip(*other)).collect();
        let (mut ratios, mut least, mut most) = (Vec::new(), Vec::new(), Vec::new());
        for (own, other) in &both {
            if (own.reached || other.reached) && own.spent > 0.0 && other.spent > 0.0 {
                ratios.push(libm::log(other.spent / own.spent));
                least.push(libm::log(other.least / own.spent));
                most.push(libm::log(other.spent / own.least));
            }
        }
        let silent = both.len() - ratios.len();
        Self { ratios, least, most, reached, diverged, silent, seeds }
    }

    fn verdict(&self) -> Verdict {
        let [own, other] = self.reached.map(|reached| reached == self.seeds);
        // An arm that diverges wherever the other arrives has lost without a ratio.
        let [own_lost, other_lost] = self.diverged.map(|diverged| diverged == self.seeds);
        if self.seeds < 3 {
            return Verdict::Undecided;
        } else if own && other_lost {
            return Verdict::Holds;
        } else if other && own_lost {
            return Verdict::DoesNotHold;
        }
        // What an arm spent in vain is a lower bound of its cost, so only the side that always arrived can win; and it must
        // win wherever between two records the costs lie.
        let on = |ratios: &[f64]| {
            let known = ratios.iter().all(|ratio| ratio.is_finite());
            let all = spread(ratios).filter(|_| known);
            all.map_or(Verdict::Undecided, |all| Verdict::on(&all, 0.0, self.silent))
        };
        if own && on(&self.least) == Verdict::Holds {
            Verdict::Holds
        } else if other && on(&self.most) == Verdict::DoesNotHold {
            Verdict::DoesNotHold
        } else {
            Verdict::Undecided
        }
    }

    /// The ratio and its interval; as a bound where one arm did not always arrive.
    fn text(&self) -> [String; 2] {
        let [own, other] = self.reached.map(|reached| reached == self.seeds);
        if self.reached == [0, 0] {
            return ["not reached".into(), String::new()];
        }
        let Some(Spread { mean, band, .. }) = spread(&self.ratios) else {
            let text = if self.silent > 0 { "from the start" } else { "diverged" };
            return [text.into(), String::new()];
        };
        let bound = match (own, other) {
            (true, true) => "",
            (true, false) => "at least ",
            (false, true) => "at most ",
            (false, false) => "about ",
        };
        let [mean, low, high] =
            [mean, band.map_or(mean, |[low, _]| low), band.map_or(mean, |[_, high]| high)]
                .map(|log| format!("{:.2}", libm::exp(log)));
        [format!("{bound}{mean}"), format!(" ({low} to {high})")]
    }
}

/// Whether every arm in `who` reaches each of `targets` at a lower cost than every arm in `than`.
pub(super) fn judge(
    results: &Results,
    metric: Metric,
    targets: &[f64],
    along: Metric,
    who: &[String],
    than: &[String],
) -> Vec<Finding> {
    let (what, cost_of) = (metric.column().title, along.column().title);
    let values: Vec<String> = targets.iter().map(ToString::to_string).collect();
    let values = values.join(", ");
    let of = |arm: &String| results.get(arm).map_or(&[][..], Vec::as_slice);
    let pairs = who.iter().flat_map(|own| than.iter().map(move |other| (own, other)));
    pairs
        .map(|(own, other)| {
            let (mut effects, mut briefs, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
            for target in targets {
                let at = |record: &Record| cost(record, metric, *target, Some(along));
                let compared = Comparison::new(of(own), of(other), at);
                let [ratio, interval] = compared.text();
                effects.push(format!("{ratio}{interval} at {target}"));
                briefs.push(ratio);
                verdicts.push(compared.verdict());
            }
            Finding {
                effect: format!("{other} / {own}: {}", effects.join("; ")),
                brief: format!("{other} / {own}, {what} {values}: {}", briefs.join(", ")),
                question: format!(
                    "{own} needs fewer {cost_of} than {other} to reach {what} {values}"
                ),
                verdict: Verdict::of(verdicts.iter().copied()),
                parts: Parts::of(verdicts),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{record, results};
    use super::*;

    fn sooner(results: &Results, targets: &[f64], who: &[&str], than: &[&str]) -> Vec<Finding> {
        let [who, than] =
            [who, than].map(|names| names.iter().map(|&a| a.to_owned()).collect::<Vec<_>>());
        judge(results, Metric::OuterLoss, targets, Metric::HessianVectors, &who, &than)
    }

    fn one(results: &Results, target: f64, who: &str, than: &str) -> Finding {
        sooner(results, &[target], &[who], &[than]).remove(0)
    }

    #[test]
    fn arms_are_compared_by_the_cost_of_first_reaching_each_target() {
        let fast = record(&[(1.0, 0.0), (0.9, 0.9), (0.5, 1.0), (0.2, 2.0)]);
        let slow = record(&[(1.0, 0.0), (0.9, 9.0), (0.5, 10.0), (0.1, 40.0)]);
        let results = results(&[("a", vec![fast; 3]), ("b", vec![slow; 3])]);
        let all = sooner(&results, &[0.5, 0.2], &["a"], &["b"]);
        assert_eq!(all[0].verdict, Verdict::Holds);
        assert_eq!(
            all[0].effect,
            "b / a: 10.00 (10.00 to 10.00) at 0.5; 20.00 (20.00 to 20.00) at 0.2"
        );
        assert_eq!(
            all[0].question,
            "a needs fewer Hessian-vector products than b to reach outer loss 0.5, 0.2"
        );
        assert_eq!(one(&results, 0.5, "b", "a").verdict, Verdict::DoesNotHold);
        // An arm that never arrives is not sooner; how much later it would be, its two products do not tell.
        let finding = one(&results, 0.15, "a", "b");
        assert_eq!(finding.verdict, Verdict::Undecided);
        assert!(finding.effect.contains("at most 20.00"), "{}", finding.effect);
        assert_eq!(one(&results, 0.15, "b", "a").verdict, Verdict::Undecided);
        let neither = one(&results, 0.01, "a", "b");
        assert_eq!(
            (neither.verdict, &neither.effect[..]),
            (Verdict::Undecided, "b / a: not reached at 0.01")
        );
        assert_eq!(sooner(&results, &[0.5, 0.15], &["a"], &["b"])[0].verdict, Verdict::Partly);
    }

    #[test]
    fn a_lead_within_the_noise_is_undecided() {
        let at = |costs: [f64; 3]| costs.map(|cost| record(&[(1.0, 0.0), (0.1, cost)])).to_vec();
        let results = results(&[("a", at([1.0, 5.0, 3.0])), ("b", at([4.0, 3.0, 4.0]))]);
        assert_eq!(one(&results, 0.1, "a", "b").verdict, Verdict::Undecided);
        assert_eq!(one(&results, 0.1, "b", "a").verdict, Verdict::Undecided);
        assert_eq!(one(&results, 0.1, "a", "a").verdict, Verdict::Undecided);
    }

    #[test]
    fn every_pair_is_a_finding_and_divergence_is_no_arrival() {
        let at = |cost: f64| vec![record(&[(1.0, 0.0), (0.9, 0.9 * cost), (0.1, cost)]); 3];
        let results =
            results(&[("a", at(1.0)), ("b", at(5.0)), ("c", at(3.0)), ("d", vec![None; 3])]);
        let verdicts = |who: &[&str], than: &[&str]| -> Vec<Verdict> {
            sooner(&results, &[0.1], who, than).into_iter().map(|found| found.verdict).collect()
        };
        assert_eq!(verdicts(&["a", "b"], &["c"]), [Verdict::Holds, Verdict::DoesNotHold]);
        assert_eq!(verdicts(&["a"], &["d"]), [Verdict::Holds]);
        assert_eq!(verdicts(&["d"], &["a"]), [Verdict::DoesNotHold]);
        assert_eq!(verdicts(&["d"], &["d"]), [Verdict::Undecided]);
    }

    #[test]
    fn a_lead_within_one_step_of_the_records_is_undecided() {
        let every = |step: f64| {
            let rows: Vec<(f64, f64)> =
                (0..9).map(|k| (1.0 - 0.1 * f64::from(k), step * f64::from(k))).collect();
            vec![record(&rows); 3]
        };
        let results = results(&[("30", every(30.0)), ("36", every(36.0)), ("90", every(90.0))]);
        // Both may have arrived at the same cost, between two records.
        let finding = one(&results, 0.75, "30", "36");
        assert_eq!(finding.verdict, Verdict::Undecided, "{}", finding.effect);
        assert_eq!(one(&results, 0.75, "30", "90").verdict, Verdict::Holds);
        assert_eq!(one(&results, 0.75, "90", "30").verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn an_arm_that_spent_more_in_vain_is_later() {
        let early = record(&[(1.0, 0.0), (0.1, 4.0)]);
        let [brief, long] = [3.0, 9.0].map(|spent| record(&[(1.0, 0.0), (0.9, spent)]));
        let results =
            results(&[("a", vec![early; 3]), ("brief", vec![brief; 3]), ("long", vec![long; 3])]);
        assert_eq!(one(&results, 0.1, "a", "long").verdict, Verdict::Holds);
        assert_eq!(one(&results, 0.1, "long", "a").verdict, Verdict::DoesNotHold);
        assert_eq!(one(&results, 0.1, "a", "brief").verdict, Verdict::Undecided);
        // A target that holds at the start has no ratio.
        let start = one(&results, 1.0, "a", "long");
        assert_eq!(
            (start.verdict, &start.effect[..]),
            (Verdict::Undecided, "long / a: from the start at 1")
        );
    }

    #[test]
    fn an_arm_that_arrives_only_sometimes_cannot_win() {
        let (early, never) = (record(&[(1.0, 0.0), (0.1, 1.0)]), record(&[(1.0, 0.0), (0.9, 3.0)]));
        let late = record(&[(1.0, 0.0), (0.1, 50.0)]);
        let results = results(&[
            ("a", vec![early.clone(), early, never]),
            ("b", vec![late.clone(), late.clone(), late]),
        ]);
        let finding = one(&results, 0.1, "a", "b");
        assert_eq!(finding.verdict, Verdict::Undecided, "{}", finding.effect);
        assert!(finding.effect.contains("at most"), "{}", finding.effect);
    }
}
