//! Integer arithmetic: close to floats, part of a node's identity, and refused where it is not available.

use std::array;

use lopa_core::samples::{Arithmetic, Features, Labels, Samples, SamplesError};

const ROWS: usize = 40;
const WIDTH: usize = 36;
const LABELS: [u8; ROWS] = {
    let mut labels = [0; ROWS];
    let mut i = 0;
    while i < ROWS {
        labels[i] = (i * 7 % 3 == 0) as u8;
        i += 1;
    }
    labels
};

fn bytes() -> [u8; ROWS * WIDTH] {
    array::from_fn(|i| ((i * 7_919 + i / WIDTH * 31) % 256) as u8)
}

fn samples(bytes: &[u8]) -> Samples<'_> {
    let samples = Samples::new(Features::U8(bytes), WIDTH, Labels::Binary(&LABELS)).unwrap();
    samples.scaled(1.0 / 128.0, 128.0).unwrap()
}

#[cfg(not(feature = "integer"))]
#[test]
fn a_build_without_integers_refuses_them() {
    let bytes = bytes();
    let refused = samples(&bytes).computed_in(Arithmetic::Integer);
    assert_eq!(refused, Err(SamplesError::NoIntegers));
    assert_eq!(samples(&bytes).computed_in(Arithmetic::Float), Ok(samples(&bytes)));
}

#[cfg(feature = "integer")]
mod with_integers {
    use lopa_core::batch::{Batch, Sampler};
    use lopa_core::blob::{self, Blob, Plan, Start, Wiring};
    use lopa_core::check;
    use lopa_core::exchange::{Peer, Settings, Timing};
    use lopa_core::node::{Config, GtNode, Neighbour, NodeError, Scheme, Scratch, Variable};
    use lopa_core::problem::{Point, Problem, ProblemError};
    use lopa_core::problems::{AnyProblem, Logistic, Meta, Ridge, SharedLayer};
    use lopa_core::steps::StepSizes;
    use lopa_core::wire::{Reason, Seal};

    use super::*;

    fn config() -> Config {
        let steps = StepSizes::new(0.2, 0.1, 0.1, 0.4, 0.5).unwrap();
        Config { steps, sampler: Sampler::drawn(5, 0, 8.try_into().unwrap()) }
    }

    type Scratches = Scratch<[f32; WIDTH], [f32; WIDTH]>;

    fn integers(bytes: &[u8]) -> Samples<'_> {
        samples(bytes).computed_in(Arithmetic::Integer).unwrap()
    }

    /// Checks that x, theta and v in integers are close to those in floats, but not the same.
    fn assert_close(floats: &[Vec<f32>; 3], integers: &[Vec<f32>; 3]) {
        for (name, (a, b)) in ["x", "theta", "v"].into_iter().zip(floats.iter().zip(integers)) {
            let largest =
                |a: &mut dyn Iterator<Item = f32>| a.fold(0.0, |a, b| f32::max(a, b.abs()));
            let off = largest(&mut a.iter().zip(b).map(|(a, b)| a - b));
            let size = largest(&mut a.iter().copied());
            assert!(off < 1.0e-3 * size && off > 0.0, "{name}: {off} of {size}");
        }
    }

    #[test]
    fn a_node_ends_near_one_that_computes_in_floats() {
        let bytes = bytes();
        let end = |set: Samples<'_>| {
            let problem = Logistic::new(set, set).unwrap();
            let node =
                GtNode::<_, WIDTH, WIDTH>::gradient_tracking(problem, config(), [-3.0; WIDTH]);
            let (mut node, mut scratch) = (node.unwrap(), Scratches::new());
            for _ in 0..500 {
                node.compute(&mut scratch).unwrap();
                let neighbour = Neighbour { weight: 0.3, x: &[-3.0; WIDTH], y: &[0.0; WIDTH] };
                node.mix_with([neighbour]).unwrap();
            }
            let state = node.state();
            [state.x.to_vec(), state.theta.to_vec(), state.v.to_vec()]
        };
        assert_close(&end(samples(&bytes)), &end(integers(&bytes)));
    }

    #[test]
    fn derivatives_agree_with_finite_differences() {
        let bytes = bytes();
        let set = integers(&bytes);
        let problem = Logistic::new(set, set).unwrap();
        let theta: [f32; WIDTH] = array::from_fn(|i| 0.05 * (i % 7) as f32 - 0.1);
        let v: [f32; WIDTH] = array::from_fn(|i| 0.3 - 0.02 * i as f32);
        let at = Point { x: &[-1.0; WIDTH], theta: &theta };
        let mut room = vec![0.0; check::memory(WIDTH, WIDTH, WIDTH)];
        let report = check::derivatives(&problem, at, &v, &mut room).unwrap();
        assert!(report.worst() < 0.01, "{report:?}");
    }

    #[test]
    fn steps_that_are_too_long_are_reported_as_divergence() {
        let bytes = bytes();
        let set = samples(&bytes).scaled(1.0, 0.0).unwrap();
        let set = set.computed_in(Arithmetic::Integer).unwrap();
        let ridge = Samples::new(set.features(), WIDTH, Labels::Real(&[1.0; ROWS])).unwrap();
        let ridge = ridge.computed_in(Arithmetic::Integer).unwrap();
        let problem = Ridge::new(ridge, ridge).unwrap();
        let node = GtNode::<_, WIDTH, WIDTH>::gradient_tracking(problem, config(), [-3.0; WIDTH]);
        let (mut node, mut scratch) = (node.unwrap(), Scratches::new());
        let mut last = Ok(());
        for _ in 0..100 {
            last = node.compute(&mut scratch).and_then(|()| node.mix_with([]));
            if last.is_err() {
                break;
            }
        }
        let Err(NodeError::Diverged(divergence)) = last else { panic!("{last:?}") };
        assert_ne!(divergence.variable, Variable::Outer);
        assert!(node.state().theta.iter().all(|theta| theta.is_finite()));
    }

    const HIDDEN: usize = 5;
    const OUTER: usize = SharedLayer::outer(WIDTH, HIDDEN);
    const INNER: usize = SharedLayer::inner(HIDDEN, 2);

    /// A shared layer in this arithmetic, on bytes with an offset.
    fn layer(bytes: &[u8], arithmetic: Arithmetic) -> SharedLayer<'_> {
        let set = Samples::new(Features::U8(bytes), WIDTH, Labels::Class(&LABELS)).unwrap();
        let set = set.scaled(1.0 / 128.0, 128.0).unwrap().computed_in(arithmetic).unwrap();
        SharedLayer::new(set, set, HIDDEN, 2, 0.1).unwrap()
    }

    #[test]
    fn a_shared_layer_ends_near_one_in_floats() {
        let bytes = bytes();
        let start: [f32; OUTER] = array::from_fn(|i| ((i * 37 % 101) as f32 - 50.0) * 0.002);
        let end = |arithmetic| {
            let problem = layer(&bytes, arithmetic);
            let mut scratch = Scratch {
                direction: vec![0.0; INNER],
                workspace: vec![0.0; problem.dimensions().workspace],
            };
            let node = GtNode::<_, OUTER, INNER>::gradient_tracking(problem, config(), start);
            let mut node = node.unwrap();
            for _ in 0..200 {
                node.compute(&mut scratch).unwrap();
                node.mix_with([Neighbour { weight: 0.3, x: &start, y: &[0.0; OUTER] }]).unwrap();
            }
            let state = node.state();
            [state.x.to_vec(), state.theta.to_vec(), state.v.to_vec()]
        };
        assert_close(&end(Arithmetic::Float), &end(Arithmetic::Integer));
    }

    #[test]
    fn derivatives_of_a_shared_layer_agree_with_finite_differences() {
        let bytes = bytes();
        let problem = layer(&bytes, Arithmetic::Integer);
        let x: [f32; OUTER] = array::from_fn(|i| ((i * 37 % 101) as f32 - 50.0) * 0.004);
        let theta: [f32; INNER] = array::from_fn(|i| 0.2 * (i % 7) as f32 - 0.5);
        let v: [f32; INNER] = array::from_fn(|i| 0.3 - 0.05 * i as f32);
        let at = Point { x: &x, theta: &theta };
        let workspace = problem.dimensions().workspace;
        let mut room = vec![0.0; check::memory(OUTER, INNER, workspace)];
        let report = check::derivatives(&problem, at, &v, &mut room).unwrap();
        assert!(report.worst() < 0.01, "{report:?}");
    }

    #[test]
    fn weights_that_are_not_finite_spoil_what_a_shared_layer_adds() {
        let bytes = bytes();
        let problem = layer(&bytes, Arithmetic::Integer);
        let batch = Batch::full(ROWS);
        let (theta, v) = ([0.1; INNER], [0.2; INNER]);
        for bad in [f32::NAN, f32::INFINITY, 1.0e38] {
            let mut x = [0.01; OUTER];
            x[WIDTH + 3] = bad;
            let at = Point { x: &x, theta: &theta };
            let mut workspace = vec![0.0; problem.dimensions().workspace];
            problem.prepare(&x, &mut workspace);
            let (mut inner, mut outer) = ([0.0; INNER], [0.0; OUTER]);
            problem.inner_gradient(at, &batch, 1.0, &mut inner, &mut workspace);
            problem.cross_vector(at, &v, &batch, 1.0, &mut outer, &mut workspace);
            assert!(inner.iter().chain(&outer).all(|a| a.is_nan()), "{bad}");
        }
    }

    #[test]
    fn what_was_prepared_for_one_x_is_not_used_for_another() {
        let bytes = bytes();
        let problem = layer(&bytes, Arithmetic::Integer);
        let theta: [f32; INNER] = array::from_fn(|i| 0.2 * (i % 7) as f32 - 0.5);
        let batch = Batch::full(ROWS);
        let mut workspace = vec![0.0; problem.dimensions().workspace];
        let mut gradient = |x: &[f32; OUTER], prepared: bool| {
            if prepared {
                problem.prepare(x, &mut workspace);
            } else {
                workspace.fill(0.0);
            }
            let mut out = [0.0; OUTER];
            let at = Point { x, theta: &theta };
            problem.outer_gradient_outer(at, &batch, 1.0, &mut out, &mut workspace);
            out
        };
        let mut x = [0.01; OUTER];
        let first = gradient(&x, true);
        x[7] = 0.5;
        let second = gradient(&x, true);
        assert_ne!(first, second);
        assert_eq!(second, gradient(&x, false));
        x[7] = 0.01;
        assert_eq!(first, gradient(&x, false));
        assert_eq!(first, gradient(&x, true));
    }

    #[test]
    fn floats_and_large_offsets_are_refused() {
        let bytes = bytes();
        let floats = [0.5; ROWS * WIDTH];
        let floats = Samples::new(Features::F32(&floats), WIDTH, Labels::Binary(&LABELS)).unwrap();
        assert_eq!(floats.computed_in(Arithmetic::Integer), Err(SamplesError::NotBytes));
        let far = samples(&bytes).scaled(1.0, 1_025.0).unwrap();
        assert_eq!(far.computed_in(Arithmetic::Integer), Err(SamplesError::Offset));
        let mixed = Logistic::new(integers(&bytes), samples(&bytes));
        assert_eq!(mixed, Err(ProblemError::Arithmetic));
        let class = Samples::new(Features::U8(&bytes), WIDTH, Labels::Class(&LABELS)).unwrap();
        let integers = class.computed_in(Arithmetic::Integer).unwrap();
        let mixed = SharedLayer::new(class, integers, 2, 2, 0.1);
        assert_eq!(mixed, Err(ProblemError::Arithmetic));
    }

    #[test]
    fn a_blob_keeps_the_arithmetic_and_nodes_that_differ_refuse_each_other() {
        let bytes = bytes();
        let identities = [samples(&bytes), integers(&bytes)].map(|set| {
            let plan = Plan {
                network: 7,
                rounds: 9,
                scheme: Scheme::GradientTracking,
                config: config(),
                chunk: 4,
                timing: Timing::uart(115_200, 200, 4, 2_000),
                baud: 115_200,
                wiring: Wiring::Direct,
                checkpoint_every: 0,
                seal: Seal::PLAIN,
                codec: None,
            };
            let problem = AnyProblem::MetaLogistic(Meta::new(set, set, 2.0).unwrap());
            let mut written = Vec::new();
            let peers = [Peer { node: 2, link: 0, weight: 0.25 }];
            let put = |piece: &[u8]| written.extend_from_slice(piece);
            let len = blob::write(&plan, &problem, Start::Number(0.1), &peers, put).unwrap();
            // Aligned as a blob must be.
            let mut words = vec![0_u32; len.div_ceil(4)];
            bytemuck::cast_slice_mut(&mut words)[..len].copy_from_slice(&written);
            let blob = Blob::read(bytemuck::cast_slice(&words)).unwrap();
            assert_eq!(blob.problem(), problem);
            assert_eq!(problem.in_floats().samples(), Some([samples(&bytes); 2]));
            blob.identity()
        });
        let [float, integer] = identities;
        assert_eq!(float.difference(&integer), Some(Reason::Math));
        let alone = [samples(&bytes), integers(&bytes)].map(|set| {
            let problem = Logistic::new(set, set).unwrap();
            let node =
                GtNode::<_, WIDTH, WIDTH>::gradient_tracking(problem, config(), [0.0; WIDTH]);
            Settings::of(&node.unwrap(), 9, 4, Timing::uart(115_200, 200, 4, 2_000)).identity
        });
        assert_eq!(alone[0].difference(&alone[1]), Some(Reason::Math));
    }
}
