//! What `lopa theory` prints for people.

use lopa_host::campaign::{Checks, Practice};
use lopa_host::theory::{Check, Corollary, Course, Limit, Verdict};

use super::All;

/// A part with its title and rows of values, each with a note on what it is.
fn part(title: &str, rows: &[(&str, f64, &str)]) -> String {
    let mut text = format!("{title}\n");
    for (name, value, what) in rows {
        text += format!("  {name:<16} {value:.6e}  {what}").trim_end();
        text.push('\n');
    }
    text
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
    let network = [("m", theory.nodes as f64, ""), ("rho", theory.rho, "")];
    let constants = [
        ("mu_g", k.mu_g, ""),
        ("L_g,theta", k.l_g_theta, ""),
        ("L_g,xtheta", k.l_g_x_theta, ""),
        ("L_g,thetatheta", k.l_g_theta_theta, ""),
        ("L_f,x", k.l_f_x, ""),
        ("L_f,theta", k.l_f_theta, ""),
        ("C_g,xtheta", k.c_g_x_theta, ""),
        ("C_f,theta", k.c_f_theta, ""),
        ("kappa", *kappa, "the largest L / mu_g"),
        ("M", *m, "C_f,theta / mu_g"),
        ("L", k.l(), "of grad Phi"),
    ];
    let heterogeneity = [
        ("b_f^2", h.b_f, ""),
        ("b_g^2", h.b_g, ""),
        ("b^2", h.b, "measured"),
        ("C_1", lemma.c_1, ""),
        ("C_2", lemma.c_2, ""),
        ("lemma 1", lemma.bound, "C_1 b_f^2 + C_2 b_g^2, the bound on b^2"),
    ];
    let compared = match lemma.care {
        Some(care) if care >= 1.0 => {
            format!("lemma 1's bound is {} times the measured b^2", times(care))
        }
        Some(care) => format!(
            "b^2 exceeds lemma 1's bound by a factor of {}: constants at one point are estimates from below",
            times(1.0 / care)
        ),
        None => "the nodes do not differ".into(),
    };
    let variances = [
        ("s_g,theta^2", s.g_theta, ""),
        ("s_g,tt^2", s.g_theta_theta, ""),
        ("s_g,xt^2", s.g_x_theta, ""),
        ("s_f,theta^2", s.f_theta, ""),
        ("s_f,x^2", s.f_x, ""),
    ];
    let start = [("Phi", theory.start.phi, ""), ("|grad Phi|^2", theory.start.hypergradient, "")];
    let mut text = part("network", &network);
    text += &part("constants at x0 (assumptions 2 and 3)", &constants);
    text += &part("heterogeneity at x0 (assumption 4 and lemma 1)", &heterogeneity);
    text += &format!("  {compared}\n");
    text += &part("variances of a batch (assumption 5)", &variances);
    text += &part("at the start", &start);
    for (scheme, found) in [("LG", lg), ("GT", gt)] {
        text += &match found {
            Some(found) => steps(scheme, *rounds, found),
            None => format!(
                "{scheme}, {rounds} rounds: no step sizes, as the inner solutions do not depend on x\n"
            ),
        };
    }
    text + &check.as_ref().map_or(String::new(), |check| checks(all, check))
}

/// The step sizes of a corollary, and its bound.
fn steps(scheme: &str, rounds: u64, found: &Corollary) -> String {
    let number = found.number;
    let mut title = format!("corollary {number}, {scheme}, {rounds} rounds");
    if number > 2 {
        title += &format!(": corollary {} without variances", number - 2);
    }
    let u = if scheme == "GT" { "u'" } else { "u" };
    let limit = match found.limit {
        Limit::Conditions => format!("limited by {u}"),
        Limit::Noise => "limited by (a0/(a1 (K+1)))^(1/2): noise of the batches".into(),
        Limit::Heterogeneity => "limited by (a0/(a2 (K+1)))^(1/3): heterogeneity".into(),
    };
    let mut rows = vec![
        (u, found.u, "the largest alpha the theorem allows"),
        ("alpha", found.alpha, limit.as_str()),
        ("beta", found.beta, ""),
        ("lambda", found.lambda, ""),
        ("gamma", found.gamma, ""),
        ("tau", found.tau, ""),
        ("a0/(alpha (K+1))", found.terms[0], "from the start"),
        ("a1 alpha", found.terms[1], "from the noise of the batches"),
    ];
    if scheme == "LG" {
        rows.push(("a2 alpha^2", found.terms[2], "from heterogeneity, with the measured b^2"));
    }
    rows.push(("bound", found.bound, "on the mean of |grad Phi(x-bar)|^2 over the rounds"));
    part(&title, &rows)
}

/// The results of the runs.
fn checks(all: &All, checks: &Checks) -> String {
    let (rounds, start) = (all.rounds, all.theory.start.hypergradient);
    let Checks { lg, gt, practice } = checks;
    let course = |check: &Option<Check>| check.and_then(|check| check.course);
    let mut text = format!(
        "check, with the constants measured at x0\n  mean of |grad Phi(x-bar)|^2 over rounds 0 to {rounds}"
    );
    if let Some(Course { seeds, measured, .. }) =
        course(lg).or(course(gt)).or(practice.and_then(|own| own.course))
    {
        if measured <= rounds {
            text += &format!(", measured in {measured} of them, interpolated between");
        }
        text += &match seeds {
            1 => ", one run".to_owned(),
            _ => format!(", averaged over {seeds} seeds"),
        };
    }
    text.push('\n');
    for (scheme, check) in [("LG", lg), ("GT", gt)] {
        text += &check.map_or(String::new(), |check| judged(scheme, &check, start));
    }
    text + &practice.map_or(String::new(), |own| practised(&own))
}

fn judged(scheme: &str, check: &Check, start: f64) -> String {
    let bound = check.bound;
    let Some(course) = check.course else {
        return match check.verdict {
            Verdict::Diverged => {
                format!("  {scheme} diverged: the bound {bound:.6e} does not hold\n")
            }
            _ => format!(
                "  {scheme} not run: its step sizes are zero in f32, so nothing is checked\n"
            ),
        };
    };
    let factor = check.factor.unwrap_or(f64::INFINITY);
    let verdict = match check.verdict {
        Verdict::Below => format!("below the bound by a factor of {}", times(factor)),
        Verdict::Still => "x never moved, so nothing is checked".into(),
        _ => format!("ABOVE the bound by a factor of {}", times(1.0 / factor)),
    };
    let Course { mean, moved, lost, .. } = course;
    let mut text = format!("  {scheme} measured {mean:.6e}, bound {bound:.6e}: {verdict}\n");
    if lost > 0.0 {
        let part = times(100.0 * lost);
        text += &format!(
            "     {part} % of its steps alpha tau y are lost to the rounding of x in f32\n"
        );
    }
    if check.verdict == Verdict::Below && start <= bound {
        text += &format!(
            "     x moved by {moved:.1e}; |grad Phi(x0)|^2 = {start:.6e}, so standing still would pass too\n"
        );
    }
    text
}

fn practised(own: &Practice) -> String {
    let alpha = own.alpha;
    let Some(course) = own.course else {
        return format!(
            "  the file's own steps (alpha {alpha}) diverged: `lopa tune` finds better ones\n"
        );
    };
    let text = format!("  the file's own steps (alpha {alpha}) measured {:.6e}\n", course.mean);
    let (Some(larger), Some(lower)) = (own.larger, own.lower) else { return text };
    let compared = |factor: f64, [more, less]: [&str; 2]| {
        let (factor, word) = if factor >= 1.0 { (factor, more) } else { (1.0 / factor, less) };
        format!("{} times {word}", times(factor))
    };
    let size = compared(larger, ["larger", "smaller"]);
    let level = compared(lower, ["lower", "higher"]);
    let advice = if lower >= 1.0 { "finds such steps" } else { "may find better steps" };
    text + &format!(
        "     alpha is {size} than the corollary's and the mean {level}: `lopa tune` {advice}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const COURSE: Course = Course { seeds: 1, measured: 11, mean: 8.0, moved: 0.5, lost: 0.0 };

    fn printed(verdict: Verdict, bound: f64, course: Option<Course>) -> String {
        let factor = course.map(|course| bound / course.mean);
        judged("LG", &Check { verdict, bound, course, factor }, 9.0)
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
            practised(&Practice { alpha: 0.1, larger: Some(larger), course, lower })
        };
        for (larger, lower, size, level) in [
            (136.2, 52.87, "136 times larger", "52.9 times lower"),
            (0.25, 0.5, "4.00 times smaller", "2.00 times higher"),
        ] {
            let text = printed(Some(COURSE), larger, Some(lower));
            let wanted = format!("alpha is {size} than the corollary's and the mean {level}");
            assert!(text.contains(&wanted), "{text}");
        }
        assert!(printed(None, 1.0e9, None).contains("diverged"));
        assert_eq!(times(1.0e9), "1.0e9");
    }
}
