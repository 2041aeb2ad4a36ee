//! The paper's experiments, each a file with its claim, what is run, and the rule that judges the claim.
//!
//! A [`Study`] is read from TOML (those of the paper are in the folder `paper` of this crate, and in [`STUDIES`]). Its
//! [plan](Study::plan) has an arm for every algorithm in every case, each a network as [`run`](crate::run) takes it. A
//! [campaign](crate::campaign::Plan::run) tunes the arms with one budget if the study says so, and runs them on several
//! seeds; the study's [checks](Check) judge what it measured. An [`Account`] writes the folder of a study, and
//! [`results`] puts the sections of all folders on one page.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use lopa_host::paper::{Mode, Study, Verdict};
//!
//! let study = Study::parse(
//!     r#"
//!     title = "A larger step"
//!     claim = "Twenty rounds with a larger step end nearer to the optimum."
//!     place = "nowhere"
//!     seeds = 3
//!     variant = [
//!         { name = "small", set = { algorithm = { alpha = 0.001 } } },
//!         { name = "large", set = { algorithm = { alpha = 0.1 } } },
//!     ]
//!     check = [{ rule = "better", value = { metric = "hypergradient" }, who = "large", than = "small" }]
//!     [base]
//!     network = { nodes = 4 }
//!     problem = { kind = "quadratic", outer = 3, inner = 2 }
//!     algorithm = { name = "lopa-gt", beta = 0.3, lambda = 0.3, gamma = 0.8, tau = 0.5 }
//!     run = { x0 = 1.0, iterations = 20 }
//!     "#,
//! )?;
//! let plan = study.plan(Mode::Whole, None)?;
//! let stop = AtomicBool::new(false);
//! let measured = plan.run(&stop, |_progress| ())?.expect("it was not stopped");
//! assert_eq!(measured.results["large"].len(), 3);
//! let findings = study.check[0].judge(&measured.arms, &measured.results);
//! assert_eq!(findings[0].verdict, Verdict::Holds, "{}", findings[0].effect);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod again;
mod bounds;
mod check;
mod control;
mod costs;
mod figures;
mod gap;
mod machine;
mod measure;
mod page;
mod rate;
mod results;
mod section;
mod sooner;
mod study;
#[cfg(test)]
mod testing;
mod verdict;

pub use account::Account;
pub use again::{AgainError, Earlier};
pub use bounds::BoundsError;
pub use check::{Check, Sense};
pub use control::{Blind, Control, ControlError};
pub use costs::Costs;
pub use machine::Machine;
pub use measure::Measure;
pub use results::{Page, results};
pub use study::{Mode, Reason, Study, StudyError, TuneTable};
pub use verdict::{Finding, Parts, Verdict};

/// Each of some things once, in the order in which they first come.
fn once_each<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// The names of studies, each with its file.
macro_rules! studies {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../paper/", $name, ".toml")))),*]
    };
}

/// The studies of the paper: their names and files.
pub const STUDIES: [(&str, &str); 24] = studies! {
    "classification-4" "classification-8" "classification-choices" "heterogeneity"
    "hyper-mnist" "hyper-covtype" "hyper-cifar10" "hyper-start" "hyper-loops" "hyper-all"
    "topology"
    "dgd-mnist" "dgd-covtype" "dgd-cifar10"
    "rates" "rates-full" "rates-step" "rates-difference" "rates-rho" "rates-nodes"
    "rates-batch" "rates-tau" "rates-kappa"
    "momentum"
};

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn every_study_parses_and_all_its_arms_are_valid() {
        for (name, text) in STUDIES {
            let study = Study::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            for mode in [Mode::Quick, Mode::Whole] {
                let plan = study.plan(mode, None).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(plan.arms.len() >= 2 && !study.check.is_empty(), "{name}");
            }
            assert!(study.seeds(Mode::Whole) >= 5, "{name}");
            assert!(study.headline.iter().all(|rule| *rule < study.check.len()), "{name}");
        }
    }

    #[test]
    fn every_rule_says_no_in_its_control() {
        STUDIES.par_iter().for_each(|(name, text)| {
            let study = Study::parse(text).unwrap();
            assert!(study.uncontrolled().is_empty(), "{name}: {:?}", study.uncontrolled());
            for control in &study.control {
                let blind = control.run(&study).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(blind.is_empty(), "{name}: {}", blind[0]);
            }
        });
    }

    #[test]
    fn a_rule_that_holds_in_its_control_is_found_out() {
        let (_, text) = STUDIES.into_iter().find(|(name, _)| *name == "rates-difference").unwrap();
        // Tracking is left as it is, so the rule about it holds where it must not.
        let study =
            text.replace("variant = { LoPA-GT = { algorithm = { name = \"lopa-lg\" } } }", "");
        let study = Study::parse(&study).unwrap();
        let blind = study.control.last().unwrap().run(&study).unwrap();
        assert_eq!(blind.len(), 1);
        let said = blind[0].to_string();
        assert!(said.starts_with("Without tracking") && said.contains("found holds"), "{said}");
    }
}
