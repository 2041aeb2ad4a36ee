//! `lopa compare` and `lopa sweep`: several runs, side by side and ranked.

use std::fs;
use std::path::Path;

use crate::common::{NETWORK, lopa, said};

fn good(dir: &Path, arguments: &[&str]) -> String {
    let output = lopa(dir, arguments);
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(dir: &Path, arguments: &[&str], words: &str) {
    let output = lopa(dir, arguments);
    let error = said(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert!(error.contains(words), "{words}: {error}");
}

/// A folder with two files.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("gt.toml"), NETWORK).unwrap();
    fs::write(dir.path().join("lg.toml"), NETWORK.replace("lopa-gt", "lopa-lg")).unwrap();
    dir
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn runs_are_drawn_together() {
    let dir = place();
    let path = dir.path();
    good(path, &["compare", "gt.toml", "lg.toml", "--out", "both"]);
    let table = rows(&path.join("both/compare.csv"));
    assert_eq!([&table[0][0], &table[1][0], &table[2][0]], ["run", "\"gt\"", "\"lg\""]);
    // Each run's results are those of a run alone.
    good(path, &["run", "lg.toml", "--out", "alone"]);
    let state = |folder: &str| fs::read(path.join(folder).join("state.json")).unwrap();
    assert!(state("both/lg") == state("alone"));
    let page = fs::read_to_string(path.join("both/report.html")).unwrap();
    assert!(page.contains(">gt</text>") && page.contains(">lg</text>"));
    // Of the experiments, the differences.
    assert!(page.contains("<td>algorithm.name</td><td>lopa-gt</td><td>lopa-lg</td>"), "{page}");
    assert_eq!(page.matches("algorithm.alpha = 0.3\n").count(), 1);
    assert!(!page.contains("<td>algorithm.alpha</td>"));
    for name in ["outer_loss.svg", "outer_loss.png", "test_accuracy.svg"] {
        assert!(path.join("both/figures").join(name).exists(), "{name}");
    }
    // Folders with results are not run again, and a name that occurs twice is numbered.
    let said = good(path, &["compare", "both/gt", "alone", "gt.toml", "--out", "again"]);
    assert!(said.contains("alone") && said.contains("gt-2"), "{said}");
    let again = rows(&path.join("again/compare.csv"));
    let loss = table[0].iter().position(|name| name == "outer_loss").unwrap();
    assert_eq!([&again[1][loss], &again[3][loss]], [&table[1][loss]; 2]);
    let page = fs::read_to_string(path.join("again/report.html")).unwrap();
    let row = "<td>algorithm.name</td><td>lopa-gt</td><td>lopa-lg</td><td>lopa-gt</td>";
    assert!(page.contains(row) && !page.contains("<td>algorithm.alpha</td>"), "{page}");
    assert!(page.contains("<a href=\"gt-2/report.html\">") && !page.contains("alone/report.html"));
}

#[test]
fn seeds_make_bands_and_another_axis_can_be_chosen() {
    let dir = place();
    let arguments = ["--seeds", "3", "--against", "hessian_vectors"];
    let all = [&["compare", "gt.toml", "lg.toml", "--out", "both"], &arguments[..]].concat();
    good(dir.path(), &all);
    let page = fs::read_to_string(dir.path().join("both/report.html")).unwrap();
    assert!(page.contains("Mean over 3 seeds; the band is the 95 % confidence interval"));
    assert!(page.contains(">Hessian-vector products</text>"));
}

#[test]
fn mistakes_are_refused_before_anything_runs() {
    let dir = place();
    let path = dir.path();
    fs::create_dir(path.join("empty")).unwrap();
    let compare = |first: &str, more: &[&str], said: &str| {
        let all = [&["compare", first, "lg.toml", "--out", "x"], more].concat();
        refused(path, &all, said);
        assert!(!path.join("x/lg").exists());
    };
    compare("missing.toml", &[], "cannot read missing.toml");
    compare("empty", &[], "metrics.csv");
    compare("gt.toml", &["--against", "second"], "choose iteration, outer_loss");
    compare("gt.toml", &["--seeds", "0"], "--seeds");
    refused(path, &["compare", "gt.toml", "--out", "x"], "2 values required");
    let sweep = |more: &[&str], said: &str| {
        refused(path, &[&["sweep", "gt.toml", "--out", "y"], more].concat(), said);
        assert!(!path.join("y/sweep.csv").exists());
    };
    sweep(&[], "nothing to try");
    sweep(&["--alpha", "0.1,x"], "is not a list of values: write 0.1,0.2,0.5");
    sweep(&["--alpha", "1:0.1:5"], "is not a list of values");
    sweep(&["--gamma", "0.5,1.5"], "gamma = 1.5 is out of range");
    sweep(&["--alpha", "0.1", "--metric", "loss"], "choose one of outer_loss, inner_loss");
    sweep(&["--alpha", "0.1", "--metric", "bytes"], "this network has no bytes");
    let many = "0.01:1:500";
    sweep(&["--alpha", many, "--beta", many], "750000 runs are too many");
}

#[test]
fn a_sweep_ranks_what_it_tried() {
    let dir = place();
    let path = dir.path();
    let all = ["sweep", "gt.toml", "--out", "s", "--alpha", "0.02,0.3", "--beta", "0.05,900"];
    let told = good(path, &all);
    let table = rows(&path.join("s/sweep.csv"));
    assert_eq!(table[0][..7], ["rank", "alpha", "beta", "lambda", "gamma", "tau", "outer_loss"]);
    assert_eq!(table.len(), 5);
    // The larger step gets further in so few rounds; a beta of 900 diverges and ranks last.
    assert_eq!(table[1][1..3], ["0.3", "0.05"], "{told}");
    let losses: Vec<f64> = table[1..3].iter().map(|row| row[6].parse().unwrap()).collect();
    assert!(losses[0] < losses[1], "{told}");
    assert!(table[3..].iter().all(|row| row[2] == "900" && row[6].is_empty() && row[10] == "3"));
    assert!(told.contains("3 of 3 diverged"), "{told}");
    // The band of three seeds contains their mean.
    let [mean, low, high] = [6, 7, 8].map(|at| table[1][at].parse::<f64>().unwrap());
    assert!(low < mean && mean < high);
    // The best combination is a file that can be run.
    good(path, &["run", "s/best.toml", "--out", "best"]);
    let page = fs::read_to_string(path.join("s/report.html")).unwrap();
    assert!(page.contains("alpha 0.3, beta 0.05") && page.contains("Mean over 3 seeds"));
    // The number of threads does not matter.
    let again = [&all[..2], &["--out", "t", "--threads", "1"], &all[4..]].concat();
    good(path, &again);
    assert_eq!(rows(&path.join("t/sweep.csv")), table);
    // If every run diverged, the command fails.
    let output = lopa(path, &["sweep", "gt.toml", "--out", "u", "--beta", "900"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("every run diverged"));
}
