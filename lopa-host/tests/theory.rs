//! `lopa theory`: constants and step sizes of a file, and whether runs stay below the bound.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::common::{NETWORK, lopa, network, said};
use lopa_core::node::Scheme;
use lopa_host::campaign::{CheckRuns, Checks};
use lopa_host::config::Experiment;
use lopa_host::metrics::{Choice, Metric};
use lopa_host::run::{Options, Prepared};
use lopa_host::theory::{Check, Corollary, Ended, Theory, Verdict};

/// Different quadratics, whose constants can be measured exactly.
const QUADRATIC: &str = r#"
[network]
nodes = 4
[problem]
kind = "quadratic"
outer = 3
inner = 2
[algorithm]
name = "lopa-lg"
alpha = 0.1
beta = 0.2
lambda = 0.2
gamma = 0.3
tau = 0.5
[run]
iterations = 40000
x0 = 1.0
"#;

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// What the command prints for a file with this text.
fn printed(text: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("network.toml"), text).unwrap();
    let output = lopa(dir.path(), &[&["theory", "network.toml"], arguments].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
    (output.status.code(), text)
}

fn json(text: &str, arguments: &[&str]) -> serde_json::Value {
    let (status, text) = printed(text, &[arguments, &["--json"]].concat());
    assert_eq!(status, Some(0), "{text}");
    serde_json::from_str(&text).unwrap()
}

/// A prepared network, its theory, and its checks.
fn checked(text: &str, seeds: u16) -> (Prepared, Theory, Checks) {
    let prepared = Prepared::new(Experiment::parse(text).unwrap()).unwrap();
    let theory = prepared.theory().unwrap();
    let ticks = AtomicU64::new(0);
    let runs = CheckRuns::new(&prepared, &theory, 0.5, seeds);
    let (rounds, stop) = (runs.rounds(), AtomicBool::new(false));
    let checks = runs.run(&stop, || _ = ticks.fetch_add(1, Ordering::Relaxed)).unwrap().unwrap();
    assert_eq!(ticks.into_inner(), rounds, "not every round was reported");
    (prepared, theory, checks)
}

#[test]
fn constants_and_step_sizes_are_printed() {
    let (status, text) = printed(NETWORK, &[]);
    assert_eq!(status, Some(0), "{text}");
    for word in [
        "mu_g",
        "kappa",
        "  M  ",
        "b_g^2",
        "lemma 1's bound is ",
        " times the measured b^2",
        "s_f,theta^2",
        "corollary 1, LG, 60 rounds",
        "corollary 2, GT, 60 rounds",
        "  u  ",
        "  u'  ",
        "limited by u'",
        "a0/(alpha (K+1))",
        "a1 alpha",
        "a2 alpha^2",
        "bound",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("check"), "without --check: {text}");
    let json = json(NETWORK, &["--tau", "0.25"]);
    // g is the mean loss of a regression plus 2 e^-3 on the diagonal of its Hessian, so mu_g is at least that.
    let constants = &json["theory"]["constants"];
    let mu = number(&constants["mu_g"]);
    assert!((0.0995..1.0).contains(&mu), "{mu}");
    assert!((number(&json["M"]) - number(&constants["c_f_theta"]) / mu).abs() < 1.0e-12);
    assert!(
        number(&json["theory"]["variances"]["g_theta"]) > 0.0,
        "batches of 10 have no variance"
    );
    let (lemma, apart) = (&json["lemma"], &json["theory"]["heterogeneity"]);
    let bound = number(&lemma["c_1"]) * number(&apart["b_f"])
        + number(&lemma["c_2"]) * number(&apart["b_g"]);
    assert!((number(&lemma["bound"]) / bound - 1.0).abs() < 1.0e-12, "{json}");
    assert!(number(&apart["b"]) < bound && number(&lemma["care"]) > 1.0, "{json}");
    for (scheme, corollary) in [("lg", 1), ("gt", 2)] {
        let found = &json[scheme];
        let (alpha, u) = (number(&found["alpha"]), number(&found["u"]));
        assert!(alpha > 0.0 && alpha <= u, "{json}");
        assert_eq!(number(&found["tau"]), 0.25);
        assert_eq!((&found["number"], &found["limit"]), (&corollary.into(), &"conditions".into()));
        let terms: f64 = found["terms"].as_array().unwrap().iter().map(number).sum();
        assert!((terms / number(&found["bound"]) - 1.0).abs() < 1.0e-12, "{json}");
    }
    let (_, again) = printed(NETWORK, &["--threads", "1"]);
    assert_eq!(again, text, "the number of threads changed the output");
}

#[test]
fn full_batches_have_the_deterministic_corollaries() {
    let (_, text) = printed(QUADRATIC, &[]);
    for word in [
        "corollary 3, LG, 40000 rounds: corollary 1 without variances",
        "corollary 4, GT, 40000 rounds: corollary 2 without variances",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    for (arguments, word) in [
        (&["--tau", "1"][..], "--tau must be above 0 and below 1, got 1"),
        (&["--seeds", "3"], "--check"),
        (&["--check", "--seeds", "0"], "0 is not in 1..=1000"),
    ] {
        let (status, text) = printed(NETWORK, arguments);
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn runs_on_quadratics_stay_below_a_bound_that_no_progress_would_exceed() {
    let (_, theory, checks) = checked(QUADRATIC, 3);
    for (scheme, check) in
        [(Scheme::LocalGradient, checks.lg), (Scheme::GradientTracking, checks.gt)]
    {
        let check = check.unwrap();
        let course = check.course.unwrap();
        assert_eq!((check.verdict, course.seeds), (Verdict::Below, 1), "{check:?}");
        assert!(check.bound < theory.start.hypergradient, "{check:?}");
        assert!(course.moved > 0.1 && course.mean > 0.0, "{check:?}");
        // The check can fail: with a bound a hundred times lower it does.
        let corollary = theory.corollary(scheme, 0.5, 40_000).unwrap();
        let low = Corollary { bound: corollary.bound / 100.0, ..corollary };
        let strict = Check::judge(&low, Ended::Well(course));
        assert_eq!(strict.verdict, Verdict::Above, "{strict:?}");
    }
    // The file's own steps are larger, and better.
    let practice = checks.practice.unwrap();
    assert!(practice.larger.unwrap() > 10.0 && practice.lower.unwrap() > 10.0, "{practice:?}");
}

#[test]
fn noisy_runs_stay_below_the_bound() {
    let text = network(&[("x0 = -3.0", "x0 = 0.0"), ("nodes = 4", "nodes = 3")]);
    let (prepared, theory, checks) = checked(&text, 3);
    for check in [checks.lg, checks.gt].map(Option::unwrap) {
        assert_eq!((check.verdict, check.course.unwrap().seeds), (Verdict::Below, 3), "{check:?}");
        assert!(check.course.unwrap().moved > 0.0);
    }
    // Seeds determine the batches, so the mean depends on their number. The first seed is the file's own run.
    let stop = AtomicBool::new(false);
    let one = CheckRuns::new(&prepared, &theory, 0.5, 1).run(&stop, || ()).unwrap().unwrap();
    let [own, of_three] = [one, checks].map(|checks| checks.practice.unwrap().course.unwrap().mean);
    assert!(own != of_three && (own / of_three - 1.0).abs() < 0.5, "{own} and {of_three}");
    let mut experiment = Experiment::parse(&text).unwrap();
    experiment.run.metrics = Choice::These(vec![Metric::Hypergradient]);
    experiment.run.record_every = 1;
    let own_run = Prepared::new(experiment).unwrap();
    let record = own_run.run(Options::default(), |_| ()).unwrap().record;
    let figures: Vec<f64> =
        record.values("hypergradient").unwrap().iter().map(|figure| figure.unwrap()).collect();
    assert_eq!(figures.len(), 61, "rounds 0 to 60");
    let mean = figures.iter().sum::<f64>() / 61.0;
    assert!((own / mean - 1.0).abs() < 1.0e-3, "{own}, not {mean}");
    // An interrupted check returns nothing.
    stop.store(true, Ordering::Relaxed);
    let stopped = CheckRuns::new(&prepared, &theory, 0.5, 1).run(&stop, || ()).unwrap();
    assert_eq!(stopped, None);
}

#[test]
fn the_command_checks_the_bound() {
    let short = QUADRATIC.replace("40000", "300");
    let (status, text) = printed(&short, &["--check"]);
    assert_eq!(status, Some(0), "{text}");
    for word in [
        "check, with the constants measured at x0",
        "over rounds 0 to 300, measured in 142 of them",
        "LG measured",
        "GT measured",
        "below the bound by a factor of",
        "so standing still would pass too",
        "the file's own steps (alpha 0.1) measured",
        "`lopa tune` finds such steps",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let plain = json(&short, &["--check"]);
    for scheme in ["lg", "gt"] {
        let check = &plain["check"][scheme];
        assert_eq!(check["verdict"], "below");
        assert_eq!(check["bound"], plain[scheme]["bound"]);
        let factor = number(&check["bound"]) / number(&check["course"]["mean"]);
        assert!((number(&check["factor"]) / factor - 1.0).abs() < 1.0e-12, "{plain}");
    }
    let practice = &plain["check"]["practice"];
    let larger = f64::from(0.1_f32) / number(&plain["lg"]["alpha"]);
    assert!((number(&practice["larger"]) / larger - 1.0).abs() < 1.0e-12, "{plain}");
    // Neither threads nor links change the result.
    for other in [
        json(&short, &["--check", "--threads", "1"]),
        json(&format!("{short}[links]\n"), &["--check"]),
    ] {
        assert_eq!(other, plain);
    }
    // The steps of another algorithm are not compared.
    let other =
        short.replace("lopa-lg", "spdb").replace("gamma = 0.3\n", "").replace("tau = 0.5\n", "");
    let other = json(&other, &["--check"]);
    assert_eq!(
        (&other["check"]["lg"], &other["check"]["practice"]),
        (&plain["check"]["lg"], &serde_json::Value::Null)
    );
}

#[test]
fn steps_too_small_for_f32_are_reported_as_unchecked() {
    // Around the base, x moves whatever its steps.
    let (status, text) = printed(NETWORK, &["--check", "--seeds", "2"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("below the bound") && !text.contains("never moved"), "{text}");
    // Not if it starts at a distance of 1.
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x0.csv"), ["-2,-4"; 12].join(",")).unwrap();
    let apart = format!("x0 = {:?}", dir.path().join("x0.csv"));
    let (status, text) = printed(&network(&[("x0 = -3.0", &apart)]), &["--check", "--seeds", "2"]);
    assert_eq!(status, Some(0), "{text}");
    for word in ["x never moved, so nothing is checked", "100 % of its steps", "over 2 seeds"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("below the bound"), "{text}");
}
