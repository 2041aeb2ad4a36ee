//! `lopa` without a command: the demonstration that a new user sees first.

use std::process::{Command, Output};

fn lopa(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lopa")).args(arguments).output().unwrap()
}

/// The last word of the line that begins with `name`.
fn number(text: &str, name: &str) -> f32 {
    let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn the_fleet_learns_what_no_node_knows() {
    let output = lopa(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let fixed = number(&text, "the same strength");
    let alone = number(&text, "each node");
    let (lg, gt) = (number(&text, "LoPA-LG"), number(&text, "LoPA-GT"));
    assert!(alone > fixed + 0.05 && lg > alone + 0.01 && gt > alone + 0.01, "{text}");
    // Every feature that matters ends with a smaller strength than every one that does not.
    let strength = |line: &str| line.split_whitespace().nth(3).unwrap().parse::<f32>().unwrap();
    let of = |mark| text.lines().filter(move |line| line.contains(mark)).map(strength);
    let largest = of("matters ").fold(0.0, f32::max);
    let smallest = of("noise ").fold(f32::INFINITY, f32::min);
    assert!(largest < smallest, "{text}");
}

#[test]
fn a_seed_repeats_the_output_and_a_pipe_gets_no_progress_bar() {
    let arguments = ["--nodes", "3", "--rounds", "50", "--seed", "9"];
    let (a, b) = (lopa(&arguments), lopa(&arguments));
    assert_eq!(a, b);
    assert!(a.stderr.is_empty());
    assert_ne!(a.stdout, lopa(&["--nodes", "3", "--rounds", "50", "--seed", "8"]).stdout);
}

#[test]
fn the_example_file_reproduces_the_demonstration() {
    let example = lopa(&["example"]);
    assert!(example.status.success());
    let dir = tempfile::tempdir().unwrap();
    let [file, out] = ["ring.toml", "results"].map(|name| dir.path().join(name));
    std::fs::write(&file, &example.stdout).unwrap();
    let ran = lopa(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let (ran, shown) =
        [ran.stdout, lopa(&[]).stdout].map(|text| String::from_utf8(text).unwrap()).into();
    let accuracy = number(&ran, "test accuracy");
    assert_eq!(format!("{accuracy:.3}"), format!("{:.3}", number(&shown, "LoPA-GT")));
}

#[test]
fn bad_usage_exits_with_status_2() {
    for arguments in [&["--nodes", "0"][..], &["--nodes", "many"], &["--rounds", "0"], &["--wat"]] {
        let output = lopa(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(!output.stderr.is_empty());
    }
    assert!(lopa(&["--help"]).status.success());
}
