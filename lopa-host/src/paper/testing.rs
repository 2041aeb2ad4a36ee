//! Shared by the tests of the rules.

use super::measure::Measure;
use crate::campaign::{Arm, Results};
use crate::config::Experiment;
use crate::metrics::{Metric, column};
use crate::record::{Over, Record};

/// Loss and Hessian-vector products, round by round.
pub(super) fn record(rows: &[(f64, f64)]) -> Option<Record> {
    let mut text = "iteration,outer_loss,hessian_vectors\n".to_owned();
    for (round, (loss, products)) in rows.iter().enumerate() {
        text += &format!("{round},{loss},{products}\n");
    }
    Some(Record::parse(&text, column).unwrap())
}

pub(super) fn results(arms: &[(&str, Vec<Option<Record>>)]) -> Results {
    arms.iter().map(|(name, records)| ((*name).to_owned(), records.clone())).collect()
}

pub(super) fn arm(variant: &str, case: &str, at: Option<f64>) -> Arm {
    let text = "[network]\nnodes = 4\n[problem]\nkind = \"quadratic\"\nouter = 3\ninner = 2\n\
        [algorithm]\nname = \"dgd\"\nalpha = 0.1\n[run]\niterations = 9\n";
    Arm {
        name: format!("{variant}, {case}"),
        variant: variant.into(),
        case: case.into(),
        quantity: "K".into(),
        at,
        search: None,
        found: Vec::new(),
        experiment: Experiment::parse(text).unwrap(),
    }
}

/// The outer loss over some rounds.
pub(super) const fn loss(over: Over) -> Measure {
    Measure { metric: Metric::OuterLoss, over, reach: None, along: None }
}
