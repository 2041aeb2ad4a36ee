//! The theory on quadratics that differ between nodes: GT has no bias, and LG's bias shrinks with α.

use crate::reference::fixtures::{Instance, Rng};
use crate::reference::fleet::Fleet;
use crate::reference::graphs::Graph;
use crate::reference::losses::Problem;
use crate::reference::matrix::{Matrix, add, identity, solve, times, transpose, zeros};
use crate::reference::{distance, exact, largest, oracles};
use lopa_core::batch::Sampler;
use lopa_core::node::Scheme;
use lopa_core::steps::StepSizes;

/// One rounding of a float.
const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;
const TAU: f32 = 0.5;
/// The outer objective curves at least this much: the quadratics' smallest rigidity.
const CURVATURE: f64 = 0.3;
/// Networks with n and p, including the smallest possible and n ≠ p.
const NETWORKS: [(Graph, usize, usize, usize); 5] = [
    (Graph::Path, 2, 1, 1),
    (Graph::Ring, 6, 4, 3),
    (Graph::Star, 5, 3, 6),
    (Graph::Complete, 4, 1, 5),
    (Graph::Random, 8, 5, 2),
];

/// A network of different quadratics.
struct Setting {
    weights: Matrix,
    instances: Vec<Instance>,
    references: Vec<Problem>,
    x0: Vec<f32>,
}

/// Where a run ended.
struct End {
    /// x of every node.
    x: Vec<Vec<f64>>,
    /// The largest element x, y or z ever had.
    peak: f64,
    /// The largest |Σ y - Σ z| in any round.
    gap: f64,
}

impl Setting {
    fn new((graph, m, n, p): (Graph, usize, usize, usize)) -> Self {
        let mut rng = Rng((m * n * p) as u64);
        let instances: Vec<_> = (0..m).map(|_| Instance::quadratic(&mut rng, n, p)).collect();
        let references = instances.iter().map(Instance::reference).collect();
        Self { weights: graph.weights(m), instances, references, x0: rng.vector(n, -1.0, 1.0) }
    }

    fn run(&self, scheme: Scheme, alpha: f32, gamma: f32, rounds: u32) -> End {
        let problems: Vec<_> = self.instances.iter().map(Instance::core).collect();
        let steps = StepSizes::new(alpha, 0.2, 0.2, gamma, TAU).unwrap();
        let mut fleet =
            Fleet::new(&problems, &self.weights, steps, scheme, &self.x0, Sampler::full);
        let (mut peak, mut gap) = (0.0_f64, 0.0_f64);
        for _ in 0..rounds {
            fleet.round();
            let mut difference = vec![0.0; self.x0.len()];
            for state in fleet.states() {
                let [x, y, z] = [state.x, state.y, state.z].map(exact);
                peak = peak.max(largest(&x)).max(largest(&y)).max(largest(&z));
                for (difference, (y, z)) in difference.iter_mut().zip(y.iter().zip(z)) {
                    *difference += y - z;
                }
            }
            gap = largest(&[gap, largest(&difference)]);
        }
        let x = fleet.states().iter().map(|state| exact(state.x)).collect();
        End { x, peak, gap }
    }

    /// The average hypergradient ∇Φ(x).
    fn hypergradient(&self, x: &[f64]) -> Vec<f64> {
        mean(&self.references.iter().map(|r| oracles::hypergradient(r, x)).collect())
    }

    /// H and b of node i, whose hypergradient is H x - b.
    fn affine(&self, i: usize) -> (Matrix, Vec<f64>) {
        let n = self.x0.len();
        let at = |x: &[f64]| oracles::hypergradient(&self.references[i], x);
        let zero = at(&vec![0.0; n]);
        let column = |e: &Vec<f64>| at(e).iter().zip(&zero).map(|(a, b)| a - b).collect();
        let h: Matrix = identity(n).iter().map(column).collect();
        (transpose(&h), zero.iter().map(|b| -b).collect())
    }

    /// x*, from mean(H) x = mean(b).
    fn optimum(&self) -> Vec<f64> {
        let (n, m) = (self.x0.len(), self.instances.len());
        let (mut h, mut b) = (zeros(n, n), Vec::new());
        for i in 0..m {
            let (own_h, own_b) = self.affine(i);
            add(&mut h, 1.0 / m as f64, &own_h);
            b.push(own_b);
        }
        solve(&h, &mean(&b))
    }

    /// The fixed point of LG: Σ_j w_ij x_j - x_i = α (H_i x_i - b_i) on every node.
    fn standstill(&self, alpha: f64) -> Vec<Vec<f64>> {
        let (n, m) = (self.x0.len(), self.instances.len());
        let (mut left, mut right) = (zeros(m * n, m * n), vec![0.0; m * n]);
        for i in 0..m {
            let (h, b) = self.affine(i);
            for t in 0..n {
                right[i * n + t] = alpha * b[t];
                left[i * n + t][i * n + t] += 1.0;
                (0..m).for_each(|j| left[i * n + t][j * n + t] -= self.weights[i][j]);
                (0..n).for_each(|u| left[i * n + t][i * n + u] += alpha * h[t][u]);
            }
        }
        solve(&left, &right).chunks(n).map(<[f64]>::to_vec).collect()
    }
}

fn mean(vectors: &Matrix) -> Vec<f64> {
    times(&transpose(vectors), &vec![1.0 / vectors.len() as f64; vectors.len()])
}

/// How small a hypergradient can get in floats: x stops when its step τα y is below a rounding of x. The
/// other roundings add half as much; the worst here is a fifth of this.
fn floor(alpha: f32, peak: f64) -> f64 {
    1.5 / f64::from(TAU * alpha) * ROUNDING * peak
}

/// How many roundings a node's y may differ from its z, on average, after any number of rounds: three times the
/// measured value.
const DRIFT: f64 = 8.0;

/// The largest distance of a node's x from a vector.
fn farthest(x: &[Vec<f64>], from: &[f64]) -> f64 {
    largest(&x.iter().map(|x| distance(x, from)).collect::<Vec<_>>())
}

#[test]
fn gt_ends_at_the_optimum_of_the_average() {
    for network in NETWORKS {
        let setting = Setting::new(network);
        let optimum = setting.optimum();
        assert!(largest(&setting.hypergradient(&optimum)) < 1.0e-13, "the system was not solved");
        for alpha in [0.1, 0.05] {
            let end = setting.run(Scheme::GradientTracking, alpha, 0.3, 4_000);
            let floor = floor(alpha, end.peak);
            let hypergradient = largest(&setting.hypergradient(&mean(&end.x)));
            assert!(hypergradient < floor, "{network:?}: {hypergradient:e}, not {floor:e}");
            let far = farthest(&end.x, &optimum);
            assert!(far < floor / CURVATURE, "{network:?}: {far:e} from the optimum");
        }
    }
}

#[test]
fn lg_keeps_a_bias_that_shrinks_with_its_step() {
    for network in NETWORKS {
        let setting = Setting::new(network);
        let mut last: Option<[f64; 2]> = None;
        for alpha in [0.02, 0.01, 0.005] {
            let end = setting.run(Scheme::LocalGradient, alpha, 0.3, 20_000);
            let floor = floor(alpha, end.peak);
            // Every node ends exactly at the fixed point of LG's equations.
            let wanted = setting.standstill(f64::from(alpha));
            for (x, wanted) in end.x.iter().zip(&wanted) {
                let off = distance(x, wanted);
                assert!(off < floor / CURVATURE, "{network:?}: {off:e} from the fixed point");
            }
            // That is a bias, of the average and between nodes: half the step, half the bias.
            let centre = mean(&end.x);
            let bias = [largest(&setting.hypergradient(&centre)), farthest(&end.x, &centre)];
            assert!(bias[0] > 2.0 * floor, "{network:?}: {bias:?} is not a bias");
            for (bias, last) in bias.into_iter().zip(last.unwrap_or(bias.map(|b| 2.0 * b))) {
                let ratio = last / bias;
                assert!((1.6..2.2).contains(&ratio), "{network:?}: {ratio} at {alpha}");
            }
            last = Some(bias);
        }
    }
}

#[test]
fn the_sum_of_y_stays_the_sum_of_z() {
    for network in NETWORKS {
        let (setting, m) = (Setting::new(network), network.1 as f64);
        for gamma in [0.02, 0.1, 0.3, 0.9] {
            let end = setting.run(Scheme::GradientTracking, 0.1, gamma, 20_000);
            let bound = DRIFT * m * ROUNDING * end.peak;
            assert!(end.gap < bound, "{network:?}, gamma {gamma}: {:e} of {bound:e}", end.gap);
            assert_eq!(setting.run(Scheme::LocalGradient, 0.1, gamma, 50).gap, 0.0);
        }
    }
}

#[test]
fn one_node_alone_needs_no_tracking() {
    for (n, p) in [(1, 1), (1, 4), (5, 2)] {
        let setting = Setting::new((Graph::Path, 1, n, p));
        let optimum = setting.optimum();
        let mut ends = Vec::new();
        for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
            let end = setting.run(scheme, 0.1, 0.3, 4_000);
            let (floor, far) = (floor(0.1, end.peak), farthest(&end.x, &optimum));
            assert!(far < floor / CURVATURE, "{scheme:?}, {n}, {p}: {far:e}");
            // On the way there, too: after a few rounds the two are the same but for roundings.
            ends.push(setting.run(scheme, 0.1, 0.3, 25).x.remove(0));
        }
        let apart = distance(&ends[0], &ends[1]);
        assert!(apart < 4.0 * ROUNDING, "{n}, {p}: {apart:e}");
    }
}
