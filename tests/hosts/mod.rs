//! Instructions of a step on a host, counted by valgrind, against the page in this folder.
//!
//! A count does not depend on how busy the machine is, as time does.

mod vectors;
mod watched;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::counts::{Findings, blessing, change, grouped, number, ratio};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/instructions.md");
const BLESS: &str = "LOPA_BLESS=1 cargo test -p lopa-tests hosts:: -- --ignored";

/// A job of the program `host-steps`.
struct Job {
    name: &'static str,
    /// What the page says about it.
    about: &'static str,
    nodes: u64,
    /// The products that a node's oracles add up in one iteration.
    multiply_adds: u64,
    /// Rounds of two runs, whose difference is counted: what comes before the first round cancels out.
    rounds: [u64; 2],
}

const JOBS: [Job; 2] = [
    Job {
        name: "logistic",
        about: "ten nodes on a ring, 784 features, batches of 40",
        nodes: 10,
        multiply_adds: 7 * 40 * 784,
        rounds: [5, 45],
    },
    Job {
        name: "shared-layer",
        about: "eight nodes on a ring, 784-28-10, batches of 50",
        nodes: 8,
        multiply_adds: 50 * (5 * (784 * 28 + 28 * 10) + 2 * 784 * 28 + 8 * 28 * 10 + 2 * 10),
        rounds: [1, 5],
    },
];

impl Job {
    /// Instructions per node and iteration.
    fn instructions(&self, program: &Path) -> u64 {
        let [few, many] = self.rounds.map(|rounds| self.count(program, rounds));
        (many - few) / (self.rounds[1] - self.rounds[0]) / self.nodes
    }

    /// Instructions of a whole run.
    fn count(&self, program: &Path, rounds: u64) -> u64 {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        valgrind.arg(program).arg(self.name).arg(rounds.to_string());
        // Else the place of the stack, and with it some copies, would depend on the environment.
        valgrind.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = valgrind.output().unwrap_or_else(|error| {
            panic!("valgrind does not start ({error}): apt-get install valgrind")
        });
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "valgrind failed on {}: {text}", self.name);
        // "I refs:" or, in older versions, "I   refs:".
        let line = text.lines().find_map(|line| line.split_once("refs:"));
        line.and_then(|(_, count)| number(count.trim()))
            .unwrap_or_else(|| panic!("valgrind printed no count: {text}"))
    }
}

/// Builds the program as it is released.
fn build() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("host-steps");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--release", "--locked", "--package", "lopa-tests"]);
    cargo.args(["--bin", "host-steps", "--features", "host-steps", "--target-dir"]).arg(&folder);
    // Flags meant for the tests, such as coverage, would be counted.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("release/host-steps")
}

/// The first line that a tool prints about itself.
fn version(tool: &str) -> String {
    let output = Command::new(tool).arg("--version").output();
    let output = output.unwrap_or_else(|error| panic!("{tool} does not start: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

fn page(counts: &[u64]) -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    include_str!("page.md")
        .replace("{rustc}", &version(&rustc))
        .replace("{valgrind}", &version("valgrind"))
        .replace("{rows}", &rows(counts))
}

fn rows(counts: &[u64]) -> String {
    let line = |(job, count): (&Job, &u64)| {
        let (count, each) = (grouped(*count), ratio(*count, job.multiply_adds));
        format!("| {} | {} | {count} | {each} |", job.name, job.about)
    };
    JOBS.iter().zip(counts).map(line).collect::<Vec<String>>().join("\n")
}

/// The count of a job on the page.
fn known(page: &str, job: &Job) -> Option<u64> {
    page.lines().find_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, _, count, _, _] = cells[..] else { return None };
        if name == job.name { number(count) } else { None }
    })
}

#[test]
#[ignore = "needs valgrind: tests/run.sh runs it"]
fn instructions_match_the_page() {
    let program = build();
    let counts = JOBS.map(|job| job.instructions(&program));
    let before = std::fs::read_to_string(PAGE).unwrap_or_default();
    if blessing() {
        std::fs::write(PAGE, page(&counts)).expect("the page can be written");
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    let mut findings = Findings::default();
    println!("{:14} {:>12} {:>12} {:>8}", "job", "now", "page", "change");
    for (job, count) in JOBS.iter().zip(counts) {
        let (page, percent) = match known(&before, job) {
            Some(page) => (grouped(page), format!("{:+.1} %", change(page, count))),
            None => ("-".into(), "new".into()),
        };
        println!("{:14} {:>12} {page:>12} {percent:>8}", job.name, grouped(count));
        match known(&written, job) {
            Some(known) => {
                let mut row = Findings::default();
                row.count(known, count);
                findings.add(job.name, row);
            }
            None => findings.failures.push(format!("{}: not on the page", job.name)),
        }
    }
    findings.settle(BLESS);
}

#[test]
fn the_page_is_read_as_it_is_written() {
    let text = rows(&[1_234, 56]);
    assert_eq!(JOBS.map(|job| known(&text, &job)), [Some(1_234), Some(56)]);
}
