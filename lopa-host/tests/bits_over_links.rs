//! Few bits over simulated links: the bits of an in-process run, and fewer bytes than with floats.

use lopa_host::config::Experiment;
use lopa_host::run::{Options, Prepared};

use crate::common::network;

/// Every variable of every node at the end, bit by bit, and the bytes that all nodes sent.
fn end(text: &str) -> (Vec<Vec<u32>>, f64) {
    let prepared = Prepared::new(Experiment::parse(text).unwrap()).unwrap();
    let outcome = prepared.run(Options::default(), |_| ()).unwrap();
    assert!(outcome.finished && outcome.losses == 0);
    let nodes = outcome.nodes();
    let bits = nodes.iter().map(|node| {
        let own = [Some(node.x), Some(node.theta), node.v, node.z, node.y];
        own.into_iter().flatten().flatten().map(|a| a.to_bits()).collect()
    });
    let bits = bits.collect();
    (bits, outcome.record.last("bytes").unwrap())
}

/// n = 70: chunks of two blocks and a shorter one.
fn wide(scheme: &str, links: &str) -> String {
    network(&[
        ("nodes = 4", "nodes = 5"),
        ("lopa-gt", scheme),
        ("source = \"synthetic\"", "features = 70"),
        ("[run]", &format!("[links]\n{links}\n[run]")),
    ])
}

#[test]
fn links_that_lose_frames_change_no_bit() {
    let faults = "chunk = 64\ndrop = 0.1\ncorrupt = 0.05\nduplicate = 0.05\nreorder = 0.05";
    for scheme in ["lopa-lg", "lopa-gt"] {
        let (plain, floats) = end(&wide(scheme, faults));
        for bits in [8, 4, 3] {
            let (want, _) = end(&wide(scheme, &format!("bits = {bits}\nsimulate = false")));
            assert!(want != plain, "few bits are another trajectory");
            for wiring in ["direct", "routed", "bus"] {
                let links = format!("bits = {bits}\nwiring = \"{wiring}\"\n{faults}");
                let (found, bytes) = end(&wide(scheme, &links));
                assert!(found == want, "{scheme} {bits} bits, {wiring}");
                let fewer = if wiring == "direct" { 2.0 } else { 1.0 };
                assert!(fewer * bytes < floats, "{scheme} {bits} bits, {wiring}: {bytes} {floats}");
            }
        }
    }
}
