//! Exact solutions of one node's problem.

use lopa_core::problems::Logistic;
use lopa_core::samples::{Features, Labels, Samples};
use lopa_host::exact::{self, ExactError};

use super::{all, inner_solution, instance, relative};
use crate::reference::differences::along;
use crate::reference::fixtures::{KINDS, Kind, Rng};
use crate::reference::matrix::{dot, solve, times};
use crate::reference::{At, Lists, exact as widened, losses, oracles};

#[test]
fn solutions_of_all_problems_are_right_to_the_last_digits() {
    // Three times the worst measured.
    const BOUND: f64 = 2.0e-6;
    let mut worst = [0.0_f64; 4];
    for kind in KINDS {
        for seed in 0..12 {
            let instance = instance(kind, seed);
            let (problem, reference) = (instance.core(), instance.reference());
            let x = Rng(seed).vector(instance.sizes().0, -1.5, 0.5);
            let found = exact::solve(&*problem, &x, None).unwrap();
            let (x, train, validation) = (widened(&x), all(23), all(17));
            let theta = inner_solution(&reference, &x, &train);
            let at = At { x: x.clone(), theta: theta.clone(), v: theta.clone() };
            let lists = Lists::of(&train, &validation);
            let outer = oracles::answers(&reference, &at, &lists);
            let hessian = oracles::hessian(&reference, &x, &theta, &train);
            let v = solve(&hessian, &outer.outer_gradient_inner);
            let pull = times(&oracles::cross(&reference, &x, &theta, &train), &v);
            let hypergradient: Vec<f64> =
                outer.outer_gradient_outer.iter().zip(&pull).map(|(f, g)| f - g).collect();
            let phi = reference.f(&x, &theta, &validation);
            let errors = [
                relative(&widened(&found.theta), &theta),
                relative(&widened(&found.v), &v),
                relative(&found.hypergradient, &hypergradient),
                (found.phi - phi).abs() / phi.abs(),
            ];
            for (worst, error) in worst.iter_mut().zip(errors) {
                *worst = worst.max(error);
                assert!(error < BOUND, "{kind:?}, seed {seed}: {errors:?}");
            }
            assert!(found.residuals.inner < 1.0e-6 && found.residuals.hv < 1.0e-6, "{found:?}");
        }
    }
    println!("worst relative errors of theta, v, hypergradient, phi: {worst:?}");
}

#[test]
fn the_hypergradient_is_the_derivative_of_phi() {
    // From losses and an inner solver in f64 alone: no formula for the hypergradient is used.
    let mut worst = 0.0_f64;
    for kind in [Kind::Logistic, Kind::SharedLayer, Kind::MetaLogistic, Kind::Ridge] {
        for seed in 20..26 {
            let instance = instance(kind, seed);
            let reference = instance.reference();
            let mut rng = Rng(seed);
            let x = rng.vector(instance.sizes().0, -1.5, 0.5);
            let found = exact::solve(&*instance.core(), &x, None).unwrap().hypergradient;
            let (train, validation) = (all(23), all(17));
            let phi =
                |x: &[f64]| reference.f(x, &inner_solution(&reference, x, &train), &validation);
            for _ in 0..4 {
                let direction = widened(&rng.vector(x.len(), -1.0, 1.0));
                let wanted = along(0.02, &widened(&x), &direction, phi);
                let size = dot(&found, &found).sqrt() * dot(&direction, &direction).sqrt();
                let error = (dot(&found, &direction) - wanted).abs() / size;
                worst = worst.max(error);
                // Three times the worst measured.
                assert!(error < 1.0e-6, "{kind:?}, seed {seed}: {error:e}");
            }
        }
    }
    println!("worst error relative to the length of the hypergradient: {worst:.1e}");
}

#[test]
fn a_warm_start_gives_the_same_answer_sooner() {
    for kind in [Kind::Logistic, Kind::SharedLayer] {
        let instance = instance(kind, 3);
        let problem = instance.core();
        let x = Rng(5).vector(instance.sizes().0, -1.5, 0.5);
        let near: Vec<f32> = x.iter().map(|x| x + 1.0e-3).collect();
        let cold = exact::solve(&*problem, &x, None).unwrap();
        let before = exact::solve(&*problem, &near, None).unwrap();
        let warm = exact::solve(&*problem, &x, Some((&before.theta, &before.v))).unwrap();
        let apart = relative(&warm.hypergradient, &cold.hypergradient);
        assert!(apart < 1.0e-6, "{kind:?}: {apart:e}");
        let cost = |s: &exact::Solution| s.evaluations.hessian_vector;
        assert!(cost(&warm) < cost(&cold), "{} of {}", cost(&warm), cost(&cold));
        // Starting from the answer costs next to nothing; NaN is ignored.
        let again = exact::solve(&*problem, &x, Some((&cold.theta, &cold.v))).unwrap();
        assert!(relative(&again.hypergradient, &cold.hypergradient) < 1.0e-6);
        let nonsense = vec![f32::NAN; cold.theta.len()];
        let found = exact::solve(&*problem, &x, Some((&nonsense, &nonsense))).unwrap();
        assert_eq!(found.hypergradient, cold.hypergradient);
        println!(
            "{kind:?}: cold {}, warm {}, again {} Hessian-vector products",
            cost(&cold),
            cost(&warm),
            cost(&again)
        );
    }
}

#[test]
fn with_hardly_any_regularisation_the_reported_residual_is_true() {
    // Separable, 60 features, 30 samples: without e^-12 of regularisation there would be no solution.
    let (width, rows) = (60, 30);
    let mut rng = Rng(8);
    let labels: Vec<u8> = (0..rows).map(|i| u8::from(i % 2 == 0)).collect();
    let mut features = rng.vector(width * rows, -1.0, 1.0);
    for (row, &label) in features.chunks_mut(width).zip(&labels) {
        row[0] = 2.0 * f32::from(label) - 1.0;
    }
    let samples = Samples::new(Features::F32(&features), width, Labels::Binary(&labels)).unwrap();
    let problem = Logistic::new(samples, samples).unwrap();
    // The residual that it reports, computed again in f64.
    let reference = losses::Problem::Regularised {
        loss: losses::Loss::Logistic,
        base: 0.0,
        train: losses::Samples {
            rows: widened(&features).chunks(width).map(<[f64]>::to_vec).collect(),
            labels: labels.iter().map(|&l| 2.0 * f64::from(l) - 1.0).collect(),
        },
        validation: losses::Samples { rows: Vec::new(), labels: Vec::new() },
    };
    let length = |a: &[f64]| dot(a, a).sqrt();
    for (strength, bound) in [(-12.0, 1.0e-6), (-20.0, 1.0e-5), (-80.0, 1.0)] {
        let x = vec![strength; width];
        let found = exact::solve(&problem, &x, None).unwrap();
        let evaluations = found.evaluations;
        assert!(evaluations.hessian_vector <= 10 * (width as u64 + 100) + 100, "{evaluations:?}");
        assert!(evaluations.inner_gradient < 300, "{evaluations:?}");
        let (x, theta) = (widened(&x), widened(&found.theta));
        let gradient = oracles::inner_gradient(&reference, &x, &theta, &all(rows));
        let weight = times(&oracles::hessian(&reference, &x, &theta, &all(rows)), &theta);
        let (reported, left) = (found.residuals.inner, length(&gradient) / length(&weight));
        println!(
            "x = {strength}: reports {:e}, is {left:e}, {evaluations:?}",
            found.residuals.inner
        );
        assert!((left - reported).abs() < 0.1 * reported + 1.0e-6, "{left:e}, not {reported:e}");
        assert!(left < bound, "{left:e}");
    }
    // e^x overflows: an error, not a hang.
    let refused = exact::solve(&problem, &vec![200.0; width], None);
    assert_eq!(refused, Err(ExactError::NotFinite { name: "the inner gradient" }));
    let short = exact::solve(&problem, &[0.0], None);
    assert_eq!(short, Err(ExactError::Length { name: "x", needed: width, found: 1 }));
    let nan = exact::solve(&problem, &vec![f32::NAN; width], None);
    assert_eq!(nan, Err(ExactError::NotFinite { name: "x" }));
}
