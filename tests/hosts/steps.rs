//! Rounds of a network of nodes on a host, for a test that counts their instructions: see `mod.rs` in this folder.
//!
//! Only the core, on one thread: no file, no report and no pool of threads.

use std::num::NonZeroU32;
use std::process::ExitCode;

use lopa_core::batch::Sampler;
use lopa_core::draw::{Draws, Purpose};
use lopa_core::network::{Edge, exchange};
use lopa_core::node::{Buffers, Config, Node, Scheme, Scratch};
use lopa_core::problem::Problem;
use lopa_core::problems::{Logistic, SharedLayer};
use lopa_core::samples::{Features, LabelKind, Labels, Samples};
use lopa_core::steps::StepSizes;
use lopa_tests::hash::Hash;
use lopa_tests::images::{PIXELS, draw};

const SAMPLES: usize = 120;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds = arguments.get(1).and_then(|rounds| rounds.parse().ok());
    match (arguments.first().map(String::as_str), rounds) {
        (Some("logistic"), Some(rounds)) => logistic(rounds),
        (Some("shared-layer"), Some(rounds)) => shared_layer(rounds),
        _ => {
            eprintln!("usage: host-steps logistic|shared-layer <rounds>");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Ten nodes, n = p = 784, batches of 40.
fn logistic(rounds: u32) {
    let images: Vec<Images> = (0..10).map(|node| Images::new(node, 2)).collect();
    let problem = |images: &'static Images| {
        let samples = images.samples(LabelKind::Binary);
        Logistic::new(samples, samples).expect("samples fit")
    };
    run(images.leak().iter().map(problem).collect(), 40, -6.0, rounds);
}

/// Eight nodes, 784-28-10, batches of 50.
fn shared_layer(rounds: u32) {
    let images: Vec<Images> = (0..8).map(|node| Images::new(node, 10)).collect();
    let problem = |images: &'static Images| {
        let samples = images.samples(LabelKind::Class);
        SharedLayer::new(samples, samples, 28, 10, 0.01).expect("samples fit")
    };
    run(images.leak().iter().map(problem).collect(), 50, 0.01, rounds);
}

/// One node's images.
struct Images {
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Images {
    fn new(node: u32, classes: u8) -> Self {
        let mut pixels = vec![0; SAMPLES * PIXELS];
        let mut stream = Draws { seed: 1, node }.stream(0, Purpose::custom(9));
        let mut labels = Vec::new();
        for image in pixels.chunks_exact_mut(PIXELS) {
            let class = (stream.next() >> 8) as u8 % classes;
            draw(class, &mut stream, image);
            labels.push(class);
        }
        Self { pixels, labels }
    }

    fn samples(&self, kind: LabelKind) -> Samples<'_> {
        let labels = match kind {
            LabelKind::Binary => Labels::Binary(&self.labels),
            _ => Labels::Class(&self.labels),
        };
        let samples = Samples::new(Features::U8(&self.pixels), PIXELS, labels);
        samples.and_then(|samples| samples.scaled(1.0 / 255.0, 0.0)).expect("images are samples")
    }
}

/// Runs a ring with gradient tracking, and prints a hash of the final states.
fn run<P: Problem>(problems: Vec<P>, batch: u32, start: f32, rounds: u32) {
    let steps = StepSizes::new(0.1, 0.1, 0.1, 0.4, 0.4).expect("steps are positive");
    let batch = NonZeroU32::new(batch).expect("batches are not empty");
    let (size, count) = (problems[0].dimensions(), problems.len() as u32);
    let node = |(number, problem): (usize, P)| {
        let sampler = Sampler::drawn(1, number as u32, batch);
        let outer = || vec![0.0_f32; size.outer];
        let inner = || vec![0.0_f32; size.inner];
        let x = (0..size.outer).map(|i| start * (1.0 + (i % 11) as f32 / 11.0)).collect();
        let buffers =
            Buffers { x, y: outer(), z: outer(), theta: inner(), v: inner(), delta: outer() };
        let config = Config { steps, sampler };
        Node::new(problem, Scheme::GradientTracking, config, buffers).expect("a node")
    };
    let mut nodes: Vec<_> = problems.into_iter().enumerate().map(node).collect();
    let mut edges = Vec::new();
    for node in 0..count {
        let mut neighbours = [(node + count - 1) % count, (node + 1) % count];
        neighbours.sort_unstable();
        edges.extend(neighbours.map(|neighbour| Edge { node, neighbour, weight: 1.0 / 3.0 }));
    }
    let mut scratch =
        Scratch { direction: vec![0.0; size.inner], workspace: vec![0.0; size.workspace] };
    let mut room = vec![0.0; 2 * size.outer * nodes.len()];
    for _ in 0..rounds {
        for node in &mut nodes {
            node.compute(&mut scratch).expect("no divergence");
        }
        exchange(&mut nodes, &edges, &mut room).expect("nodes fit");
    }
    let mut hash = Hash::default();
    for node in &nodes {
        hash.floats(node.state().theta);
        hash.floats(node.state().x);
    }
    println!("{:016x}", hash.value());
}
