//! `lopa run`: results, and what becomes of every mistake.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const GOOD: &str = r#"
[network]
nodes = 4
topology = "ring"

[problem]
kind = "logistic"

[algorithm]
name = "lopa-gt"
alpha = 0.3
beta = 0.05
lambda = 0.05
gamma = 0.3
tau = 0.5
batch = 10

[run]
iterations = 60
record_every = 20
x0 = -3.0
"#;

fn lopa(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lopa")).current_dir(dir).args(arguments).output().unwrap()
}

/// Runs a file with this text.
fn run(dir: &Path, text: &str) -> Output {
    fs::write(dir.join("network.toml"), text).unwrap();
    lopa(dir, &["run", "network.toml", "--out", "results"])
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_run_leaves_its_three_files() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), GOOD);
    assert!(output.status.success(), "{}", said(&output));
    assert!(output.stderr.is_empty(), "no bar in a pipe");
    let read = |name: &str| fs::read_to_string(dir.path().join("results").join(name)).unwrap();
    let csv = read("metrics.csv");
    let rows: Vec<&str> = csv.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(rows, ["0", "20", "40", "60"]);
    let losses: Vec<f64> =
        csv.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!(losses.last() < losses.first(), "{losses:?}");
    let state: serde_json::Value = serde_json::from_str(&read("state.json")).unwrap();
    assert_eq!(state["iteration"], 60);
    assert_eq!(state["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(state["nodes"][2]["x"].as_array().unwrap().len(), 24);
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(summary["experiment"]["algorithm"]["name"], "lopa-gt");
    // Nothing else is left behind.
    assert_eq!(fs::read_dir(dir.path().join("results")).unwrap().count(), 3);
}

#[test]
fn every_mistake_is_status_2_and_earlier_results_stay() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    assert!(run(path, GOOD).status.success());
    let before = fs::read(path.join("results/state.json")).unwrap();
    fs::create_dir_all(path.join("csv/node-0")).unwrap();
    fs::write(path.join("csv/node-0/train.csv"), "1,0.5\n0,nan\n").unwrap();
    fs::write(path.join("csv/node-0/val.csv"), "1,0.5\n").unwrap();
    fs::write(path.join("x0.csv"), "1,2,three").unwrap();
    fs::write(path.join("short.csv"), "1,2").unwrap();
    fs::write(path.join("edges.txt"), "0 1\n2 3\n").unwrap();
    fs::write(path.join("weights.csv"), "0.5,0.5\n0.4,0.6\n").unwrap();
    let data = |table: &str| GOOD.replace("[algorithm]", &format!("[data]\n{table}\n[algorithm]"));
    for (text, message) in [
        (GOOD.replace("alpha", "alhpa"), "did you mean `alpha`?"),
        (GOOD.replace("alpha = 0.3", "alpha = -0.3"), "alpha = -0.3 is out of range"),
        (GOOD.replace("gamma = 0.3", "gamma = 1.0"), "0 < gamma < 1 is needed"),
        (GOOD.replace("nodes = 4", "nodes = 0"), "at least one node"),
        (GOOD.replace("\"ring\"", "\"rign\""), "did you mean `ring`?"),
        (GOOD.replace("\"ring\"", "\"file edges.txt\""), "no path leads from node 0 to nodes 2, 3"),
        (GOOD.replace("\"ring\"", "\"ring\"\nweights = \"weights.csv\""), "row"),
        (GOOD.replace("x0 = -3.0", "x0 = \"missing.csv\""), "cannot read"),
        (GOOD.replace("x0 = -3.0", "x0 = \"x0.csv\""), "number 3 is \"three\""),
        (GOOD.replace("x0 = -3.0", "x0 = \"short.csv\""), "run.x0 has 2 numbers, 24 are needed"),
        (data("source = \"mnits\""), "data.source \"mnits\" is unknown"),
        (data("source = \"mnist\""), "data.dir is missing"),
        (data("source = \"mnist\"\ndir = \"nowhere\""), "nowhere"),
        (data("source = \"csv\"\ndir = \"csv\""), "train.csv"),
        (data("source = \"synthetic\"\nsamples = 0"), "no samples"),
    ] {
        let output = run(path, &text);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(2), "{message}: {error}");
        assert!(error.starts_with("lopa: ") && error.contains(message), "{message}: {error}");
        assert_eq!(fs::read(path.join("results/state.json")).unwrap(), before);
    }
    let output = lopa(path, &["run", "nothing.toml", "--out", "results"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("cannot read nothing.toml"));
    // A file stands where the folder should be.
    fs::write(path.join("network.toml"), GOOD).unwrap();
    let output = lopa(path, &["run", "network.toml", "--out", "x0.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("cannot write x0.csv"), "{}", said(&output));
    assert_eq!(lopa(path, &["run", "network.toml"]).status.code(), Some(2));
}

#[test]
fn divergence_is_status_1_with_everything_so_far_written() {
    let dir = tempfile::tempdir().unwrap();
    let text = GOOD
        .replace("beta = 0.05", "beta = 500.0")
        .replace("record_every = 20", "record_every = 1");
    let output = run(dir.path(), &text);
    let error = said(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("round") && error.contains("node") && error.contains("Inner"),
        "{error}"
    );
    let csv = fs::read_to_string(dir.path().join("results/metrics.csv")).unwrap();
    assert!(csv.lines().count() > 2, "{csv}");
    let state = fs::read_to_string(dir.path().join("results/state.json")).unwrap();
    assert!(!state.contains("null"), "only finite numbers are written");
}

#[test]
fn files_are_found_from_the_file_that_names_them() {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("edges.txt"), "0 1\n1 2\n2 3\n").unwrap();
    let third = 1.0_f32 / 3.0;
    let rest = 1.0 - third;
    let weights = format!(
        "{rest},{third},0,0\n{third},{third},{third},0\n0,{third},{third},{third}\n0,0,{third},{rest}\n"
    );
    fs::write(inside.join("weights.csv"), weights).unwrap();
    fs::write(inside.join("x0.csv"), ["-3"; 24].join("\n")).unwrap();
    let text = GOOD
        .replace("\"ring\"", "\"file edges.txt\"\nweights = \"weights.csv\"")
        .replace("x0 = -3.0", "x0 = \"x0.csv\"");
    fs::write(inside.join("network.toml"), text).unwrap();
    let output = lopa(dir.path(), &["run", "inside/network.toml", "--out", "results"]);
    assert!(output.status.success(), "{}", said(&output));
    // The same network by its name ends in the same bits.
    let path = run(dir.path(), &GOOD.replace("\"ring\"", "\"path\""));
    assert!(path.status.success());
    let again = lopa(dir.path(), &["run", "inside/network.toml", "--out", "again"]);
    assert!(again.status.success());
    let read = |folder: &str| fs::read(dir.path().join(folder).join("state.json")).unwrap();
    assert!(read("results") == read("again"));
}

#[test]
fn threads_do_not_change_results() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("network.toml"), GOOD).unwrap();
    let states = ["1", "2", "8"].map(|threads| {
        let output =
            lopa(dir.path(), &["run", "network.toml", "--out", threads, "--threads", threads]);
        assert!(output.status.success());
        fs::read(dir.path().join(threads).join("state.json")).unwrap()
    });
    assert!(states[0] == states[1] && states[1] == states[2]);
}
