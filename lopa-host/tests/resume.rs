//! A run that was stopped and resumed ends like an uninterrupted one.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::Duration;

use crate::common::{lopa, network, said};
use lopa_host::config::Experiment;
use lopa_host::report::Outputs;
use lopa_host::run::{Options, Prepared};

const LINKS: &str = "[links]\nwiring = \"routed\"\nchunk = 10\ndrop = 0.05\n[run]";

const BITS: &str = "[links]\nbits = 4\nsimulate = false\n[run]";

const BITS_OVER_LINKS: &str = "[links]\nbits = 4\nchunk = 32\ndrop = 0.05\n[run]";

/// Five nodes and ninety rounds with metrics of single nodes, and some text replaced.
fn ninety_rounds(changes: &[(&str, &str)]) -> String {
    let own = [("nodes = 4", "nodes = 5"), ("iterations = 60", "iterations = 90\nper_node = true")];
    network(&[&own, changes].concat())
}

/// The table without its column of seconds, the last one.
fn timeless(csv: &str) -> Vec<&str> {
    assert!(csv.lines().next().unwrap().ends_with(",seconds"));
    csv.lines().map(|line| line.rsplit_once(',').unwrap().0).collect()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Compares states and tables, except for the seconds.
fn assert_same(a: &Path, b: &Path, traffic: bool) {
    assert!(read(a, "state.json") == read(b, "state.json"));
    assert_eq!(read(a, "nodes.csv"), read(b, "nodes.csv"));
    let (a, b) = (read(a, "metrics.csv"), read(b, "metrics.csv"));
    let [a, b] = [&a, &b].map(|csv| timeless(csv));
    // After a stop, nodes over links greet again, which adds traffic and simulated time.
    let cut = |line: &&str| {
        if traffic {
            (*line).into()
        } else {
            line.splitn(9, ',').take(8).collect::<Vec<_>>().join(",")
        }
    };
    let [a, b]: [Vec<String>; 2] = [a, b].map(|lines| lines.iter().map(cut).collect());
    assert_eq!(a, b);
}

fn prepared(text: &str) -> Prepared {
    Prepared::new(Experiment::parse(text).unwrap()).unwrap()
}

/// Runs to the end.
fn run(text: &str, out: &Path, resume: bool) {
    let outputs = Outputs::new(out).unwrap();
    let options = Options { outputs: Some(&outputs), resume, ..Options::default() };
    prepared(text).run(options, |_| ()).unwrap();
}

/// Runs to `stop`, then to the end.
fn in_two_parts(text: &str, stop: u64, out: &Path) {
    let flag = AtomicBool::new(false);
    let outputs = Outputs::new(out).unwrap();
    let outputs = Some(&outputs);
    let options = Options { outputs, stop: Some(&flag), ..Options::default() };
    let prepared = prepared(text);
    let first =
        prepared.run(options, |round| flag.store(round + 1 >= stop, Ordering::Relaxed)).unwrap();
    assert_eq!((first.round, first.finished), (stop, false));
    assert_eq!(first.record.rows().last().unwrap()[0], Some(stop as f64));
    assert!(read(out, "summary.json").contains("\"finished\":false"));
    assert!(read(out, "state.json").starts_with(&format!("{{\"iteration\":{stop},")));
    let options = Options { outputs, resume: true, ..Options::default() };
    let second = prepared.run(options, |_| ()).unwrap();
    assert!(second.finished);
}

#[test]
fn a_run_stopped_anywhere_resumes_to_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let stops = &[1, 20, 37, 89][..];
    for (name, text, links, stops) in [
        ("gt", ninety_rounds(&[]), false, stops),
        ("lg", ninety_rounds(&[("lopa-gt", "lopa-lg")]), false, stops),
        ("links", ninety_rounds(&[("[run]", LINKS)]), true, stops),
        ("bits-gt", ninety_rounds(&[("[run]", BITS)]), false, &[1, 37]),
        ("bits-links", ninety_rounds(&[("[run]", BITS_OVER_LINKS)]), true, &[1, 37]),
        ("bits-lg", ninety_rounds(&[("[run]", BITS), ("lopa-gt", "lopa-lg")]), false, &[37]),
    ] {
        let whole = dir.path().join(name);
        run(&text, &whole, false);
        for stop in stops {
            let parts = dir.path().join(format!("{name}-{stop}"));
            in_two_parts(&text, *stop, &parts);
            assert_same(&whole, &parts, !links);
        }
    }
}

#[test]
fn a_checkpoint_of_another_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = ninety_rounds(&[]);
    run(&text, dir.path(), false);
    let path = dir.path().join("checkpoint.lopa");
    let mut bytes = fs::read(&path).unwrap();
    let version = bytes.iter().position(|byte| *byte == b'\n').unwrap() - 1;
    // Before version 7, records had no column of simulated seconds.
    assert_eq!(bytes[version], b'7');
    bytes[version] = b'6';
    let end = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let outputs = Outputs::new(dir.path()).unwrap();
    let options = Options { outputs: Some(&outputs), resume: true, ..Options::default() };
    let error = prepared(&text).run(options, |_| ()).unwrap_err().to_string();
    assert!(error.contains("damaged or of another version; run without --resume"), "{error}");
}

#[test]
fn a_finished_run_can_be_extended() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run(&ninety_rounds(&[]), &whole, false);
    let short = ninety_rounds(&[("iterations = 90", "iterations = 50")]);
    run(&short, &parts, false);
    run(&ninety_rounds(&[]), &parts, true);
    assert_same(&whole, &parts, true);
    // Resuming a finished run does nothing.
    run(&ninety_rounds(&[]), &parts, true);
    assert_same(&whole, &parts, true);
}

/// Starts a run that would not end, with some words in front of the command, and waits until it has written a checkpoint.
#[cfg(unix)]
fn endless(before: &[&str], dir: &Path) -> Child {
    let text = ninety_rounds(&[
        ("iterations = 90", "iterations = 1000000000000\ncheckpoint_every = 20"),
        ("record_every = 20", "record_every = 1000"),
    ]);
    fs::write(dir.join("network.toml"), text).unwrap();
    let run = [env!("CARGO_BIN_EXE_lopa"), "run", "network.toml", "--out", "results"];
    let words = [before, &run].concat();
    let mut child = Command::new(words[0])
        .current_dir(dir)
        .args(&words[1..])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !dir.join("results/checkpoint.lopa").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before the signal");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

/// Ends such a run with a signal.
#[cfg(unix)]
fn end_by(signal: &str, dir: &Path) -> std::process::Output {
    let child = endless(&[], dir);
    send(signal, &child);
    child.wait_with_output().unwrap()
}

/// Resumes the interrupted run for some more rounds, and compares.
#[cfg(unix)]
fn resume(dir: &Path) {
    let bytes = fs::read(dir.join("results/checkpoint.lopa")).unwrap();
    let json = bytes.split(|byte| *byte == b'\n').nth(1).unwrap();
    let standing: serde_json::Value = serde_json::from_slice(json).unwrap();
    let round = standing["round"].as_u64().unwrap();
    let end = (round / 1000 + 1) * 1000 + 7;
    let text = fs::read_to_string(dir.join("network.toml")).unwrap();
    let text = text.replace("iterations = 1000000000000", &format!("iterations = {end}"));
    fs::write(dir.join("network.toml"), text).unwrap();
    for arguments in [&["--out", "results", "--resume"][..], &["--out", "whole"]] {
        let output = lopa(dir, &[&["run", "network.toml"], arguments].concat());
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_same(&dir.join("whole"), &dir.join("results"), true);
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_cleanly_and_the_run_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let output = end_by("-INT", dir.path());
    let error = said(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("continue with: lopa run network.toml --out results --resume"),
        "{error}"
    );
    for name in ["metrics.csv", "state.json", "summary.json"] {
        assert!(dir.path().join("results").join(name).exists(), "{name}");
    }
    resume(dir.path());
}

#[test]
#[cfg(unix)]
fn a_run_without_a_terminal_goes_on_if_it_was_started_so() {
    let dir = tempfile::tempdir().unwrap();
    // As nohup does, which would also write a file.
    let mut child = endless(&["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"], dir.path());
    let checkpoint = dir.path().join("results/checkpoint.lopa");
    for _ in 0..2 {
        send("-HUP", &child);
        let before = fs::read(&checkpoint).unwrap();
        while fs::read(&checkpoint).unwrap() == before {
            assert!(child.try_wait().unwrap().is_none(), "the run has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    send("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
#[cfg(unix)]
fn a_killed_run_loses_only_the_rounds_since_its_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    end_by("-KILL", dir.path());
    resume(dir.path());
}
