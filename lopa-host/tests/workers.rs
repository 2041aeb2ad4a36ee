//! `--workers` and `lopa worker`: one run in several processes, some of which are killed.

use std::fs;
use std::path::Path;

use crate::common::fleet::{Running, states};
use crate::common::{lopa, network, said};

/// The metrics of a run, without the seconds that it took.
fn metrics(folder: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("metrics.csv")).unwrap();
    let rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let mut rows: Vec<Vec<String>> = rows.collect();
    let seconds = rows[0].iter().position(|name| name == "seconds").unwrap();
    rows.iter_mut().for_each(|row| drop(row.remove(seconds)));
    rows
}

fn assert_same(dir: &Path, one: &str, other: &str) {
    let [one, other] = [one, other].map(|name| dir.join(name));
    assert_eq!(metrics(&one), metrics(&other));
    assert_eq!(states(&one.join("state.json")), states(&other.join("state.json")));
}

fn run(dir: &Path, file: &str, more: &[&str]) {
    let output = lopa(dir, &[&["run", file, "--out"], more].concat());
    assert!(output.status.success(), "{more:?}: {}", said(&output));
    assert_eq!(said(&output), "");
}

/// Sockets for processes, in the form of `--workers`.
fn sockets(dir: &Path, number: usize) -> String {
    let socket = |part: usize| format!("unixsock-stream/{}", dir.join(part.to_string()).display());
    (0..number).map(socket).collect::<Vec<_>>().join(",")
}

/// The round of a checkpoint, if there is one already.
fn saved_round(folder: &Path) -> Option<u64> {
    let bytes = fs::read(folder.join("checkpoint.lopa")).ok()?;
    let json = bytes.split(|byte| *byte == b'\n').nth(1)?;
    serde_json::from_slice::<serde_json::Value>(json).ok()?["round"].as_u64()
}

#[test]
fn results_do_not_depend_on_workers() {
    let dir = tempfile::tempdir().unwrap();
    let file = network(&[("nodes = 4", "nodes = 9")]);
    fs::write(dir.path().join("net.toml"), &file).unwrap();
    run(dir.path(), "net.toml", &["one"]);
    run(dir.path(), "net.toml", &["three", "--workers", "3"]);
    assert_same(dir.path(), "one", "three");
    // Few bits travel between processes as well.
    fs::write(dir.path().join("bits.toml"), file + "[links]\nbits = 4\nsimulate = false\n")
        .unwrap();
    run(dir.path(), "bits.toml", &["one-bits"]);
    run(dir.path(), "bits.toml", &["two-bits", "--workers", "2"]);
    assert_same(dir.path(), "one-bits", "two-bits");
}

#[test]
fn a_killed_worker_ends_the_run_and_the_checkpoint_continues_it() {
    let dir = tempfile::tempdir().unwrap();
    let text = |rounds: u64| {
        let rounds = format!("iterations = {rounds}\ncheckpoint_every = 20");
        network(&[("iterations = 60", &rounds)])
    };
    fs::write(dir.path().join("net.toml"), text(1 << 40)).unwrap();
    let at = sockets(dir.path(), 3);
    let worker = |part: &'static str| {
        let words = ["worker", "net.toml", "--workers", &at, "--part", part];
        Running::start(dir.path(), part, &[], &words)
    };
    let lead = ["run", "net.toml", "--out", "out", "--workers", &at];
    // In any order.
    let mut first = worker("1");
    let mut leader = Running::start(dir.path(), "lead", &[], &lead);
    let mut second = worker("2");
    let out = dir.path().join("out");
    leader.wait_until(|_| saved_round(&out).is_some_and(|round| round >= 40));
    first.signal("KILL");
    assert_eq!(leader.status(), Some(1));
    let told = leader.said();
    assert!(told.contains("worker 1 is gone"), "{told}");
    assert!(told.contains("--resume"), "{told}");
    second.status();
    // A bit longer, from there: as if nothing had happened.
    let round = saved_round(&out).unwrap();
    fs::write(dir.path().join("net.toml"), text(round + 30)).unwrap();
    run(dir.path(), "net.toml", &["out", "--resume", "--workers", "2"]);
    run(dir.path(), "net.toml", &["one"]);
    assert_same(dir.path(), "one", "out");
}

/// A worker of a run of two.
fn worker_of_two(dir: &Path, name: &str) -> Running {
    let words = ["worker", "net.toml", "--workers", &sockets(dir, 2), "--part", "1"];
    Running::start(dir, name, &[], &words)
}

/// The worker and the leader of a run that does not end by itself, once it has saved a checkpoint.
fn two_in_the_middle(dir: &Path) -> [Running; 2] {
    let file = network(&[("iterations = 60", "iterations = 99999999")]);
    fs::write(dir.join("net.toml"), file).unwrap();
    let worker = worker_of_two(dir, "worker");
    let lead = ["run", "net.toml", "--out", "out", "--workers", &sockets(dir, 2)];
    let mut leader = Running::start(dir, "lead", &[], &lead);
    leader.wait_until(|_| saved_round(&dir.join("out")).is_some());
    [worker, leader]
}

#[test]
fn a_worker_in_the_place_of_a_killed_one_is_not_taken_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let [mut worker, mut leader] = two_in_the_middle(dir.path());
    worker.signal("KILL");
    let _another = worker_of_two(dir.path(), "another");
    assert_eq!(leader.status(), Some(1));
    assert!(leader.said().contains("worker 1 is gone"), "{}", leader.said());
}

#[test]
fn workers_end_with_a_run_that_is_killed_and_mistakes_come_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let [mut worker, mut leader] = two_in_the_middle(dir.path());
    leader.signal("KILL");
    assert_eq!(worker.status(), Some(1));
    assert!(worker.said().contains("worker 0 is gone"), "{}", worker.said());
    for (arguments, what) in [
        (&["run", "net.toml", "--out", "a", "--workers", "5"][..], "use at most 4"),
        (&["run", "net.toml", "--out", "a", "--workers", "1"], "use 2 to 1024"),
        (&["run", "net.toml", "--out", "a", "--workers", "here"], "addresses such as"),
        (&["run", "net.toml", "--out", "a", "--zenoh", "z.json5"], "--workers"),
        (&["worker", "net.toml", "--workers", "2", "--part", "1"], "only lopa run"),
        (&["worker", "net.toml", "--workers", "a:1,b:1", "--part", "2"], "workers 1 to 1"),
        (&["worker", "net.toml", "--workers", "a:1,b:1", "--part", "0"], "worker 0 is lopa run"),
    ] {
        let output = lopa(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(what), "{arguments:?}: {}", said(&output));
    }
}
