//! Two ways for vectors to travel, in-process and over links with faults: the same bits.

use std::fs;
use std::path::Path;

use crate::common::network;
use lopa_host::config::Experiment;
use lopa_host::record::Record;
use lopa_host::report::Outputs;
use lopa_host::run::{Options, Prepared};

/// Six nodes and eighty rounds, with some text replaced.
fn eighty_rounds(changes: &[(&str, &str)]) -> String {
    let own = [
        ("nodes = 4\ntopology = \"ring\"", "nodes = 6\ntopology = \"small-world 4 0.3\""),
        ("iterations = 60", "iterations = 80"),
        ("record_every = 20", "record_every = 25"),
    ];
    network(&[&own, changes].concat())
}

/// A run without its nodes.
#[derive(Debug)]
struct Ran {
    record: Record,
    finished: bool,
    losses: u64,
}

/// Runs a file; the bytes are those of `state.json`.
fn run(text: &str, out: &Path) -> (Ran, Vec<u8>) {
    let prepared = Prepared::new(Experiment::parse(text).unwrap()).unwrap();
    let outputs = Outputs::new(out).unwrap();
    let options = Options { outputs: Some(&outputs), ..Options::default() };
    let outcome = prepared.run(options, |_| ()).unwrap();
    let ran = Ran { record: outcome.record, finished: outcome.finished, losses: outcome.losses };
    (ran, fs::read(out.join("state.json")).unwrap())
}

#[test]
fn links_with_faults_give_the_bits_of_an_in_process_run() {
    let dir = tempfile::tempdir().unwrap();
    for scheme in ["lopa-gt", "lopa-lg"] {
        let text = eighty_rounds(&[("lopa-gt", scheme)]);
        let (memory, states) = run(&text, &dir.path().join("memory"));
        for (number, links) in [
            "",
            "wiring = \"routed\"",
            "wiring = \"bus\"",
            "chunk = 7\ndrop = 0.1\ncorrupt = 0.05\nduplicate = 0.1\nreorder = 0.1\ndelay = 3000",
            "wiring = \"bus\"\nchunk = 24\nbaud = 115200\ncorrupt = 0.1\nseed = 9",
        ]
        .into_iter()
        .enumerate()
        {
            let linked = text.replace("[run]", &format!("[links]\n{links}\n[run]"));
            let (outcome, linked) = run(&linked, &dir.path().join(format!("{scheme}-{number}")));
            assert_eq!(outcome.losses, 0, "{links}");
            assert!(linked == states, "{scheme} {links}");
            // Every row of metrics is the same too, except for traffic and time.
            for (a, b) in memory.record.rows().iter().zip(outcome.record.rows()) {
                assert_eq!(a[..9], b[..9], "{links}");
            }
            assert_eq!(memory.record.last("bytes"), None);
            // 6 nodes, 80 rounds, at least two neighbours with 24 floats each; a bus sends them once to all.
            let least = 6.0 * 80.0 * 24.0 * 4.0;
            let bytes = outcome.record.last("bytes").unwrap();
            assert!(bytes > least && bytes < 30.0 * least, "{links}: {bytes}");
            assert!(outcome.record.last("frames").unwrap() >= 6.0 * 80.0);
        }
    }
}

#[test]
fn link_timeouts_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let text = eighty_rounds(&[("[run]", "[links]\ndrop = 0.97\nseed = 3\n[run]")]);
    let (outcome, _) = run(&text, &dir.path().join("lost"));
    assert!(outcome.finished && outcome.losses > 0, "{outcome:?}");
}

#[test]
fn quadratics_and_one_data_file_for_all_nodes_run() {
    let dir = tempfile::tempdir().unwrap();
    let quadratic = eighty_rounds(&[
        ("kind = \"logistic\"", "kind = \"quadratic\"\nouter = 5\ninner = 3"),
        ("x0 = -3.0", "x0 = { random = 0.5 }"),
    ]);
    let (outcome, states) = run(&quadratic, &dir.path().join("quadratic"));
    assert_eq!(outcome.record.last("test_accuracy"), None);
    let losses = outcome.record.values("outer_loss").unwrap();
    // The first rounds only find the inner solutions.
    assert!(losses.last() < losses.get(1), "{losses:?}");
    let linked = quadratic.replace("[run]", "[links]\ndrop = 0.1\n[run]");
    assert!(run(&linked, &dir.path().join("quadratic-links")).1 == states);

    // The same samples in both formats, partitioned in the same way.
    let (mut csv, mut svm) = (String::new(), String::new());
    for i in 0..120_i32 {
        let (a, b) = (f64::from(i * 37 % 101) / 50.0 - 1.0, f64::from(i * 53 % 97) / 48.0 - 1.0);
        let label = if a + 0.3 * b > 0.0 { 1 } else { -1 };
        csv += &format!("{label},{a},{b},1\n");
        svm += &format!("{label} 1:{a} 2:{b} 3:1\n");
    }
    fs::write(dir.path().join("all.csv"), csv).unwrap();
    fs::write(dir.path().join("all.svm"), svm).unwrap();
    let file = |source: &str, file: &str| {
        let path = dir.path().join(file);
        let table = format!("source = {source:?}\nfile = {path:?}\nintercept = true");
        run(&eighty_rounds(&[("source = \"synthetic\"", &table)]), &dir.path().join(source))
    };
    let (outcome, from_csv) = file("csv", "all.csv");
    assert!(outcome.record.last("test_accuracy").unwrap() > 0.8, "{outcome:?}");
    assert!(from_csv == file("libsvm", "all.svm").1);
}

#[test]
fn ten_thousand_nodes_run() {
    let dir = tempfile::tempdir().unwrap();
    let text = network(&[
        ("nodes = 4\ntopology = \"ring\"", "nodes = 10000\ntopology = \"torus 100x100\""),
        ("source = \"synthetic\"", "samples = 5\nfeatures = 16"),
        ("iterations = 60", "iterations = 20"),
    ]);
    let (outcome, states) = run(&text, &dir.path().join("many"));
    assert!(outcome.finished && states.len() > 10_000);
    let losses = outcome.record.values("outer_loss").unwrap();
    assert!(losses.last() < losses.first(), "{losses:?}");
    // A network of this size is not drawn.
    assert!(!dir.path().join("many/figures/network.svg").exists());
}

#[test]
fn exact_metrics_fall_and_survive_a_resume() {
    let dir = tempfile::tempdir().unwrap();
    let four = "metrics = [\"hypergradient\", \"lyapunov\", \"inner_error\", \"hv_error\"]";
    let text = eighty_rounds(&[
        ("[run]", &format!("[run]\n{four}")),
        ("kind = \"logistic\"", "kind = \"quadratic\"\nouter = 5\ninner = 3"),
        ("alpha = 0.3", "alpha = 0.05"),
        ("iterations = 80", "iterations = 400"),
    ]);
    let (outcome, _) = run(&text, &dir.path().join("whole"));
    for name in ["hypergradient", "lyapunov", "inner_error", "hv_error"] {
        let figures = outcome.record.values(name).unwrap();
        // Before the inner solutions are found, errors may rise.
        let (early, late) = (figures[1].unwrap(), figures.last().unwrap().unwrap());
        assert!(late < 0.5 * early, "{name}: {figures:?}");
    }
    let out = dir.path().join("parts");
    run(&text.replace("iterations = 400", "iterations = 160"), &out);
    let prepared = Prepared::new(Experiment::parse(&text).unwrap()).unwrap();
    let outputs = Outputs::new(&out).unwrap();
    let options = Options { outputs: Some(&outputs), resume: true, ..Options::default() };
    let resumed = prepared.run(options, |_| ()).unwrap();
    assert_eq!(resumed.record, outcome.record);
}
