//! The benchmarks for chips: one node with gradient tracking, in memory of fixed size, with its samples in flash.
//!
//! A benchmark passes its step to a `measure` that calls it [`STEPS`] times and measures whatever it wants. The neighbour
//! never changes: it costs as much as a real one, and needs no second node.

use core::hint::black_box;
use core::num::NonZeroU32;

use lopa_core::batch::Sampler;
use lopa_core::footprint::Footprint;
use lopa_core::node::{Config, GtNode, Neighbour, Scheme, Scratch, State};
use lopa_core::problem::Problem;
use lopa_core::problems::{
    Logistic, LogisticLoss, Meta, Quadratic, QuadraticParts, Ridge, SharedLayer,
};
use lopa_core::samples::{Arithmetic, Features, Labels, Samples};
use lopa_core::steps::StepSizes;

use crate::hash::Hash;

/// How often `measure` must call the step; otherwise the final state is not the expected one.
pub const STEPS: u32 = 51;

/// What a benchmark reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// RAM as [`Footprint`] predicts it.
    pub predicted: usize,
    /// RAM as the compiler lays it out.
    pub ram: usize,
    /// Bytes of samples and other constants of the problem, in flash.
    pub data: usize,
    /// A hash of the final state.
    pub hash: u64,
}

/// Something that calls a step [`STEPS`] times.
pub type Measure<'a> = &'a mut dyn FnMut(&mut dyn FnMut());

/// The cost of the measurement itself.
pub fn nothing(measure: Measure<'_>) -> Report {
    measure(&mut || {
        black_box(());
    });
    let mut hash = Hash::default();
    hash.floats(black_box(&[0.0]));
    Report { predicted: 0, ram: 0, data: 0, hash: hash.value() }
}

/// n = p = 32.
pub fn quadratic(measure: Measure<'_>) -> Report {
    const N: usize = 32;
    static NUMBERS: [f32; N * N + 4 * N] = floats(1);
    let (coupling, rest) = black_box(&NUMBERS).split_at(N * N);
    let mut vectors = rest.chunks_exact(N);
    let mut vector = || vectors.next().unwrap_or(&[]);
    static DIAGONAL: [f32; N] = [4.0; N];
    let parts = QuadraticParts {
        diagonal: black_box(&DIAGONAL),
        spike: vector(),
        coupling,
        shift: vector(),
        target: vector(),
        centre: vector(),
        rigidity: 0.1,
    };
    let problem = sure(Quadratic::new(parts));
    let data = size_of_val(&NUMBERS) + size_of_val(&DIAGONAL);
    gradient_tracking::<_, N, N, 0>(&problem, Settings::new(0.1), data, measure)
}

/// n = p = 64, u8, batches of 8.
pub fn logistic(measure: Measure<'_>) -> Report {
    logistic_in(Arithmetic::Float, measure)
}

/// [`logistic`] in integers; lopa-core must have its feature `integer`.
pub fn logistic_integer(measure: Measure<'_>) -> Report {
    logistic_in(Arithmetic::Integer, measure)
}

fn logistic_in(arithmetic: Arithmetic, measure: Measure<'_>) -> Report {
    static FEATURES: [u8; ROWS * WIDTH] = bytes(2);
    static LABELS: [u8; ROWS] = classes(2);
    let sets = twice(Features::U8(&FEATURES), Labels::Binary(&LABELS), (1.0 / 255.0, 128.0));
    let [train, validation] = sets.map(|set| sure(set.computed_in(arithmetic)));
    let problem = sure(Logistic::new(train, validation));
    let data = size_of_val(&FEATURES) + size_of_val(&LABELS);
    gradient_tracking::<_, WIDTH, WIDTH, { Logistic::workspace(WIDTH) }>(
        &problem,
        Settings::new(-3.0),
        data,
        measure,
    )
}

/// n = p = 256, u8 without an offset, batches of 32.
pub fn logistic_256(measure: Measure<'_>) -> Report {
    logistic_256_in(Arithmetic::Float, measure)
}

/// [`logistic_256`] in integers; lopa-core must have its feature `integer`.
pub fn logistic_256_integer(measure: Measure<'_>) -> Report {
    logistic_256_in(Arithmetic::Integer, measure)
}

fn logistic_256_in(arithmetic: Arithmetic, measure: Measure<'_>) -> Report {
    const N: usize = 256;
    static FEATURES: [u8; ROWS * N] = bytes(7);
    static LABELS: [u8; ROWS] = classes(2);
    let sets = twice(Features::U8(&FEATURES), Labels::Binary(&LABELS), PIXELS);
    let [train, validation] = sets.map(|set| sure(set.computed_in(arithmetic)));
    let problem = sure(Logistic::new(train, validation));
    let data = size_of_val(&FEATURES) + size_of_val(&LABELS);
    const BATCH: NonZeroU32 = NonZeroU32::new(32).unwrap();
    let settings = Settings { rate: 0.02, batch: BATCH, ..IMAGE_SETTINGS };
    gradient_tracking::<_, N, N, { Logistic::workspace(N) }>(&problem, settings, data, measure)
}

/// n = p = 784, u8 without an offset, batches of 8: the size of an MNIST image.
pub fn logistic_784(measure: Measure<'_>) -> Report {
    let problem = image_problem();
    let data = size_of_val(&IMAGES) + size_of_val(&IMAGE_LABELS);
    gradient_tracking::<_, PIXEL_COUNT, PIXEL_COUNT, { Logistic::workspace(PIXEL_COUNT) }>(
        &problem,
        IMAGE_SETTINGS,
        data,
        measure,
    )
}

/// n = p = 64, f32, batches of 8.
pub fn ridge(measure: Measure<'_>) -> Report {
    static FEATURES: [f32; ROWS * WIDTH] = floats(3);
    static LABELS: [f32; ROWS] = floats(4);
    let [train, validation] = twice(Features::F32(&FEATURES), Labels::Real(&LABELS), (0.5, 0.0));
    let problem = sure(Ridge::new(train, validation));
    let data = size_of_val(&FEATURES) + size_of_val(&LABELS);
    let settings = Settings::new(-3.0);
    gradient_tracking::<_, WIDTH, WIDTH, { Ridge::workspace(WIDTH) }>(
        &problem, settings, data, measure,
    )
}

/// 16-8-4: n = 136, p = 36, u8, batches of 8.
pub fn shared_layer(measure: Measure<'_>) -> Report {
    const WORKSPACE: usize = SharedLayer::workspace(HIDDEN, CLASSES);
    let problem = layer_problem(Arithmetic::Float);
    let data = size_of_val(&PATCHES) + size_of_val(&PATCH_LABELS);
    gradient_tracking::<_, LAYER, HEAD, WORKSPACE>(&problem, LAYER_SETTINGS, data, measure)
}

/// [`shared_layer`] in integers; lopa-core must have its feature `integer`.
pub fn shared_layer_integer(measure: Measure<'_>) -> Report {
    const WORKSPACE: usize = SharedLayer::workspace_in(Arithmetic::Integer, HIDDEN, CLASSES);
    let problem = layer_problem(Arithmetic::Integer);
    let data = size_of_val(&PATCHES) + size_of_val(&PATCH_LABELS);
    gradient_tracking::<_, LAYER, HEAD, WORKSPACE>(&problem, LAYER_SETTINGS, data, measure)
}

/// n = p = 64, i8, logistic loss, batches of 8.
pub fn meta(measure: Measure<'_>) -> Report {
    static FEATURES: [i8; ROWS * WIDTH] = readings(6);
    static LABELS: [u8; ROWS] = classes(2);
    let [train, validation] =
        twice(Features::I8(&FEATURES), Labels::Binary(&LABELS), (1.0 / 128.0, 0.0));
    let problem = sure(Meta::<LogisticLoss>::new(train, validation, 2.0));
    let data = size_of_val(&FEATURES) + size_of_val(&LABELS);
    gradient_tracking::<_, WIDTH, WIDTH, 0>(&problem, Settings::new(0.1), data, measure)
}

const WIDTH: usize = 64;
const ROWS: usize = 32;
/// How pixels become values: scale and offset.
pub const PIXELS: (f32, f32) = (1.0 / 255.0, 0.0);

/// How a node of a benchmark is set up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Every element of x at the start.
    pub start: f32,
    /// β and λ.
    pub rate: f32,
    /// The samples of a batch.
    pub batch: NonZeroU32,
}

impl Settings {
    const fn new(start: f32) -> Self {
        Self { start, rate: 0.05, batch: NonZeroU32::new(8).unwrap() }
    }

    /// The step sizes.
    #[must_use]
    pub fn steps(self) -> StepSizes {
        sure(StepSizes::new(0.1, self.rate, self.rate, 0.4, 0.5))
    }

    /// How batches are drawn.
    #[must_use]
    pub const fn sampler(self) -> Sampler {
        Sampler::drawn(7, 0, self.batch)
    }
}

/// The weight of the neighbour.
pub const WEIGHT: f32 = 0.5;

/// The width of the rows in [`IMAGES`].
pub const PIXEL_COUNT: usize = 784;
/// The features of [`image_problem`].
pub static IMAGES: [u8; ROWS * PIXEL_COUNT] = bytes(8);
/// Its labels.
pub static IMAGE_LABELS: [u8; ROWS] = classes(2);
/// Its settings: steps are shorter, because rows are longer.
pub const IMAGE_SETTINGS: Settings = Settings { rate: 0.005, ..Settings::new(-3.0) };

/// The problem of [`logistic_784`].
#[must_use]
pub fn image_problem() -> Logistic<'static> {
    let [train, validation] = twice(Features::U8(&IMAGES), Labels::Binary(&IMAGE_LABELS), PIXELS);
    sure(Logistic::new(train, validation))
}

/// The width of the rows in [`PATCHES`].
pub const PATCH: usize = 16;
/// The hidden units of [`layer_problem`].
pub const HIDDEN: usize = 8;
/// Its classes.
pub const CLASSES: usize = 4;
/// Its n.
pub const LAYER: usize = SharedLayer::outer(PATCH, HIDDEN);
/// Its p.
pub const HEAD: usize = SharedLayer::inner(HIDDEN, CLASSES);
/// Its features.
pub static PATCHES: [u8; ROWS * PATCH] = bytes(5);
/// Its labels.
pub static PATCH_LABELS: [u8; ROWS] = classes(CLASSES as u8);
/// Scale and offset of its features.
pub const PATCH_SCALING: (f32, f32) = (1.0 / 255.0, 128.0);
/// Its μ.
pub const MU: f32 = 0.02;
/// Its settings.
pub const LAYER_SETTINGS: Settings = Settings::new(0.1);

/// The problem of [`shared_layer`].
#[must_use]
pub fn layer_problem(arithmetic: Arithmetic) -> SharedLayer<'static> {
    let sets = twice(Features::U8(&PATCHES), Labels::Class(&PATCH_LABELS), PATCH_SCALING);
    let [train, validation] = sets.map(|set| sure(set.computed_in(arithmetic)));
    sure(SharedLayer::new(train, validation, HIDDEN, CLASSES, MU))
}

fn gradient_tracking<P: Problem, const N: usize, const M: usize, const W: usize>(
    problem: &P,
    settings: Settings,
    data: usize,
    measure: Measure<'_>,
) -> Report {
    let predicted = Footprint::new(Scheme::GradientTracking, N, M, W).ram();
    learn::<P, _, N, M, W>(problem, settings, measure, |node, ram| {
        let mut hash = Hash::default();
        variables(node.state()).into_iter().for_each(|variable| hash.floats(variable));
        Report { predicted, ram, data, hash: hash.value() }
    })
}

/// Sets up a node, has its step measured, and reads the final state; also passes the RAM as the compiler lays it out.
pub fn learn<P: Problem, R, const N: usize, const M: usize, const W: usize>(
    problem: &P,
    settings: Settings,
    measure: Measure<'_>,
    read: impl FnOnce(&GtNode<&P, N, M>, usize) -> R,
) -> R {
    let mut node = node(problem, settings);
    let ram = size_of_val(&node) + size_of::<Scratch<[f32; M], [f32; W]>>();
    take_steps::<P, N, M, W>(&mut node, settings, measure);
    read(&node, ram)
}

// A function of its own, as the next is, so that nothing else is on the stack while the node is built.
#[inline(never)]
fn node<P: Problem, const N: usize, const M: usize>(
    problem: &P,
    settings: Settings,
) -> GtNode<&P, N, M> {
    // Hidden from the compiler, like settings that come from flash.
    let config = black_box(Config { steps: settings.steps(), sampler: settings.sampler() });
    sure(GtNode::gradient_tracking(problem, config, [settings.start; N]))
}

#[inline(never)]
fn take_steps<P: Problem, const N: usize, const M: usize, const W: usize>(
    node: &mut GtNode<&P, N, M>,
    settings: Settings,
    measure: Measure<'_>,
) {
    let mut scratch = Scratch::<[f32; M], [f32; W]>::new();
    let (x, y) = ([settings.start; N], [0.0; N]);
    let neighbour = black_box(Neighbour { weight: WEIGHT, x: &x, y: &y });
    measure(&mut || step(node, &mut scratch, neighbour));
}

/// The variables of a node, in the order in which benchmarks compare them.
#[must_use]
pub fn variables(state: State<'_>) -> [&[f32]; 5] {
    [state.x, state.theta, state.v, state.z, state.y]
}

/// One step: compute and mix.
#[inline(never)]
fn step<P: Problem, const N: usize, const M: usize, const W: usize>(
    node: &mut GtNode<&P, N, M>,
    scratch: &mut Scratch<[f32; M], [f32; W]>,
    neighbour: Neighbour<'_>,
) {
    sure(node.compute(scratch));
    sure(node.mix_with([neighbour]));
}

/// Takes a value without the code that prints an error, which would count as the node's.
fn sure<T, E>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(_) => panic!("a benchmark is set up incorrectly"),
    }
}

/// A set of samples for both levels, hidden from the compiler like a blob in flash.
fn twice<'a>(
    features: Features<'a>,
    labels: Labels<'a>,
    (scale, offset): (f32, f32),
) -> [Samples<'a>; 2] {
    let width = features.len() / ROWS;
    let samples = sure(Samples::new(black_box(features), width, black_box(labels)));
    let samples = sure(samples.scaled(scale, offset));
    black_box([samples, samples])
}

/// Numbers from a linear congruential generator, computed at compile time so that they are in flash.
const fn bytes<const N: usize>(seed: u32) -> [u8; N] {
    let mut out = [0; N];
    let (mut state, mut i) = (seed, 0);
    while i < N {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        out[i] = (state >> 24) as u8;
        i += 1;
    }
    out
}

/// The same as signed bytes.
const fn readings<const N: usize>(seed: u32) -> [i8; N] {
    let (bytes, mut out, mut i) = (bytes::<N>(seed), [0; N], 0);
    while i < N {
        out[i] = bytes[i] as i8;
        i += 1;
    }
    out
}

/// The same as floats in [-1, 1).
const fn floats<const N: usize>(seed: u32) -> [f32; N] {
    let (bytes, mut out, mut i) = (bytes::<N>(seed), [0.0; N], 0);
    while i < N {
        out[i] = (bytes[i] as f32 - 128.0) / 128.0;
        i += 1;
    }
    out
}

/// The same as classes.
const fn classes<const N: usize>(count: u8) -> [u8; N] {
    let (mut out, mut i) = (bytes::<N>(99), 0);
    while i < N {
        out[i] %= count;
        i += 1;
    }
    out
}
