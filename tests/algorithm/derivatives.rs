//! Every oracle of every problem against differences of independent f64 losses, and the checker that ships.

use std::cell::Cell;
use std::num::NonZeroU32;

use crate::reference::faulty::{Fault, Faulty, terms};
use crate::reference::fixtures::{Encoding, Instance, KINDS, Kind, Rng, Shape};
use crate::reference::losses;
use crate::reference::matrix::dot;
use crate::reference::{At, Lists, differences, distance, exact, largest, oracles};
use lopa_core::batch::{Batch, Sampler};
use lopa_core::check::{self, Report};
use lopa_core::draw::Purpose;
use lopa_core::problem::{Point, Problem};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// One rounding of a float.
const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;

/// A random problem, a random point and a random batch.
#[derive(Debug, Clone, Copy)]
struct Case {
    shape: Shape,
    /// Samples per batch; zero for all of them.
    batch: u32,
    /// How far from zero the point lies: at the far end sigmoids and softmax saturate.
    reach: f32,
    seed: u64,
}

fn cases(kind: Kind) -> impl Strategy<Value = Case> {
    // More than two rows of lanes for linear models; the layer's second differences cost more.
    let width = if kind == Kind::SharedLayer { 5_usize } else { 36 };
    let encoding = prop_oneof![Just(Encoding::U8), Just(Encoding::I8), Just(Encoding::F32)];
    let sizes = (1..=width, 1..4_usize, 1..5_usize, 1..8_usize, 1..8_usize);
    let reach = prop_oneof![Just(0.0_f32), 0.5..1.5_f32, Just(8.0_f32)];
    (encoding, sizes, 0..10_u32, reach, any::<u64>().no_shrink()).prop_map(
        move |(encoding, (width, hidden, classes, train, validation), batch, reach, seed)| {
            let shape = Shape { kind, encoding, width, hidden, classes, train, validation };
            Case { shape, batch, reach, seed }
        },
    )
}

/// Runs a test over random cases, the same ones every time.
fn run(kind: Kind, test: impl Fn(Case) -> TestCaseResult) {
    let config = Config {
        cases: 200,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(kind as u64),
        ..Config::default()
    };
    if let Err(failure) = TestRunner::new(config).run(&cases(kind), test) {
        panic!("{kind:?}: {failure}");
    }
}

/// The results of `lopa_core` at a point.
#[derive(Clone)]
struct Asked<'a> {
    problem: &'a dyn Problem,
    x: Vec<f32>,
    theta: Vec<f32>,
    v: Vec<f32>,
    inner: Batch,
    outer: Batch,
    workspace: Vec<f32>,
}

impl<'a> Asked<'a> {
    fn new(problem: &'a dyn Problem, case: Case, rng: &mut Rng) -> Self {
        let (size, population) = (problem.dimensions(), problem.population());
        let sampler = match NonZeroU32::new(case.batch) {
            Some(size) => Sampler::drawn(case.seed, 3, size),
            None => Sampler::full(3),
        };
        // The strengths e^(base + x) of a regulariser stay moderate: a far x belongs to the other problems.
        let reach = match case.shape.kind {
            Kind::Logistic | Kind::Ridge => case.reach.min(2.0),
            _ => case.reach,
        };
        let x = rng.vector(size.outer, -reach, reach);
        let theta = rng.vector(size.inner, -case.reach, case.reach);
        let v = rng.vector(size.inner, -1.5, 1.5);
        let inner = sampler.batch(case.seed % 99, Purpose::INNER_GRADIENT, population.inner);
        let outer = sampler.batch(case.seed % 99, Purpose::OUTER_GRADIENT_INNER, population.outer);
        // The content of the workspace before `prepare` must not matter.
        let mut workspace = vec![f32::NAN; size.workspace];
        problem.prepare(&x, &mut workspace);
        Self { problem, x, theta, v, inner, outer, workspace }
    }

    fn at(&self) -> At {
        At { x: exact(&self.x), theta: exact(&self.theta), v: exact(&self.v) }
    }

    /// The samples of either level.
    fn lists(&self) -> [Vec<usize>; 2] {
        [&self.inner, &self.outer].map(|batch| batch.indices().collect())
    }

    /// Oracle number `which`, added to `out`.
    fn add(&mut self, which: usize, scale: f32, out: &mut [f32]) {
        let Self { problem, x, theta, v, inner, outer, workspace } = self;
        let at = Point { x, theta };
        match which {
            0 => problem.inner_gradient(at, inner, scale, out, workspace),
            1 => problem.hessian_vector(at, v, inner, scale, out, workspace),
            2 => problem.cross_vector(at, v, inner, scale, out, workspace),
            3 => problem.outer_gradient_inner(at, outer, scale, out, workspace),
            7 => assert!(problem.inner_gradient_outer(at, inner, scale, out, workspace)),
            _ => problem.outer_gradient_outer(at, outer, scale, out, workspace),
        }
    }

    /// g and f.
    fn losses(&mut self) -> [f64; 2] {
        let Self { problem, x, theta, inner, outer, workspace, .. } = self;
        let at = Point { x, theta };
        let losses =
            [problem.inner_loss(at, inner, workspace), problem.outer_loss(at, outer, workspace)];
        losses.map(f64::from)
    }
}

/// All of one problem's oracles and losses, at random points and batches.
fn agrees(kind: Kind) {
    run(kind, |case| {
        let mut rng = Rng(case.seed);
        let instance = Instance::random(&mut rng, case.shape);
        let problem = instance.core();
        let mut asked = Asked::new(&*problem, case, &mut rng);
        let (independent, at, [inner, outer]) = (instance.reference(), asked.at(), asked.lists());

        // The error of an inner product is about one rounding of the sum of its terms' sizes, whatever its value;
        // everything else rounds relative to the answer. The worst of 12,000 cases was 4.3 roundings.
        let terms = instance.terms(largest(&at.x).max(largest(&at.theta)).max(largest(&at.v)));
        let wanted = differences::answers(&independent, &at, &inner, &outer);
        let in_x = differences::inner_gradient_outer(&independent, &at, &inner);
        let numbered = wanted.named().into_iter().enumerate();
        for (which, (name, wanted)) in
            numbered.chain([(7, ("inner_gradient_outer", in_x.as_slice()))])
        {
            let scale = rng.between(-2.0, 2.0);
            let start = rng.vector(wanted.len(), -1.0, 1.0);
            let mut out = start.clone();
            asked.add(which, scale, &mut out);
            let scale = f64::from(scale);
            let added: Vec<f64> =
                exact(&start).iter().zip(wanted).map(|(s, w)| s + scale * w).collect();
            let size = 1.0 + scale.abs() * (largest(wanted) + terms);
            let error = distance(&exact(&out), &added);
            prop_assert!(error <= 12.0 * ROUNDING * size, "{name}: {error:e} of {size}");
        }

        // A loss may square an inner product.
        let (g, f) = (
            || independent.g(&at.x, &at.theta, &inner),
            || independent.f(&at.x, &at.theta, &outer),
        );
        let wanted = [g(), f()];
        let size = (1.0 + terms) * (1.0 + terms) + largest(&wanted);
        let error = distance(&asked.losses(), &wanted);
        prop_assert!(error <= 6.0 * ROUNDING * size, "losses: {error:e} of {size}");

        // ⟨u, Hv⟩ = ⟨v, Hu⟩, and ⟨w, Cv⟩ is the mixed difference taken in the other order too.
        let [v, u] = [asked.v.clone(), rng.vector(asked.v.len(), -1.0, 1.0)];
        let mut images = Vec::new();
        for direction in [&v, &u] {
            let mut out = vec![0.0; v.len()];
            asked.v.clone_from(direction);
            asked.add(1, 1.0, &mut out);
            images.push(exact(&out));
        }
        let error = (dot(&exact(&u), &images[0]) - dot(&exact(&v), &images[1])).abs();
        let size = v.len() as f64 * (terms + largest(&images[0]).max(largest(&images[1])));
        prop_assert!(error <= 12.0 * ROUNDING * size, "symmetry: {error:e} of {size}");
        asked.v = v;
        let mut image = vec![0.0; at.x.len()];
        asked.add(2, 1.0, &mut image);
        let (w, image) = (exact(&rng.vector(at.x.len(), -1.0, 1.0)), exact(&image));
        let error = (dot(&w, &image) - differences::mixed(&independent, &at, &w, &inner)).abs();
        let size = w.len() as f64 * (terms + largest(&image));
        prop_assert!(error <= 12.0 * ROUNDING * size, "mixed differences: {error:e} of {size}");
        Ok(())
    });
}

#[test]
fn quadratic() {
    agrees(Kind::Quadratic);
}

#[test]
fn logistic() {
    agrees(Kind::Logistic);
}

#[test]
fn ridge() {
    agrees(Kind::Ridge);
}

#[test]
fn shared_layer() {
    agrees(Kind::SharedLayer);
}

#[test]
fn meta_logistic() {
    agrees(Kind::MetaLogistic);
}

#[test]
fn meta_squared() {
    agrees(Kind::MetaSquared);
}

/// The derivatives that trajectories are compared with, against differences.
#[test]
fn the_references_derivatives_agree_with_differences_of_its_losses() {
    for kind in KINDS {
        run(kind, |case| {
            let mut rng = Rng(case.seed);
            let instance = Instance::random(&mut rng, case.shape);
            let problem = instance.core();
            let asked = Asked::new(&*problem, case, &mut rng);
            let (independent, at, [inner, outer]) =
                (instance.reference(), asked.at(), asked.lists());
            let wanted = differences::answers(&independent, &at, &inner, &outer);
            let found = oracles::answers(&independent, &at, &Lists::of(&inner, &outer));
            for ((name, wanted), (_, found)) in wanted.named().into_iter().zip(found.named()) {
                let error = distance(found, wanted) / (1.0 + largest(wanted));
                prop_assert!(error < 1.0e-8, "{name}: {error:e}");
            }
            // The slope inside the meta-learning loss is itself a derivative: of F along θ.
            if let losses::Problem::Meta { loss, train, .. } = &independent {
                let slope =
                    differences::along(0.01, &at.x, &at.theta, |x| loss.mean(train, &inner, x));
                let without = losses::Problem::Meta {
                    loss: *loss,
                    train: train.clone(),
                    validation: train.clone(),
                    nu: 0.0,
                };
                let error =
                    (without.g(&at.x, &at.theta, &inner) - slope).abs() / (1.0 + slope.abs());
                prop_assert!(error < 1.0e-9, "slope of F: {error:e}");
            }
            Ok(())
        });
    }
}

/// The checker's verdict on a problem.
fn verdict(problem: &dyn Problem, at: &Asked<'_>) -> Report {
    let size = problem.dimensions();
    let mut room = vec![f32::NAN; check::memory(size.outer, size.inner, size.workspace)];
    check::derivatives(problem, Point { x: &at.x, theta: &at.theta }, &at.v, &mut room).unwrap()
}

/// Runs a test on a few problems of every kind, at points where every term is large enough to notice.
fn with_problems(test: impl Fn(Kind, &Instance, &dyn Problem, &Asked<'_>)) {
    for kind in KINDS {
        for seed in 0..12 {
            let mut rng = Rng(seed);
            let shape = Shape {
                kind,
                encoding: [Encoding::U8, Encoding::I8, Encoding::F32][seed as usize % 3],
                width: 2 + rng.below(9),
                hidden: 2 + rng.below(4),
                classes: 2 + rng.below(4),
                train: 5 + rng.below(20),
                validation: 5 + rng.below(20),
            };
            let instance = Instance::random(&mut rng, shape);
            let problem = instance.core();
            let case = Case { shape, batch: 0, reach: 1.0, seed };
            let asked = Asked::new(&*problem, case, &mut rng);
            test(kind, &instance, &*problem, &asked);
        }
    }
}

/// The largest error that the checker may report for a correct problem; the worst here is 0.00014.
const RIGHT: f32 = 0.001;
/// The smallest error that it must report for a wrong one; the mildest here is 0.09.
const WRONG: f32 = 0.05;

#[test]
fn the_checker_accepts_every_problem() {
    with_problems(|kind, _, problem, asked| {
        let report = verdict(problem, asked);
        assert!(report.worst() < RIGHT, "{kind:?}: {report:?}");
    });
}

#[test]
fn the_checker_rejects_mistakes() {
    with_problems(|kind, instance, problem, asked| {
        let size = problem.dimensions();
        let lengths = [
            (0, size.inner),
            (1, size.inner),
            (2, size.outer),
            (3, size.inner),
            (4, size.outer),
            (7, size.outer),
        ];
        let reject = |which: usize, fault: Fault, what: &str| {
            let report = verdict(&Faulty { problem, which, fault }, asked);
            assert!(report.worst() > WRONG, "{kind:?}: {what} of {which} passed: {report:?}");
        };
        for (which, len) in lengths {
            // The sign of an answer that is zero does not matter.
            let mut out = vec![0.0; len];
            asked.clone().add(which, 1.0, &mut out);
            if out.iter().all(|&out| out == 0.0) {
                continue;
            }
            for (factor, what) in [(-1.0, "sign"), (2.0, "factor"), (0.0, "lack")] {
                reject(which, Fault::Factor(factor), what);
            }
        }
        for (which, fault) in terms(&instance.reference(), &asked.at()) {
            reject(which, fault, "missing term");
        }
    });
}

#[test]
fn the_checker_rejects_nan_wherever_it_comes_from() {
    with_problems(|kind, _, problem, asked| {
        for which in 0..8 {
            for again in [true, false] {
                let fault = Fault::Nan { again, fresh: Cell::new(true) };
                let report = verdict(&Faulty { problem, which, fault }, asked);
                assert!(report.worst().is_nan(), "{kind:?}, {which}, again {again}: {report:?}");
            }
        }
    });
}
