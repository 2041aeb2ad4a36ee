//! Boards with a key: they end with the same bits, which neither outsiders nor old recordings can change.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lopa_core::blob::Wiring;
use lopa_core::wire::{Counters, Seal};
use lopa_host::fleet::{Emulated, Layout, patient};
use lopa_host::key::Key;
use lopa_host::network::Faults;
use lopa_host::run::Prepared;

use super::{
    PATIENT, assert_simulated_bits, assert_undamaged, counters, described, fleet, prepared,
    program, run,
};

const ROUNDS: u64 = 80;

/// A ring of four with the key of a file, or without one.
pub fn ring(rounds: u64, key: Option<&Path>) -> Prepared {
    let links = key.map(|key| format!("links = {{ key = {key:?} }}\n")).unwrap_or_default();
    prepared(&(links + &described(4, "ring", rounds)))
}

/// A folder with two keys.
pub fn keys() -> (tempfile::TempDir, [std::path::PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.key", "b.key"].map(|name| folder.path().join(name));
    paths.iter().for_each(|path| Key::random().unwrap().write_new(path).unwrap());
    (folder, paths)
}

fn blobs(prepared: &Prepared) -> Vec<Vec<u8>> {
    Layout::new(prepared, None, patient(PATIENT, true)).unwrap().blobs
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn four_boards_with_a_key_end_with_the_simulations_bits() {
    let (_folder, [key, _]) = keys();
    let prepared = ring(ROUNDS, Some(&key));
    assert!(prepared.seal() != Seal::PLAIN);
    // Routed, their lines lead to the host, and are open before they start.
    for (wiring, wires) in [(Wiring::Direct, 2), (Wiring::Routed, 0)] {
        let mut fleet = fleet(&prepared, Some(wiring), PATIENT, None);
        run(&prepared, &mut fleet, &[], PATIENT);
        assert_simulated_bits(&prepared, &mut fleet);
        assert_undamaged(&mut fleet, wires);
    }
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_fifth_board_with_another_key_or_none_is_ignored_and_counted() {
    let (_folder, [key, other]) = keys();
    let prepared = ring(ROUNDS, Some(&key));
    for key in [Some(&*other), None] {
        let mut fleet = fleet(&prepared, None, PATIENT, Some(Faults::NONE));
        // It impersonates node 1 of the same network, and everything it sends goes to node 1's neighbours.
        let stranger = ring(ROUNDS, key);
        let blobs = blobs(&stranger);
        let image = program(&Layout::new(&stranger, None, patient(PATIENT, true)).unwrap().board);
        let mut fifth = Emulated::new(&image, &blobs, Some((Faults::NONE, 7))).unwrap();
        fifth.start(1).map(drop).unwrap();
        let over = AtomicBool::new(false);
        let sent = std::thread::scope(|scope| {
            let (fifth, boards, over) = (fifth.eavesdropper(), fleet.eavesdropper(), &over);
            let meddling = scope.spawn(move || {
                let mut played = 0;
                while !over.load(Ordering::Relaxed) {
                    played += fifth.recorded().iter().filter(|frame| boards.play(frame)).count();
                    std::thread::sleep(Duration::from_millis(5));
                }
                played
            });
            run(&prepared, &mut fleet, &[], PATIENT);
            over.store(true, Ordering::Relaxed);
            meddling.join().unwrap()
        });
        assert_simulated_bits(&prepared, &mut fleet);
        let counted = [0, 2].map(|node| counters(&mut fleet, node));
        println!("{sent} frames of the fifth board, counted {counted:?}");
        let corrupt: u64 = counted.iter().map(|counters| counters.corrupt).sum();
        assert!(sent > 0 && corrupt > 0 && corrupt <= sent as u64, "{counted:?}");
        let others = |c: &Counters| c.truncated + c.oversize + c.malformed + c.foreign + c.refused;
        assert!(counted.iter().all(|counters| others(counters) == 0), "{counted:?}");
    }
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_recording_played_after_a_reboot_changes_nothing() {
    let (_folder, [key, _]) = keys();
    // The first session: half of the rounds, every frame recorded.
    let half = ring(ROUNDS / 2, Some(&key));
    let mut fleet = fleet(&half, None, PATIENT, Some(Faults::NONE));
    let boards = fleet.eavesdropper();
    run(&half, &mut fleet, &[], PATIENT);
    let recording = boards.recorded();
    // The second continues from the checkpoints, while the recording is played twice on the same lines.
    let whole = ring(ROUNDS, Some(&key));
    for (node, blob) in (0..).zip(&blobs(&whole)) {
        fleet.kill(node);
        fleet.flash(node, blob).unwrap();
    }
    let over = AtomicBool::new(false);
    let played = std::thread::scope(|scope| {
        let (over, recording) = (&over, &recording);
        let playing = scope.spawn(move || {
            // Two old frames for each new one, to the end: more would only keep the boards busy.
            let (mut played, mut most) = (0, 2);
            for frame in recording.iter().chain(recording) {
                // At first no board is on; later a line may be full.
                while played >= most || !boards.play(frame) {
                    if over.load(Ordering::Relaxed) {
                        return played;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                    most += 2 * boards.recorded().len();
                }
                played += 1;
            }
            played
        });
        run(&whole, &mut fleet, &[], PATIENT);
        over.store(true, Ordering::Relaxed);
        playing.join().unwrap()
    });
    assert_simulated_bits(&whole, &mut fleet);
    let readings = fleet.readings().unwrap();
    println!("{played} frames played, {} recorded", recording.len());
    for (node, reading) in &readings {
        let Counters { corrupt, stale, epochs, .. } = reading.counters;
        println!("node {node}: {stale} stale, {corrupt} corrupt, {epochs} epochs");
        assert_eq!(
            (reading.status.session, reading.status.dead, corrupt),
            (2, 0, 0),
            "node {node}"
        );
        assert!(stale > 100, "node {node}: {stale} stale");
    }
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_host_with_another_key_learns_only_why_a_board_does_not_start() {
    let (_folder, [key, other]) = keys();
    let (right, wrong) = (ring(ROUNDS, Some(&key)), ring(ROUNDS, Some(&other)));
    // The host has the last blob's key; board 0 is then given another.
    let mut boards = fleet(&right, None, PATIENT, Some(Faults::NONE));
    boards.flash(0, &blobs(&wrong)[0]).unwrap();
    // A truncated blob: its board has no key at all, and still reports what is wrong.
    let short = &blobs(&right)[1];
    boards.flash(1, &short[..short.len() / 2]).unwrap();
    boards.start(0).unwrap().set_patience(Duration::from_secs(2));
    boards.start(1).map(drop).unwrap();
    let error = boards.client(1).unwrap().status().unwrap_err().to_string();
    assert!(error.contains("node 1 does not start: its blob's checksum is wrong"), "{error}");
    // By now the other has started, too.
    let error = boards.client(0).unwrap().status().unwrap_err().to_string();
    assert!(error.contains("does not answer") && error.contains("another key"), "{error}");
}
