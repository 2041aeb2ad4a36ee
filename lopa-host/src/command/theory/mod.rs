//! `lopa theory`: the constants of the paper's assumptions, its step sizes and bounds, and whether the bounds hold.

mod text;

use std::path::PathBuf;

use clap::Args;
use lopa_core::node::Scheme;
use lopa_host::campaign::{CheckRuns, Checks};
use lopa_host::theory::{Corollary, Lemma, Theory};
use serde::Serialize;

use super::{Failure, Threads, interrupts, json, prepared, print, progress};

/// Measures the constants of the paper's assumptions where a run starts, and the step sizes of its corollaries.
///
/// The paper's constants hold everywhere. These hold at one point, so they are estimates from below (mu_g from above);
/// for quadratics they are exact. The measured heterogeneity b^2 is printed next to the bound of lemma 1. The step
/// sizes of corollaries 1 (LG) and 2 (GT), or 3 and 4 with full batches, are those that the proofs need. They are far
/// below what works in practice, which `lopa tune` finds.
///
/// --check runs LG and GT with these step sizes for as many rounds as the file says and compares the mean of |grad
/// Phi(x-bar)|^2 over the rounds with the bound; then it runs the file's own step sizes, if they are LoPA's. Of more
/// than 200 rounds, up to 201 are measured, densely at the start, with linear interpolation in between. Steps that are
/// too small for f32 are reported. The exit status is 1 if a bound does not hold.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lopa theory network.toml\n  \
                        lopa theory network.toml --tau 0.1 --json\n  \
                        lopa theory network.toml --check --seeds 5")]
pub(crate) struct TheoryCommand {
    /// Experiment file (TOML).
    file: PathBuf,
    /// Relaxation, between 0 and 1; by default the file's, or 0.5.
    #[arg(long)]
    tau: Option<f32>,
    /// Run with these step sizes and check the bounds.
    #[arg(long)]
    check: bool,
    /// Number of seeds per check, counting up from the file's. Seeds only determine the batches: with full batches one
    /// run is enough.
    #[arg(long, default_value_t = 3, requires = "check",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Everything that is printed.
#[derive(Serialize)]
struct All {
    theory: Theory,
    kappa: f64,
    /// M, not the number of nodes.
    #[serde(rename = "M")]
    m: f64,
    lemma: Lemma,
    rounds: u64,
    lg: Option<Corollary>,
    gt: Option<Corollary>,
    check: Option<Checks>,
}

impl TheoryCommand {
    /// Measures, checks if requested, and prints.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.threads.start()?;
        let prepared = prepared(&self.file)?;
        let experiment = prepared.experiment();
        let tau = self.tau.or(experiment.algorithm.tau).unwrap_or(0.5);
        if !(tau > 0.0 && tau < 1.0) {
            return Err(Failure::input(format!("--tau must be above 0 and below 1, got {tau}")));
        }
        let (tau, rounds) = (f64::from(tau), experiment.run.iterations);
        let theory = prepared.theory()?;
        let corollary = |scheme| theory.corollary(scheme, tau, rounds);
        let mut all = All {
            theory,
            kappa: theory.constants.kappa(),
            m: theory.constants.m(),
            lemma: theory.lemma(),
            rounds,
            lg: corollary(Scheme::LocalGradient),
            gt: corollary(Scheme::GradientTracking),
            check: None,
        };
        if self.check {
            let runs = CheckRuns::new(&prepared, &theory, tau, self.seeds);
            let (stop, bar) = (interrupts()?, progress(runs.rounds(), "rounds"));
            let checks = runs.run(stop, || bar.inc(1));
            bar.finish_and_clear();
            all.check = checks?;
        }
        print(&if self.json { json(&all)? } else { text::text(&all) })?;
        if self.check { outcome(all.check.as_ref()) } else { Ok(()) }
    }
}

/// What a check means for the exit status; there is none if it was interrupted.
fn outcome(checks: Option<&Checks>) -> Result<(), Failure> {
    match checks {
        None => Err(Failure::run("interrupted: the check did not finish")),
        Some(Checks { lg: None, gt: None, .. }) => {
            Err(Failure::input("nothing to check: the inner solutions do not depend on x"))
        }
        Some(checks) if checks.is_against() => Err(Failure::run(
            "a bound does not hold with the constants measured at x0: see the check",
        )),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopa_host::theory::{Check, Verdict};

    #[test]
    fn a_bound_that_does_not_hold_is_a_failure() {
        let check = |verdict| Some(Check { verdict, bound: 1.0, course: None, factor: None });
        let status = |lg, gt| {
            let checks = Checks { lg, gt, practice: None };
            outcome(Some(&checks)).map_err(|failure| failure.status)
        };
        let (below, still) = (check(Verdict::Below), check(Verdict::Still));
        assert_eq!(status(below, still), Ok(()));
        assert_eq!(status(below, None), Ok(()));
        for verdict in [Verdict::Above, Verdict::Diverged] {
            assert_eq!(status(check(verdict), below), Err(1));
            assert_eq!(status(below, check(verdict)), Err(1));
        }
        assert_eq!(status(None, None), Err(2));
        assert_eq!(outcome(None).map_err(|failure| failure.status), Err(1));
    }
}
