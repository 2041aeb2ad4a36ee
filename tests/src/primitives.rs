//! Fingerprints of the draws and functions that everything else uses, so that a difference can be traced to them.

use core::num::NonZeroU32;

use lopa_core::draw::{Draws, Purpose};
use lopa_core::{math, vector};

use crate::hash::Hash;

/// How many floats are computed per function.
const POINTS: u64 = 4_096;

/// A hash of draws of every kind.
#[must_use]
#[inline(never)]
pub fn draws() -> u64 {
    let mut hash = Hash::default();
    for round in 0..256 {
        let mut stream = Draws { seed: 1, node: 2 }.stream(round, Purpose::custom(0));
        hash.word(u64::from(stream.next()));
        hash.word(u64::from(stream.below(NonZeroU32::MIN.saturating_add(round as u32))));
        // Half of all draws are rejected for this bound.
        hash.word(u64::from(stream.below(NonZeroU32::MIN.saturating_add(1 << 31))));
        hash.float(stream.unit());
        hash.float(stream.signed_unit());
    }
    hash.value()
}

/// A hash of every function of [`math`] at floats of all sizes, subnormal and infinite ones too.
#[must_use]
#[inline(never)]
pub fn functions() -> u64 {
    let mut hash = Hash::default();
    let mut stream = Draws { seed: 3, node: 4 }.stream(0, Purpose::custom(0));
    for _ in 0..POINTS {
        // One float of any bits, and one where the functions are not flat.
        for a in [f32::from_bits(stream.next()), 20.0 * stream.signed_unit()] {
            let (sigmoid, slope) = math::sigmoid_with_slope(a);
            let results = [math::exp(a), math::ln(a), math::sqrt(a), math::softplus(a)];
            hash.floats(&results);
            hash.floats(&[math::sigmoid(a), sigmoid, slope]);
        }
    }
    let mut logits: [f32; 7] = core::array::from_fn(|_| 5.0 * stream.signed_unit());
    hash.float(math::log_sum_exp(&logits));
    hash.float(math::softmax(&mut logits));
    hash.floats(&logits);
    hash.value()
}

/// A hash of reductions of every length up to a few times the number of lanes.
#[must_use]
#[inline(never)]
pub fn reductions() -> u64 {
    let mut hash = Hash::default();
    let mut stream = Draws { seed: 5, node: 6 }.stream(0, Purpose::custom(0));
    let b: [f32; 67] = core::array::from_fn(|_| stream.signed_unit());
    // From 2^-126 to 2^6: the order of a sum shows, and so does a chip that flushes to zero.
    let size = |i: usize| f32::from_bits((1 + 2 * i as u32) << 23);
    let a: [f32; 67] = core::array::from_fn(|i| size(i) * stream.signed_unit());
    for len in 0..=a.len() {
        hash.float(vector::dot(&a[..len], &b[..len]));
        hash.float(vector::sum(&a[..len]));
        hash.float(vector::norm_squared(&a[..len]));
    }
    hash.value()
}
