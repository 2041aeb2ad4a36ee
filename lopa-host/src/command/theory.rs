//! `lopa theory`: the constants of the paper's assumptions, and the step sizes it proves something about.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use lopa_core::node::Scheme;
use lopa_host::config::Experiment;
use lopa_host::exact::{Corollary, Theory};
use lopa_host::run::Prepared;
use serde::Serialize;

use super::{Failure, print, threads};

/// Measures the constants of the paper's assumptions where a run starts, and the step sizes of its corollaries.
///
/// The paper's constants hold everywhere, these at one point: they are estimates from below (mu_g from above), exact for
/// quadratics. The step sizes of corollaries 1 (LG) and 2 (GT) are what the proofs need, far below what works in
/// practice: `lopa tune` finds that.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lopa theory network.toml\n  lopa theory network.toml --tau 0.1 --json"
)]
pub(crate) struct TheoryCommand {
    /// The file.
    file: PathBuf,
    /// The relaxation, between 0 and 1; the file's if not given, or 0.5.
    #[arg(long)]
    tau: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// How many threads; all cores if not given. The results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

#[derive(Serialize)]
struct All {
    theory: Theory,
    kappa: f64,
    rounds: u64,
    lg: Option<Corollary>,
    gt: Option<Corollary>,
}

impl TheoryCommand {
    /// Measures, and prints.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        threads(self.threads)?;
        let experiment = Experiment::read(&self.file).map_err(Failure::input)?;
        let tau = self.tau.or(experiment.algorithm.tau.map(f64::from)).unwrap_or(0.5);
        if !(tau > 0.0 && tau < 1.0) {
            return Err(Failure::input(format!(
                "--tau {tau} is out of range: above 0 and below 1"
            )));
        }
        let rounds = experiment.run.iterations;
        let theory = Prepared::new(experiment)?.theory()?;
        let corollary = |scheme| theory.corollary(scheme, tau, rounds);
        let (lg, gt) = (corollary(Scheme::LocalGradient), corollary(Scheme::GradientTracking));
        let all = All { theory, kappa: theory.constants.kappa(), rounds, lg, gt };
        if self.json {
            // Plain numbers: nothing here can fail to be JSON.
            return print(&(serde_json::to_string(&all).unwrap_or_default() + "\n"));
        }
        print(&text(&all))
    }
}

fn text(all: &All) -> String {
    let All { theory, kappa, rounds, lg, gt } = all;
    let (k, h, s) = (&theory.constants, &theory.heterogeneity, &theory.variances);
    let mut text = String::new();
    let mut part = |title: &str, rows: &[(&str, f64)]| {
        let _ = writeln!(text, "{title}");
        for (name, value) in rows {
            let _ = writeln!(text, "  {name:<16} {value:.6e}");
        }
    };
    part("network", &[("m", theory.nodes as f64), ("rho", theory.rho)]);
    part(
        "constants at x0 (assumptions 2 and 3)",
        &[
            ("mu_g", k.mu_g),
            ("L_g,theta", k.l_g_theta),
            ("L_g,xtheta", k.l_g_x_theta),
            ("L_g,thetatheta", k.l_g_theta_theta),
            ("L_f,x", k.l_f_x),
            ("L_f,theta", k.l_f_theta),
            ("C_g,xtheta", k.c_g_x_theta),
            ("C_f,theta", k.c_f_theta),
            ("kappa", *kappa),
            ("L", k.l()),
        ],
    );
    part("heterogeneity (assumption 4)", &[("b_f^2", h.b_f), ("b_g^2", h.b_g), ("b^2", h.b)]);
    part(
        "variances of a batch (assumption 5)",
        &[
            ("s_g,theta^2", s.g_theta),
            ("s_g,tt^2", s.g_theta_theta),
            ("s_g,xt^2", s.g_x_theta),
            ("s_f,theta^2", s.f_theta),
            ("s_f,x^2", s.f_x),
        ],
    );
    part(
        "at the start",
        &[("Phi", theory.start.phi), ("|grad Phi|^2", theory.start.hypergradient)],
    );
    for (title, found) in [("corollary 1, LG", lg), ("corollary 2, GT", gt)] {
        let title = format!("{title}, {rounds} rounds");
        let Some(c) = found else {
            part(&format!("{title}: nothing, as x does not move the inner solutions"), &[]);
            continue;
        };
        part(
            &title,
            &[
                ("alpha", c.alpha),
                ("beta", c.beta),
                ("lambda", c.lambda),
                ("gamma", c.gamma),
                ("tau", c.tau),
                ("u", c.u),
                ("bound", c.bound),
            ],
        );
    }
    text
}
