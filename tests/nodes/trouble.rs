//! What boards log, and how they behave when their blob is refused or when they panic or hang.

use std::path::{Path, PathBuf};

use lopa_core::wire::Cause;
use lopa_host::chips::{Board, EMULATED};
use lopa_host::fleet::{Emulated, Layout, Silence, patient};

use super::log::lines;
use super::{PATIENT, described, logistic, prepared, program};

/// The image with these features.
fn image(features: &'static [&'static str]) -> PathBuf {
    program(&Board { features, ..EMULATED })
}

/// The blob of a node without neighbours.
fn alone(rounds: u64) -> Vec<u8> {
    let layout = Layout::new(&logistic(1, "path", rounds), None, patient(PATIENT, false)).unwrap();
    layout.blobs.concat()
}

/// The blob of a node that is too large for the image.
fn large() -> Vec<u8> {
    let file = described(1, "path", 30).replace("features = 24", "features = 1000");
    let network = prepared(&file);
    Layout::new(&network, None, patient(PATIENT, false)).unwrap().blobs.concat()
}

/// One board without neighbours, switched off.
fn board(image: &Path, blob: Vec<u8>) -> Emulated {
    Emulated::new(image, &[blob], None).unwrap()
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn the_log_reports_boots_and_the_end() {
    let image = image(&["log"]);
    let blob = alone(30);
    let who = format!("Blob(node 0, n = 24, p = 24, {} bytes)", blob.len());
    let mut boards = board(&image, blob);
    boards.start(0).unwrap().wait_for_round(30).unwrap();
    let boot = format!("info: {who}, boot 1: round 0 (restored: false)");
    let done = "info: all 30 rounds are done".to_owned();
    assert_eq!(lines(&image, &boards.logged(0)), [boot, done.clone()]);
    boards.kill(0);
    boards.start(0).unwrap().wait_for_round(30).unwrap();
    let boot = format!("info: {who}, boot 2: round 30 (restored: true)");
    assert_eq!(lines(&image, &boards.logged(0)), [boot, done]);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_refused_blob_is_reported_to_the_host_and_in_the_log() {
    let image = image(&["log"]);
    let sound = alone(30);
    let mut torn = sound.clone();
    torn[200] ^= 1;
    let too_large =
        r#"refused: Blob(Capacity { name: "floats of memory", needed: 8000, room: 6272 })"#;
    let mut boards = board(&image, sound);
    for (blob, cause, numbers, logged) in [
        (vec![0; 64], Cause::NoBlob, (0, 0), "refused: Blob(NotABlob)"),
        (torn, Cause::Corrupt, (0, 0), "refused: Blob(Corrupt)"),
        (large(), Cause::Floats, (8_000, 6_272), too_large),
    ] {
        boards.flash(0, &blob).unwrap();
        let Err(Silence::Refused { trouble, .. }) = boards.start(0).unwrap().status() else {
            panic!("the board accepted this: {logged}")
        };
        assert_eq!((trouble.cause, (trouble.needed, trouble.found)), (cause, numbers));
        assert_eq!(lines(&image, &boards.logged(0)), [format!("warn: {logged}")]);
        boards.kill(0);
    }
    // None of this leaves a trace.
    boards.flash(0, &alone(30)).unwrap();
    assert_eq!(boards.start(0).unwrap().wait_for_round(30).unwrap().session, 1);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_board_that_panics_or_hangs_reboots_and_continues() {
    let image = image(&["log", "planted"]);
    let mut boards = board(&image, alone(400));
    // 256 nanoseconds per instruction: the watchdog notices the hang after as many instructions, however busy this machine is.
    boards.tell_emulators(&["-icount", "shift=8"]);
    let status = boards.start(0).unwrap().wait_for_round(400).unwrap();
    // A panic, then a hang: the third session runs to the end. On a busy machine there may be a fourth.
    assert!(status.session >= 3, "{status:?}");
    let lines = lines(&image, &boards.logged(0));
    let [first, panic, second, third, .., last] = &lines[..] else { panic!("{lines:?}") };
    assert!(first.contains("boot 1: round 0 (restored: false)"), "{lines:?}");
    assert!(panic.starts_with("error: panicked at ") && panic.ends_with("planted"), "{lines:?}");
    assert!(second.contains("boot 2: round 25 (restored: true)"), "{lines:?}");
    assert!(third.contains("boot 3: round ") && third.contains("restored: true"), "{lines:?}");
    assert_eq!(last, "info: all 400 rounds are done");
}
