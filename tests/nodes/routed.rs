//! Boards with one line each, to the host, which is their router.

use lopa_core::blob::Wiring;
use lopa_host::chips::EMULATED_LARGE;
use lopa_host::fleet::{Layout, patient};
use lopa_host::network::Faults;

use super::{PATIENT, assert_simulated_bits, fleet, logistic, run};

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_star_routed_by_the_host_computes_the_simulations_bits() {
    let prepared = logistic(5, "star", 100);
    let mut fleet = fleet(&prepared, Some(Wiring::Routed), PATIENT, None);
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    assert!(fleet.passed().frames > 1_000, "{:?}", fleet.passed());
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn more_neighbours_than_lines_are_routed_and_losses_change_no_bit() {
    let prepared = logistic(6, "star", 40);
    let layout = Layout::new(&prepared, None, patient(PATIENT, true)).unwrap();
    assert_eq!((layout.wiring, layout.board), (Wiring::Routed, EMULATED_LARGE));
    let faults = Faults { corrupt: 0.05, drop: 0.05, ..Faults::NONE };
    let mut fleet = fleet(&prepared, None, PATIENT, Some(faults));
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    assert!(fleet.passed().spoiled > 0, "{:?}", fleet.passed());
}
