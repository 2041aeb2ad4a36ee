//! The core's run-time code and the node program have no panic path: a program that calls all of it on unknown
//! input, and runs the node on a board that may return anything, links although its panic handler calls a function that does
//! not exist. A real board's drivers, start-up code and executor are not covered.

use super::emulator::{TARGETS, build};

const CORTEX_M4F: &[&str] = &["thumbv7em-none-eabihf"];

fn link(targets: &[&str], features: &[&str]) -> Result<(), String> {
    build("panic-free", "panic-free", targets, features).map(|_| ())
}

fn links(targets: &[&str], features: &[&str]) {
    if let Err(error) = link(targets, features) {
        panic!("{targets:?} {features:?}: a panic is reachable\n{error}");
    }
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn no_panic_can_be_reached_on_any_target() {
    // With all that images for boards can do.
    links(&TARGETS, &["codec", "encrypt", "integer"]);
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn no_panic_can_be_reached_without_keys() {
    links(CORTEX_M4F, &[]);
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn no_panic_can_be_reached_with_micromath() {
    links(CORTEX_M4F, &["micromath"]);
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn no_panic_can_be_reached_with_few_bits() {
    links(CORTEX_M4F, &["codec"]);
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn a_planted_panic_is_found() {
    let error = link(CORTEX_M4F, &["planted"]).expect_err("it must not link");
    assert!(error.contains("undefined symbol: a_panic_is_reachable"), "{error}");
}
