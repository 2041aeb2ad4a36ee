//! Every algorithm from a file to its results.

use std::fs;
use std::path::Path;

use crate::common::{lopa, network, said};
use lopa_host::algorithms::{AlgorithmName, Key};

const STEPS: &str = "alpha = 0.3\nbeta = 0.05\nlambda = 0.05\ngamma = 0.3\ntau = 0.5\n";

/// The small network with another algorithm.
fn file(name: AlgorithmName, more: &[(&str, &str)]) -> String {
    let value = |key: &Key| match key {
        Key::Alpha => 0.1,
        Key::Gamma | Key::Tau => 0.5,
        _ => 0.05,
    };
    let own: String =
        name.about().needs.iter().map(|key| format!("{} = {}\n", key.name(), value(key))).collect();
    let changes = [("lopa-gt", name.word()), (STEPS, own.as_str())];
    network(&[&changes, more].concat())
}

fn good(dir: &Path, arguments: &[&str]) -> String {
    let output = lopa(dir, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn write(dir: &Path, name: AlgorithmName, more: &[(&str, &str)]) -> String {
    let path = format!("{name}.toml");
    fs::write(dir.join(&path), file(name, more)).unwrap();
    path
}

/// A column of metrics.csv, by its name.
fn column(folder: &Path, name: &str) -> Vec<Option<f64>> {
    let text = fs::read_to_string(folder.join("metrics.csv")).unwrap();
    let head = text.lines().next().unwrap();
    let at = head.split(',').position(|column| column == name).unwrap();
    let cell = |line: &str| line.split(',').nth(at).unwrap().parse().ok();
    text.lines().skip(1).map(cell).collect()
}

#[test]
fn every_algorithm_runs_from_a_file_learns_and_counts() {
    let dir = tempfile::tempdir().unwrap();
    for name in AlgorithmName::ALL {
        let path = write(dir.path(), name, &[]);
        good(dir.path(), &["run", &path, "--out", name.word()]);
        let folder = dir.path().join(name.word());
        let loss = column(&folder, "outer_loss");
        assert!(loss.last() < loss.first(), "{name}: {loss:?}");
        assert_eq!(column(&folder, "iteration").last(), Some(&Some(60.0)));
        let rounds = 60.0;
        let [inner, hessian, vectors] = ["inner_gradients", "hessian_vectors", "vectors"]
            .map(|count| column(&folder, count).last().copied().flatten().unwrap() / rounds);
        let wanted = |text: &str, mean: f64| match text {
            "T" => 10.0,
            "Q-1" => 9.0,
            "(Q-1)/2" => mean,
            number => number.parse().unwrap(),
        };
        let cost = name.about().cost;
        if name == AlgorithmName::Vrdbo {
            // The first round has no previous point; after it, both points are evaluated, with 4.5 products each.
            assert!((inner - 119.0 / 60.0).abs() < 1e-9 && (hessian - 9.0).abs() < 1.0);
        } else {
            assert_eq!(inner, wanted(cost.inner_gradients, 0.0), "{name}");
            // 240 draws with a deviation of 2.9 each.
            let wanted = wanted(cost.hessian_vectors, 4.5);
            let slack = if cost.hessian_vectors == "(Q-1)/2" { 0.8 } else { 1e-9 };
            assert!((hessian - wanted).abs() < slack, "{name}: {hessian}, not {wanted}");
        }
        assert_eq!(vectors, wanted(cost.vectors, 0.0), "{name}");
        let summary = fs::read_to_string(folder.join("summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        assert_eq!(summary["algorithm"], name.about().title);
        let page = fs::read_to_string(folder.join("report.html")).unwrap();
        let reconstructed = name.about().reconstruction.is_some();
        assert_eq!(page.contains("is a reconstruction"), reconstructed, "{name}");
        assert_eq!(summary["reconstruction"].is_string(), reconstructed, "{name}");
        let state = fs::read_to_string(folder.join("state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        let node = &state["nodes"][1];
        assert_eq!(node["theta"].as_array().unwrap().len(), 24);
        // Variables that an algorithm does not have are not written.
        assert_eq!(node.get("v").is_none(), name.is_single_level(), "{name}");
        let multipliers =
            [AlgorithmName::Slam, AlgorithmName::SparkleExtra, AlgorithmName::SparkleEd];
        assert_eq!(node.get("dual").is_some(), multipliers.contains(&name), "{name}");
        if name.is_single_level() {
            assert!(node["x"].as_array().unwrap().iter().all(|x| x == 0.0), "{name}");
        }
    }
}

#[test]
fn exact_metrics_exist_where_their_variables_do() {
    let dir = tempfile::tempdir().unwrap();
    let all = ("record_every = 20", "record_every = 60\nmetrics = \"all\"");
    for name in [AlgorithmName::Spdb, AlgorithmName::Slam, AlgorithmName::Dgd, AlgorithmName::Dsgt]
    {
        let path = write(dir.path(), name, &[all]);
        good(dir.path(), &["run", &path, "--out", name.word()]);
        let last = |column_name: &str| {
            column(&dir.path().join(name.word()), column_name).last().copied().flatten()
        };
        assert!(last("hypergradient").is_some() && last("inner_error").is_some());
        assert_eq!(last("hv_error").is_some(), !name.is_single_level(), "{name}");
        let tracks = matches!(name, AlgorithmName::Spdb | AlgorithmName::Dsgt);
        assert_eq!(last("tracking").is_some(), tracks, "{name}");
        assert!(last("lyapunov").is_none());
        assert!(last("consensus").unwrap() > 0.0, "{name}: no consensus error");
    }
}

#[test]
fn stops_and_threads_change_no_bit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    for name in [AlgorithmName::Vrdbo, AlgorithmName::Slam, AlgorithmName::MaDsbo] {
        let long = write(path, name, &[]);
        good(path, &["run", &long, "--out", "whole", "--threads", "1"]);
        fs::write(path.join("short.toml"), file(name, &[("iterations = 60", "iterations = 40")]))
            .unwrap();
        good(path, &["run", "short.toml", "--out", "parts", "--threads", "2"]);
        good(path, &["run", &long, "--out", "parts", "--resume", "--threads", "8"]);
        let state = |folder: &str| fs::read(path.join(folder).join("state.json")).unwrap();
        assert!(state("whole") == state("parts"), "{name}");
        let counts = |folder: &str| column(&path.join(folder), "hessian_vectors");
        assert_eq!(counts("whole"), counts("parts"), "{name}");
    }
    // Another algorithm cannot resume it.
    let other = write(path, AlgorithmName::Spdb, &[]);
    let output = lopa(path, &["run", &other, "--out", "parts", "--resume"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("the table [algorithm]"), "{}", said(&output));
}

#[test]
fn algorithms_are_compared_and_swept() {
    let dir = tempfile::tempdir().unwrap();
    let files = [AlgorithmName::LopaGt, AlgorithmName::Spdb, AlgorithmName::Dgd]
        .map(|name| write(dir.path(), name, &[]));
    let mut arguments = vec!["compare"];
    arguments.extend(files.iter().map(String::as_str));
    arguments.extend(["--out", "all", "--against", "hessian_vectors"]);
    good(dir.path(), &arguments);
    let table = fs::read_to_string(dir.path().join("all/compare.csv")).unwrap();
    assert!(table.contains("\"spdb\"") && table.contains("\"dgd\""), "{table}");
    let sweep = ["sweep", "spdb.toml", "--out", "sweep", "--alpha", "0.1,0.2", "--seeds", "1"];
    good(dir.path(), &sweep);
    let best = fs::read_to_string(dir.path().join("sweep/best.toml")).unwrap();
    assert!(best.contains("name = \"spdb\"") && !best.contains("tau"), "{best}");
    let output = lopa(dir.path(), &["sweep", "dgd.toml", "--out", "x", "--beta", "0.1,0.2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("algorithm.beta does not apply to dgd"), "{}", said(&output));
}

#[test]
fn options_of_lopa_are_refused_for_other_algorithms() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), AlgorithmName::Slam, &[("[run]", "[links]\nbaud = 9600\n[run]")]);
    let output = lopa(dir.path(), &["run", &path, "--out", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("links: slam runs in-process only"), "{}", said(&output));
    let path = write(dir.path(), AlgorithmName::Slam, &[]);
    let output = lopa(dir.path(), &["shard", &path, "--out", "x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("algorithm.name is slam"), "{}", said(&output));
}

#[test]
fn divergence_of_any_algorithm_exits_with_status_1() {
    let dir = tempfile::tempdir().unwrap();
    let wild = ("beta = 0.05", "beta = 500.0");
    let path = write(dir.path(), AlgorithmName::MaDsbo, &[wild]);
    let output = lopa(dir.path(), &["run", &path, "--out", "results"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("diverged in round"), "{}", said(&output));
    assert!(dir.path().join("results/metrics.csv").exists());
}

#[test]
fn the_list_and_the_pages_name_every_algorithm() {
    let dir = tempfile::tempdir().unwrap();
    let list = good(dir.path(), &["algorithms"]);
    let page = include_str!("../README.md");
    for name in AlgorithmName::ALL {
        let about = name.about();
        assert!(list.contains(name.word()), "{name}");
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}`")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in the page"));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[1].ends_with('*'), about.reconstruction.is_some(), "{name}");
        assert_eq!(cells[4], about.cost.inner_gradients, "{name}");
        assert_eq!(cells[5], about.cost.hessian_vectors, "{name}");
        assert_eq!(cells[6], about.cost.vectors, "{name}");
        assert!(cells[7] == about.source || cells[7] == "the same", "{name}");
        // The example that it prints is a valid file.
        let own = good(dir.path(), &["algorithms", name.word()]);
        assert!(own.contains(about.source), "{own}");
        let (_, table) = own.split_once("[algorithm]").unwrap();
        let table = format!("[algorithm]{table}").replace("# ", "");
        let text =
            network(&[("[algorithm]\nname = \"lopa-gt\"", ""), (STEPS, ""), ("batch = 10", "")]);
        let text = text + &table.replace("inner_gamma = gamma", "").replace("gamma = alpha", "");
        let read = lopa_host::config::Experiment::parse(&text);
        assert_eq!(read.map_err(|error| format!("{error}\n{text}")).unwrap().algorithm.name, name);
    }
    let output = lopa(dir.path(), &["algorithms", "sgd"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("lopa-gt, spdb"), "{}", said(&output));
}

#[test]
fn tune_gives_every_algorithm_the_same_budget() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    for name in [AlgorithmName::LopaLg, AlgorithmName::Dgd] {
        write(path, name, &[]);
    }
    let tune = ["tune", "lopa-lg.toml", "dgd.toml", "--out", "tuned", "--trials", "9"];
    let said_all = good(path, &tune);
    // 9 trials of 6 rounds, 3 of 20, 1 of 60.
    assert_eq!(said_all.matches("9 trials, 174 rounds in total").count(), 2, "{said_all}");
    let table = fs::read_to_string(path.join("tuned/tune.csv")).unwrap();
    assert_eq!(table.lines().filter(|line| line.contains(",lopa-lg,0,")).count(), 9);
    assert_eq!(table.lines().filter(|line| line.contains(",dgd,2,")).count(), 1);
    good(path, &["run", "tuned/lopa-lg.toml", "--out", "best"]);
    let before = fs::read(path.join("tuned/tune.csv")).unwrap();
    good(path, &[&tune[..], &["--threads", "1"]].concat());
    assert_eq!(
        before,
        fs::read(path.join("tuned/tune.csv")).unwrap(),
        "it depends on the seed alone"
    );
    for (wrong, words) in [
        (&["--range", "1:0.1"][..], "is not a range"),
        (&["--metric", "luck"], "choose one of outer_loss"),
        (&["--trials", "0"], "0 is not in"),
    ] {
        let output = lopa(path, &[&tune[..5], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
    let output = lopa(path, &["tune", "dgd.toml", "tuned/dgd.toml", "--out", "x"]);
    assert!(said(&output).contains("two files are named dgd"), "{}", said(&output));
}
