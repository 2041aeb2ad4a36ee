//! Boards with different chips in one fleet: with and without an FPU, from three generations of Arm's cores.

use std::sync::atomic::AtomicBool;

use lopa_host::chips::{Board, EMULATED, EMULATED_M33, EMULATED_WITHOUT_FPU};
use lopa_host::fleet::reference::Reference;

use super::learning::{LOGISTIC, readings};
use super::{PATIENT, assert_simulated_bits, fleet, program, run};

/// Neighbours on the path differ, and a chip's second neighbour is not of the kind of its first.
const CHIPS: [Board; 4] = [EMULATED, EMULATED_WITHOUT_FPU, EMULATED_M33, EMULATED];

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_fleet_of_mixed_chips_computes_the_simulations_bits_in_integers() {
    assert_one_set_of_bits(LOGISTIC, ["integer", "float"]);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_fleet_of_mixed_chips_computes_the_simulations_bits_in_floats() {
    assert_one_set_of_bits(LOGISTIC, ["float", "integer"]);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_fleet_of_mixed_chips_computes_a_shared_layer_in_integers() {
    let problem = ["kind = \"shared-layer\", hidden = 3, mu = 0.1", "x0 = { random = 0.3 }"];
    assert_one_set_of_bits(problem, ["integer", "float"]);
}

/// Runs a fleet of mixed chips in the first arithmetic; its bits are those of the simulation, and not those of the other.
fn assert_one_set_of_bits(problem: [&str; 2], [arithmetic, other]: [&str; 2]) {
    let prepared = readings(problem, CHIPS.len() as u32, arithmetic);
    let mut fleet = fleet(&prepared, None, PATIENT, None);
    for (node, board) in (0..).zip(&CHIPS) {
        fleet.put_on(node, board, &program(board)).unwrap();
    }
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    let other = readings(problem, CHIPS.len() as u32, other);
    let stop = AtomicBool::new(false);
    let reference = Reference::run(&other, &stop, |_| ()).unwrap().unwrap();
    assert_eq!(reference.others(&fleet.readings().unwrap()), [0, 1, 2, 3]);
}
