//! Synthetic samples, different on every node, from the same draws on every machine.

use core::num::NonZeroU32;

use lopa_core::draw::{Draws, Purpose, Stream};
use lopa_core::samples::{Features, Labels, Samples};

const SEED: u64 = 2_024;

/// The purpose of a stream.
const SAMPLE: Purpose = Purpose::custom(1);
const PATTERN: Purpose = Purpose::custom(2);
const TRUTH: Purpose = Purpose::custom(3);
const VECTOR: Purpose = Purpose::custom(4);

fn stream(node: u32, number: usize, purpose: Purpose) -> Stream {
    Draws { seed: SEED, node }.stream(number as u64, purpose)
}

/// Fills one node's labelled samples: each class is a pattern plus noise, and half of a node's samples are of the node's own
/// class, so that the best models of two nodes differ.
pub fn classified<T>(
    node: u32,
    classes: NonZeroU32,
    width: usize,
    features: &mut [T],
    labels: &mut [u8],
    encode: fn(f32) -> T,
) {
    for (number, (row, label)) in features.chunks_exact_mut(width).zip(labels).enumerate() {
        let mut draws = stream(node, number, SAMPLE);
        let class = if draws.next() & 1 == 0 { node % classes } else { draws.below(classes) };
        *label = class as u8;
        let mut pattern = stream(class, 0, PATTERN);
        for feature in row {
            *feature = encode(pattern.signed_unit() + 0.5 * draws.signed_unit());
        }
    }
}

/// A pixel: -1 is black, +1 is white.
#[must_use]
pub fn pixel(value: f32) -> u8 {
    (127.5 + 127.5 * value) as u8
}

/// A signed reading of range -2 to 2.
#[must_use]
pub fn reading(value: f32) -> i8 {
    (64.0 * value) as i8
}

/// Fills one node's measured samples: a linear law, partly common and partly its own, plus noise.
pub fn measured(node: u32, width: usize, features: &mut [f32], labels: &mut [f32]) {
    for (number, (row, label)) in features.chunks_exact_mut(width).zip(labels).enumerate() {
        let mut draws = stream(node, number, SAMPLE);
        let (mut common, mut own) = (stream(0, 1, TRUTH), stream(node, 2, TRUTH));
        *label = 0.1 * draws.signed_unit();
        for feature in row {
            *feature = draws.signed_unit();
            *label += *feature * (common.signed_unit() + 0.5 * own.signed_unit());
        }
    }
}

/// Fills a vector with numbers between `low` and `high`; `number` distinguishes a node's vectors.
pub fn vector(node: u32, number: usize, low: f32, high: f32, out: &mut [f32]) {
    let mut draws = stream(node, number, VECTOR);
    for out in out {
        *out = low + (high - low) * draws.unit();
    }
}

/// Makes the first `train` rows a training set, the others a validation set, both scaled.
///
/// # Panics
/// If the shapes do not fit.
#[must_use]
pub fn halves<'a>(
    features: Features<'a>,
    labels: Labels<'a>,
    width: usize,
    train: usize,
    (scale, offset): (f32, f32),
) -> (Samples<'a>, Samples<'a>) {
    let cells = train * width;
    let features = match features {
        Features::U8(raw) => pair(Features::U8, raw.split_at(cells)),
        Features::I8(raw) => pair(Features::I8, raw.split_at(cells)),
        Features::F32(raw) => pair(Features::F32, raw.split_at(cells)),
    };
    let labels = match labels {
        Labels::Binary(raw) => pair(Labels::Binary, raw.split_at(train)),
        Labels::Class(raw) => pair(Labels::Class, raw.split_at(train)),
        Labels::Real(raw) => pair(Labels::Real, raw.split_at(train)),
    };
    let set = |features, labels| {
        let samples = Samples::new(features, width, labels).expect("samples fit");
        samples.scaled(scale, offset).expect("a scale that is not zero")
    };
    (set(features.0, labels.0), set(features.1, labels.1))
}

fn pair<A, B>(wrap: fn(A) -> B, (one, other): (A, A)) -> (B, B) {
    (wrap(one), wrap(other))
}
