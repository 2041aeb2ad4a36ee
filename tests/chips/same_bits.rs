//! The same bits on this machine and on emulated chips.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use super::emulator::{Build, CORTEX_M0, CORTEX_M4F, CORTEX_M33, Machine, RV32IMC};
use lopa_core::math::{KIND, Kind};
use lopa_tests::{fingerprint, programs};

/// The bits that every machine computes. If a change was intended, copy the lines that the test prints to this place, and
/// note in the changelog that the old and the new version cannot be mixed in a fleet.
const RECORDED: &str = "\
draws -- ed8198911da0e024
functions -- e589a567ccc43079
reductions -- f98023924a0da624
quadratic LG 72ce62c7b4d446a8
quadratic GT 6c1bf800dfb76c2e
logistic LG b31a5f95db920311
logistic GT 2214a87254d29679
ridge LG 2a7096ab25f7253a
ridge GT f6e0d18b4e66bb60
shared-layer LG 7b433e6249106725
shared-layer GT a01115309ec97942
meta-logistic LG befb6288b5c4938e
meta-logistic GT a1a2cf5b68d23f9e
meta-squared LG 0f5b772fadb114e8
meta-squared GT 82ee200d8a1fa433
integer-logistic LG 030226f5ab344b58
integer-logistic GT 82233d5c0f40648e
integer-ridge LG 276eda1ee48b68fa
integer-ridge GT 854d0eeef0b89d45
integer-meta LG 611585e9d838aa22
integer-meta GT 0969683bc8c0dd0b
integer-layer LG c57bfafa04dfe782
integer-layer GT d1d905a8313ea298
";

/// The same with the feature `micromath`.
const RECORDED_MICROMATH: &str = "\
draws -- ed8198911da0e024
functions -- bc460a96d6a1279c
reductions -- f98023924a0da624
quadratic LG 72ce62c7b4d446a8
quadratic GT 6c1bf800dfb76c2e
logistic LG 49217a43e4bc2aea
logistic GT 8c31e721d7d3144b
ridge LG 7363bdc875ffe6c9
ridge GT f8811425c0ce3cbe
shared-layer LG 7426e4550587bd35
shared-layer GT 9a1bcb9be834156f
meta-logistic LG d12d401a6e00cf8e
meta-logistic GT 6f56dd15300c01a6
meta-squared LG 0f5b772fadb114e8
meta-squared GT 82ee200d8a1fa433
integer-logistic LG 030226f5ab344b58
integer-logistic GT 82233d5c0f40648e
integer-ridge LG 276eda1ee48b68fa
integer-ridge GT 854d0eeef0b89d45
integer-meta LG 611585e9d838aa22
integer-meta GT 0969683bc8c0dd0b
integer-layer LG 6ec5a1735a6f36a7
integer-layer GT b0cd5f12cd72e428
";

fn host() -> String {
    let mut lines = String::new();
    fingerprint::all(&mut |line| lines += &format!("{line}\n"));
    lines
}

#[test]
fn this_machine_computes_the_recorded_bits() {
    let recorded = match KIND {
        Kind::Libm => RECORDED,
        Kind::Micromath => RECORDED_MICROMATH,
    };
    let host = host();
    assert!(
        host == recorded,
        "bits have changed; if that was intended, copy these ({KIND:?}) to tests/chips/same_bits.rs:\n{host}"
    );
}

#[test]
fn no_two_programs_have_the_same_fingerprint() {
    let mut seen = BTreeMap::new();
    fingerprint::all(&mut |line| {
        let before = seen.insert(line.hash, line);
        assert_eq!(before, None, "{line}");
    });
    assert_eq!(seen.len(), 3 + 10 * 2);
}

#[test]
fn in_every_program_nodes_move_and_differ() {
    let norm = |a: &[f32]| a.iter().map(|a| a * a).sum::<f32>();
    programs::all(fingerprint::SEED, &mut |ending| {
        let name = format!("{} {:?}", ending.problem, ending.scheme);
        for (state, evaluations) in ending.nodes {
            let way: Vec<f32> = state.x.iter().zip(ending.start).map(|(x, x0)| x - x0).collect();
            assert!(norm(&way) > 1.0, "{name}: x did not move");
            for (variable, least) in [(state.theta, 1.0), (state.v, 1.0e-3), (state.z, 1.0e-4)] {
                assert!(norm(variable) > least, "{name}: {variable:?}");
            }
            assert_eq!(state.round, 200);
            assert_eq!(evaluations.to_array(), [200; 5]);
        }
        for pair in ending.nodes.windows(2) {
            assert_ne!(pair[0].0.theta, pair[1].0.theta, "{name}: nodes have the same data");
            assert_ne!(pair[0].0.x, pair[1].0.x, "{name}: nodes agree too well to be a test");
        }
    });
}

#[test]
fn the_seed_matters_only_where_there_are_batches() {
    let hashes = |seed| {
        let mut hashes = Vec::new();
        programs::all(seed, &mut |ending| hashes.push((ending.problem, ending.hash())));
        hashes
    };
    for ((problem, one), (_, other)) in hashes(1).into_iter().zip(hashes(2)) {
        let whole = ["quadratic", "meta-squared", "integer-ridge"].contains(&problem);
        assert_eq!(one == other, whole, "{problem}");
    }
}

fn same_bits_on(machine: &Machine) {
    const MACHINES: [&Machine; 4] = [&CORTEX_M0, &CORTEX_M4F, &CORTEX_M33, &RV32IMC];
    // One test builds for all.
    static BUILT: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        Build { level: "3", math: KIND, integer: true }.programs(&["fingerprint"], &MACHINES)
    });
    let index = MACHINES.iter().position(|other| other.chip == machine.chip).unwrap();
    let (host, chip) = (host(), machine.run(&BUILT[index].join("fingerprint")));
    assert!(chip == host, "{} computes\n{chip}\nand this machine\n{host}", machine.chip);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn same_bits_on_cortex_m0() {
    same_bits_on(&CORTEX_M0);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn same_bits_on_cortex_m4f() {
    same_bits_on(&CORTEX_M4F);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn same_bits_on_cortex_m33() {
    same_bits_on(&CORTEX_M33);
}

#[test]
#[ignore = "needs QEMU and the chip targets: tests/run.sh runs it"]
fn same_bits_on_rv32imc() {
    same_bits_on(&RV32IMC);
}
