//! The image of the Pico, unchanged, on an emulator that is not ours: rp2040js.
//!
//! The Picos and the lines between them run in simulated time, in the JavaScript files of this folder; hosts reach them
//! through their emulated USB ports, which are sockets. The emulator has gaps, which those files fill and name. `npm ci`
//! installs it from the lock file; `tests/run.sh` does that.

mod bench;

pub use bench::lopa;

use std::fs;

use self::bench::{Bench, Plan, RING, Seen};

/// A file with logistic regression on a few synthetic samples.
fn network(nodes: u32, topology: &str, rounds: u64, checkpoint_every: u64, baud: u32) -> String {
    format!(
        r#"
        network = {{ nodes = {nodes}, topology = "{topology}" }}
        problem = {{ kind = "logistic" }}
        data = {{ features = 8, relevant = 3, samples = 12 }}
        links = {{ baud = {baud}, chunk = 4 }}
        run = {{ iterations = {rounds}, seed = 5, x0 = -3.0, checkpoint_every = {checkpoint_every} }}
        [algorithm]
        name = "lopa-gt"
        alpha = 0.5
        beta = 0.3
        lambda = 0.3
        gamma = 0.5
        tau = 0.7
        batch = 4
        "#
    )
}

/// No Pico was reset, all have finished, and their bits are those of `lopa run`.
fn assert_learned(bench: &Bench, seen: &[Seen]) {
    for (node, seen) in seen.iter().enumerate() {
        assert!(seen.finished && seen.resets == 0, "node {node}: {seen:?}");
    }
    let [run, read] = ["run/state.json", "read/state.json"].map(|file| bench.states(file));
    assert_eq!(run.len(), seen.len());
    for (node, (run, read)) in run.iter().zip(&read).enumerate() {
        for variable in ["x", "theta", "v", "z", "y"] {
            assert!(run[variable].as_array().is_some_and(|floats| !floats.is_empty()));
            // Shortest decimal forms, which differ if a bit does.
            assert_eq!(run[variable], read[variable], "node {node}: {variable}");
        }
    }
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn a_pico_without_a_blob_blinks_for_20_seconds_and_is_not_reset() {
    let bench = Bench::blank();
    let report = bench.run(&Plan { seconds: 20, ..Plan::default() });
    let [seen] = &report.picos[..] else { panic!("{report:?}") };
    // On and off five times per second.
    assert_eq!(seen.resets, 0, "{seen:?}");
    assert!((195..=205).contains(&seen.changes), "{seen:?}");
    assert!(seen.baud.abs_diff(115_200) < 100, "{seen:?}");
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn a_pico_whose_blob_does_not_fit_still_listens_at_its_baud_rate() {
    let problem = "{ kind = \"quadratic\", outer = 11000, inner = 4, heterogeneity = 0.5 }";
    let text = network(2, "path", 10, 1000, 250_000)
        .replace("{ kind = \"logistic\" }", problem)
        .replace("data = { features = 8, relevant = 3, samples = 12 }", "");
    let bench = Bench::new(&text);
    let report = bench.run(&Plan { seconds: 2, ..Plan::default() });
    for seen in &report.picos {
        assert!(seen.resets == 0 && seen.changes > 15, "{seen:?}");
        assert!(seen.baud.abs_diff(250_000) < 100, "{seen:?}");
    }
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn a_pair_of_picos_computes_the_simulations_bits() {
    let bench = Bench::new(&network(2, "path", 30, 10, 115_200));
    let report = bench.learn_and_read(&Plan::default());
    assert_learned(&bench, &report.picos);
    // An erase leaves the lines deaf no longer than one sector takes.
    assert!(report.picos.iter().all(|seen| seen.erases >= 3 && seen.deaf < 60.0), "{report:?}");
    // Two pages and a number for each checkpoint, and the number of the boot.
    assert!(report.picos.iter().all(|seen| seen.programs <= 3 * seen.erases + 1), "{report:?}");
    // What arrives meanwhile is caught.
    assert!(report.picos.iter().all(|seen| seen.lost == 0), "{report:?}");
}

/// With the image that `lopa fleet FILE flash` builds for such a file.
#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn a_pair_of_picos_sends_few_bits() {
    // Two blocks: two frames in the first round, and one in the others.
    let text = network(2, "path", 20, 10, 115_200)
        .replace("features = 8,", "features = 40,")
        .replace("chunk = 4", "chunk = 32, bits = 4");
    let bench = Bench::new(&text);
    let report = bench.learn_and_read(&Plan::default());
    assert_learned(&bench, &report.picos);
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn a_ring_of_three_picos_computes_the_simulations_bits() {
    let bench = Bench::new(&network(3, "ring", 20, 1000, 115_200));
    let report = bench.learn_and_read(&Plan { wires: RING, ..Plan::default() });
    assert_learned(&bench, &report.picos);
    assert!(report.picos.iter().all(|seen| seen.lost == 0), "{report:?}");
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn picos_continue_from_their_flash_after_a_power_cut() {
    const ROUNDS: u64 = 30;
    let bench = Bench::new(&network(2, "path", ROUNDS, 10, 115_200));
    // Checkpoints after rounds 10 and 20, one sector each.
    let cut = bench.run(&Plan { erases: Some(2), ..Plan::default() });
    assert!(cut.stopped && cut.picos.iter().all(|seen| !seen.finished), "{cut:?}");
    let report = bench.learn_and_read(&Plan::default());
    assert_learned(&bench, &report.picos);
    // The light changes with every round: only the last ones were computed after the cut.
    let left = ROUNDS / 3;
    for seen in &report.picos {
        assert!((left - 2..left + 8).contains(&seen.changes), "{report:?}");
    }
    // Node, round, rounds, met, dead, refused, boot.
    let status = bench.status();
    let boots: Vec<_> = status.lines().skip(1).map(|line| line.split_whitespace().nth(6)).collect();
    assert_eq!(boots, [Some("2"); 2], "{status}");
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn frequent_checkpoints_at_1_mbaud_lose_no_byte() {
    let bench = Bench::new(&network(2, "path", 24, 2, 1_000_000));
    let report = bench.learn_and_read(&Plan::default());
    assert_learned(&bench, &report.picos);
    // A line holds 32 bytes, for a third of a millisecond; an erase takes 45. DMA receives meanwhile.
    assert!(report.picos.iter().all(|seen| seen.erases >= 12 && seen.lost == 0), "{report:?}");
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn bytes_lost_at_1_mbaud_with_frequent_checkpoints_are_repaired() {
    let bench = Bench::new(&network(2, "path", 24, 2, 1_000_000));
    let report = bench.learn_and_read(&Plan { drop: Some(500), ..Plan::default() });
    assert_learned(&bench, &report.picos);
    assert!(report.picos.iter().all(|seen| seen.erases >= 12 && seen.lost >= 5), "{report:?}");
}

#[test]
#[ignore = "needs Node and rp2040js: tests/run.sh runs it"]
fn a_host_that_floods_usb_changes_no_bit() {
    let bench = Bench::new(&network(2, "path", 20, 1000, 115_200));
    let report = bench.learn_and_read(&Plan { flood: &[0], ..Plan::default() });
    assert_learned(&bench, &report.picos);
    let fed: Vec<u64> = report.picos.iter().map(|seen| seen.fed).collect();
    // The other host only read the result.
    assert!(fed[0] > 100_000 && fed[1] < 10_000, "{fed:?}");
}

#[test]
fn the_emulator_comes_from_the_public_registry() {
    let lock = bench::sources().join("package-lock.json");
    let lock: serde_json::Value = serde_json::from_slice(&fs::read(lock).unwrap()).unwrap();
    for (name, package) in lock["packages"].as_object().unwrap() {
        if !name.is_empty() {
            let from = package["resolved"].as_str().unwrap_or_default();
            assert!(from.starts_with("https://registry.npmjs.org/"), "{name}: {from:?}");
            assert!(package["integrity"].is_string(), "{name}");
        }
    }
}
