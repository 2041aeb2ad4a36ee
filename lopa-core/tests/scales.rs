//! Samples with a scale for each feature compute the bits of the same values stored as floats.

use std::array;

use lopa_core::batch::{Batch, Sampler};
use lopa_core::node::{Config, GtNode, Neighbour, Scratch};
use lopa_core::problem::{Point, Problem};
use lopa_core::problems::{AnyProblem, Logistic, Meta, Ridge, SharedLayer};
use lopa_core::samples::{Features, Labels, Row, Samples, SamplesError, Scale};
use lopa_core::steps::StepSizes;

const ROWS: usize = 19;
const WIDTH: usize = 37;
const CELLS: usize = ROWS * WIDTH;
/// Fits every problem: a shared layer with two hidden units has the longest x, two classes the longest θ.
const LONGEST: usize = 2 * (WIDTH + 1);

/// Scales of very different size, one factor that is zero, and one for targets.
fn scales() -> [Scale; WIDTH + 1] {
    array::from_fn(|j| match j {
        5 => Scale { offset: 3.0, factor: 0.0 },
        _ => Scale { offset: j as f32 * 7.3 - 90.0, factor: 0.0037 * (1.0 + (j % 5) as f32) },
    })
}

/// One node's problem of each kind over two sets of samples with these features and labels.
fn problems<'a>(
    set: impl Fn(Labels<'a>) -> Samples<'a>,
    targets: &'a [f32],
) -> [AnyProblem<'a>; 5] {
    const LABELS: [u8; ROWS] = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1];
    let (binary, real) = (set(Labels::Binary(&LABELS)), set(Labels::Real(targets)));
    let class = set(Labels::Class(&LABELS));
    [
        AnyProblem::Logistic(Logistic::new(binary, binary).unwrap()),
        AnyProblem::Ridge(Ridge::new(real, real).unwrap()),
        AnyProblem::SharedLayer(SharedLayer::new(class, class, 2, 2, 0.1).unwrap()),
        AnyProblem::MetaLogistic(Meta::new(binary, binary, 2.0).unwrap()),
        AnyProblem::MetaSquared(Meta::new(real, real, 2.0).unwrap()),
    ]
}

/// The bits of a node's variables after some rounds, of its losses, and of a prediction.
fn learned(problem: AnyProblem<'_>, sampler: Sampler, reading: Row<'_>) -> Vec<u32> {
    let size = problem.dimensions();
    let x0: [f32; LONGEST] = array::from_fn(|i| 0.01 * i as f32 - 0.3);
    let config = Config { steps: StepSizes::new(0.01, 0.002, 0.002, 0.4, 0.5).unwrap(), sampler };
    let (x, y) = ([0.1; LONGEST], [0.01; LONGEST]);
    let mut bits = Vec::new();
    macro_rules! run {
        ($n:expr, $p:expr) => {{
            let start = *x0.first_chunk::<{ $n }>().unwrap();
            let mut node = GtNode::<_, { $n }, { $p }>::gradient_tracking(&problem, config, start);
            let node = node.as_mut().unwrap();
            let mut scratch = Scratch::<[f32; $p], [f32; WIDTH]>::new();
            for _ in 0..6 {
                node.compute(&mut scratch).unwrap();
                node.mix_with([Neighbour { weight: 0.3, x: &x[..$n], y: &y[..$n] }]).unwrap();
            }
            let s = node.state();
            for variable in [s.x, s.theta, s.v, s.z, s.y] {
                bits.extend(variable.iter().map(|a| a.to_bits()));
            }
            let (at, mut workspace) = (Point { x: s.x, theta: s.theta }, [0.0; WIDTH]);
            let workspace = &mut workspace[..size.workspace];
            problem.prepare(s.x, workspace);
            let losses = [
                problem.inner_loss(at, &Batch::full(ROWS), workspace),
                problem.outer_loss(at, &Batch::full(ROWS), workspace),
            ];
            assert!(losses.iter().all(|loss| loss.is_finite()), "{losses:?}");
            bits.extend(losses.map(f32::to_bits));
            bits.push(problem.predict(at, reading, workspace).unwrap().to_bits());
        }};
    }
    match problem {
        AnyProblem::SharedLayer(_) => run!(2 * (WIDTH + 1), 6),
        _ => run!(WIDTH, WIDTH),
    }
    bits
}

#[test]
fn every_problem_has_the_bits_of_samples_scaled_beforehand() {
    let bytes: [u8; CELLS] = array::from_fn(|i| (i * 89 % 251) as u8);
    let signed = bytes.map(|b| b as i8);
    let floats = bytes.map(|b| f32::from(b) * 0.31 - 9.7);
    let targets: [f32; ROWS] = array::from_fn(|i| 200.0 + 3.0 * (i % 7) as f32);
    let scales = scales();
    let scaled_targets = targets.map(|target| scales[WIDTH].value(target));
    for (raw, numbers) in [
        (Features::U8(&bytes), bytes.map(f32::from)),
        (Features::I8(&signed), signed.map(f32::from)),
        (Features::F32(&floats), floats),
    ] {
        let values: [f32; CELLS] = array::from_fn(|i| scales[i % WIDTH].value(numbers[i]));
        let on_chip = |labels| {
            let raw = Samples::new(raw, WIDTH, labels).unwrap();
            raw.standardised(&scales).unwrap()
        };
        let beforehand = |labels| Samples::new(Features::F32(&values), WIDTH, labels).unwrap();
        let any = on_chip(Labels::Real(&targets));
        let first = match raw {
            Features::U8(raw) => Features::U8(&raw[..WIDTH]),
            Features::I8(raw) => Features::I8(&raw[..WIDTH]),
            Features::F32(raw) => Features::F32(&raw[..WIDTH]),
        };
        for sampler in [Sampler::full(0), Sampler::drawn(7, 0, 11.try_into().unwrap())] {
            let pairs = problems(on_chip, &targets).into_iter();
            for (own, other) in pairs.zip(problems(beforehand, &scaled_targets)) {
                let found = learned(own, sampler, any.reading(first));
                let want = learned(other, sampler, Row::new(&values[..WIDTH]));
                assert_eq!(found, want, "{:?}", own.kind());
            }
        }
    }
}

#[test]
fn rows_have_the_bits_of_values_at_any_width() {
    let raw: [u8; 50] = array::from_fn(|i| (i * 89 % 251) as u8);
    let weights: [f32; 50] = array::from_fn(|i| ((7 * i) % 31) as f32 * 0.37 - 4.1);
    for width in [1, 2, 15, 16, 17, 31, 32, 33, 36] {
        // The scale after the last feature is that of targets.
        let scales = scales();
        let scales = &scales[..=width];
        let values: Vec<f32> =
            raw[..width].iter().zip(scales).map(|(raw, s)| s.value(f32::from(*raw))).collect();
        let samples = Samples::new(Features::U8(&raw[..width]), width, Labels::Class(&[0]));
        let row = samples.unwrap().standardised(scales).unwrap().row(0);
        let want = Row::new(&values);
        assert_eq!(row.dot(&weights).to_bits(), want.dot(&weights).to_bits(), "{width}");
        assert_eq!(row.dot(&weights[..1]).to_bits(), want.dot(&weights[..1]).to_bits(), "{width}");
        let (mut out, mut expected) = (weights, weights);
        row.add_scaled(0.7, &mut out);
        want.add_scaled(0.7, &mut expected);
        assert_eq!(out.map(f32::to_bits), expected.map(f32::to_bits), "{width}");
    }
}

#[test]
fn scales_that_cannot_be_used_are_refused() {
    let samples =
        Samples::new(Features::F32(&[1.0, 2.0, 3.0, 3e38]), 2, Labels::Real(&[1.0, -3e38]));
    let samples = samples.unwrap();
    let with = |scales: [(f32, f32); 3]| {
        let scales = scales.map(|(offset, factor)| Scale { offset, factor });
        samples.standardised(&scales).map(|_| ())
    };
    let good = (0.0, 1.0);
    assert_eq!(with([good; 3]), Ok(()));
    assert_eq!(with([good, (7.0, 0.0), good]), Ok(()));
    assert_eq!(with([good, (-3e38, 1.0), good]), Err(SamplesError::Feature { row: 1 }));
    assert_eq!(with([good, (0.0, 2.0), good]), Err(SamplesError::Feature { row: 1 }));
    for bad in [f32::NAN, f32::INFINITY] {
        assert_eq!(with([(bad, 1.0), good, good]), Err(SamplesError::Feature { row: 0 }));
        assert_eq!(with([good, (0.0, bad), good]), Err(SamplesError::Feature { row: 0 }));
        assert_eq!(with([good, good, (bad, 1.0)]), Err(SamplesError::Label { row: 0 }));
    }
    assert_eq!(with([good, good, (3e38, 1.0)]), Err(SamplesError::Label { row: 1 }));
    let few = [Scale::NONE; 2];
    assert_eq!(samples.standardised(&few).map(|_| ()), Err(SamplesError::Scaling));
    assert_eq!(samples.standardised(&[]).map(|_| ()), Err(SamplesError::Scaling));
    // A row beyond the end is empty.
    let scales = [Scale { offset: 3.0, factor: 2.0 }, Scale::NONE, Scale::NONE];
    let samples = samples.standardised(&scales).unwrap();
    assert_eq!(samples.row(2).dot(&[1.0, 1.0]), 0.0);
    assert_eq!(samples.row(0).dot(&[1.0, 0.0]), -4.0);
}
