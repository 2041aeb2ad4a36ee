//! Steps of x that are small beside x are not lost, because strengths are learned relative to a base.

use crate::reference::algorithm::Network;
use crate::reference::fixtures::Rng;
use crate::reference::fleet::{Fleet, exact_steps};
use crate::reference::graphs::Graph;
use crate::reference::losses::{self, Loss};
use crate::reference::{Lists, exact};
use lopa_core::batch::Sampler;
use lopa_core::node::Scheme;
use lopa_core::problem::Problem;
use lopa_core::problems::Logistic;
use lopa_core::samples::{Features, Labels, Samples};
use lopa_core::steps::StepSizes;

const NODES: usize = 5;
const SAMPLES: usize = 12;
const WIDTH: usize = 16;
const ROUNDS: u64 = 2_000;
/// The logarithm of the strength that all features start with.
const START: f32 = -6.0;
/// The brightest pixel.
const BRIGHT: f32 = 0.02;

/// Samples in both forms, with labels 0 and 1 in floats, and -1 and 1 in f64.
struct Set {
    rows: Vec<f32>,
    labels: Vec<u8>,
}

impl Set {
    /// Like pictures, whose pixels are bright in the middle and dark towards the edges: the darker a pixel, the smaller
    /// the steps of its strength.
    fn random(rng: &mut Rng) -> Self {
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..SAMPLES {
            let row: Vec<f32> =
                (0..WIDTH).map(|pixel| rng.between(0.0, BRIGHT) / (1.0 + pixel as f32)).collect();
            labels
                .push(u8::from(row[0] + row[1] + BRIGHT * rng.between(-0.3, 0.3) > 0.75 * BRIGHT));
            rows.extend(row);
        }
        Self { rows, labels }
    }

    fn core(&self) -> Samples<'_> {
        Samples::new(Features::F32(&self.rows), WIDTH, Labels::Binary(&self.labels)).unwrap()
    }

    fn exact(&self) -> losses::Samples {
        let rows = exact(&self.rows).chunks(WIDTH).map(<[f64]>::to_vec).collect();
        let labels = self.labels.iter().map(|&label| 2.0 * f64::from(label) - 1.0).collect();
        losses::Samples { rows, labels }
    }
}

/// ‖x - x of the reference‖ / ‖x of the reference - x₀‖ over all nodes after all rounds, if x₀ = `START` - `base`.
fn loss_of_way(base: f32) -> f64 {
    let mut rng = Rng(7);
    let sets: Vec<[Set; 2]> =
        (0..NODES).map(|_| [Set::random(&mut rng), Set::random(&mut rng)]).collect();
    let problems: Vec<Box<dyn Problem + '_>> = sets
        .iter()
        .map(|[train, validation]| -> Box<dyn Problem + '_> {
            let problem = Logistic::new(train.core(), validation.core());
            Box::new(problem.and_then(|problem| problem.around(base)).unwrap())
        })
        .collect();
    let references: Vec<losses::Problem> = sets
        .iter()
        .map(|[train, validation]| losses::Problem::Regularised {
            loss: Loss::Logistic,
            train: train.exact(),
            validation: validation.exact(),
            base: 0.0,
        })
        .collect();
    let steps = StepSizes::new(0.1, 0.1, 0.1, 0.4, 0.4).unwrap();
    let weights = Graph::Ring.weights(NODES);
    let x0 = vec![START - base; WIDTH];
    let scheme = Scheme::GradientTracking;
    let mut fleet = Fleet::new(&problems, &weights, steps, scheme, &x0, Sampler::full);
    let all: Vec<usize> = (0..SAMPLES).collect();
    let lists = |_: usize, _: u64| Lists::of(&all, &all);
    let start = vec![f64::from(START); WIDTH];
    let mut network = Network::new(&references, weights, exact_steps(&steps), true, &start, lists);
    for _ in 0..ROUNDS {
        fleet.round();
        network.step();
    }
    let square = |a: f64| a * a;
    let (mut lost, mut way) = (0.0, 0.0);
    for (found, wanted) in fleet.states().iter().zip(&network.nodes) {
        for (&found, wanted) in found.x.iter().zip(&wanted.x) {
            lost += square(f64::from(base) + f64::from(found) - wanted);
            way += square(wanted - f64::from(START));
        }
    }
    (lost / way).sqrt()
}

#[test]
fn x_loses_no_steps_around_its_base() {
    let (without, with) = (loss_of_way(0.0), loss_of_way(START));
    println!("x is {without:.1e} of its way off without a base, {with:.1e} with one");
    assert!(without > 0.02, "nothing is lost, so this test shows nothing: {without:e}");
    assert!(with < 1e-5, "{with:e}");
}
