//! `lopa run`: its files, divergence, paths and threads.

use std::fs;
#[cfg(unix)]
use std::os::{fd::OwnedFd, unix::net::UnixDatagram};
use std::path::Path;
use std::process::Output;
#[cfg(unix)]
use std::process::{Command, Stdio};

use crate::common::{NETWORK, lopa, network, said};

/// Runs a file with this text.
fn run(dir: &Path, text: &str) -> Output {
    fs::write(dir.join("network.toml"), text).unwrap();
    lopa(dir, &["run", "network.toml", "--out", "results"])
}

/// Otherwise the lines of several nodes on one terminal would mix, and who waits for a line could take a part for the whole.
#[cfg(unix)]
#[test]
fn a_message_is_printed_in_one_piece() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("net.toml"), NETWORK).unwrap();
    for (words, start) in [
        (&["run", "net.toml", "--out", "out", "--live", "127.0.0.1:0"][..], "live: http://"),
        (&["run", "missing.toml", "--out", "out"], "lopa: cannot read missing.toml"),
    ] {
        // A message of such a socket is what was written at once.
        let (read, write) = UnixDatagram::pair().unwrap();
        // Too many would be lost, not waited for.
        write.set_nonblocking(true).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lopa"));
        command.current_dir(dir.path()).args(words).stdout(Stdio::null());
        command.stderr(OwnedFd::from(write)).status().unwrap();
        read.set_nonblocking(true).unwrap();
        let mut bytes = [0; 10_000];
        let length = read.recv(&mut bytes).unwrap();
        let piece = String::from_utf8_lossy(&bytes[..length]);
        assert!(piece.starts_with(start) && piece.ends_with('\n'), "{piece}");
        assert!(read.recv(&mut bytes).is_err(), "nothing else");
    }
}

#[test]
fn a_run_writes_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), NETWORK);
    assert!(output.status.success(), "{}", said(&output));
    assert!(output.stderr.is_empty(), "a progress bar in a pipe");
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
    // No temporary files are left behind.
    let left = fs::read_dir(dir.path().join("results")).unwrap();
    let hidden =
        left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn divergence_exits_with_status_1_and_keeps_the_results_so_far() {
    let dir = tempfile::tempdir().unwrap();
    let text = NETWORK
        .replace("beta = 0.05", "beta = 500.0")
        .replace("record_every = 20", "record_every = 1");
    let output = run(dir.path(), &text);
    let error = said(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("node")
            && error.contains("diverged in round")
            && error.contains("reduce beta first"),
        "{error}"
    );
    let csv = fs::read_to_string(dir.path().join("results/metrics.csv")).unwrap();
    assert!(csv.lines().count() > 2, "{csv}");
    let state = fs::read_to_string(dir.path().join("results/state.json")).unwrap();
    assert!(!state.contains("null"), "a number that is not finite was written");
}

#[test]
fn paths_are_relative_to_the_file_that_names_them() {
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
    let text = NETWORK
        .replace("\"ring\"", "\"file edges.txt\"\nweights = \"weights.csv\"")
        .replace("x0 = -3.0", "x0 = \"x0.csv\"");
    fs::write(inside.join("network.toml"), text).unwrap();
    let output = lopa(dir.path(), &["run", "inside/network.toml", "--out", "results"]);
    assert!(output.status.success(), "{}", said(&output));
    // The same network given by its name ends with the same bits.
    let path = run(dir.path(), &NETWORK.replace("\"ring\"", "\"path\""));
    assert!(path.status.success());
    let again = lopa(dir.path(), &["run", "inside/network.toml", "--out", "again"]);
    assert!(again.status.success());
    let read = |folder: &str| fs::read(dir.path().join(folder).join("state.json")).unwrap();
    assert!(read("results") == read("again"));
}

#[test]
fn strengths_are_stored_relative_to_where_they_start() {
    let dir = tempfile::tempdir().unwrap();
    let mean = [["-3"; 12].join(" "), ["-3.5"; 12].join(" ")].join("\n");
    fs::write(dir.path().join("x0.csv"), mean).unwrap();
    // A step this small leaves x where it starts.
    let still = |start: &str| {
        network(&[("alpha = 0.3", "alpha = 1e-30"), ("x0 = -3.0", &format!("x0 = {start}"))])
    };
    for (start, base, ends) in [
        ("-3.0", -3.0, [0.0, 0.0]),
        ("\"x0.csv\"", -3.0, [0.0, -0.5]),
        ("0.0", 0.0, [0.0, 0.0]),
        ("{ random = 0.5 }", 0.0, [f64::NAN; 2]),
    ] {
        let output = run(dir.path(), &still(start));
        assert!(output.status.success(), "{start}: {}", said(&output));
        let state = fs::read_to_string(dir.path().join("results/state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        assert_eq!(state.get("base").map_or(0.0, |base| base.as_f64().unwrap()), base, "{start}");
        let x = &state["nodes"][1]["x"];
        for (x, end) in [&x[0], &x[23]].into_iter().zip(ends) {
            let x = x.as_f64().unwrap();
            assert!(
                if end.is_nan() { x.abs() < 0.5 } else { (x - end).abs() < 1e-20 },
                "{start}: {x}"
            );
        }
    }
}

#[test]
fn threads_do_not_change_results() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("network.toml"), NETWORK).unwrap();
    let states = ["1", "2", "8"].map(|threads| {
        let output =
            lopa(dir.path(), &["run", "network.toml", "--out", threads, "--threads", threads]);
        assert!(output.status.success());
        fs::read(dir.path().join(threads).join("state.json")).unwrap()
    });
    assert!(states[0] == states[1] && states[1] == states[2]);
}
