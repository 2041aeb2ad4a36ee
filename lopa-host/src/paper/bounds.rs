//! What lemma 1 and the corollaries promise, beside what runs with their step sizes measure.

use std::sync::atomic::AtomicBool;

use super::{Study, StudyError};
use crate::campaign::{CampaignError, CheckRuns, Checks};
use crate::config::Experiment;
use crate::numerics::number;
use crate::report::Table;
use crate::run::Prepared;
use crate::theory::Check;

/// Why there is no table of bounds.
#[derive(Debug, thiserror::Error)]
pub enum BoundsError {
    /// Its network is not sound.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// It could not be run.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
}

impl Study {
    /// The table of bounds, one row per seed, if the study asks for one. Nothing is returned if `stop` became true before the
    /// end.
    ///
    /// # Errors
    /// Says what is wrong with the network whose bounds are asked for.
    pub fn promised(&self, seeds: u16, stop: &AtomicBool) -> Result<Option<Table>, BoundsError> {
        let Some(experiment) = self.bounded()? else { return Ok(None) };
        let mut rows = Vec::new();
        for own in experiment.for_seeds(seeds) {
            let seed = own.run.seed.to_string();
            let Some(row) = row(own, stop)? else { return Ok(None) };
            let cell = |value: Option<f64>| value.map_or_else(|| "\u{2013}".into(), number);
            rows.push(std::iter::once(seed).chain(row.map(cell)).collect());
        }
        let rounds = experiment.run.iterations;
        let head = [
            "seed",
            "b\u{b2}",
            "lemma 1",
            "LG",
            "corollary 3",
            "GT",
            "corollary 4",
            "at x\u{2080}",
        ];
        Ok(Some(Table {
            title: "What is promised, and what is measured".into(),
            head: head.map(str::to_owned).into(),
            rows,
            caption: format!(
                "The heterogeneity b\u{b2} beside the bound of lemma 1, and the squared hypergradient at the mean of x, averaged \
                 over {rounds} rounds with the step sizes of the corollaries, beside their bounds, for {} nodes; all with \
                 constants measured at x\u{2080}. A bound above the last column would also hold for a run that stands still.",
                experiment.network.nodes
            ),
            ..Table::default()
        }))
    }
}

/// The columns of one seed, after its number; nothing if it was stopped.
fn row(
    experiment: Experiment,
    stop: &AtomicBool,
) -> Result<Option<[Option<f64>; 7]>, CampaignError> {
    let tau = experiment.algorithm.tau.map_or(0.5, f64::from);
    let prepared = Prepared::new(experiment)?;
    let theory = prepared.theory()?;
    // Without sampling, seeds of batches do not differ.
    let checks = CheckRuns::new(&prepared, &theory, tau, 1).run(stop, || ())?;
    let Some(Checks { lg, gt, .. }) = checks else { return Ok(None) };
    let mean = |check: Option<Check>| Some(check?.course?.mean);
    let bound = |check: Option<Check>| Some(check?.bound);
    let [b, lemma] = [theory.heterogeneity.b, theory.lemma().bound].map(Some);
    let start = Some(theory.start.hypergradient);
    Ok(Some([b, lemma, mean(lg), bound(lg), mean(gt), bound(gt), start]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
        title = "t"
        claim = "c"
        place = "p"
        variant = [{ name = "a" }]
        check = [{ rule = "better", value = { metric = "hypergradient" }, who = "a", than = "a" }]
        bounds = { run = { iterations = 40000 } }
        [base]
        network = { nodes = 4 }
        problem = { kind = "quadratic", outer = 3, inner = 2 }
        algorithm = { name = "lopa-lg", alpha = 0.1, beta = 0.2, lambda = 0.2, gamma = 0.3, tau = 0.5 }
        run = { x0 = 1.0, iterations = 4 }
    "#;

    #[test]
    fn what_is_measured_stands_beside_what_is_promised() {
        let study = Study::parse(STUDY).unwrap();
        let stop = AtomicBool::new(false);
        let table = study.promised(2, &stop).unwrap().unwrap();
        assert_eq!(table.rows.len(), 2);
        assert_ne!(table.rows[0][1..], table.rows[1][1..], "seeds have other quadratics");
        let row = row(study.bounded().unwrap().unwrap(), &stop).unwrap().unwrap();
        let [b, lemma, lg, lg_bound, gt, gt_bound, start] = row.map(Option::unwrap);
        assert!(b < lemma && lg < lg_bound && gt < gt_bound, "{row:?}");
        // A run that stands still would break the bounds.
        assert!(lg_bound < start && gt_bound < start, "{row:?}");
        assert!(table.caption.contains("40000 rounds") && table.caption.contains("4 nodes"));
        assert_eq!(study.promised(1, &AtomicBool::new(true)).unwrap(), None);
    }

    #[test]
    fn a_study_without_bounds_has_no_table_and_a_wrong_one_is_refused() {
        let none = STUDY.replace("bounds = ", "quick = ");
        assert_eq!(
            Study::parse(&none).unwrap().promised(1, &AtomicBool::new(false)).unwrap(),
            None
        );
        let wrong = STUDY.replace("iterations = 40000", "iterations = -1");
        let error = Study::parse(&wrong).unwrap().promised(1, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().starts_with("bounds: "), "{error}");
    }
}
