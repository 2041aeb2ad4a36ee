//! A node whose vectors travel in few bits, in-process and on its links: any numbers, any bytes, at any time.

use core::hint::black_box;

use lopa_core::codec::{Codec, CodedNeighbour, CodedNode, Ledgers, Share};
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{Exchange, Peer, Settings, Timing};
use lopa_core::node::{Buffers, Node, Scratch};
use lopa_core::problems::Quadratic;

use crate::{config, scheme, seal};

/// Slices of unknown length.
type Tested<'a> = CodedNode<
    Quadratic<'a>,
    &'a mut [f32],
    &'a mut [f32],
    &'a mut [f32],
    &'a mut [i32],
    &'a mut [i32],
>;

fn integers() -> &'static [i32] {
    static INTEGERS: [i32; 64] = [5; 64];
    black_box(&INTEGERS)
}

/// Everything that a coded node and its exchange do.
pub fn few_bits(problem: Quadratic<'_>) -> Option<()> {
    let mut floats = [[0.5_f32; 40]; 6];
    let [x, y, z, theta, v, delta] = floats.each_mut().map(|a| black_box(&mut a[..]));
    let buffers = Buffers { x, y, z, theta, v, delta };
    let node = Node::new(problem, scheme(), config()?, buffers).ok()?;
    let mut integers = [[0; 40]; 4];
    let [x_known, x_gap, y_known, y_gap] = integers.each_mut().map(|a| black_box(&mut a[..]));
    let ledgers = Ledgers { x_known, x_gap, y_known, y_gap };
    let codec = Codec::new(black_box(8), black_box(-22)).ok()?;
    let mut node = Tested::new(node, codec, ledgers).ok()?;
    in_process(&mut node);
    linked(&mut node)
}

fn in_process(node: &mut Tested<'_>) {
    let mut scratch = Scratch { direction: [0.0; 8], workspace: [0.0; 8] };
    let _ = black_box(node.compute(black_box(&mut scratch)));
    let (mut x, mut y) = ([0; 40], [0; 40]);
    node.changes(black_box(&mut x), black_box(&mut y));
    if let Some(share) = Share::of(black_box(0.5)) {
        let neighbour = CodedNeighbour { share, x: integers(), y: integers() };
        let _ = black_box(node.mix_with(core::iter::repeat_n(neighbour, black_box(3))));
    }
    let mut bytes = [0; 64];
    let _ = black_box(node.save(black_box(&mut bytes)));
    let _ = black_box(node.restore(black_box(&bytes)));
    node.restart(Epoch { number: black_box(3), mark: black_box(4) }, black_box(5));
}

fn linked(node: &mut Tested<'_>) -> Option<()> {
    let timing = Timing::uart(black_box(115_200), black_box(800), black_box(2), black_box(10));
    let plain = Settings::coded(node, black_box(100), black_box(32), timing);
    let settings = Settings { boot: black_box(1), seal: seal(), ..plain };
    let peers = [Peer { node: 1, link: 0, weight: 0.25 }; 3];
    let mut exchange =
        Exchange::<4, 2, 64, 3>::new(settings, black_box(&peers), node, black_box(3)).ok()?;
    static BYTES: [u8; 64] = [1; 64];
    let mut scratch = Scratch { direction: [0.0; 8], workspace: [0.0; 8] };
    for now in 0..black_box(9) {
        let _ = black_box(exchange.receive(black_box(0), black_box(&BYTES), now));
        black_box(exchange.advance(node, now));
        let _ = black_box(node.compute(black_box(&mut scratch)));
        let mut out = [0; 400];
        let _ = black_box(exchange.transmit(black_box(0), node, now, black_box(&mut out)));
    }
    Some(())
}
