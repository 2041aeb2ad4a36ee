//! The same bits with vectors of every width that the processor has.

use std::collections::BTreeSet;

use lopa_core::batch::Sampler;
use lopa_core::node::{Config, Scheme};
use lopa_core::problem::Problem;
use lopa_core::problems::SharedLayer;
use lopa_core::samples::{Features, Labels, Samples};
use lopa_core::steps::StepSizes;
use lopa_core::vector::limit_vectors;
use lopa_host::data::synthetic::Recipe;
use lopa_host::network::Simulation;
use lopa_host::quadratics::{QuadraticData, QuadraticRecipe};
use lopa_host::topology::Topology;
use lopa_tests::benchmark::{self, IMAGE_SETTINGS, Measure, PIXEL_COUNT, Report, STEPS};
use lopa_tests::hash::Hash;
use lopa_tests::images::draw;

/// Scalars (which compilers put into vectors of 128 bits), AVX2 and AVX-512.
const WIDTHS: [u32; 3] = [128, 256, 512];

type Benchmark = fn(Measure<'_>) -> Report;

#[test]
fn the_width_of_vectors_changes_no_bit() {
    let benchmarks: [(&str, Benchmark); 8] = [
        ("quadratic", benchmark::quadratic),
        ("logistic", benchmark::logistic),
        ("logistic-784", benchmark::logistic_784),
        ("ridge", benchmark::ridge),
        ("shared-layer", benchmark::shared_layer),
        ("meta", benchmark::meta),
        ("logistic, in integers", benchmark::logistic_integer),
        ("shared layer, in integers", benchmark::shared_layer_integer),
    ];
    let mut used = BTreeSet::new();
    let mut hashes = WIDTHS.map(|bits| {
        used.insert(limit_vectors(bits));
        let steps: Measure<'_> = &mut |step| (0..STEPS).for_each(|_| step());
        let mut hashes: Vec<(&str, u64)> =
            benchmarks.iter().map(|&(name, run)| (name, run(steps).hash)).collect();
        hashes.push(("shared layer of images", layer_of_images(false)));
        assert_eq!(layer_of_images(true), layer_of_images(false), "with lists, {bits} bits");
        hashes.push(("network in one process", quadratics()));
        hashes.push(("three features", short_rows(3)));
        hashes.push(("sixteen features", short_rows(16)));
        hashes
    });
    limit_vectors(u32::MAX);
    hashes.reverse();
    for other in &hashes[1..] {
        assert_eq!(*other, hashes[0], "with vectors of other widths than {used:?} bits");
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        assert!(used.len() > 1, "only vectors of {used:?} bits were used");
    }
}

/// Five nodes in one process, whose vectors are mixed where they are.
fn quadratics() -> u64 {
    let recipe = QuadraticRecipe::new(333, 3, 1.0, 7);
    let data: Vec<QuadraticData> = (0..5).map(|node| recipe.node(node)).collect();
    network(data.iter().map(|data| data.problem().unwrap()), Sampler::full)
}

/// Rows that fit one vector, in batches that take one block of sixteen rows and a part of another.
fn short_rows(features: usize) -> u64 {
    let recipe = Recipe { features, relevant: 2, samples: 20, alike: false, seed: 5 };
    // Sixteen nodes draw together.
    let shards = recipe.shards(16);
    let sampler = |node| Sampler::drawn(5, node, 21.try_into().unwrap());
    network(shards[..5].iter().map(|shard| shard.logistic().unwrap()), sampler)
}

fn network<P: Problem + Send + Sync>(
    problems: impl Iterator<Item = P>,
    sampler: impl Fn(u32) -> Sampler,
) -> u64 {
    let steps = StepSizes::new(0.1, 0.3, 0.3, 0.5, 0.5).unwrap();
    let config = |node| Config { steps, sampler: sampler(node) };
    let edges = Topology::ring(5).metropolis();
    let start = |n| vec![0.2; n];
    let mut network =
        Simulation::new(problems, Scheme::GradientTracking, edges, start, config).unwrap();
    (0..20).for_each(|_| network.round().unwrap());
    let mut hash = Hash::default();
    for node in network.nodes() {
        benchmark::variables(node.state()).into_iter().for_each(|variable| hash.floats(variable));
    }
    hash.value()
}

/// 784-9-10 with marks or with lists, batches of 70: one whole group of rows and a part.
fn layer_of_images(listed: bool) -> u64 {
    const HIDDEN: usize = 9;
    const CLASSES: usize = 10;
    const SAMPLES: usize = 90;
    const N: usize = SharedLayer::outer(PIXEL_COUNT, HIDDEN);
    const P: usize = SharedLayer::inner(HIDDEN, CLASSES);
    let settings =
        benchmark::Settings { start: 0.01, batch: 70.try_into().unwrap(), ..IMAGE_SETTINGS };
    let mut pixels = vec![0; SAMPLES * PIXEL_COUNT];
    let mut stream = settings.sampler().draws.stream(0, lopa_core::draw::Purpose::custom(9));
    let labels: Vec<u8> = (0..SAMPLES).map(|i| (i % CLASSES) as u8).collect();
    for (image, &label) in pixels.chunks_exact_mut(PIXEL_COUNT).zip(&labels) {
        draw(label, &mut stream, image);
    }
    let samples = Samples::new(Features::U8(&pixels), PIXEL_COUNT, Labels::Class(&labels));
    let samples = samples.and_then(|samples| samples.scaled(1.0 / 255.0, 0.0)).unwrap();
    let mut marks = vec![0; Samples::marks(SAMPLES, PIXEL_COUNT)];
    samples.mark(&mut marks);
    let lists = samples.lists().unwrap();
    let samples = if listed { samples.listed(&lists) } else { samples.marked(&marks) }.unwrap();
    let problem = SharedLayer::new(samples, samples, HIDDEN, CLASSES, 0.01).unwrap();
    const W: usize = SharedLayer::workspace(HIDDEN, CLASSES);
    let mut measure = |step: &mut dyn FnMut()| (0..10).for_each(|_| step());
    benchmark::learn::<_, _, N, P, W>(&problem, settings, &mut measure, |node, _| {
        let mut hash = Hash::default();
        benchmark::variables(node.state()).into_iter().for_each(|variable| hash.floats(variable));
        hash.value()
    })
}
