//! A small network for every problem and every way to store samples, with both schemes.
//!
//! Each function has its own memory on the stack and is never inlined, so that the largest one, not their
//! sum, must fit a chip with 16 KiB. Widths exceed the sixteen lanes of a reduction and are not a multiple of them.

use core::array::from_fn;
use core::num::NonZeroU32;

use lopa_core::batch::Sharing;
use lopa_core::node::Scheme;
use lopa_core::problems::{
    Logistic, LogisticLoss, Meta, Quadratic, QuadraticParts, Ridge, SharedLayer, SquaredLoss,
};
use lopa_core::samples::{Arithmetic, Features, Labels, Samples, Scale};

use crate::run::{Ending, Setting, memory, network};
use crate::{data, topology};

/// Receives the final state of a network.
type Show<'a> = &'a mut dyn FnMut(&Ending<'_>);

const BOTH: [Scheme; 2] = [Scheme::LocalGradient, Scheme::GradientTracking];
const TWO: NonZeroU32 = NonZeroU32::new(2).unwrap();
const THREE: NonZeroU32 = NonZeroU32::new(3).unwrap();

/// Runs every network, its batches drawn from `seed`.
pub fn all(seed: u64, show: Show<'_>) {
    for program in [quadratic, logistic, ridge, shared_layer, meta_logistic, meta_squared] {
        for scheme in BOTH {
            program(scheme, seed, show);
        }
    }
    if INTEGERS {
        for program in [integer_logistic, integer_ridge, integer_meta, integer_layer] {
            for scheme in BOTH {
                program(scheme, seed, show);
            }
        }
    }
}

/// Whether lopa-core has integer arithmetic.
pub const INTEGERS: bool = cfg!(feature = "integer");

/// Three nodes in a row, no samples.
#[inline(never)]
fn quadratic(scheme: Scheme, seed: u64, show: Show<'_>) {
    const K: usize = 3;
    const N: usize = 17;
    const P: usize = 18;
    let mut vectors = [[[0.0; P]; 4]; K];
    let mut couplings = [[0.0; P * N]; K];
    let mut centres = [[0.0; N]; K];
    for (i, vectors) in (0..).zip(&mut vectors) {
        for (number, vector) in vectors.iter_mut().enumerate() {
            let low = if number == 0 { 0.5 } else { -1.0 };
            data::vector(i, number, low, 1.5, vector);
        }
    }
    for (i, (coupling, centre)) in (0..).zip(couplings.iter_mut().zip(&mut centres)) {
        data::vector(i, 10, -0.3, 0.3, coupling);
        data::vector(i, 11, -1.0, 1.0, centre);
    }
    let problems: [_; K] = from_fn(|i| {
        let [diagonal, spike, shift, target] = &vectors[i];
        let (coupling, centre, rigidity) = (&couplings[i], &centres[i], 0.2);
        Quadratic::new(QuadraticParts {
            diagonal,
            spike,
            coupling,
            shift,
            target,
            centre,
            rigidity,
        })
        .expect("parts fit")
    });
    let setting = Setting {
        problem: "quadratic",
        scheme,
        steps: [0.1, 0.05, 0.05, 0.4, 0.5],
        seed,
        batch: 0,
        sharing: Sharing::Independent,
        edges: &topology::path(),
        start: &[0.5; N],
    };
    network(&problems, &setting, &mut [0.0; memory(K, N, P, 0, 5)], show);
}

/// Four nodes in a ring, pixels.
fn logistic(scheme: Scheme, seed: u64, show: Show<'_>) {
    logistic_in(Arithmetic::Float, "logistic", scheme, seed, show);
}

/// The same in integers.
fn integer_logistic(scheme: Scheme, seed: u64, show: Show<'_>) {
    logistic_in(Arithmetic::Integer, "integer-logistic", scheme, seed, show);
}

#[inline(never)]
fn logistic_in(
    arithmetic: Arithmetic,
    problem: &'static str,
    scheme: Scheme,
    seed: u64,
    show: Show<'_>,
) {
    const K: usize = 4;
    const WIDTH: usize = 19;
    const WORKSPACE: usize = Logistic::workspace(WIDTH);
    const TRAIN: usize = 12;
    const ROWS: usize = TRAIN + 8;
    let mut features = [[0; ROWS * WIDTH]; K];
    let mut labels = [[0; ROWS]; K];
    for (i, (features, labels)) in (0..).zip(features.iter_mut().zip(&mut labels)) {
        data::classified(i, TWO, WIDTH, features, labels, data::pixel);
    }
    let problems: [_; K] = from_fn(|i| {
        let (features, labels) = (Features::U8(&features[i]), Labels::Binary(&labels[i]));
        let (train, validation) =
            data::halves(features, labels, WIDTH, TRAIN, (1.0 / 127.5, 127.5));
        let [train, validation] = computed_in(arithmetic, [train, validation]);
        Logistic::new(train, validation).expect("samples fit")
    });
    let setting = Setting {
        problem,
        scheme,
        steps: [0.5, 0.2, 0.2, 0.4, 0.5],
        seed,
        batch: 4,
        sharing: Sharing::Independent,
        edges: &topology::ring(),
        start: &[-3.0; WIDTH],
    };
    network(&problems, &setting, &mut [0.0; memory(K, WIDTH, WIDTH, WORKSPACE, 7)], show);
}

/// Three nodes in a row, floats.
#[inline(never)]
fn ridge(scheme: Scheme, seed: u64, show: Show<'_>) {
    const K: usize = 3;
    const WIDTH: usize = 17;
    const WORKSPACE: usize = Ridge::workspace(WIDTH);
    const TRAIN: usize = 9;
    const ROWS: usize = TRAIN + 7;
    let mut features = [[0.0; ROWS * WIDTH]; K];
    let mut labels = [[0.0; ROWS]; K];
    for (i, (features, labels)) in (0..).zip(features.iter_mut().zip(&mut labels)) {
        data::measured(i, WIDTH, features, labels);
    }
    let problems: [_; K] = from_fn(|i| {
        let (features, labels) = (Features::F32(&features[i]), Labels::Real(&labels[i]));
        let (train, validation) = data::halves(features, labels, WIDTH, TRAIN, (1.0, 0.0));
        Ridge::new(train, validation).expect("samples fit")
    });
    let setting = Setting {
        problem: "ridge",
        scheme,
        steps: [0.2, 0.05, 0.05, 0.4, 0.5],
        seed,
        batch: 4,
        sharing: Sharing::Independent,
        edges: &topology::path(),
        start: &[-2.0; WIDTH],
    };
    network(&problems, &setting, &mut [0.0; memory(K, WIDTH, WIDTH, WORKSPACE, WIDTH)], show);
}

/// Three nodes in a row, signed bytes, 17-4-3.
fn shared_layer(scheme: Scheme, seed: u64, show: Show<'_>) {
    shared_layer_in(Arithmetic::Float, "shared-layer", scheme, seed, show);
}

/// The same in integers.
fn integer_layer(scheme: Scheme, seed: u64, show: Show<'_>) {
    shared_layer_in(Arithmetic::Integer, "integer-layer", scheme, seed, show);
}

#[inline(never)]
fn shared_layer_in(
    arithmetic: Arithmetic,
    problem: &'static str,
    scheme: Scheme,
    seed: u64,
    show: Show<'_>,
) {
    const K: usize = 3;
    const WIDTH: usize = 17;
    const HIDDEN: usize = 4;
    const CLASSES: usize = 3;
    const OUTER: usize = SharedLayer::outer(WIDTH, HIDDEN);
    const INNER: usize = SharedLayer::inner(HIDDEN, CLASSES);
    const WORKSPACE: usize = SharedLayer::workspace_in(Arithmetic::Integer, HIDDEN, CLASSES);
    const TRAIN: usize = 10;
    const ROWS: usize = TRAIN + 8;
    let mut features = [[0; ROWS * WIDTH]; K];
    let mut labels = [[0; ROWS]; K];
    for (i, (features, labels)) in (0..).zip(features.iter_mut().zip(&mut labels)) {
        data::classified(i, THREE, WIDTH, features, labels, data::reading);
    }
    let problems: [_; K] = from_fn(|i| {
        let (features, labels) = (Features::I8(&features[i]), Labels::Class(&labels[i]));
        let (train, validation) = data::halves(features, labels, WIDTH, TRAIN, (1.0 / 64.0, 0.0));
        let [train, validation] = computed_in(arithmetic, [train, validation]);
        SharedLayer::new(train, validation, HIDDEN, CLASSES, 0.02).expect("samples fit")
    });
    // Units that start alike stay alike: the start is drawn.
    let mut start = [0.0; OUTER];
    data::vector(0, 20, -0.5, 0.5, &mut start);
    let setting = Setting {
        problem,
        scheme,
        steps: [0.3, 0.2, 0.2, 0.4, 0.5],
        seed,
        batch: 2,
        sharing: Sharing::Independent,
        edges: &topology::path(),
        start: &start,
    };
    network(&problems, &setting, &mut [0.0; memory(K, OUTER, INNER, WORKSPACE, 32)], show);
}

/// Three nodes in a row, signed bytes with a scale of each feature, in integers, every sample in every round.
#[inline(never)]
fn integer_ridge(scheme: Scheme, seed: u64, show: Show<'_>) {
    const K: usize = 3;
    const WIDTH: usize = 21;
    const WORKSPACE: usize = Ridge::workspace(WIDTH);
    const TRAIN: usize = 33;
    const ROWS: usize = TRAIN + 9;
    let mut features = [[0; ROWS * WIDTH]; K];
    let mut labels = [[0.0; ROWS]; K];
    let mut classes = [0; ROWS];
    for (i, (features, labels)) in (0..).zip(features.iter_mut().zip(&mut labels)) {
        data::classified(i, TWO, WIDTH, features, &mut classes, data::reading);
        labels.iter_mut().zip(&classes).for_each(|(label, class)| *label = f32::from(*class));
    }
    let scales: [Scale; WIDTH + 1] = from_fn(|feature| match feature {
        WIDTH => Scale { offset: 0.5, factor: 4.0 },
        _ => Scale { offset: feature as f32 - 9.3, factor: 0.01 + feature as f32 * 0.0004 },
    });
    let problems: [_; K] = from_fn(|i| {
        let (train, validation) = features[i].split_at(TRAIN * WIDTH);
        let (own, other) = labels[i].split_at(TRAIN);
        let [train, validation] = [(train, own), (validation, other)].map(|(features, labels)| {
            let samples = Samples::new(Features::I8(features), WIDTH, Labels::Real(labels));
            samples.and_then(|samples| samples.standardised(&scales)).expect("samples fit")
        });
        let [train, validation] = computed_in(Arithmetic::Integer, [train, validation]);
        Ridge::new(train, validation).expect("samples fit")
    });
    let setting = Setting {
        problem: "integer-ridge",
        scheme,
        steps: [0.6, 0.05, 0.05, 0.4, 0.5],
        seed,
        batch: 0,
        sharing: Sharing::Independent,
        edges: &topology::path(),
        start: &[-2.0; WIDTH],
    };
    network(&problems, &setting, &mut [0.0; memory(K, WIDTH, WIDTH, WORKSPACE, WIDTH)], show);
}

/// The samples, computed in this arithmetic.
fn computed_in(arithmetic: Arithmetic, samples: [Samples<'_>; 2]) -> [Samples<'_>; 2] {
    samples.map(|samples| samples.computed_in(arithmetic).expect("samples are bytes"))
}

/// Four nodes in a star, signed bytes off centre, one batch per level.
fn meta_logistic(scheme: Scheme, seed: u64, show: Show<'_>) {
    meta_logistic_in(Arithmetic::Float, "meta-logistic", scheme, seed, show);
}

/// The same in integers.
fn integer_meta(scheme: Scheme, seed: u64, show: Show<'_>) {
    meta_logistic_in(Arithmetic::Integer, "integer-meta", scheme, seed, show);
}

#[inline(never)]
fn meta_logistic_in(
    arithmetic: Arithmetic,
    problem: &'static str,
    scheme: Scheme,
    seed: u64,
    show: Show<'_>,
) {
    const K: usize = 4;
    const WIDTH: usize = 21;
    const TRAIN: usize = 8;
    const ROWS: usize = TRAIN + 8;
    let mut features = [[0; ROWS * WIDTH]; K];
    let mut labels = [[0; ROWS]; K];
    for (i, (features, labels)) in (0..).zip(features.iter_mut().zip(&mut labels)) {
        data::classified(i, TWO, WIDTH, features, labels, data::reading);
    }
    let problems: [_; K] = from_fn(|i| {
        let (features, labels) = (Features::I8(&features[i]), Labels::Binary(&labels[i]));
        let (train, validation) = data::halves(features, labels, WIDTH, TRAIN, (1.0 / 64.0, 3.0));
        let [train, validation] = computed_in(arithmetic, [train, validation]);
        Meta::<LogisticLoss>::new(train, validation, 2.0).expect("samples fit")
    });
    let setting = Setting {
        problem,
        scheme,
        steps: [0.1, 0.2, 0.2, 0.4, 0.5],
        seed,
        batch: 4,
        sharing: Sharing::PerLevel,
        edges: &topology::star(),
        start: &[0.1; WIDTH],
    };
    network(&problems, &setting, &mut [0.0; memory(K, WIDTH, WIDTH, 0, 1)], show);
}

/// Three nodes in a row, floats, as many as there are lanes, every sample in every round.
#[inline(never)]
fn meta_squared(scheme: Scheme, seed: u64, show: Show<'_>) {
    const K: usize = 3;
    const WIDTH: usize = 16;
    const TRAIN: usize = 8;
    const ROWS: usize = TRAIN + 6;
    let mut features = [[0.0; ROWS * WIDTH]; K];
    let mut labels = [[0.0; ROWS]; K];
    for (i, (features, labels)) in (0..).zip(features.iter_mut().zip(&mut labels)) {
        data::measured(i, WIDTH, features, labels);
    }
    let problems: [_; K] = from_fn(|i| {
        let (features, labels) = (Features::F32(&features[i]), Labels::Real(&labels[i]));
        let (train, validation) = data::halves(features, labels, WIDTH, TRAIN, (1.0, 0.0));
        Meta::<SquaredLoss>::new(train, validation, 4.0).expect("samples fit")
    });
    let setting = Setting {
        problem: "meta-squared",
        scheme,
        steps: [0.1, 0.1, 0.1, 0.4, 0.5],
        seed,
        batch: 0,
        sharing: Sharing::Independent,
        edges: &topology::path(),
        start: &[0.1; WIDTH],
    };
    network(&problems, &setting, &mut [0.0; memory(K, WIDTH, WIDTH, 0, 16)], show);
}
