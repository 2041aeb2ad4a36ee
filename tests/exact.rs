//! Exact solutions, the constants of the assumptions and the Lyapunov function, against f64 and closed forms.

mod reference;

use lopa_core::batch::{Batch, Sampler};
use lopa_core::node::Scheme;
use lopa_core::problem::{Dimensions, Point, Population, Problem};
use lopa_core::problems::{Logistic, Ridge};
use lopa_core::samples::{Features, Labels, Samples};
use lopa_core::steps::StepSizes;
use lopa_host::exact::{self, Coefficients, Constants, Exact, ExactError, Figures};
use reference::differences::along;
use reference::fixtures::{Encoding, Instance, KINDS, Kind, Rng, Shape};
use reference::fleet::Fleet;
use reference::graphs::Graph;
use reference::losses;
use reference::matrix::{Matrix, dot, product, solve, times, transpose};
use reference::{distance, exact as widened, largest, oracles};

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

fn instance(kind: Kind, seed: u64) -> Instance {
    let mut rng = Rng(seed);
    let encoding = [Encoding::U8, Encoding::I8, Encoding::F32][rng.below(3)];
    let shape =
        Shape { kind, encoding, width: 7, hidden: 4, classes: 3, train: 23, validation: 17 };
    Instance::random(&mut rng, shape)
}

/// An instance that threads can share.
struct Shared<'a>(&'a Instance);

#[rustfmt::skip]
impl Problem for Shared<'_> {
    fn dimensions(&self) -> Dimensions {
        self.0.core().dimensions()
    }
    fn population(&self) -> Population {
        self.0.core().population()
    }
    fn prepare(&self, x: &[f32], ws: &mut [f32]) {
        self.0.core().prepare(x, ws);
    }
    fn inner_gradient(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().inner_gradient(at, batch, scale, out, ws);
    }
    fn hessian_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().hessian_vector(at, v, batch, scale, out, ws);
    }
    fn cross_vector(&self, at: Point<'_>, v: &[f32], batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().cross_vector(at, v, batch, scale, out, ws);
    }
    fn outer_gradient_inner(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().outer_gradient_inner(at, batch, scale, out, ws);
    }
    fn outer_gradient_outer(&self, at: Point<'_>, batch: &Batch, scale: f32, out: &mut [f32], ws: &mut [f32]) {
        self.0.core().outer_gradient_outer(at, batch, scale, out, ws);
    }
    fn inner_loss(&self, at: Point<'_>, batch: &Batch, ws: &mut [f32]) -> f32 {
        self.0.core().inner_loss(at, batch, ws)
    }
    fn outer_loss(&self, at: Point<'_>, batch: &Batch, ws: &mut [f32]) -> f32 {
        self.0.core().outer_loss(at, batch, ws)
    }
}

/// θ*(x) in f64, by Newton's method on whole matrices.
fn inner_solution(problem: &losses::Problem, x: &[f64], train: &[usize]) -> Vec<f64> {
    let mut theta = vec![0.0; problem.sizes().1];
    for _ in 0..60 {
        let gradient = oracles::inner_gradient(problem, x, &theta, train);
        let step = solve(&oracles::hessian(problem, x, &theta, train), &gradient);
        theta.iter_mut().zip(&step).for_each(|(theta, step)| *theta -= step);
        if largest(&step) < 1.0e-14 {
            break;
        }
    }
    let left = largest(&oracles::inner_gradient(problem, x, &theta, train));
    assert!(left < 1.0e-12, "the yardstick itself is off by {left:e}");
    theta
}

fn relative(found: &[f64], wanted: &[f64]) -> f64 {
    distance(found, wanted) / largest(wanted)
}

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
            let at = reference::At { x: x.clone(), theta: theta.clone(), v: theta.clone() };
            let lists = reference::Lists::of(&train, &validation);
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
    // Nothing but losses and an inner solver in f64: no formula for the hypergradient is used.
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
fn a_start_nearby_gives_the_same_answer_sooner() {
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
        // From the answer itself, next to nothing; from nonsense, as from nothing.
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
fn next_to_no_regularisation_ends_with_an_honest_residual() {
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
    // What it says about itself is true, in f64.
    let reference = losses::Problem::Regularised {
        loss: losses::Loss::Logistic,
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
        let (said, left) = (found.residuals.inner, length(&gradient) / length(&weight));
        println!(
            "x = {strength}: says {:e} and is {left:e}, {evaluations:?}",
            found.residuals.inner
        );
        assert!((left - said).abs() < 0.1 * said + 1.0e-6, "{left:e}, not {said:e}");
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
#[allow(clippy::disallowed_methods, reason = "a yardstick in f64: its last bits do not matter")]
fn changes_of_second_derivatives_are_found() {
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
fn v_falls_in_every_round_with_small_steps() {
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
        let mut measure = |fleet: &Fleet<'_>| -> Figures {
            exact.measure(shared.iter().zip(fleet.states())).unwrap()
        };
        let first = measure(&fleet);
        let (mut v, start) = (coefficients.value(&first), coefficients.value(&first));
        let mut gained = 0.0;
        let mut before = first;
        for round in 1..=400 {
            fleet.round();
            let figures = measure(&fleet);
            let now = coefficients.value(&figures);
            // Theorem 2 promises half of τα ‖∇Φ‖²; theorem 1 a quarter, less what heterogeneity adds.
            let part = if scheme == Scheme::GradientTracking { 0.5 } else { 0.25 };
            let promised = part * 0.2 * 0.002 * before.hypergradient;
            assert!(now < v - promised, "{scheme:?}, round {round}: {now} after {v}");
            gained += v - now;
            (v, before) = (now, figures);
        }
        println!("{scheme:?}: V from {start} by {gained}, {coefficients:?}\n{first:?}\n{before:?}");
        assert!(before.hypergradient < first.hypergradient && before.phi < first.phi);
    }
}

#[test]
fn figures_are_what_their_names_say() {
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
            let figures = pool.install(|| exact.measure(shared.iter().zip(states)).unwrap());
            seen.push(format!("{figures:?} {:?}", exact.hypergradient()));
        }
        let constants = pool.install(|| Constants::measure(shared.iter(), &x0, 3).unwrap());
        seen.push(format!("{constants:?}"));
        seen
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}
