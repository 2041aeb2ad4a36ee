//! The paper's experiments, each a file: what it claims, what is run, and by which rule the claim is judged.
//!
//! A [`Study`] is read from TOML (those of the paper are in the folder `paper` of this crate, and in [`STUDIES`]). Its
//! [arms](Study::arms) are networks as [`lopa run`](crate::run) takes them, every algorithm in every case; they are tuned
//! with one budget if the study says so, run with several seeds, and judged by its [checks](Check). An [`Account`] is what
//! came of it, and writes its folder; [`results`] puts the sections of all folders on one page.

mod account;
mod check;
mod gap;
mod page;
mod rate;
mod results;
mod section;
mod sooner;
mod study;
#[cfg(test)]
mod testing;

pub use account::Account;
pub use check::{Check, Finding, Results, Sense, Verdict};
pub use page::labels;
pub use results::{Page, results};
pub use study::{Arm, Mode, Study, StudyError, TuneTable};

/// The studies of the paper: their names and files.
pub const STUDIES: [(&str, &str); 20] = [
    ("classification-4", include_str!("../../paper/classification-4.toml")),
    ("classification-8", include_str!("../../paper/classification-8.toml")),
    ("classification-choices", include_str!("../../paper/classification-choices.toml")),
    ("heterogeneity", include_str!("../../paper/heterogeneity.toml")),
    ("hyper-mnist", include_str!("../../paper/hyper-mnist.toml")),
    ("hyper-covtype", include_str!("../../paper/hyper-covtype.toml")),
    ("hyper-cifar10", include_str!("../../paper/hyper-cifar10.toml")),
    ("hyper-start", include_str!("../../paper/hyper-start.toml")),
    ("hyper-loops", include_str!("../../paper/hyper-loops.toml")),
    ("topology", include_str!("../../paper/topology.toml")),
    ("dgd-mnist", include_str!("../../paper/dgd-mnist.toml")),
    ("dgd-covtype", include_str!("../../paper/dgd-covtype.toml")),
    ("dgd-cifar10", include_str!("../../paper/dgd-cifar10.toml")),
    ("rates", include_str!("../../paper/rates.toml")),
    ("rates-full", include_str!("../../paper/rates-full.toml")),
    ("rates-step", include_str!("../../paper/rates-step.toml")),
    ("rates-difference", include_str!("../../paper/rates-difference.toml")),
    ("rates-rho", include_str!("../../paper/rates-rho.toml")),
    ("rates-nodes", include_str!("../../paper/rates-nodes.toml")),
    ("momentum", include_str!("../../paper/momentum.toml")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_reads_and_all_its_arms_are_sound() {
        for (name, text) in STUDIES {
            let study = Study::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            for mode in [Mode::Quick, Mode::Whole] {
                let arms = study.arms(mode, None).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(arms.len() >= 2 && !study.checks().is_empty(), "{name}");
            }
            assert!(study.seeds(Mode::Whole) >= 5, "{name}");
        }
    }
}
