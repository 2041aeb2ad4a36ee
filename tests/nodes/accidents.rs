//! What boards log, and what becomes of them if they are refused, panic or hang.

use std::path::{Path, PathBuf};

use lopa_core::wire::Cause;

use super::board::Boards;
use super::emulator;
use super::log::lines;
use super::ring::alone;

/// The image with some features.
fn image(features: &[&str]) -> PathBuf {
    let target = emulator::CORTEX_M4F.target;
    emulator::build("mps2-an386", "mps2-an386", target, features)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// One board without neighbours, off.
fn board(image: &Path, blob: Vec<u8>) -> Boards {
    Boards::new(image.to_path_buf(), &[blob], vec![[None; 5]])
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_log_tells_of_boots_rounds_and_the_end() {
    let image = image(&["log"]);
    let blob = alone(24, 30);
    let who = format!("Blob(node 0, n = 24, p = 24, {} bytes)", blob.len());
    let mut boards = board(&image, blob);
    boards.start(0).wait_for_round(30);
    let boot = format!("info: {who}, boot 1: round 0 (restored: false)");
    let done = "info: all 30 rounds are done".to_owned();
    assert_eq!(lines(&image, &boards.logged(0)), [boot, done.clone()]);
    boards.kill(0);
    boards.start(0).wait_for_round(30);
    let boot = format!("info: {who}, boot 2: round 30 (restored: true)");
    assert_eq!(lines(&image, &boards.logged(0)), [boot, done]);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_refused_blob_is_told_to_a_host_and_to_the_log() {
    let image = image(&["log"]);
    let sound = alone(24, 30);
    let mut torn = sound.clone();
    torn[200] ^= 1;
    let large = r#"refused: Blob(Capacity { name: "floats of memory", needed: 8000, room: 6272 })"#;
    let mut boards = board(&image, sound);
    for (blob, cause, numbers, logged) in [
        (vec![0; 64], Cause::NoBlob, (0, 0), "refused: Blob(NotABlob)"),
        (torn, Cause::Corrupt, (0, 0), "refused: Blob(Corrupt)"),
        (alone(1_000, 30), Cause::Floats, (8_000, 6_272), large),
    ] {
        boards.flash(0, &blob);
        let trouble = boards.start(0).trouble();
        assert_eq!((trouble.cause, (trouble.needed, trouble.found)), (cause, numbers));
        assert_eq!(lines(&image, &boards.logged(0)), [format!("warn: {logged}")]);
        boards.kill(0);
    }
    // Nothing of this stays.
    boards.flash(0, &alone(24, 30));
    assert_eq!(boards.start(0).wait_for_round(30).session, 1);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn whoever_panics_or_hangs_reboots_and_goes_on() {
    let image = image(&["log", "planted"]);
    let mut boards = board(&image, alone(24, 400));
    let status = boards.start(0).wait_for_round(400);
    // A panic, then a hang: the third life goes on to the end. On a busy machine there may be a fourth.
    assert!(status.session >= 3, "{status:?}");
    let lines = lines(&image, &boards.logged(0));
    let [first, panic, second, third, .., last] = &lines[..] else { panic!("{lines:?}") };
    assert!(first.contains("boot 1: round 0 (restored: false)"), "{lines:?}");
    assert!(panic.starts_with("error: panicked at ") && panic.ends_with("planted"), "{lines:?}");
    assert!(second.contains("boot 2: round 25 (restored: true)"), "{lines:?}");
    assert!(third.contains("boot 3: round ") && third.contains("restored: true"), "{lines:?}");
    assert_eq!(last, "info: all 400 rounds are done");
}
