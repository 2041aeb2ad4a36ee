//! scratch
mod fleet;
use fleet::{Fleet, frame, linking};
use lopa_core::node::Scheme;
use lopa_host::linked::Wiring;
use lopa_host::topology::Topology;
#[test]
fn over() {
    let scheme = Scheme::LocalGradient;
            let fleet = Fleet { topology: Topology::ring(5), scheme, outer: 784, inner: 5, rounds: 3, seed: 3 };
            let mut net = fleet.linked::<2, 512, { frame(512) }>(linking(Wiring::Direct, 196, 196));
            println!("{:?}", linking(Wiring::Direct, 196, 512).timing);
            net.run(600_000_000).unwrap();
}
