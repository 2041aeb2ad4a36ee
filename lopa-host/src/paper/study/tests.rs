//! Studies: what is run, and what is refused.

use super::*;

const STUDY: &str = r#"
    title = "A study"
    claim = "a is better"
    place = "here"
    against = ["hessian_vectors"]
    figures = ["outer_loss"]
    quick = { run = { iterations = 3 } }
    variant = [
        { name = "a", set = { algorithm = { name = "lopa-gt", gamma = 0.4, tau = 0.4 } } },
        { name = "b", set = { algorithm = { name = "spdb" }, run = { iterations = 7 } }, quick = { run = { iterations = 2 } } },
    ]
    case = [{ name = "few", set = { network = { nodes = 4 } } }, { name = "many" }]
    check = [{ rule = "better", value = { metric = "outer_loss" }, who = "a, few", than = "b, many" }]
    [base]
    network = { nodes = 8 }
    problem = { kind = "quadratic", outer = 3, inner = 2 }
    run = { iterations = 9 }
    algorithm = { alpha = 0.1, beta = 0.1, lambda = 0.1 }
"#;

fn arms(text: &str, mode: Mode) -> Vec<Arm> {
    Study::parse(text).unwrap().plan(mode, None).unwrap().arms
}

#[test]
fn arms_are_all_variants_in_all_cases() {
    let sizes = |mode| -> Vec<(String, u32, u64)> {
        let of = |arm: Arm| (arm.name, arm.experiment.network.nodes, arm.experiment.run.iterations);
        arms(STUDY, mode).into_iter().map(of).collect()
    };
    let name = |name: &str| name.to_owned();
    assert_eq!(
        sizes(Mode::Whole),
        [
            (name("a, few"), 4, 9),
            (name("b, few"), 4, 7),
            (name("a, many"), 8, 9),
            (name("b, many"), 8, 7)
        ]
    );
    let quick = sizes(Mode::Quick);
    assert_eq!((quick[0].2, quick[1].2), (3, 2));
    let metrics = arms(STUDY, Mode::Whole)[0].experiment.run.metrics.metrics();
    assert_eq!(metrics, [Metric::OuterLoss, Metric::HessianVectors]);
}

#[test]
fn arms_are_tuned_unless_their_variant_or_case_opts_out() {
    let tune =
        "tune = { trials = 3, quick_trials = 2, metric = \"outer_loss\", range = [0.1, 1.0] }";
    let text = STUDY.replacen("quick =", &format!("{tune}\nquick ="), 1);
    let tuned = |text: &str| -> Vec<bool> {
        arms(text, Mode::Whole).iter().map(|arm| arm.search.is_some()).collect()
    };
    assert_eq!(tuned(STUDY), [false; 4]);
    assert_eq!(tuned(&text), [true; 4]);
    let variant = text.replace("name = \"a\",", "name = \"a\", tune = false,");
    assert_eq!(tuned(&variant), [false, true, false, true]);
    let case = text.replace("name = \"many\"", "name = \"many\", tune = false");
    assert_eq!(tuned(&case), [true, true, false, false]);
}

#[test]
fn step_sizes_scale_with_a_power_of_the_quantity() {
    let text = STUDY
        .replace("gamma = 0.4, tau = 0.4 } }", "gamma = 0.4, tau = 0.4 } }, steps = -0.5")
        .replace("{ name = \"few\", set", "{ name = \"few\", at = 4, set")
        .replace("{ name = \"many\" }", "{ name = \"many\", at = 16 }");
    let scaled = arms(&text, Mode::Whole);
    let steps = |arm: &Arm| {
        let a = &arm.experiment.algorithm;
        (a.alpha, a.beta, a.lambda, a.gamma, a.tau)
    };
    let tenth = Some(0.1);
    assert_eq!(steps(&scaled[0]), (tenth, tenth, tenth, Some(0.4), Some(0.4)));
    let half = Some(0.05);
    assert_eq!(steps(&scaled[2]), (half, half, half, Some(0.2), Some(0.4)));
    let held = text.replace("steps = -0.5", "steps = -0.5, hold_gamma = true");
    assert_eq!(steps(&arms(&held, Mode::Whole)[2]), (half, half, half, Some(0.4), Some(0.4)));
    assert_eq!(steps(&scaled[3]), (tenth, tenth, tenth, None, None));
}

#[test]
fn mistakes_in_a_study_are_named() {
    let error = |text: &str| match Study::parse(text) {
        Ok(study) => study.plan(Mode::Whole, None).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error(&STUDY.replace("\"a, few\"", "\"c\"")).contains("a check names \"c\""));
    let aside = "aside = [{ rule = \"rate\", value = { metric = \"consensus\" }, who = \"d\", power = 1 }]\n";
    assert!(error(&format!("{aside}{STUDY}")).contains("a check names \"d\""));
    let unjudged = STUDY.lines().map(|line| match line.trim().starts_with("check") {
        true => "check = []\n".to_owned(),
        false => format!("{line}\n"),
    });
    assert!(error(&unjudged.collect::<String>()).contains("check is empty"));
    assert!(error(&STUDY.replace("claim", "clam")).contains("unknown field `clam`"));
    assert!(error(&STUDY.replace("gamma = 0.4, ", "")).contains("a, few: algorithm: missing"));
}

#[test]
fn a_control_lets_one_variant_run_as_another() {
    let control = |instead: &str| -> Result<Vec<(String, String)>, StudyError> {
        let control = format!("control = [{{ what = \"a is b\", instead = {instead} }}]\n[base]");
        let study = Study::parse(&STUDY.replacen("[base]", &control, 1)).unwrap();
        let plan = study.control_plan(&study.control[0])?;
        let played = |arm: Arm| (arm.name, arm.experiment.algorithm.name.to_string());
        Ok(plan.arms.into_iter().map(played).collect())
    };
    let arms = control("{ a = \"b\" }").unwrap();
    assert_eq!(arms[0], ("a, few".to_owned(), "spdb".to_owned()));
    assert_eq!(arms[1], ("b, few".to_owned(), "spdb".to_owned()));
    let error = control("{ a = \"c\" }").unwrap_err().to_string();
    assert!(error.contains('c'), "{error}");
    control("{ c = \"a\" }").unwrap_err();
}
