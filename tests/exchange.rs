//! Whatever the links do, the bits do not change.

mod fleet;

use fleet::{Fleet, bits, frame, linking};
use lopa_core::node::Scheme;
use lopa_host::fault::Faults;
use lopa_host::linked::Wiring;
use lopa_host::topology::Topology;

#[test]
fn quick() {
    for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
        for wiring in [Wiring::Direct, Wiring::Routed, Wiring::Bus] {
            for drop in [0.0, 0.3] {
                let fleet = Fleet {
                    topology: Topology::ring(5),
                    scheme,
                    outer: 37,
                    inner: 5,
                    rounds: 50,
                    seed: 3,
                };
                let mut l = linking(wiring, 8, 16);
                if drop > 0.0 {
                    l.faults = Faults {
                        drop,
                        corrupt: 0.1,
                        duplicate: 0.1,
                        reorder: 0.1,
                        delay: 3000,
                        cut: vec![],
                    };
                }
                let mut net = fleet.linked::<2, 16, { frame(16) }>(l);
                let r = net.run(600_000_000);
                println!(
                    "{scheme:?} {wiring:?} {drop} {r:?} now {} {:?}",
                    net.now(),
                    net.exchange(0).counters()
                );
                for i in 0..5 {
                    println!(
                        "{i} round {} epoch {} {:?}",
                        net.node(i).state().round,
                        net.exchange(i).epoch(),
                        net.exchange(i).standings().collect::<Vec<_>>()
                    );
                }
                r.unwrap();
                let want = fleet.states();
                for (i, want) in want.iter().enumerate() {
                    assert_eq!(&bits(net.node(i)), want);
                }
            }
        }
    }
}
