//! Exact metrics, constants and the Lyapunov function of networks.

use lopa_core::batch::Sampler;
use lopa_core::node::Scheme;
use lopa_core::problems::Ridge;
use lopa_core::samples::{Features, Labels, Samples};
use lopa_core::steps::StepSizes;
use lopa_host::exact::{self, Exact, ExactError, Measurement};
use lopa_host::theory::{Coefficients, Constants};

use super::{Shared, inner_solution, instance};
use crate::reference::fixtures::{Instance, Kind, Rng};
use crate::reference::fleet::Fleet;
use crate::reference::graphs::Graph;
use crate::reference::matrix::{Matrix, dot, product, solve, times, transpose};
use crate::reference::{exact as widened, largest, losses, oracles};

/// A ring of different quadratics.
struct Ring {
    instances: Vec<Instance>,
    weights: Matrix,
    x0: Vec<f32>,
}

impl Ring {
    fn new(m: usize, n: usize, p: usize) -> Self {
        let mut rng = Rng(11);
        let instances = (0..m).map(|_| Instance::quadratic(&mut rng, n, p)).collect();
        Self { instances, weights: Graph::Ring.weights(m), x0: rng.vector(n, 2.0, 4.0) }
    }

    /// ‖W - 11'/m‖².
    fn rho(&self) -> f64 {
        let m = self.weights.len() as f64;
        let off: Matrix =
            self.weights.iter().map(|row| row.iter().map(|w| w - 1.0 / m).collect()).collect();
        eigenvalue_ends(&product(&off, &off)).1
    }
}

/// The eigenvalues of a small symmetric matrix, largest and smallest, by powers.
fn eigenvalue_ends(a: &Matrix) -> (f64, f64) {
    let top = |a: &Matrix| {
        let mut v = vec![1.0; a.len()];
        v[0] = 1.3;
        for _ in 0..20_000 {
            v = times(a, &v);
            let length = dot(&v, &v).sqrt();
            v.iter_mut().for_each(|v| *v /= length);
        }
        dot(&v, &times(a, &v))
    };
    let high = top(a);
    let mut shifted: Matrix = a.iter().map(|row| row.iter().map(|a| -a).collect()).collect();
    (0..a.len()).for_each(|i| shifted[i][i] += high);
    (high - top(&shifted), high)
}

#[test]
fn constants_of_quadratics_are_exact() {
    let ring = Ring::new(5, 6, 4);
    let shared: Vec<_> = ring.instances.iter().map(Shared).collect();
    let found = Constants::measure(shared.iter(), &ring.x0, 1).unwrap();
    let mut wanted: Option<Constants> = None;
    for instance in &ring.instances {
        let reference = instance.reference();
        let losses::Problem::Quadratic { a, b, t, r, .. } = &reference else { unreachable!() };
        let (mu_g, l_g_theta) = eigenvalue_ends(a);
        let theta = inner_solution(&reference, &widened(&ring.x0), &[]);
        let outer: Vec<f64> = theta.iter().zip(t).map(|(theta, t)| theta - t).collect();
        let own = Constants {
            mu_g,
            l_g_theta,
            c_g_x_theta: eigenvalue_ends(&product(b, &transpose(b))).1.sqrt(),
            l_g_x_theta: 0.0,
            l_g_theta_theta: 0.0,
            l_f_theta: 1.0,
            l_f_x: *r,
            c_f_theta: dot(&outer, &outer).sqrt(),
        };
        wanted = Some(wanted.map_or(own, |all| all.join(&own)));
    }
    let wanted = wanted.unwrap();
    println!("{found:?}\n{wanted:?}");
    for (name, found, wanted, bound) in [
        ("mu_g", found.mu_g, wanted.mu_g, 1.0e-6),
        ("l_g_theta", found.l_g_theta, wanted.l_g_theta, 1.0e-6),
        ("c_g_x_theta", found.c_g_x_theta, wanted.c_g_x_theta, 1.0e-6),
        ("c_f_theta", found.c_f_theta, wanted.c_f_theta, 1.0e-6),
        // Differences in f32.
        ("l_f_theta", found.l_f_theta, wanted.l_f_theta, 1.0e-4),
        ("l_f_x", found.l_f_x, wanted.l_f_x, 1.0e-4),
    ] {
        assert!((found - wanted).abs() < bound * wanted, "{name}: {found}, not {wanted}");
    }
    assert_eq!((found.l_g_x_theta, found.l_g_theta_theta), (0.0, 0.0));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a reference in f64: its last bits do not matter")]
fn lipschitz_constants_of_second_derivatives_are_found() {
    // Ridge: ∇²xθ g = diag(2 e^x θ) and ∇²θθ g = data + diag(2 e^x), so the largest change of the first is
    // 2 e^x sqrt(1 + θ²), of the second 2 e^x, for the worst feature.
    let (width, rows) = (6, 25);
    let mut rng = Rng(4);
    let features = rng.vector(width * rows, -1.0, 1.0);
    let labels = rng.vector(rows, -3.0, 3.0);
    let samples = Samples::new(Features::F32(&features), width, Labels::Real(&labels)).unwrap();
    let problem = Ridge::new(samples, samples).unwrap();
    let x = [-2.0, 0.3, -1.0, -0.4, -3.0, -0.8];
    let theta = exact::solve(&problem, &x, None).unwrap().theta;
    let found = Constants::measure([&problem], &x, 7).unwrap();
    let over = |of: &dyn Fn(f64, f64) -> f64| {
        let each = x.iter().zip(&theta).map(|(&x, &theta)| of(f64::from(x), f64::from(theta)));
        largest(&each.collect::<Vec<_>>())
    };
    let cross = over(&|x, theta| 2.0 * x.exp() * (1.0 + theta * theta).sqrt());
    let hessian = over(&|x, _| 2.0 * x.exp());
    let norm = over(&|x, theta| 2.0 * x.exp() * theta);
    println!("{found:?}: {cross}, {hessian}, {norm}");
    assert!((found.l_g_x_theta / cross - 1.0).abs() < 1.0e-3, "{} of {cross}", found.l_g_x_theta);
    let change = found.l_g_theta_theta;
    assert!((change / hessian - 1.0).abs() < 1.0e-3, "{change} of {hessian}");
    assert!((found.c_g_x_theta / norm - 1.0).abs() < 1.0e-6, "{} of {norm}", found.c_g_x_theta);
    assert_eq!(found.l_f_x, 0.0);
}

#[test]
fn the_lyapunov_function_falls_in_every_round_with_small_steps() {
    for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
        let ring = Ring::new(5, 4, 3);
        let problems: Vec<_> = ring.instances.iter().map(Instance::core).collect();
        let shared: Vec<_> = ring.instances.iter().map(Shared).collect();
        let constants = Constants::measure(shared.iter(), &ring.x0, 1).unwrap();
        let steps = StepSizes::new(0.002, 0.2, 0.2, 0.2, 0.2).unwrap();
        let coefficients = Coefficients::new(&constants, &steps, ring.rho(), scheme);
        let mut fleet =
            Fleet::new(&problems, &ring.weights, steps, scheme, &ring.x0, Sampler::full);
        let mut exact = Exact::default();
        let mut measure = |fleet: &Fleet<'_>| -> Measurement {
            exact.measure(shared.iter().zip(fleet.states())).unwrap()
        };
        let first = measure(&fleet);
        let (mut v, start) = (coefficients.value(&first), coefficients.value(&first));
        let mut gained = 0.0;
        let mut before = first;
        for round in 1..=400 {
            fleet.round();
            let after = measure(&fleet);
            let now = coefficients.value(&after);
            // Theorem 2 promises half of τα ‖∇Φ‖²; theorem 1 a quarter, less what heterogeneity adds.
            let part = if scheme == Scheme::GradientTracking { 0.5 } else { 0.25 };
            let promised = part * 0.2 * 0.002 * before.hypergradient;
            assert!(now < v - promised, "{scheme:?}, round {round}: {now} after {v}");
            gained += v - now;
            (v, before) = (now, after);
        }
        println!("{scheme:?}: V from {start} by {gained}, {coefficients:?}\n{first:?}\n{before:?}");
        assert!(before.hypergradient < first.hypergradient && before.phi < first.phi);
    }
}

#[test]
fn exact_metrics_match_their_definitions() {
    let ring = Ring::new(4, 3, 2);
    let problems: Vec<_> = ring.instances.iter().map(Instance::core).collect();
    let shared: Vec<_> = ring.instances.iter().map(Shared).collect();
    let steps = StepSizes::new(0.05, 0.2, 0.2, 0.3, 0.5).unwrap();
    let scheme = Scheme::GradientTracking;
    let mut fleet = Fleet::new(&problems, &ring.weights, steps, scheme, &ring.x0, Sampler::full);
    let mut exact = Exact::default();
    for rounds in [0, 1, 30] {
        (0..rounds).for_each(|_| fleet.round());
        let states = fleet.states();
        let found = exact.measure(shared.iter().zip(states.clone())).unwrap();
        let mean = |of: &dyn Fn(usize) -> Vec<f64>| -> Vec<f64> {
            let columns = transpose(&(0..4).map(of).collect());
            columns.iter().map(|a| a.iter().sum::<f64>() / 4.0).collect()
        };
        let squared =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let x = mean(&|i| widened(states[i].x));
        let (y, z) = (mean(&|i| widened(states[i].y)), mean(&|i| widened(states[i].z)));
        let references: Vec<_> = ring.instances.iter().map(Instance::reference).collect();
        let own = |i: usize| oracles::hypergradient(&references[i], &x);
        let theta = |i: usize| inner_solution(&references[i], &x, &[]);
        let v = |i: usize| {
            let losses::Problem::Quadratic { a, t, .. } = &references[i] else { unreachable!() };
            let gap: Vec<f64> = theta(i).iter().zip(t).map(|(theta, t)| theta - t).collect();
            solve(a, &gap)
        };
        let over = |of: &dyn Fn(usize) -> f64| (0..4).map(of).sum::<f64>() / 4.0;
        let overall = mean(&own);
        let zero = vec![0.0; x.len()];
        for (name, found, wanted) in [
            ("hypergradient", found.hypergradient, squared(&overall, &zero)),
            ("phi", found.phi, over(&|i| references[i].f(&x, &theta(i), &[]))),
            ("inner", found.inner_error, over(&|i| squared(&widened(states[i].theta), &theta(i)))),
            ("hv", found.hv_error, over(&|i| squared(&widened(states[i].v), &v(i)))),
            ("average variance", found.average_variance_error, squared(&overall, &z)),
            ("variance", found.variance_error, over(&|i| squared(&widened(states[i].z), &own(i)))),
            ("consensus", found.consensus_error, over(&|i| squared(&widened(states[i].x), &x))),
            ("gradient", found.gradient_error, over(&|i| squared(&widened(states[i].y), &y))),
        ] {
            let error = (found - wanted).abs();
            assert!(error <= 1.0e-5 * wanted, "{name} after {rounds}: {found}, not {wanted}");
        }
    }
    assert_eq!(Exact::default().measure(Vec::<(&Ridge<'_>, _)>::new()), Err(ExactError::Empty));
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let instances: Vec<_> = (0..5).map(|seed| instance(Kind::Logistic, seed)).collect();
    let shared: Vec<_> = instances.iter().map(Shared).collect();
    let x0 = vec![-1.0; 7];
    let steps = StepSizes::new(0.05, 0.2, 0.2, 0.3, 0.5).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let weights = Graph::Ring.weights(5);
        let scheme = Scheme::GradientTracking;
        let problems: Vec<_> = instances.iter().map(Instance::core).collect();
        let mut fleet = Fleet::new(&problems, &weights, steps, scheme, &x0, Sampler::full);
        let (mut exact, mut seen) = (Exact::default(), Vec::new());
        for _ in 0..3 {
            (0..10).for_each(|_| fleet.round());
            let states = fleet.states();
            let measured = pool.install(|| exact.measure(shared.iter().zip(states)).unwrap());
            seen.push(format!("{measured:?}"));
        }
        let constants = pool.install(|| Constants::measure(shared.iter(), &x0, 3).unwrap());
        seen.push(format!("{constants:?}"));
        seen
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}
