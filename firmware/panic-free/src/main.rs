//! Links only if no panic can be reached from the core's run-time code and the node program, whatever the input.
//!
//! The panic handler calls a function that does not exist. If the optimiser cannot prove every panic
//! unreachable, the linker looks for that function and fails. All inputs pass through `black_box`, so nothing
//! is proven from their values or lengths.
#![no_std]
#![no_main]

mod board;
#[cfg(feature = "codec")]
mod few_bits;

use core::hint::black_box;

use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::blob::{self, Blob, Capacity, Start};
use lopa_core::draw::{Draws, Purpose};
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{Exchange, Learner, Peer, Settings, Timing};
use lopa_core::network::{self, Edge};
use lopa_core::node::{Buffers, Config, Neighbour, Node, Scheme, Scratch};
use lopa_core::problem::{Point, Predict, Problem};
use lopa_core::problems::{
    Logistic, LogisticLoss, Meta, Quadratic, QuadraticParts, Ridge, SharedLayer, SquaredLoss,
};
use lopa_core::samples::{Features, Labels, Row, Samples, Scale};
use lopa_core::steps::StepSizes;
use lopa_core::vector::Storage;
use lopa_core::wire::{self, FrameReader, Identity, Seal};

unsafe extern "C" {
    // Never defined: that is the proof.
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never runs; a program that contains this call does not link.
    unsafe { a_panic_is_reachable() }
}

/// Floats of unknown number and value.
fn floats() -> &'static [f32] {
    static FLOATS: [f32; 64] = [0.5; 64];
    black_box(&FLOATS)
}

/// Samples of unknown shape, as they would come from a blob in flash.
fn samples() -> Option<Samples<'static>> {
    static BYTES: [u8; 64] = [1; 64];
    static SIGNED: [i8; 64] = [1; 64];
    let features = match black_box(0_u8) {
        0 => Features::U8(black_box(&BYTES)),
        1 => Features::I8(black_box(&SIGNED)),
        _ => Features::F32(floats()),
    };
    let labels = match black_box(0_u8) {
        0 => Labels::Binary(black_box(&BYTES)),
        1 => Labels::Class(black_box(&BYTES)),
        _ => Labels::Real(floats()),
    };
    let samples = Samples::new(features, black_box(4), labels).ok()?;
    static SCALES: [Scale; 5] = [Scale { offset: 1.0, factor: 0.5 }; 5];
    match black_box(0_u8) {
        0 => samples.scaled(black_box(0.1), black_box(0.0)).ok(),
        _ => samples.standardised(black_box(&SCALES)).ok(),
    }
}

fn config() -> Option<Config> {
    let s: [f32; 5] = black_box([0.1; 5]);
    let steps = StepSizes::new(s[0], s[1], s[2], s[3], s[4]).ok()?;
    let sampler = Sampler {
        draws: Draws { seed: black_box(1), node: black_box(2) },
        size: BatchSize::drawn(black_box(3)),
        sharing: if black_box(false) { Sharing::PerLevel } else { Sharing::Independent },
    };
    Some(Config { steps, sampler })
}

fn scheme() -> Scheme {
    if black_box(true) { Scheme::LocalGradient } else { Scheme::GradientTracking }
}

/// Everything a node does at run time.
fn live<P: Problem, X: Storage, T: Storage, D: Storage>(
    problem: P,
    buffers: Buffers<X, T, D>,
    scratch: &mut Scratch<impl Storage, impl Storage>,
) -> Option<()> {
    let mut node = Node::new(problem, scheme(), config()?, buffers).ok()?;
    let _ = black_box(node.compute(scratch));
    let _ = black_box(node.mix(floats(), floats()));
    let neighbour = Neighbour { weight: black_box(0.5), x: floats(), y: floats() };
    let _ = black_box(node.mix_with([neighbour, neighbour]));
    let epoch = Epoch { number: black_box(1), mark: black_box(2) };
    node.restart(black_box(epoch), black_box(7));
    let mut bytes = [0_u8; 256];
    let _ = black_box(node.save(black_box(&mut bytes)));
    let _ = black_box(node.restore(black_box(&bytes)));
    if let Ok(words) = node.checkpoint() {
        words.for_each(|word| {
            black_box(word);
        });
    }
    black_box(node.state());
    black_box(node.evaluations());
    Some(())
}

/// A problem in a node of fixed size, and in one whose vectors are slices of unknown length.
fn both<P: Problem + Copy>(problem: P) {
    let (outer, inner) = ([0.0; 8], [0.0; 8]);
    let fixed = Buffers { x: outer, y: outer, z: outer, theta: inner, v: inner, delta: outer };
    live(problem, fixed, &mut Scratch::<[f32; 8], [f32; 32]>::new());

    let mut memory = [[0.0_f32; 8]; 8];
    let [x, y, z, theta, v, delta, direction, workspace] =
        memory.each_mut().map(|part| black_box(&mut part[..]));
    let slices = Buffers { x, y, z, theta, v, delta };
    live(problem, slices, &mut Scratch { direction, workspace });
}

fn predict(problem: impl Predict) {
    let mut workspace = [0.0_f32; 8];
    let at = Point { x: floats(), theta: floats() };
    black_box(problem.predict(at, Row::new(floats()), black_box(&mut workspace)));
    black_box(problem.inner_loss(at, &config_batch(), black_box(&mut workspace)));
    black_box(problem.outer_loss(at, &config_batch(), black_box(&mut workspace)));
}

fn config_batch() -> lopa_core::batch::Batch {
    let sampler = Sampler::full(0);
    sampler.batch(black_box(3), black_box(Purpose::INNER_GRADIENT), black_box(5))
}

/// A node from any content of flash.
fn flashed() -> Option<()> {
    static FLASH: [u32; 256] = [1; 256];
    let bytes: &[u8] = bytemuck::cast_slice(black_box(&FLASH[..]));
    let flash = Blob::read(black_box(bytes)).ok()?;
    let room = Capacity { floats: 64, neighbours: 4, links: 2, values: 16 };
    flash.fits(black_box(&room)).ok()?;
    black_box((flash.settings(black_box(1)), flash.footprint()));
    let mut peers = [Peer { node: 0, link: 0, weight: 0.0 }; 4];
    peers.iter_mut().zip(flash.peers()).for_each(|(own, peer)| *own = peer);
    black_box(peers);
    let mut memory = [0.0; 64];
    let (mut node, mut scratch) = flash.build(black_box(&mut memory)).ok()?;
    let _ = black_box(node.compute(&mut scratch));
    let _ = black_box(node.mix(floats(), floats()));
    let mut bytes = [0; 64];
    let _ = black_box(node.save(black_box(&mut bytes)));
    let _ = black_box(node.restore(black_box(&bytes)));
    let _ = black_box(node.checkpoint().map(|words| black_box(words.len())));
    black_box(node.state());
    let (plan, problem, start) = (flash.plan(), flash.problem(), Start::Vector(floats()));
    let _ = black_box(blob::write(plan, &problem, start, black_box(&peers), |piece| {
        black_box(piece);
    }));
    Some(())
}

fn everything() -> Option<()> {
    flashed();
    let (train, validation) = (samples()?, samples()?);
    let base = black_box(-6.0);
    if let Ok(problem) = Logistic::new(train, validation).and_then(|problem| problem.around(base)) {
        both(problem);
        predict(problem);
    }
    if let Ok(problem) = Ridge::new(train, validation).and_then(|problem| problem.around(base)) {
        both(problem);
        predict(problem);
    }
    if let Ok(problem) = Meta::<LogisticLoss>::new(train, validation, black_box(1.0)) {
        both(problem);
    }
    if let Ok(problem) = Meta::<SquaredLoss>::new(train, validation, black_box(1.0)) {
        both(problem);
        predict(problem);
    }
    let (hidden, classes, mu) = (black_box(3), black_box(2), black_box(0.5));
    if let Ok(problem) = SharedLayer::new(train, validation, hidden, classes, mu) {
        both(problem);
        predict(problem);
    }
    let parts = QuadraticParts {
        diagonal: floats(),
        spike: floats(),
        coupling: floats(),
        shift: floats(),
        target: floats(),
        centre: floats(),
        rigidity: black_box(0.1),
    };
    if let Ok(problem) = Quadratic::new(parts) {
        both(problem);
        let (mut v, mut out) = ([0.0_f32; 8], [0.0_f32; 8]);
        problem.hypergradient(floats(), black_box(&mut v), black_box(&mut out));
        black_box((v, out));
        network(&problem);
        exchange(problem);
        #[cfg(feature = "codec")]
        few_bits::few_bits(problem);
    }
    let mut stream = Draws { seed: 1, node: 1 }.stream(black_box(9), Purpose::custom(black_box(1)));
    black_box((stream.next(), stream.unit(), stream.below(black_box(core::num::NonZeroU32::MIN))));
    Some(())
}

/// Nodes in one process.
fn network(problem: &Quadratic<'_>) -> Option<()> {
    let node = || {
        let x = [0.0; 4];
        let buffers = Buffers { x, y: x, z: x, theta: x, v: x, delta: x };
        Node::new(problem, scheme(), config()?, buffers).ok()
    };
    let mut nodes = [node()?, node()?];
    let edges = [Edge { node: 0, neighbour: 1, weight: 0.5 }; 2];
    let mut room = [0.0; 8];
    let _ = black_box(network::exchange(
        black_box(&mut nodes[..]),
        black_box(&edges),
        black_box(&mut room),
    ));
    Some(())
}

fn seal() -> Seal {
    #[cfg(feature = "encrypt")]
    return black_box(Seal::keyed([1; 32]));
    #[cfg(not(feature = "encrypt"))]
    black_box(Seal::PLAIN)
}

/// A node on its links: any bytes, at any time.
fn exchange(problem: Quadratic<'_>) -> Option<()> {
    let x = [0.0; 4];
    let buffers = Buffers { x, y: x, z: x, theta: x, v: x, delta: x };
    let mut node = Node::new(problem, scheme(), config()?, buffers).ok()?;
    let size = node.problem().dimensions();
    let settings = Settings {
        node: black_box(3),
        identity: Identity::new(black_box(1), size, node.scheme(), node.config(), black_box(4), 9),
        rounds: black_box(100),
        boot: black_box(1),
        timing: Timing::uart(black_box(115_200), black_box(800), black_box(2), black_box(10)),
        seal: seal(),
    };
    let peers = [Peer { node: 1, link: 0, weight: 0.2 }; 3];
    let now = black_box(3);
    let mut exchange =
        Exchange::<4, 2, 16, 3>::new(settings, black_box(&peers), &node, now).ok()?;
    static BYTES: [u8; 64] = [1; 64];
    let _ = black_box(exchange.receive(black_box(0), black_box(&BYTES), black_box(4)));
    black_box(exchange.advance(&mut node, black_box(5)));
    let mut out = [0; 200];
    let _ = black_box(exchange.transmit(black_box(0), &node, black_box(6), black_box(&mut out)));
    black_box(exchange.deadline());
    black_box(exchange.counters());
    exchange.standings().for_each(|standing| {
        black_box(standing);
    });
    exchange.checkpoint_written(black_box(true));
    exchange.pause(black_box(true));

    let mut reader = FrameReader::<256>::new(seal());
    for &byte in black_box(&BYTES[..]) {
        if let Some(Ok(frame)) = reader.push(byte) {
            black_box(wire::decode(frame).is_ok());
        }
    }
    Some(())
}

/// The entry point for the linker.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    // Control: with this feature a panic is planted, and linking must fail.
    #[cfg(feature = "planted")]
    black_box(floats()[black_box(3)]);
    everything();
    board::live();
    loop {
        core::hint::spin_loop();
    }
}
