//! A node's rounds: their order, chunks and counters, and divergence.

use crate::common::{Bad, Broken, N, P, config, gt, lg, quadratic, scratch};
use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::epoch::Epoch;
use lopa_core::node::{
    Buffers, Config, Divergence, GtNode, LgNode, Neighbour, Node, NodeError, Phase, Scheme,
    Scratch, Variable,
};
use lopa_core::oracles::Evaluations;
use lopa_core::problem::Problem;
use lopa_core::problems::Ridge;
use lopa_core::samples::{Features, Labels, Samples};
use lopa_core::steps::StepSizes;
use lopa_core::vector::Storage;

fn bits<P: Problem, X: Storage, T: Storage, D: Storage>(node: &Node<P, X, T, D>) -> Vec<u32> {
    let s = node.state();
    [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect()
}

#[test]
fn a_round_is_compute_then_mix() {
    let mut node = gt(0);
    assert_eq!(node.mix(&[0.0; N], &[0.0; N]), Err(NodeError::OutOfTurn));
    assert_eq!(node.mix_with([]), Err(NodeError::OutOfTurn));
    node.compute(&mut scratch()).unwrap();
    let half_way = bits(&node);
    assert_eq!(node.compute(&mut scratch()), Err(NodeError::OutOfTurn));
    assert_eq!(bits(&node), half_way);
    assert_eq!((node.phase(), node.state().round), (Phase::Mixing { next: 0 }, 0));
    node.mix_with([]).unwrap();
    assert_eq!((node.phase(), node.state().round), (Phase::Ready, 1));
    // Between rounds there is nothing to mix, and nothing changes.
    let after = bits(&node);
    assert_eq!(node.mix_with([]), Err(NodeError::OutOfTurn));
    assert_eq!((bits(&node), node.state().round), (after, 1));
}

#[test]
fn one_round_is_algorithm_one_by_hand() {
    // n = p = 1: every update can be written down.
    let problem = lopa_core::problems::Quadratic::new(lopa_core::problems::QuadraticParts {
        diagonal: &[2.0],
        spike: &[0.0],
        coupling: &[0.5],
        shift: &[1.0],
        target: &[3.0],
        centre: &[4.0],
        rigidity: 0.25,
    })
    .unwrap();
    let steps = StepSizes::new(0.5, 0.25, 0.125, 0.5, 0.5).unwrap();
    let config = Config { steps, sampler: Sampler::full(0) };
    let mut node = GtNode::<_, 1, 1>::gradient_tracking(problem, config, [2.0]).unwrap();
    let mut scratch = Scratch::<[f32; 1], [f32; 0]>::new();
    let other = Neighbour { weight: 0.25, x: &[6.0], y: &[8.0] };
    // d = 2θ - (x/2 + 1) = -2, h = 2v - (θ - 3) = 3, s = (x - 4)/4 + v/2 = -1/2, all at the start.
    node.compute(&mut scratch).unwrap();
    node.mix_with([other]).unwrap();
    let state = node.state();
    assert_eq!((state.theta, state.v), (&[0.5][..], &[-0.375][..]));
    // z = γ s; x = 2 + ½ (¼ (6 - 2) - ½ · 0); y = 0 + ¼ (8 - 0) + z.
    assert_eq!((state.z, state.x, state.y), (&[-0.25][..], &[2.5][..], &[1.75][..]));
    // The second round uses the old y for x: x = 2.5 + ½ (¼ · 3.5 - ½ · 1.75).
    node.compute(&mut scratch).unwrap();
    node.mix_with([other]).unwrap();
    assert_eq!(node.state().x, [2.5]);
    // s = (2.5 - 4)/4 - 0.375/2 = -0.5625, z = ½ (z + s), y = 1.75 + ¼ (8 - 1.75) + (z - z_old).
    assert_eq!((node.state().z, node.state().y), (&[-0.40625][..], &[3.15625][..]));
}

#[test]
fn chunks_of_any_length_make_the_same_round() {
    let gaps: Vec<f32> = (0..N).map(|i| 0.1 + i as f32).collect();
    macro_rules! check {
        ($make:ident, $chunk:expr) => {{
            let (mut whole, mut parts) = ($make(1), $make(1));
            whole.compute(&mut scratch()).unwrap();
            whole.mix(&gaps, &gaps).unwrap();
            parts.compute(&mut scratch()).unwrap();
            gaps.chunks($chunk).for_each(|gap| parts.mix(gap, gap).unwrap());
            assert_eq!((bits(&whole), whole.phase()), (bits(&parts), parts.phase()));
        }};
    }
    for chunk in 1..=N {
        check!(lg, chunk);
        check!(gt, chunk);
    }
}

#[test]
fn chunks_that_do_not_fit_change_nothing() {
    let mut node = gt(0);
    node.compute(&mut scratch()).unwrap();
    node.mix(&[0.1, 0.2], &[0.1, 0.2]).unwrap();
    let before = bits(&node);
    let long = [0.0; N - 1];
    let error = NodeError::Length { name: "x_gap", needed: N - 2, found: N - 1 };
    assert_eq!(node.mix(&long, &long), Err(error));
    let error = NodeError::Length { name: "y_gap", needed: 2, found: 1 };
    assert_eq!(node.mix(&[0.0; 2], &[0.0]), Err(error));
    let short = Neighbour { weight: 0.5, x: &[0.0; N - 1], y: &[0.0; N] };
    let error = NodeError::Length { name: "neighbour's x", needed: N, found: N - 1 };
    assert_eq!(node.mix_with([short]), Err(error));
    let short = Neighbour { weight: 0.5, x: &[0.0; N], y: &[] };
    let error = NodeError::Length { name: "neighbour's y", needed: N, found: 0 };
    assert_eq!(node.mix_with([short]), Err(error));
    assert_eq!((bits(&node), node.phase()), (before, Phase::Mixing { next: 2 }));
    // LG sends no y, so none is required.
    let mut node = lg(0);
    node.compute(&mut scratch()).unwrap();
    node.mix_with([short]).unwrap();
}

#[test]
fn memory_of_the_wrong_size_is_refused_by_name() {
    let good = || Buffers {
        x: vec![0.0; N],
        y: vec![0.0; N],
        z: vec![0.0; N],
        theta: vec![0.0; P],
        v: vec![0.0; P],
        delta: vec![0.0; N],
    };
    let new = |scheme, buffers| Node::new(quadratic(0), scheme, config(0), buffers).map(|_| ());
    let length = |name, needed| Err(NodeError::Length { name, needed, found: 1 });
    let (lg, gt) = (Scheme::LocalGradient, Scheme::GradientTracking);
    let one = || vec![0.0; 1];
    assert_eq!(new(gt, good()), Ok(()));
    assert_eq!(new(gt, Buffers { x: one(), ..good() }), length("x", N));
    assert_eq!(new(gt, Buffers { y: one(), ..good() }), length("y", N));
    assert_eq!(new(gt, Buffers { z: one(), ..good() }), length("z", N));
    assert_eq!(new(gt, Buffers { theta: one(), ..good() }), length("theta", P));
    assert_eq!(new(gt, Buffers { v: one(), ..good() }), length("v", P));
    assert_eq!(new(gt, Buffers { delta: one(), ..good() }), length("delta", N));
    assert_eq!(new(lg, Buffers { delta: one(), ..good() }), Ok(()));
    let mut nan = good();
    nan.x[3] = f32::NAN;
    assert_eq!(new(lg, nan), Err(NodeError::Start { index: 3 }));

    let mut node = crate::common::gt(0);
    let mut small = Scratch { direction: vec![0.0; 1], workspace: vec![] };
    assert_eq!(node.compute(&mut small), length("direction", P));
    assert_eq!(node.phase(), Phase::Ready);
}

#[test]
fn too_small_a_workspace_is_refused() {
    let samples = Samples::new(Features::U8(&[1, 2, 3, 4]), 2, Labels::Real(&[1.0, 2.0])).unwrap();
    let ridge = Ridge::new(samples, samples).unwrap();
    let mut node = LgNode::<_, 2, 2>::local_gradient(ridge, config(0), [0.0; 2]).unwrap();
    let mut scratch = Scratch { direction: [0.0; 2], workspace: [0.0; 1] };
    let error = NodeError::Length { name: "workspace", needed: 2, found: 1 };
    assert_eq!(node.compute(&mut scratch), Err(error));
    // A larger one is accepted.
    node.compute(&mut Scratch { direction: [0.0; 2], workspace: [0.0; 7] }).unwrap();
}

#[test]
fn every_oracle_is_evaluated_once_per_round() {
    let mut node = gt(0);
    for _ in 0..7 {
        node.compute(&mut scratch()).unwrap();
        node.mix_with([]).unwrap();
    }
    assert_eq!(node.evaluations(), Evaluations::from_array([7; 5]));
    assert_eq!(node.state().round, 7);
}

#[test]
fn sharing_batches_changes_the_trajectory() {
    let pixels: Vec<u8> = (0..60).map(|i| (i * 37 % 256) as u8).collect();
    let targets: Vec<f32> = (0..20).map(|i| (i % 7) as f32).collect();
    let samples = Samples::new(Features::U8(&pixels), 3, Labels::Real(&targets))
        .unwrap()
        .scaled(1.0 / 255.0, 0.0)
        .unwrap();
    let run = |sharing| {
        let mut config = config(2);
        config.sampler.sharing = sharing;
        config.sampler.size = BatchSize::drawn(4);
        let ridge = Ridge::new(samples, samples).unwrap();
        let mut node = LgNode::<_, 3, 3>::local_gradient(ridge, config, [-1.0; 3]).unwrap();
        for _ in 0..20 {
            node.compute(&mut Scratch::<[f32; 3], [f32; 3]>::new()).unwrap();
            node.mix_with([]).unwrap();
        }
        bits(&node)
    };
    assert_eq!(run(Sharing::Independent), run(Sharing::Independent));
    assert_ne!(run(Sharing::Independent), run(Sharing::PerLevel));
}

/// Runs a broken problem with both schemes and checks that the node stops correctly.
fn stops_with(bad: Bad, variable: Variable) {
    let error = NodeError::Diverged(Divergence { round: 2, variable });
    macro_rules! check {
        ($node:expr) => {{
            let mut node = $node;
            for _ in 0..2 {
                node.compute(&mut scratch()).unwrap();
                node.mix_with([]).unwrap();
            }
            let (x, y) = (node.state().x.to_vec(), node.state().y.to_vec());
            let mut node = {
                // The same state on a broken problem.
                let mut bytes = [0; 256];
                let len = node.save(&mut bytes).unwrap();
                node = $node;
                node.restore(&bytes[..len]).unwrap();
                node
            };
            node.problem_mut().1 = bad;
            assert_eq!(node.compute(&mut scratch()), Err(error), "{bad:?}");
            assert_eq!((node.state().x, node.state().y), (&x[..], &y[..]));
            let s = node.state();
            assert!([s.x, s.theta, s.v, s.z, s.y].concat().iter().all(|a| a.is_finite()));
            // It stays stopped until a restart or a checkpoint.
            assert_eq!(node.compute(&mut scratch()), Err(error));
            assert_eq!(node.mix(&[0.0; N], &[0.0; N]), Err(error));
            assert_eq!(node.mix_with([]), Err(error));
            assert!(node.checkpoint().is_err());
            node.problem_mut().1 = Bad::Nothing;
            let epoch = Epoch { number: 1, mark: 1 };
            node.restart(epoch, 2);
            assert_eq!((node.state().epoch, node.phase()), (epoch, Phase::Ready));
            assert_eq!(node.state().y, node.state().z);
            node.compute(&mut scratch()).unwrap();
        }};
    }
    let broken = || Broken(quadratic(1), Bad::Nothing);
    check!(LgNode::<_, N, P>::local_gradient(broken(), config(1), [0.5; N]).unwrap());
    check!(GtNode::<_, N, P>::gradient_tracking(broken(), config(1), [0.5; N]).unwrap());
}

#[test]
fn a_bad_number_is_reported_with_its_variable_and_never_kept() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        stops_with(Bad::InnerGradient(bad), Variable::Inner);
        stops_with(Bad::HessianVector(bad), Variable::HessianInverseVector);
        stops_with(Bad::OuterGradientInner(bad), Variable::HessianInverseVector);
        stops_with(Bad::CrossVector(bad), Variable::Hypergradient);
        stops_with(Bad::OuterGradientOuter(bad), Variable::Hypergradient);
    }
}

#[test]
fn a_bad_number_from_a_neighbour_never_enters() {
    for bad in [f32::NAN, f32::INFINITY, f32::MAX] {
        for (x, y, variable) in [(bad, 0.0, Variable::Outer), (0.0, bad, Variable::Direction)] {
            let mut node = gt(0);
            node.compute(&mut scratch()).unwrap();
            let before = bits(&node);
            // Two neighbours at the largest float overflow together.
            let (x, y) = ([x; N], [y; N]);
            let sick = Neighbour { weight: 2.0, x: &x, y: &y };
            let error = NodeError::Diverged(Divergence { round: 0, variable });
            assert_eq!(node.mix_with([sick, sick]), Err(error));
            assert_eq!(bits(&node), before);
        }
    }
}

#[test]
fn too_large_steps_are_reported_as_divergence() {
    let mut config = config(0);
    config.steps = StepSizes::new(0.2, 3.0, 0.3, 0.5, 0.6).unwrap();
    let mut node = GtNode::<_, N, P>::gradient_tracking(quadratic(0), config, [0.5; N]).unwrap();
    let stop = (0..1_000)
        .find_map(|_| node.compute(&mut scratch()).and_then(|()| node.mix_with([])).err());
    let Some(NodeError::Diverged(divergence)) = stop else { panic!("{stop:?}") };
    assert_eq!(divergence.variable, Variable::Inner);
    assert!(stop.unwrap().to_string().contains("try smaller step sizes"));
}

#[test]
fn a_restart_keeps_the_model_and_drops_half_a_round() {
    let mut node = gt(3);
    for _ in 0..5 {
        node.compute(&mut scratch()).unwrap();
        node.mix_with([]).unwrap();
    }
    node.compute(&mut scratch()).unwrap();
    node.mix(&[0.1], &[0.1]).unwrap();
    let (x, theta) = (node.state().x.to_vec(), node.state().theta.to_vec());
    let epoch = Epoch { number: 4, mark: 1 };
    node.restart(epoch, 9);
    let state = node.state();
    assert_eq!((state.epoch, state.round, node.phase()), (epoch, 9, Phase::Ready));
    assert_eq!((state.x, state.theta, state.y), (&x[..], &theta[..], state.z));
}
