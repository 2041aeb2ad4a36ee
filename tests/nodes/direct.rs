//! Boards with a line of their own to each neighbour.

use lopa_core::node::Variable;
use lopa_host::fleet::Accident;
use lopa_host::fleet::reference::Reference;
use lopa_host::network::Faults;

use super::{
    PATIENT, assert_simulated_bits, assert_undamaged, continue_as, counters, fleet, logistic, run,
};

const ROUNDS: u64 = 100;

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_ring_of_boards_computes_the_simulations_bits() {
    let prepared = logistic(4, "ring", ROUNDS);
    let mut fleet = fleet(&prepared, None, PATIENT, None);
    run(&prepared, &mut fleet, &[], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    assert_undamaged(&mut fleet, 2);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn damaged_frames_and_a_short_cut_change_no_bit() {
    let prepared = logistic(3, "path", ROUNDS);
    let faults = Faults { corrupt: 0.1, ..Faults::NONE };
    let mut fleet = fleet(&prepared, None, PATIENT, Some(faults));
    let cut = Accident::cut("1-2@50+1.5").unwrap();
    assert!(!cut.changes_bits(PATIENT));
    run(&prepared, &mut fleet, &[cut], PATIENT);
    assert_simulated_bits(&prepared, &mut fleet);
    // The faults did happen, and the nodes noticed them.
    let passed = fleet.passed();
    println!("{passed:?}");
    assert!(passed.spoiled as f64 > 0.07 * passed.frames as f64, "{passed:?}");
    for node in 0..3 {
        let counters = counters(&mut fleet, node);
        assert!(counters.repaired > 0, "node {node}: {counters:?}");
        assert!(counters.corrupt + counters.truncated > 0, "node {node}: {counters:?}");
    }
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_fleet_continues_from_its_checkpoints_after_a_power_cut() {
    let half = logistic(4, "ring", ROUNDS / 2);
    let mut boards = fleet(&half, None, PATIENT, None);
    run(&half, &mut boards, &[], PATIENT);
    // A node writes a checkpoint before it reports the end; this one replaces the other slot.
    assert!(boards.client(0).unwrap().checkpoint().unwrap());
    let whole = logistic(4, "ring", ROUNDS);
    continue_as(&whole, &mut boards);
    assert_simulated_bits(&whole, &mut boards);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn a_node_rejoins_with_its_checkpoint_after_a_power_cut() {
    let prepared = logistic(4, "ring", ROUNDS);
    let mut boards = fleet(&prepared, None, PATIENT, None);
    // It restarts at once, before any neighbour declares it dead.
    let accidents = [Accident::kill("2@50").unwrap(), Accident::restart("2@50").unwrap()];
    run(&prepared, &mut boards, &accidents, PATIENT);
    let readings = boards.readings().unwrap();
    for (node, reading) in &readings {
        let status = reading.status;
        let found = (status.round, status.met, status.dead, status.session);
        assert_eq!(found, (ROUNDS, 2, 0, if *node == 2 { 2 } else { 1 }), "node {node}");
        assert!(reading.counters.epochs > 0, "a reboot begins an epoch");
    }
    // It continued from the checkpoint: only a few rounds are lost, not the first quarter. A round that the new epoch
    // interrupted is computed twice.
    let [evaluations, ..] = readings[&2].evaluations;
    let few = 8;
    let least = ROUNDS - 25 - few;
    assert!((least..=ROUNDS + few).contains(&evaluations), "{evaluations} evaluations");
    // And the fleet ends close to where it would have ended without the accident.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let reference = Reference::run(&prepared, &stop, |_| ()).unwrap().unwrap();
    for (node, want) in (0..).zip(&reference.bits) {
        let x = boards.client(node).unwrap().read(Variable::Outer).unwrap();
        let want: Vec<f32> = want[..x.len()].iter().map(|&bits| f32::from_bits(bits)).collect();
        let norm = |a: &mut dyn Iterator<Item = f32>| a.map(|a| a * a).sum::<f32>().sqrt();
        let gap = norm(&mut x.iter().zip(&want).map(|(a, b)| a - b));
        let way = norm(&mut want.iter().map(|a| a + 4.0));
        println!("node {node}: {gap} off after a distance of {way}");
        assert!(gap < 0.1 * way, "node {node} ends {gap} off after a distance of {way}");
    }
}
