//! The rules by which a claim is judged.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metrics::Metric;
use crate::plot::{number, spread};
use crate::record::Record;

/// What was measured: every arm's records, one a seed, in order of seeds; nothing of a seed that diverged.
pub type Results = BTreeMap<String, Vec<Option<Record>>>;

/// A rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Check {
    /// Everyone in `who` comes to a value at a lower cost than everyone in `than`.
    Sooner {
        /// The value's metric.
        metric: Metric,
        /// The value; without one the best that all arms named here come to, on average over seeds.
        target: Option<f64>,
        /// The cost's metric.
        along: Metric,
        /// Who should be sooner.
        who: Vec<String>,
        /// Than whom.
        than: Vec<String>,
    },
    /// One is better than another, seed by seed.
    Better {
        /// In what.
        metric: Metric,
        /// When.
        #[serde(default)]
        over: Over,
        /// Who should be better.
        who: String,
        /// Than whom.
        than: String,
    },
    /// The first of a pair is ahead of the second by more than another pair's, seed by seed.
    More {
        /// In what.
        metric: Metric,
        /// When.
        #[serde(default)]
        over: Over,
        /// The pair that should be further apart.
        gap: [String; 2],
        /// The other pair.
        than: [String; 2],
    },
}

/// When a figure is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// At the end.
    #[default]
    Last,
    /// All the way: the mean over all recorded rounds, so that who is sooner there is better.
    Course,
    /// Once it has settled: the mean over the second half of the recorded rounds.
    Tail,
}

/// What is to be said of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// By its rule it is so.
    Holds,
    /// Of some and not of others, or these seeds do not decide it.
    Partly,
    /// By its rule it is not so.
    DoesNotHold,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::DoesNotHold => "does not hold",
        })
    }
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What was asked.
    pub question: String,
    /// What was found, in numbers.
    pub answer: String,
    /// What follows.
    pub verdict: Verdict,
}

impl Verdict {
    /// Of several findings: all of one mind, or partly.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let all = |verdict| findings.iter().all(|finding| finding.verdict == verdict);
        match () {
            () if all(Self::Holds) => Self::Holds,
            () if all(Self::DoesNotHold) => Self::DoesNotHold,
            () => Self::Partly,
        }
    }

    /// By how many of several comparisons were as claimed.
    const fn by(right: usize, all: usize) -> Self {
        if right == all {
            Self::Holds
        } else if right == 0 {
            Self::DoesNotHold
        } else {
            Self::Partly
        }
    }
}

impl Check {
    /// The arms it looks at.
    pub(super) fn arms(&self) -> Vec<String> {
        match self {
            Self::Sooner { who, than, .. } => [who.clone(), than.clone()].concat(),
            Self::Better { who, than, .. } => vec![who.clone(), than.clone()],
            Self::More { gap, than, .. } => [gap.clone(), than.clone()].concat(),
        }
    }

    /// The metrics it looks at.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        match self {
            Self::Sooner { metric, along, .. } => vec![*metric, *along],
            Self::Better { metric, .. } | Self::More { metric, .. } => vec![*metric],
        }
    }

    /// Judges what was measured.
    #[must_use]
    pub fn judge(&self, results: &Results) -> Finding {
        match self {
            Self::Sooner { metric, target, along, who, than } => {
                sooner(results, *metric, *target, *along, who, than)
            }
            Self::Better { metric, over, who, than } => {
                let gaps = gaps(results, *metric, *over, who, than);
                let what = metric.column().title;
                let question = format!("{who} has a better {what} than {than}{over}");
                decided(question, &gaps)
            }
            Self::More { metric, over, gap: [a, b], than: [c, d] } => {
                let (first, second) =
                    (gaps(results, *metric, *over, a, b), gaps(results, *metric, *over, c, d));
                let gaps: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a - b).collect();
                let what = metric.column().title;
                let question =
                    format!("in {what}{over}, {a} is further ahead of {b} than {c} is of {d}");
                decided(question, &gaps)
            }
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last => " at the end",
            Self::Course => ", averaged over the run",
            Self::Tail => ", averaged over its second half",
        })
    }
}

/// A judgement by the confidence interval of differences that should be positive.
fn decided(question: String, gaps: &[f64]) -> Finding {
    let Some(all) = spread(gaps) else {
        let answer = "no seed ran to its end".into();
        return Finding { question, answer, verdict: Verdict::Partly };
    };
    let [low, high] = all.band.unwrap_or([all.mean; 2]);
    let verdict = match () {
        () if low > 0.0 => Verdict::Holds,
        () if high < 0.0 => Verdict::DoesNotHold,
        () => Verdict::Partly,
    };
    let [mean, low, high] = [all.mean, low, high].map(number);
    let answer = format!("by {mean} ({low} to {high}, {} seeds)", all.runs);
    Finding { question, answer, verdict }
}

/// How far `who` is ahead of `than`, seed by seed; a seed on which either diverged is left out.
fn gaps(results: &Results, metric: Metric, over: Over, who: &str, than: &str) -> Vec<f64> {
    let sign = if metric.more_is_better() { 1.0 } else { -1.0 };
    let of = |arm: &str| results.get(arm).map_or(&[][..], Vec::as_slice);
    let figure = |record: &Option<Record>| -> Option<f64> {
        let record = record.as_ref()?;
        match over {
            Over::Last => record.last(metric.name()),
            Over::Course | Over::Tail => {
                let figures = record.figures(metric.name())?;
                let from = if over == Over::Tail { figures.len() / 2 } else { 0 };
                let figures: Vec<f64> = figures[from..].iter().copied().flatten().collect();
                Some(figures.iter().sum::<f64>() / figures.len().max(1) as f64)
            }
        }
    };
    let pairs = of(who).iter().zip(of(than));
    pairs.filter_map(|(who, than)| Some(sign * (figure(who)? - figure(than)?))).collect()
}

/// What it cost to come to a value, on average over seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    mean: f64,
    /// Seeds that never came there: of them the whole cost counts, and the truth is more.
    short: usize,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.short > 0 { "more than " } else { "" };
        write!(f, "{more}{}", number(self.mean))
    }
}

fn cost(records: &[Option<Record>], metric: Metric, target: f64, along: Metric) -> Option<Cost> {
    let (mut costs, mut short) = (Vec::new(), 0);
    for record in records.iter().flatten() {
        let (values, spent) = (record.figures(metric.name())?, record.figures(along.name())?);
        let there = |value: &Option<f64>| {
            value.is_some_and(|a| if metric.more_is_better() { a >= target } else { a <= target })
        };
        let at = values.iter().position(there);
        short += usize::from(at.is_none());
        costs.extend(spent.get(at.unwrap_or(spent.len().saturating_sub(1))).copied().flatten());
    }
    short += records.iter().filter(|record| record.is_none()).count();
    let mean = spread(&costs)?.mean;
    Some(Cost { mean, short })
}

fn sooner(
    results: &Results,
    metric: Metric,
    target: Option<f64>,
    along: Metric,
    who: &[String],
    than: &[String],
) -> Finding {
    let (what, cost_of) = (metric.column().title, along.column().title);
    let of = |arm: &String| results.get(arm).map_or(&[][..], Vec::as_slice);
    let best = |arm: &String| -> Option<f64> {
        // The best mean over seeds at any recorded round.
        let records: Vec<&Record> = of(arm).iter().flatten().collect();
        let columns: Vec<Vec<Option<f64>>> =
            records.iter().filter_map(|record| record.figures(metric.name())).collect();
        let rows = columns.iter().map(Vec::len).min()?;
        let means = (0..rows).filter_map(|row| {
            let figures: Vec<f64> = columns.iter().filter_map(|column| column[row]).collect();
            Some(spread(&figures)?.mean)
        });
        if metric.more_is_better() { means.reduce(f64::max) } else { means.reduce(f64::min) }
    };
    let all = who.iter().chain(than);
    let bests: Vec<f64> = all.clone().filter_map(best).collect();
    let worst = if metric.more_is_better() {
        bests.iter().copied().reduce(f64::min)
    } else {
        bests.iter().copied().reduce(f64::max)
    };
    let names = |arms: &[String]| arms.join(" and ");
    let Some(target) = target.or(worst) else {
        let question = format!("{} need less {cost_of} than {}", names(who), names(than));
        let answer = "no seed ran to its end".into();
        return Finding { question, answer, verdict: Verdict::Partly };
    };
    let question = format!(
        "to a {what} of {}, {} need fewer {cost_of} than {}",
        number(target),
        names(who),
        names(than)
    );
    let costs: Vec<(&String, Option<Cost>)> =
        all.map(|arm| (arm, cost(of(arm), metric, target, along))).collect();
    let (ours, theirs) = costs.split_at(who.len());
    let mut right = 0;
    for (_, our) in ours {
        for (_, their) in theirs {
            right += usize::from(match (our, their) {
                (Some(our), Some(their)) => our.short == 0 && our.mean < their.mean,
                // Who always diverged is later than any.
                (Some(our), None) => our.short == 0,
                _ => false,
            });
        }
    }
    let said = |(arm, cost): &(&String, Option<Cost>)| match cost {
        Some(cost) => format!("{arm} {cost}"),
        None => format!("{arm} diverged"),
    };
    let mut answer = costs.iter().map(said).collect::<Vec<_>>().join(", ");
    let means = |costs: &[(&String, Option<Cost>)]| -> Vec<f64> {
        costs.iter().filter_map(|(_, cost)| Some((*cost)?.mean)).collect()
    };
    let most = means(ours).into_iter().reduce(f64::max);
    let least = means(theirs).into_iter().reduce(f64::min);
    if let (Some(most), Some(least)) = (most, least) {
        answer += &format!("; ratio {:.2}", least / most);
    }
    Finding { question, answer, verdict: Verdict::by(right, ours.len() * theirs.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::column;

    /// Loss and Hessian-vector products, round by round.
    fn record(rows: &[(f64, f64)]) -> Option<Record> {
        let mut text = "iteration,outer_loss,hessian_vectors\n".to_owned();
        for (round, (loss, products)) in rows.iter().enumerate() {
            text += &format!("{round},{loss},{products}\n");
        }
        Some(Record::parse(&text, column).unwrap())
    }

    fn results(arms: &[(&str, Vec<Option<Record>>)]) -> Results {
        arms.iter().map(|(name, records)| ((*name).to_owned(), records.clone())).collect()
    }

    fn sooner(target: Option<f64>, who: &[&str], than: &[&str]) -> Check {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (metric, along) = (Metric::OuterLoss, Metric::HessianVectors);
        Check::Sooner { metric, target, along, who: names(who), than: names(than) }
    }

    #[test]
    fn who_is_sooner_is_told_by_the_cost_of_the_first_round_that_is_there() {
        let fast = record(&[(1.0, 0.0), (0.5, 1.0), (0.2, 2.0)]);
        let slow = record(&[(1.0, 0.0), (0.5, 10.0), (0.1, 20.0)]);
        let results = results(&[("a", vec![fast.clone(); 3]), ("b", vec![slow; 3])]);
        let finding = sooner(Some(0.5), &["a"], &["b"]).judge(&results);
        assert_eq!(finding.verdict, Verdict::Holds);
        assert_eq!(finding.answer, "a 1, b 10; ratio 10.00");
        // Without a target the best that both come to: 0.2, not 0.1.
        let finding = sooner(None, &["a"], &["b"]).judge(&results);
        assert_eq!(finding.answer, "a 2, b 20; ratio 10.00");
        // Who never comes there is not sooner, whatever it cost.
        let finding = sooner(Some(0.15), &["a"], &["b"]).judge(&results);
        assert_eq!(finding.verdict, Verdict::DoesNotHold);
        assert!(finding.answer.starts_with("a more than 2,"), "{}", finding.answer);
        let backwards = sooner(Some(0.5), &["b"], &["a"]).judge(&results);
        assert_eq!(backwards.verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn of_several_some_may_be_sooner() {
        let at = |cost: f64| vec![record(&[(1.0, 0.0), (0.1, cost)]); 2];
        let results = results(&[("a", at(1.0)), ("b", at(5.0)), ("c", at(3.0)), ("d", vec![None])]);
        let finding = sooner(Some(0.1), &["a", "b"], &["c"]).judge(&results);
        assert_eq!(finding.verdict, Verdict::Partly);
        let finding = sooner(Some(0.1), &["a"], &["d"]).judge(&results);
        assert_eq!((finding.verdict, finding.answer.as_str()), (Verdict::Holds, "a 1, d diverged"));
        let finding = sooner(Some(0.1), &["d"], &["a"]).judge(&results);
        assert_eq!(finding.verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn better_is_decided_by_the_interval_of_the_differences() {
        let ends =
            |losses: [f64; 3]| losses.map(|loss| record(&[(1.0, 0.0), (loss, 1.0)])).to_vec();
        let results = results(&[
            ("good", ends([0.10, 0.20, 0.30])),
            ("bad", ends([0.21, 0.30, 0.41])),
            ("noise", ends([0.30, 0.10, 0.30])),
        ]);
        let better = |who: &str, than: &str, over| {
            let (who, than) = (who.into(), than.into());
            let check = Check::Better { metric: Metric::OuterLoss, over, who, than };
            check.judge(&results).verdict
        };
        assert_eq!(better("good", "bad", Over::Last), Verdict::Holds);
        assert_eq!(better("good", "bad", Over::Course), Verdict::Holds);
        assert_eq!(better("good", "bad", Over::Tail), Verdict::Holds);
        assert_eq!(better("bad", "good", Over::Last), Verdict::DoesNotHold);
        assert_eq!(better("good", "noise", Over::Last), Verdict::Partly);
        let more = |gap: [&str; 2], than: [&str; 2]| {
            let (gap, than) = (gap.map(str::to_owned), than.map(str::to_owned));
            let check = Check::More { metric: Metric::OuterLoss, over: Over::Last, gap, than };
            check.judge(&results).verdict
        };
        assert_eq!(more(["good", "bad"], ["bad", "good"]), Verdict::Holds);
        assert_eq!(more(["good", "good"], ["bad", "bad"]), Verdict::Partly);
    }

    #[test]
    fn verdicts_add_up() {
        let finding = |verdict| Finding { question: String::new(), answer: String::new(), verdict };
        let all = [Verdict::Holds, Verdict::Partly, Verdict::DoesNotHold].map(finding);
        assert_eq!(Verdict::of(&all[..1]), Verdict::Holds);
        assert_eq!(Verdict::of(&all), Verdict::Partly);
        assert_eq!(Verdict::of(&all[2..]), Verdict::DoesNotHold);
    }
}
