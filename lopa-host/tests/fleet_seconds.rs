//! The simulated seconds of a fleet: those of its links and of what nodes compute, not those of the simulation.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{lopa, network, said};
use lopa_host::config::Experiment;
use lopa_host::record::Record;
use lopa_host::report::Outputs;
use lopa_host::run::{Options, Prepared};

const ROUNDS: u64 = 40;
/// x has 24 floats, which travel in one frame per round and direction.
const VALUES: f64 = 24.0 * 4.0;
/// What a frame has besides, and what confirms it, at most.
const OVERHEAD: f64 = 32.0;

/// Two nodes that send each other x, with a table of links.
fn pair(links: &str) -> String {
    network(&[
        ("nodes = 4\ntopology = \"ring\"", "nodes = 2\ntopology = \"path\""),
        ("lopa-gt", "lopa-lg"),
        ("iterations = 60", &format!("iterations = {ROUNDS}")),
        ("record_every = 20", "record_every = 1"),
        ("[run]", &format!("{links}\n[run]")),
    ])
}

fn prepared(text: &str) -> Prepared {
    Prepared::new(Experiment::parse(text).unwrap()).unwrap()
}

fn record(links: &str) -> Record {
    prepared(&pair(links)).run(Options::default(), |_| ()).unwrap().record
}

/// The column, every value of which exists.
fn fleet_seconds(record: &Record) -> Vec<f64> {
    record.values("fleet_seconds").unwrap().into_iter().map(Option::unwrap).collect()
}

fn links(baud: u32, compute: u64) -> String {
    format!("[links]\nbaud = {baud}\ncompute = {compute}")
}

/// What every round but the first takes: in that one, nodes also greet each other.
fn rounds(record: &Record) -> Vec<f64> {
    fleet_seconds(record)[1..].windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Times are counted in whole microseconds, and a frame's is rounded up.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-5
}

#[test]
fn a_round_takes_as_long_as_its_frames_on_the_line() {
    let record = record(&links(9600, 0));
    // A byte takes ten bits; both directions are busy at the same time.
    let time = |bytes: f64| bytes * 10.0 / 9600.0;
    let bytes: Vec<f64> = record.values("bytes").unwrap().into_iter().flatten().collect();
    let sent = bytes[1..].windows(2).map(|pair| (pair[1] - pair[0]) / 2.0);
    let rounds = rounds(&record);
    assert_eq!(rounds.len() as u64, ROUNDS - 1);
    for (round, sent) in rounds.iter().zip(sent) {
        assert!(*round > time(VALUES) && *round < time(VALUES + OVERHEAD), "{rounds:?}");
        assert!(close(*round, time(sent)), "{round} {sent}");
    }
    let all = fleet_seconds(&record);
    assert!(all[0] == 0.0 && all[1] > rounds[0], "{all:?}");
}

#[test]
fn twice_the_baud_rate_halves_what_links_take_but_not_what_computing_takes() {
    let [slow, fast] = [9600, 19200].map(|baud| record(&links(baud, 0)));
    for (slow, fast) in rounds(&slow).into_iter().zip(rounds(&fast)) {
        assert!(close(slow, 2.0 * fast), "{slow} {fast}");
    }
    let [whole, half] = [&slow, &fast].map(|record| *fleet_seconds(record).last().unwrap());
    assert!((whole / half - 2.0).abs() < 0.01, "{whole} {half}");
    for (baud, idle) in [(9600, &slow), (19200, &fast)] {
        let busy = record(&links(baud, 5000));
        for (busy, idle) in rounds(&busy).into_iter().zip(rounds(idle)) {
            assert!(close(busy, idle + 0.005), "{baud}: {busy} {idle}");
        }
        // After a round, a node has computed as often as there were rounds: the next has not begun. Greetings differ a little.
        for (round, (busy, idle)) in
            fleet_seconds(&busy).iter().zip(fleet_seconds(idle)).enumerate()
        {
            let more = 0.005 * round as f64;
            assert!((busy - idle - more).abs() < 0.0025, "{baud}, round {round}: {busy} {idle}");
        }
    }
}

#[test]
fn lost_frames_take_time_and_few_bits_save_it() {
    let end = |more: &str| {
        let all = fleet_seconds(&record(&format!("{}\n{more}", links(9600, 0))));
        assert!(all.is_sorted(), "{more}: {all:?}");
        all.last().copied().unwrap()
    };
    let plain = end("");
    assert!(end("drop = 0.1") > 1.5 * plain);
    assert!(end("bits = 4") < plain / 1.5);
}

#[test]
fn values_in_process_take_no_simulated_time() {
    for (links, has_bytes) in [("", false), ("[links]\nsimulate = false", true)] {
        let record = record(links);
        let column = record.values("fleet_seconds").unwrap();
        assert!(column.len() as u64 == ROUNDS + 1 && column.iter().all(Option::is_none));
        assert_eq!(record.last("bytes").is_some(), has_bytes);
    }
}

#[test]
fn files_of_a_run_show_it_if_links_are_simulated() {
    let dir = tempfile::tempdir().unwrap();
    for (name, links, there) in [("links", "[links]", true), ("memory", "", false)] {
        let text = pair(links);
        let outputs = Outputs::new(dir.path().join(name)).unwrap();
        let options = Options { outputs: Some(&outputs), ..Options::default() };
        let record = prepared(&text).run(options, |_| ()).unwrap().record;
        let read = |file: &str| fs::read_to_string(dir.path().join(name).join(file)).unwrap();
        assert!(read("metrics.csv").lines().next().unwrap().contains(",frames,fleet_seconds,"));
        assert_eq!(read("report.html").contains("simulated fleet seconds"), there, "{name}");
        let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
        let last = record.last("fleet_seconds");
        assert_eq!(summary["metrics"]["fleet_seconds"].as_f64(), last, "{name}");
        assert_eq!(last.is_some(), there, "{name}");
    }
}

/// The record of a run with files, which stops after `stop` rounds and is resumed.
fn in_two_parts(text: &str, stop: u64) -> Record {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path()).unwrap();
    let flag = AtomicBool::new(false);
    let options = Options { outputs: Some(&outputs), stop: Some(&flag), ..Options::default() };
    let prepared = prepared(text);
    let tick = |round| flag.store(round + 1 >= stop, Ordering::Relaxed);
    assert_eq!(prepared.run(options, tick).unwrap().round, stop);
    let options = Options { outputs: Some(&outputs), resume: true, ..Options::default() };
    prepared.run(options, |_| ()).unwrap().record
}

#[test]
fn a_resumed_fleet_goes_on_from_its_time_and_boots_again() {
    let stop = 15;
    for faults in ["", "\ndrop = 0.1"] {
        let text = links(9600, 5000) + faults;
        let whole = fleet_seconds(&record(&text));
        let parts = fleet_seconds(&in_two_parts(&pair(&text), stop as u64));
        assert_eq!(whole[..=stop], parts[..=stop]);
        assert!(parts.is_sorted() && parts.len() == whole.len(), "{parts:?}");
        // Nodes greet each other again, as at the start. Without faults all else takes the same time.
        if faults.is_empty() {
            for (round, time) in parts[stop..].iter().enumerate() {
                assert!(close(time - parts[stop], whole[round]), "{round}: {parts:?}");
            }
        }
    }
}

/// Two baud rates, on three seeds.
const STUDY: &str = r#"
title = "Two baud rates"
claim = "the faster one is faster"
place = "nowhere"
against = ["fleet_seconds"]
figures = ["outer_loss"]
seeds = 3
variant = [
  { name = "fast", set = { links = { baud = 19200, compute = 0 } } },
  { name = "slow", set = { links = { baud = 9600, compute = 0 } } },
]
check = [{ rule = "sooner", metric = "outer_loss", targets = [0.6], along = "fleet_seconds", who = ["fast"], than = ["slow"] }]
costs = { metric = "outer_loss", targets = [0.6], along = ["fleet_seconds"] }
[base]
network = { nodes = 4 }
problem = { kind = "logistic" }
data = { features = 5, relevant = 2, samples = 20 }
algorithm = { name = "lopa-gt", alpha = 0.1, beta = 0.1, lambda = 0.1, gamma = 0.4, tau = 0.4, batch = 4 }
run = { iterations = 40, record_every = 1, x0 = -3.0 }
"#;

#[test]
fn studies_can_count_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("baud.toml"), STUDY).unwrap();
    let output = lopa(dir.path(), &["paper", "baud.toml", "--out", "o"]);
    assert!(output.status.success(), "{}", said(&output));
    let printed = String::from_utf8_lossy(&output.stdout);
    let finding = "holds: slow / fast: 2.00 (2.00 to 2.00) at 0.6";
    assert!(printed.contains(finding), "{printed}");
    let folder = dir.path().join("o/baud");
    let chart = folder.join("figures/outer_loss-fleet_seconds.svg");
    assert!(fs::read_to_string(chart).unwrap().contains(">simulated fleet seconds<"));
    // Unlike measured seconds, these are the same on every machine.
    let records = fs::read_to_string(folder.join("records.csv")).unwrap();
    assert!(records.lines().next().unwrap().contains("fleet_seconds"), "{records}");
    assert!(fs::read_to_string(folder.join("section.md")).unwrap().contains("fleet seconds"));
}
