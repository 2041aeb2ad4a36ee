//! Boards that send few bits: the simulation's bits, in a fraction of the bytes.

use lopa_core::blob::Wiring;
use lopa_core::footprint::Footprint;
use lopa_core::node::Scheme;
use lopa_core::problems::Logistic;
use lopa_host::algorithms::AlgorithmName;
use lopa_host::chips::Loaded;
use lopa_host::fleet::{Emulated, Layout, patient};
use lopa_host::network::Faults;
use lopa_host::run::Prepared;

use super::{
    PATIENT, assert_simulated_bits, continue_as, counters, described, fleet, keys, prepared, run,
};

const ROUNDS: u64 = 60;
/// Three chunks of a board, the last one shorter than a block.
const FEATURES: usize = 72;

/// A ring of four, whose table of links has these entries.
fn ring(links: &str, rounds: u64) -> Prepared {
    let file = described(4, "ring", rounds).replace("features = 24", "features = 72");
    prepared(&format!("links = {{ {links} }}\n{file}"))
}

/// The bytes that all boards sent.
fn sent(fleet: &mut Emulated) -> u64 {
    (0..4).map(|node| counters(fleet, node).sent_bytes).sum()
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn four_boards_with_four_bits_end_with_the_simulations_bits_after_a_power_cut_too() {
    let (_folder, [key, _]) = keys::keys();
    let bits = format!("bits = 4, key = {key:?}");
    let half = ring(&bits, ROUNDS / 2);
    let mut boards = fleet(&half, None, PATIENT, None);
    run(&half, &mut boards, &[], PATIENT);
    assert_simulated_bits(&half, &mut boards);
    let few = sent(&mut boards);
    // What a board holds is what the footprint predicts: 8n + 2p words, and scratch.
    let scheme = Scheme::GradientTracking;
    let size = Footprint::coded(scheme, FEATURES, FEATURES, Logistic::workspace(FEATURES));
    assert_eq!(size.state, 4 * (8 + 2) * FEATURES);
    for blob in Layout::new(&half, None, patient(PATIENT, false)).unwrap().blobs {
        let loaded = Loaded::new(&blob);
        let blob = loaded.blob().unwrap();
        assert_eq!((4 * blob.floats(), blob.footprint()), (size.state + size.scratch, size));
    }
    let whole = ring(&bits, ROUNDS);
    continue_as(&whole, &mut boards);
    assert_simulated_bits(&whole, &mut boards);

    // Floats, for comparison: the same rounds, other bits, more bytes.
    let floats = ring(&format!("key = {key:?}"), ROUNDS / 2);
    let mut boards = fleet(&floats, None, PATIENT, None);
    run(&floats, &mut boards, &[], PATIENT);
    let many = sent(&mut boards);
    println!(
        "{many} bytes as floats, {few} with 4 bits: a factor of {:.2}",
        many as f64 / few as f64
    );
    assert!(many > 2 * few, "{many} {few}");
    let reference = lopa_host::fleet::reference::Reference::run;
    let other = reference(&half, &false.into(), |_| ()).unwrap().unwrap();
    assert_eq!(other.others(&boards.readings().unwrap()), [0, 1, 2, 3]);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn damaged_frames_change_no_bit_of_few_either() {
    let file = ring("bits = 8", ROUNDS).experiment().clone();
    let (routed, direct) = (AlgorithmName::LopaLg, AlgorithmName::LopaGt);
    for (bits, name, wiring) in [(8, routed, Wiring::Routed), (3, direct, Wiring::Direct)] {
        let mut file = file.clone();
        file.links.as_mut().unwrap().bits = Some(bits);
        file.algorithm.name = name;
        let prepared = Prepared::new(file).unwrap();
        let faults = Faults { corrupt: 0.1, ..Faults::NONE };
        let mut fleet = fleet(&prepared, Some(wiring), PATIENT, Some(faults));
        run(&prepared, &mut fleet, &[], PATIENT);
        assert_simulated_bits(&prepared, &mut fleet);
        assert!(fleet.passed().spoiled > 0);
    }
}
