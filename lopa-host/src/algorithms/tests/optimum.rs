//! Where every algorithm ends: the equations that hold there, with the exact solutions of the nodes.

use lopa_core::problem::Problem;
use lopa_core::problems::Quadratic;

use super::{Setting, apart, mean, table};
use crate::algorithms::{AlgorithmName, NodeView};
use crate::exact::oracle::{Memory, Oracle};
use crate::exact::{self, Solution};

/// What floats leave of an exact end: a step below a rounding of x moves nothing.
const FLOOR: f64 = 2.0e-5;

/// θ*, v* and the hypergradient where a node stands.
fn exact(node: &NodeView<'_, Quadratic<'_>>) -> Solution {
    exact::solve(node.problem, node.x, None).unwrap()
}

/// ∇θ g where a node stands.
fn inner_gradient(node: &NodeView<'_, Quadratic<'_>>) -> Vec<f64> {
    let mut gradient = vec![0.0; node.theta.len()];
    let mut memory = Memory::new(node.problem.dimensions());
    Oracle::new(node.problem, node.x, &mut memory).inner_gradient(node.theta, &mut gradient);
    gradient
}

/// The largest element of the mean: zero at the optimum of the average.
fn mean_size(gradients: &[Vec<f64>]) -> f64 {
    let mean = mean(gradients.iter().map(|gradient| &gradient[..]));
    apart(&mean, &vec![0.0; mean.len()])
}

impl Setting {
    /// How far vectors are from a standstill, where a node's neighbours pull as strongly as its gradient.
    fn motion(&self, vectors: &[&[f32]], alpha: f32, gradients: &[Vec<f64>]) -> f64 {
        let step = |gradient: &f64| f64::from(alpha) * gradient;
        let steps = gradients.iter().map(|gradient| gradient.iter().map(step).collect::<Vec<_>>());
        let motions = self.pulls(vectors).into_iter().zip(steps).map(|(a, b)| apart(&a, &b));
        motions.fold(0.0, f64::max)
    }

    /// The optimum of the average: where LoPA-GT ends, as the first test shows.
    fn optimum(&self) -> Vec<f32> {
        self.run(&table(AlgorithmName::LopaGt), 4_000).nodes()[0].x.to_vec()
    }
}

#[test]
fn tracking_ends_at_the_optimum_of_the_average() {
    let setting = Setting::new(1.0);
    for name in [
        AlgorithmName::LopaGt,
        AlgorithmName::Spdb,
        AlgorithmName::Slam,
        AlgorithmName::Mdbo,
        AlgorithmName::Vrdbo,
        AlgorithmName::SparkleExtra,
        AlgorithmName::SparkleEd,
        AlgorithmName::SparkleGt,
    ] {
        let network = setting.run(&table(name), 4_000);
        let mut gradients = Vec::new();
        for node in network.nodes() {
            let far = apart(node.x, network.nodes()[0].x);
            assert!(far < FLOOR, "{name}: nodes are {far:e} apart");
            let solution = exact(&node);
            let far = apart(node.theta, &solution.theta);
            assert!(far < FLOOR, "{name}: theta is {far:e} from its solution");
            let far = apart(node.v.unwrap(), &solution.v);
            assert!(far < FLOOR, "{name}: v is {far:e} from its solution");
            gradients.push(solution.hypergradient);
        }
        let size = mean_size(&gradients);
        assert!(size < FLOOR, "{name}: the mean hypergradient is {size:e}");
    }
}

#[test]
fn local_gradients_end_where_their_equations_say_which_is_biased() {
    let setting = Setting::new(1.0);
    let optimum = setting.optimum();
    for name in [
        AlgorithmName::LopaLg,
        AlgorithmName::MaDsbo,
        AlgorithmName::GossipDsbo,
        AlgorithmName::DSobaSo,
        AlgorithmName::DSobaFo,
    ] {
        let diffuses = matches!(name, AlgorithmName::DSobaSo | AlgorithmName::DSobaFo);
        // Differences of floats have four digits.
        let floor = if name == AlgorithmName::DSobaFo { 20.0 * FLOOR } else { FLOOR };
        let biases = [0.05, 0.025].map(|alpha| {
            let mut table = table(name);
            table.alpha = Some(alpha);
            let network = setting.run(&table, 6_000);
            let nodes = network.nodes();
            let (xs, solutions): (Vec<_>, Vec<_>) =
                nodes.iter().map(|node| (node.x, exact(node))).unzip();
            for (node, solution) in nodes.iter().zip(&solutions) {
                assert!(apart(node.theta, &solution.theta) < FLOOR, "{name}");
            }
            let mut gradients: Vec<_> =
                solutions.into_iter().map(|own| own.hypergradient).collect();
            if diffuses {
                // x = W (x - α h): neighbours pull as strongly as the mean gradient of all around the node.
                gradients = setting.mixed(&gradients);
            }
            let motion = setting.motion(&xs, alpha, &gradients);
            assert!(motion < f64::from(alpha) * floor, "{name}: x moves by {motion:e}");
            xs.iter().map(|x| apart(x, &optimum)).fold(0.0, f64::max)
        });
        let ratio = biases[0] / biases[1];
        assert!(biases[1] > 20.0 * FLOOR, "{name}: {biases:?} is not a bias");
        assert!(
            (1.5..2.2).contains(&ratio),
            "{name}: half the step, not half the bias: {biases:?}"
        );
    }
}

#[test]
fn a_short_series_has_a_bias_that_no_tracking_removes() {
    let setting = Setting::new(1.0);
    let optimum = setting.optimum();
    for name in [AlgorithmName::Spdb, AlgorithmName::Slam, AlgorithmName::Mdbo] {
        let far = [2, 4, 8].map(|terms| {
            let mut table = table(name);
            table.hessian_steps = Some(terms);
            apart(setting.run(&table, 3_000).nodes()[0].x, &optimum)
        });
        assert!(
            far[0] > 2.0 * far[1] && far[1] > 2.0 * far[2] && far[2] > FLOOR,
            "{name}: {far:?}"
        );
    }
}

#[test]
fn single_level_methods_share_one_model_at_a_fixed_x() {
    let setting = Setting::new(1.0);
    let [tracking, plain] =
        [AlgorithmName::Dsgt, AlgorithmName::Dgd].map(|name| setting.run(&table(name), 3_000));
    let (tracking, plain) = (tracking.nodes(), plain.nodes());
    let optimum = tracking[0].theta;
    for (tracking, plain) in tracking.iter().zip(&plain) {
        assert!(apart(tracking.theta, optimum) < FLOOR);
        assert!(apart(plain.theta, optimum) > 20.0 * FLOOR, "DGD is biased");
        assert!(tracking.v.is_none() && (plain.v, plain.z, plain.y) == (None, None, None));
        assert!([tracking.x, plain.x].concat().iter().all(|x| *x == 0.2));
    }
    let gradients =
        |nodes: &[NodeView<'_, _>]| nodes.iter().map(inner_gradient).collect::<Vec<_>>();
    assert!(mean_size(&gradients(&tracking)) < FLOOR);
    let thetas: Vec<_> = plain.iter().map(|node| node.theta).collect();
    assert!(setting.motion(&thetas, 0.05, &gradients(&plain)) < 0.05 * FLOOR);
}
