//! `lopa paper`: the studies from the command line.

mod common;

use std::fs;

use common::{folder, lopa, said};

#[test]
fn the_list_names_every_study() {
    let dir = tempfile::tempdir().unwrap();
    let output = lopa(dir.path(), &["paper", "list"]);
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", said(&output));
    for (name, _) in lopa_host::paper::STUDIES {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name} is not in\n{list}");
    }
}

#[test]
fn mistakes_are_told() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, what) in [
        (
            vec!["paper", "hyper-minst", "--out", "o"],
            "there is no study \"hyper-minst\": choose all",
        ),
        (vec!["paper", "momentum"], "--out DIR is missing"),
        (vec!["paper", "topology", "--out", "o"], "there is no folder data/mnist"),
        (vec!["paper", "momentum", "--out", "o", "--seeds", "0"], "0"),
    ] {
        let output = lopa(dir.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{arguments:?}: {}", said(&output));
        assert!(!dir.path().join("o").exists(), "{arguments:?}");
    }
}

#[test]
fn a_study_leaves_its_report_records_and_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["paper", "momentum", "--quick", "--seeds", "3", "--out", "o"];
    let output = lopa(dir.path(), &arguments);
    assert!(output.status.success(), "{}", said(&output));
    let folder = dir.path().join("o/momentum");
    let study: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("study.json")).unwrap()).unwrap();
    assert_eq!((study["seeds"].as_u64(), study["quick"].as_bool()), (Some(3), Some(true)));
    let verdict = study["verdict"].as_str().unwrap();
    assert!(["holds", "partly", "does-not-hold"].contains(&verdict), "{verdict}");
    let records = fs::read_to_string(folder.join("records.csv")).unwrap();
    assert!(records.starts_with("arm,seed,iteration,"), "{records}");
    // Three arms, three seeds, the start and ten recorded rounds.
    assert_eq!(records.lines().count(), 1 + 3 * 3 * 11);
    assert!(folder.join("figures/hypergradient-iteration.svg").is_file());
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Is the momentum needed?") && page.contains("This is the quick form"));
    let all = fs::read_to_string(dir.path().join("o/results.md")).unwrap();
    assert!(all.contains("lopa paper momentum --quick"), "{all}");
    // The same again, to the bit, on other threads.
    let output = lopa(dir.path(), &[&arguments[..6], &["p", "--threads", "1"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    let again = fs::read(dir.path().join("p/momentum/records.csv")).unwrap();
    assert!(records.as_bytes() == again);
}

#[test]
fn studies_of_real_data_run_in_their_quick_form() {
    let Some(data) = folder("mnist") else { return };
    let dir = tempfile::tempdir().unwrap();
    let data = data.parent().unwrap().to_str().unwrap().to_owned();
    for study in ["hyper-mnist", "classification-4"] {
        let output = lopa(dir.path(), &["paper", study, "--quick", "--data", &data, "--out", "o"]);
        assert!(output.status.success(), "{}", said(&output));
        let folder = dir.path().join("o").join(study);
        let tried = fs::read_to_string(folder.join("tune.csv")).unwrap();
        // The same number of trials for every algorithm.
        let trials = |arm: &str| {
            let rows = tried.lines().filter(|line| line.starts_with(&format!("\"{arm}\"")));
            rows.filter(|line| line.split(',').nth(2) == Some("0")).count()
        };
        assert!(trials("SPDB") > 1 && trials("SPDB") == trials("LoPA-GT"), "{tried}");
        assert!(folder.join("report.html").is_file());
    }
}
