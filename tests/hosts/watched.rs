//! What it costs the thread that learns to be watched (`lopa run --live`), in instructions.

use std::fs;
use std::process::Command;

use crate::counts::{grouped, number};
use crate::pico::lopa;

/// Ten nodes with as many features as MNIST.
const NETWORK: &str = r#"
[network]
nodes = 10
topology = "ring"

[problem]
kind = "logistic"

[data]
features = 784
relevant = 40
samples = 8

[algorithm]
name = "lopa-gt"
alpha = 0.3
beta = 0.05
lambda = 0.05
gamma = 0.3
tau = 0.5
batch = 4

[run]
iterations = 19
record_every = 1
x0 = -3.0
"#;

/// Rows of metrics: one per round, and one where it starts.
const RECORDS: u64 = 20;

/// At 100 records per second a record takes 10 ms, in which the slowest of hosts executes 10 million instructions: 2 % of them.
const MOST: u64 = 200_000;

#[test]
#[ignore = "needs valgrind: tests/run.sh runs it"]
fn being_watched_costs_less_than_2_percent() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), NETWORK).unwrap();
    let mut valgrind = Command::new("valgrind");
    // Only what the run itself does for those that watch is counted, in whatever thread it runs. The pattern ends with the name:
    // closures in it would switch counting off.
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"]);
    valgrind.arg("--toggle-collect=*lopa_host::live::*Watch*::see");
    valgrind.arg(lopa()).current_dir(dir.path());
    valgrind.args(["run", "net.toml", "--out", "out", "--threads", "1", "--live", "127.0.0.1:0"]);
    let output = valgrind.output().unwrap_or_else(|error| {
        panic!("valgrind does not start ({error}): apt-get install valgrind")
    });
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    let all = line.and_then(|(_, count)| number(count.trim()));
    let each = all.unwrap_or_else(|| panic!("valgrind printed no count: {text}")) / RECORDS;
    println!("{} instructions per record", grouped(each));
    assert!((100..MOST).contains(&each), "{each} instructions per record");
}
