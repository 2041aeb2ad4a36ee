//! The core's run-time code and the node program have no panic path: a program that calls all of it on unknown
//! input, and runs the node on a board about which nothing is known, links although its panic handler calls a function
//! that does not exist. This does not cover what a real board adds: drivers, start-up code and executor.

use super::emulator::{TARGETS, build};

fn link(target: &str, features: &[&str]) -> Result<(), String> {
    build("panic-free", "panic-free", target, features).map(|_| ())
}

fn links(target: &str, features: &[&str]) {
    if let Err(error) = link(target, features) {
        panic!("{target} {features:?}: a panic is reachable\n{error}");
    }
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn no_panic_can_be_reached_on_any_target() {
    // With keys, as images for boards are built: nothing is left out then.
    TARGETS.into_iter().for_each(|target| links(target, &["encrypt"]));
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn no_panic_can_be_reached_without_keys() {
    links("thumbv7em-none-eabihf", &[]);
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn no_panic_can_be_reached_with_micromath() {
    links("thumbv7em-none-eabihf", &["micromath"]);
}

#[test]
#[ignore = "needs the chip targets: tests/run.sh runs it"]
fn a_planted_panic_is_found() {
    let error = link("thumbv7em-none-eabihf", &["planted"]).expect_err("it must not link");
    assert!(error.contains("undefined symbol: a_panic_is_reachable"), "{error}");
}
