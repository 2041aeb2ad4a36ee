//! What `lopa theory` prints for people.

use std::fmt::Write;

use lopa_host::campaign::{Checks, Practice};
use lopa_host::theory::{Check, Corollary, Course, Limit, Verdict};

use super::All;

/// A part with its title and rows of values, each with a note on what it is.
fn part(text: &mut String, title: &str, rows: &[(&str, f64, &str)]) {
    let _ = writeln!(text, "{title}");
    for (name, value, what) in rows {
        let row = format!("  {name:<16} {value:.6e}  {what}");
        let _ = writeln!(text, "{}", row.trim_end());
    }
}

/// A value without a note.
const fn plain(name: &str, value: f64) -> (&str, f64, &str) {
    (name, value, "")
}

/// A factor with two or three digits.
fn times(factor: f64) -> String {
    match factor {
        _ if !factor.is_finite() || !(0.01..1.0e4).contains(&factor) => format!("{factor:.1e}"),
        _ if factor >= 100.0 => format!("{factor:.0}"),
        _ if factor >= 10.0 => format!("{factor:.1}"),
        _ => format!("{factor:.2}"),
    }
}

/// Everything.
pub(super) fn text(all: &All) -> String {
    let All { theory, kappa, m, lemma, rounds, lg, gt, check } = all;
    let (k, h, s) = (&theory.constants, &theory.heterogeneity, &theory.variances);
    let mut text = String::new();
    part(&mut text, "network", &[plain("m", theory.nodes as f64), plain("rho", theory.rho)]);
    part(
        &mut text,
        "constants at x0 (assumptions 2 and 3)",
        &[
            plain("mu_g", k.mu_g),
            plain("L_g,theta", k.l_g_theta),
            plain("L_g,xtheta", k.l_g_x_theta),
            plain("L_g,thetatheta", k.l_g_theta_theta),
            plain("L_f,x", k.l_f_x),
            plain("L_f,theta", k.l_f_theta),
            plain("C_g,xtheta", k.c_g_x_theta),
            plain("C_f,theta", k.c_f_theta),
            ("kappa", *kappa, "the largest L / mu_g"),
            ("M", *m, "C_f,theta / mu_g"),
            ("L", k.l(), "of grad Phi"),
        ],
    );
    part(
        &mut text,
        "heterogeneity at x0 (assumption 4 and lemma 1)",
        &[
            plain("b_f^2", h.b_f),
            plain("b_g^2", h.b_g),
            ("b^2", h.b, "measured"),
            plain("C_1", lemma.c_1),
            plain("C_2", lemma.c_2),
            ("lemma 1", lemma.bound, "C_1 b_f^2 + C_2 b_g^2, the bound on b^2"),
        ],
    );
    let _ = match lemma.care {
        Some(care) if care >= 1.0 => {
            writeln!(text, "  lemma 1's bound is {} times the measured b^2", times(care))
        }
        Some(care) => writeln!(
            text,
            "  b^2 exceeds lemma 1's bound by a factor of {}: constants at one point are estimates from below",
            times(1.0 / care)
        ),
        None => writeln!(text, "  the nodes do not differ"),
    };
    part(
        &mut text,
        "variances of a batch (assumption 5)",
        &[
            plain("s_g,theta^2", s.g_theta),
            plain("s_g,tt^2", s.g_theta_theta),
            plain("s_g,xt^2", s.g_x_theta),
            plain("s_f,theta^2", s.f_theta),
            plain("s_f,x^2", s.f_x),
        ],
    );
    part(
        &mut text,
        "at the start",
        &[plain("Phi", theory.start.phi), plain("|grad Phi|^2", theory.start.hypergradient)],
    );
    for (scheme, found) in [("LG", lg), ("GT", gt)] {
        match found {
            Some(found) => steps(&mut text, scheme, *rounds, found),
            None => part(
                &mut text,
                &format!(
                    "{scheme}, {rounds} rounds: no step sizes, as the inner solutions do not depend on x"
                ),
                &[],
            ),
        }
    }
    if let Some(check) = check {
        checks(&mut text, all, check);
    }
    text
}

/// The step sizes of a corollary, and its bound.
fn steps(text: &mut String, scheme: &str, rounds: u64, found: &Corollary) {
    let number = found.number;
    let title = if number > 2 {
        let general = number - 2;
        format!(
            "corollary {number}, {scheme}, {rounds} rounds: corollary {general} without variances"
        )
    } else {
        format!("corollary {number}, {scheme}, {rounds} rounds")
    };
    let u = if scheme == "GT" { "u'" } else { "u" };
    let limit = match found.limit {
        Limit::Conditions => format!("limited by {u}"),
        Limit::Noise => "limited by (a0/(a1 (K+1)))^(1/2): noise of the batches".into(),
        Limit::Heterogeneity => "limited by (a0/(a2 (K+1)))^(1/3): heterogeneity".into(),
    };
    let mut rows = vec![
        (u, found.u, "the largest alpha the theorem allows"),
        ("alpha", found.alpha, limit.as_str()),
        plain("beta", found.beta),
        plain("lambda", found.lambda),
        plain("gamma", found.gamma),
        plain("tau", found.tau),
        ("a0/(alpha (K+1))", found.terms[0], "from the start"),
        ("a1 alpha", found.terms[1], "from the noise of the batches"),
    ];
    if scheme == "LG" {
        rows.push(("a2 alpha^2", found.terms[2], "from heterogeneity, with the measured b^2"));
    }
    rows.push(("bound", found.bound, "on the mean of |grad Phi(x-bar)|^2 over the rounds"));
    part(text, &title, &rows);
}

/// The results of the runs.
fn checks(text: &mut String, all: &All, checks: &Checks) {
    let (rounds, start) = (all.rounds, all.theory.start.hypergradient);
    let Checks { lg, gt, practice } = checks;
    let course = |check: &Option<Check>| check.and_then(|check| check.course);
    let any = course(lg).or(course(gt)).or(practice.and_then(|own| own.course));
    let _ = writeln!(text, "check, with the constants measured at x0");
    let _ = write!(text, "  mean of |grad Phi(x-bar)|^2 over rounds 0 to {rounds}");
    if let Some(Course { seeds, measured, .. }) = any {
        if measured <= rounds {
            let _ = write!(text, ", measured in {measured} of them, interpolated between");
        }
        let _ = if seeds > 1 {
            write!(text, ", averaged over {seeds} seeds")
        } else {
            write!(text, ", one run")
        };
    }
    text.push('\n');
    for (scheme, check) in [("LG", lg), ("GT", gt)] {
        if let Some(check) = check {
            judged(text, scheme, check, start);
        }
    }
    if let Some(own) = practice {
        practised(text, own);
    }
}

fn judged(text: &mut String, scheme: &str, check: &Check, start: f64) {
    let bound = check.bound;
    let Some(course) = check.course else {
        let _ = match check.verdict {
            Verdict::Diverged => {
                writeln!(text, "  {scheme} diverged: the bound {bound:.6e} does not hold")
            }
            _ => writeln!(
                text,
                "  {scheme} not run: its step sizes are zero in f32, so nothing is checked"
            ),
        };
        return;
    };
    let mean = course.mean;
    let _ = write!(text, "  {scheme} measured {mean:.6e}, bound {bound:.6e}: ");
    let factor = check.factor.unwrap_or(f64::INFINITY);
    let _ = match check.verdict {
        Verdict::Below => writeln!(text, "below the bound by a factor of {}", times(factor)),
        Verdict::Still => writeln!(text, "x never moved, so nothing is checked"),
        _ => writeln!(text, "ABOVE the bound by a factor of {}", times(1.0 / factor)),
    };
    if course.lost > 0.0 {
        let part = times(100.0 * course.lost);
        let _ = writeln!(
            text,
            "     {part} % of its steps alpha tau y are lost to the rounding of x in f32"
        );
    }
    if check.verdict == Verdict::Below && start <= bound {
        let moved = course.moved;
        let _ = writeln!(
            text,
            "     x moved by {moved:.1e}; |grad Phi(x0)|^2 = {start:.6e}, so standing still would pass too"
        );
    }
}

fn practised(text: &mut String, own: &Practice) {
    let alpha = own.alpha;
    let Some(course) = own.course else {
        let _ = writeln!(
            text,
            "  the file's own steps (alpha {alpha}) diverged: `lopa tune` finds better ones"
        );
        return;
    };
    let _ = writeln!(text, "  the file's own steps (alpha {alpha}) measured {:.6e}", course.mean);
    let (Some(larger), Some(lower)) = (own.larger, own.lower) else { return };
    let compared = |factor: f64, [more, less]: [&str; 2]| {
        let (factor, word) = if factor >= 1.0 { (factor, more) } else { (1.0 / factor, less) };
        format!("{} times {word}", times(factor))
    };
    let size = compared(larger, ["larger", "smaller"]);
    let level = compared(lower, ["lower", "higher"]);
    let advice = if lower >= 1.0 { "finds such steps" } else { "may find better steps" };
    let _ = writeln!(
        text,
        "     alpha is {size} than the corollary's and the mean {level}: `lopa tune` {advice}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const COURSE: Course = Course { seeds: 1, measured: 11, mean: 8.0, moved: 0.5, lost: 0.0 };

    fn printed(verdict: Verdict, bound: f64, course: Option<Course>) -> String {
        let factor = course.map(|course| bound / course.mean);
        let mut text = String::new();
        judged(&mut text, "LG", &Check { verdict, bound, course, factor }, 9.0);
        text
    }

    #[test]
    fn verdicts_are_plain() {
        let below = printed(Verdict::Below, 16.0, Some(COURSE));
        assert!(below.contains("below the bound by a factor of 2.00"), "{below}");
        assert!(below.contains("standing still would pass too"), "{below}");
        let close = printed(Verdict::Below, 8.8, Some(COURSE));
        assert!(!close.contains("standing still"), "{close}");
        let above = printed(Verdict::Above, 2.0, Some(COURSE));
        assert!(above.contains("ABOVE the bound by a factor of 4.00"), "{above}");
        let still = printed(Verdict::Still, 16.0, Some(Course { moved: 0.0, lost: 1.0, ..COURSE }));
        assert!(still.contains("nothing is checked") && still.contains("100 % of its steps"));
        assert!(printed(Verdict::Diverged, 16.0, None).contains("does not hold"));
        assert!(printed(Verdict::Still, 16.0, None).contains("zero in f32"));
    }

    #[test]
    fn own_steps_are_compared_with_those_of_the_corollary() {
        let printed = |course, larger, lower| {
            let mut text = String::new();
            let own = Practice { alpha: 0.1, larger: Some(larger), course, lower };
            practised(&mut text, &own);
            text
        };
        let good = printed(Some(COURSE), 136.2, Some(52.87));
        assert!(
            good.contains(
                "alpha is 136 times larger than the corollary's and the mean 52.9 times lower"
            ),
            "{good}"
        );
        let bad = printed(Some(COURSE), 0.25, Some(0.5));
        assert!(
            bad.contains(
                "alpha is 4.00 times smaller than the corollary's and the mean 2.00 times higher"
            ),
            "{bad}"
        );
        assert!(printed(None, 1.0e9, None).contains("diverged"));
        assert_eq!(times(1.0e9), "1.0e9");
    }
}
