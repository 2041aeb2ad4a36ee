//! Where every algorithm ends, against closed forms in f64.

use lopa_core::problems::{Quadratic, QuadraticParts};

use super::{Setting, apart, mean, table};
use crate::algorithms::{Algorithm, AlgorithmName};

/// What floats leave of an exact end: a step below a rounding of x moves nothing.
const FLOOR: f64 = 2.0e-5;

type Matrix = Vec<Vec<f64>>;
/// H and b of H x = b.
type System = (Matrix, Vec<f64>);

/// The solution of a x = b, by elimination with pivots.
fn solve(mut a: Matrix, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|i, j| a[*i][column].abs().total_cmp(&a[*j][column].abs()));
        a.swap(column, pivot.unwrap());
        b.swap(column, pivot.unwrap());
        for row in column + 1..n {
            let factor = a[row][column] / a[column][column];
            let (above, below) = a.split_at_mut(row);
            for (own, pivot) in below[0].iter_mut().zip(&above[column]).skip(column) {
                *own -= factor * pivot;
            }
            b[row] -= factor * b[column];
        }
    }
    for row in (0..n).rev() {
        let rest: f64 = (row + 1..n).map(|at| a[row][at] * b[at]).sum();
        b[row] = (b[row] - rest) / a[row][row];
    }
    b
}

/// A node's closed form: θ*, v* and the hypergradient at any x.
struct Closed {
    a: Matrix,
    coupling: Matrix,
    parts: [Vec<f64>; 3],
    rigidity: f64,
}

impl Closed {
    fn new(quadratic: &Quadratic<'_>) -> Self {
        let QuadraticParts { diagonal, spike, coupling, shift, target, centre, rigidity } =
            *quadratic.parts();
        let wide = |a: &[f32]| a.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let (diagonal, spike) = (wide(diagonal), wide(spike));
        let p = diagonal.len();
        let entry =
            |i: usize, j: usize| spike[i] * spike[j] + if i == j { diagonal[i] } else { 0.0 };
        let a = (0..p).map(|i| (0..p).map(|j| entry(i, j)).collect()).collect();
        let coupling = wide(coupling).chunks(centre.len()).map(<[f64]>::to_vec).collect();
        let parts = [wide(shift), wide(target), wide(centre)];
        Self { a, coupling, parts, rigidity: rigidity.into() }
    }

    /// Bx + c.
    fn pull(&self, x: &[f64]) -> Vec<f64> {
        let row =
            |(row, c): (&Vec<f64>, &f64)| c + row.iter().zip(x).map(|(b, x)| b * x).sum::<f64>();
        self.coupling.iter().zip(&self.parts[0]).map(row).collect()
    }

    fn theta(&self, x: &[f64]) -> Vec<f64> {
        solve(self.a.clone(), self.pull(x))
    }

    fn v(&self, x: &[f64]) -> Vec<f64> {
        let off = self.theta(x).iter().zip(&self.parts[1]).map(|(theta, t)| theta - t).collect();
        solve(self.a.clone(), off)
    }

    fn hypergradient(&self, x: &[f64]) -> Vec<f64> {
        let v = self.v(x);
        let along =
            |at: usize| -> f64 { self.coupling.iter().zip(&v).map(|(b, v)| b[at] * v).sum() };
        let own = |at: usize| self.rigidity * (x[at] - self.parts[2][at]) + along(at);
        (0..x.len()).map(own).collect()
    }

    /// H and b of a hypergradient H x - b.
    fn affine(&self) -> System {
        let n = self.parts[2].len();
        let zero = self.hypergradient(&vec![0.0; n]);
        let unit = |at: usize| (0..n).map(|i| f64::from(u8::from(i == at))).collect::<Vec<_>>();
        let columns: Matrix = (0..n).map(|at| self.hypergradient(&unit(at))).collect();
        let h = (0..n).map(|i| (0..n).map(|j| columns[j][i] - zero[i]).collect()).collect();
        (h, zero.iter().map(|b| -b).collect())
    }
}

impl Setting {
    fn closed(&self) -> Vec<Closed> {
        self.problems().iter().map(Closed::new).collect()
    }

    /// Where every node would stand if x_i - Σ_j w_ij x_j = -α (H_i x_i - b_i), node after node.
    fn standstill(&self, alpha: f64, systems: &[System]) -> Vec<Vec<f64>> {
        let (m, n) = (systems.len(), systems[0].1.len());
        let (mut left, mut right) = (vec![vec![0.0; m * n]; m * n], vec![0.0; m * n]);
        for edge in &self.edges {
            let (i, j, w) = (edge.node as usize, edge.neighbour as usize, f64::from(edge.weight));
            for t in 0..n {
                left[i * n + t][i * n + t] += w;
                left[i * n + t][j * n + t] -= w;
            }
        }
        for (i, (h, b)) in systems.iter().enumerate() {
            for t in 0..n {
                right[i * n + t] = alpha * b[t];
                (0..n).for_each(|u| left[i * n + t][i * n + u] += alpha * h[t][u]);
            }
        }
        solve(left, right).chunks(n).map(<[f64]>::to_vec).collect()
    }
}

/// The solution of the mean of the systems.
fn common(systems: &[System]) -> Vec<f64> {
    let n = systems[0].1.len();
    let sum = |of: &dyn Fn(&System) -> f64| systems.iter().map(of).sum::<f64>();
    let h = (0..n).map(|i| (0..n).map(|j| sum(&|s| s.0[i][j])).collect()).collect();
    solve(h, (0..n).map(|i| sum(&|s| s.1[i])).collect())
}

#[test]
fn tracking_ends_at_the_optimum_of_the_average() {
    let setting = Setting::new(1.0);
    let closed = setting.closed();
    let optimum = common(&closed.iter().map(Closed::affine).collect::<Vec<_>>());
    for name in [
        AlgorithmName::LopaGt,
        AlgorithmName::Spdb,
        AlgorithmName::Slam,
        AlgorithmName::Mdbo,
        AlgorithmName::Vrdbo,
    ] {
        let network = setting.run(&table(name), 4_000);
        for (node, closed) in network.nodes().iter().zip(&closed) {
            let far = apart(node.x, &optimum);
            assert!(far < FLOOR, "{name}: x is {far:e} from the optimum");
            let far = apart(node.theta, &closed.theta(&optimum));
            assert!(far < FLOOR, "{name}: theta is {far:e} from its solution");
            let far = apart(node.v.unwrap(), &closed.v(&optimum));
            assert!(far < FLOOR, "{name}: v is {far:e} from its solution");
        }
    }
}

#[test]
fn local_gradients_end_where_their_equations_say_which_is_biased() {
    let setting = Setting::new(1.0);
    let closed = setting.closed();
    let systems: Vec<_> = closed.iter().map(Closed::affine).collect();
    let optimum = common(&systems);
    for name in [AlgorithmName::LopaLg, AlgorithmName::MaDsbo, AlgorithmName::GossipDsbo] {
        let mut biases = Vec::new();
        for alpha in [0.05, 0.025] {
            let mut table = table(name);
            table.alpha = alpha;
            let network = setting.run(&table, 6_000);
            let wanted = setting.standstill(f64::from(alpha), &systems);
            let nodes = network.nodes();
            for ((node, wanted), closed) in nodes.iter().zip(&wanted).zip(&closed) {
                let far = apart(node.x, wanted);
                assert!(far < FLOOR, "{name}: x is {far:e} from its standstill");
                assert!(apart(node.theta, &closed.theta(wanted)) < FLOOR);
            }
            biases.push(nodes.iter().map(|node| apart(node.x, &optimum)).fold(0.0, f64::max));
        }
        let ratio = biases[0] / biases[1];
        assert!(biases[1] > 20.0 * FLOOR, "{name}: {biases:?} is no bias");
        assert!(
            (1.5..2.2).contains(&ratio),
            "{name}: half the step, not half the bias: {biases:?}"
        );
    }
}

#[test]
fn a_short_series_has_a_bias_that_no_tracking_removes() {
    let setting = Setting::new(1.0);
    let closed = setting.closed();
    let optimum = common(&closed.iter().map(Closed::affine).collect::<Vec<_>>());
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
    let x0 = [f64::from(0.2_f32); 4];
    let systems: Vec<_> =
        setting.closed().iter().map(|closed| (closed.a.clone(), closed.pull(&x0))).collect();
    let optimum = common(&systems);
    let tracking = setting.run(&table(AlgorithmName::Dsgt), 3_000);
    let plain = setting.run(&table(AlgorithmName::Dgd), 3_000);
    for node in tracking.nodes() {
        assert!(apart(node.theta, &optimum) < FLOOR);
        assert!(node.v.is_none() && node.x.iter().all(|x| *x == 0.2));
    }
    let wanted = setting.standstill(0.05_f32.into(), &systems);
    for (node, wanted) in plain.nodes().iter().zip(&wanted) {
        assert!(apart(node.theta, wanted) < FLOOR);
        assert!(apart(node.theta, &optimum) > 20.0 * FLOOR, "DGD is biased");
        assert!((node.v, node.z, node.y) == (None, None, None));
        assert!(node.x.iter().all(|x| *x == 0.2));
    }
    let thetas = |network: &dyn Algorithm<_>| mean(network.nodes().iter().map(|node| node.theta));
    assert!(thetas(&*tracking).iter().zip(&optimum).all(|(a, b)| (a - b).abs() < FLOOR));
}
