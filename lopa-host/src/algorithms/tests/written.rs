//! The methods without loops against their equations: in f64, with the nodes' matrices written out, and without the
//! variables that the code keeps for them.

use lopa_core::problems::{Quadratic, QuadraticParts};

use super::{NODES, Setting, apart, table};
use crate::algorithms::AlgorithmName;

type Vectors = Vec<Vec<f64>>;

/// g = ½ θ'Aθ - θ'(Bx + c), f = ½ ‖θ - t‖² + r/2 ‖x - q‖².
struct Node {
    a: Vectors,
    b: Vectors,
    c: Vec<f64>,
    t: Vec<f64>,
    q: Vec<f64>,
    r: f64,
}

fn widen(a: &[f32]) -> Vec<f64> {
    a.iter().copied().map(f64::from).collect()
}

fn times(matrix: &[Vec<f64>], a: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().zip(a).map(|(m, a)| m * a).sum()).collect()
}

/// a + weight b.
fn plus(a: &[f64], weight: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + weight * b).collect()
}

fn all_plus(a: &Vectors, weight: f64, b: &Vectors) -> Vectors {
    a.iter().zip(b).map(|(a, b)| plus(a, weight, b)).collect()
}

impl Node {
    fn new(problem: &Quadratic<'_>) -> Self {
        let QuadraticParts { diagonal, spike, coupling, shift, target, centre, rigidity } =
            problem.parts();
        let u = widen(spike);
        let row = |i: usize| {
            let mut row: Vec<f64> = u.iter().map(|other| u[i] * other).collect();
            row[i] += f64::from(diagonal[i]);
            row
        };
        Self {
            a: (0..u.len()).map(row).collect(),
            b: coupling.chunks(centre.len()).map(widen).collect(),
            c: widen(shift),
            t: widen(target),
            q: widen(centre),
            r: f64::from(*rigidity),
        }
    }

    /// ∇θ g.
    fn gradient(&self, x: &[f64], theta: &[f64]) -> Vec<f64> {
        plus(&plus(&times(&self.a, theta), -1.0, &times(&self.b, x)), -1.0, &self.c)
    }

    /// H v - ∇θ f.
    fn residual(&self, theta: &[f64], v: &[f64]) -> Vec<f64> {
        plus(&times(&self.a, v), -1.0, &plus(theta, -1.0, &self.t))
    }

    /// ∇x f - J v.
    fn hypergradient(&self, x: &[f64], v: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = x.iter().zip(&self.q).map(|(x, q)| self.r * (x - q)).collect();
        for (row, v) in self.b.iter().zip(v) {
            out = plus(&out, *v, row);
        }
        out
    }
}

/// x, θ, v and the moving average of every node, after some rounds of a method as its paper writes it.
fn written(setting: &Setting, name: AlgorithmName, rounds: usize) -> [Vectors; 4] {
    let nodes: Vec<Node> = setting.problems().iter().map(Node::new).collect();
    let table = table(name);
    let [alpha, beta, lambda, gamma] =
        [table.alpha, table.beta, table.lambda, table.gamma].map(|step| f64::from(step.unwrap()));
    // W, and W with half of it left at home.
    let mut w = vec![vec![0.0; nodes.len()]; nodes.len()];
    for edge in &setting.edges {
        w[edge.node as usize][edge.neighbour as usize] = f64::from(edge.weight);
    }
    for (i, row) in w.iter_mut().enumerate() {
        row[i] = 1.0 - row.iter().sum::<f64>();
    }
    let mix = |vectors: &Vectors| -> Vectors {
        let one = |row: &Vec<f64>| {
            row.iter().zip(vectors).fold(vec![0.0; 4], |sum, (w, a)| plus(&sum, *w, a))
        };
        w.iter().map(one).collect()
    };
    let mix_half = |vectors: &Vectors| -> Vectors {
        let mixed = mix(vectors);
        all_plus(vectors, 0.5, &all_plus(&mixed, -1.0, vectors))
    };
    let at_once = matches!(name, AlgorithmName::DSobaSo | AlgorithmName::DSobaFo);
    let zeros = |len: usize| vec![vec![0.0; len]; nodes.len()];
    let (mut x, mut theta, mut v, mut z) =
        (vec![vec![f64::from(0.2_f32); 4]; nodes.len()], zeros(3), zeros(3), zeros(4));
    // What the papers keep: the iterates before, ψ of exact diffusion, y of tracking.
    let (mut x_before, mut z_before) = (x.clone(), zeros(4));
    let (mut psi, mut y) = (x.clone(), zeros(4));
    for round in 0..rounds {
        let z_old = z.clone();
        for (i, node) in nodes.iter().enumerate() {
            let (theta_old, v_old) = (theta[i].clone(), v[i].clone());
            theta[i] = plus(&theta_old, -beta, &node.gradient(&x[i], &theta_old));
            let theta_used = if at_once { &theta_old } else { &theta[i] };
            v[i] = plus(&v_old, -lambda, &node.residual(theta_used, &v_old));
            let v_used = if at_once { &v_old } else { &v[i] };
            let u = node.hypergradient(&x[i], v_used);
            z[i] = plus(&z[i], gamma, &plus(&u, -1.0, &z[i]));
        }
        let next = match name {
            AlgorithmName::DSobaSo | AlgorithmName::DSobaFo => mix(&all_plus(&x, -alpha, &z_old)),
            AlgorithmName::SparkleExtra if round == 0 => all_plus(&mix(&x), -alpha, &z),
            AlgorithmName::SparkleExtra => {
                // (I + W) x₁ - ½ (I + W) x₀ - α (z₁ - z₀).
                let mixed = all_plus(&all_plus(&x, 1.0, &mix(&x)), -1.0, &mix_half(&x_before));
                all_plus(&all_plus(&mixed, -alpha, &z), alpha, &z_before)
            }
            AlgorithmName::SparkleEd => {
                let psi_old = std::mem::replace(&mut psi, all_plus(&x, -alpha, &z));
                mix_half(&all_plus(&all_plus(&psi, 1.0, &x), -1.0, &psi_old))
            }
            AlgorithmName::SparkleGt => {
                // Semi-ATC in its other form, in which x adapts, then combines.
                y = all_plus(&mix(&y), 1.0, &all_plus(&z, -1.0, &z_old));
                mix(&all_plus(&x, -alpha, &y))
            }
            _ => unreachable!("{name} is not one of them"),
        };
        x_before = std::mem::replace(&mut x, next);
        z_before.clone_from(&z);
    }
    [x, theta, v, z]
}

#[test]
fn methods_without_loops_are_their_equations() {
    let setting = Setting::new(1.0);
    for (name, slack) in [
        (AlgorithmName::DSobaSo, 3.0e-6),
        // Differences of floats have four digits.
        (AlgorithmName::DSobaFo, 3.0e-4),
        (AlgorithmName::SparkleExtra, 3.0e-6),
        (AlgorithmName::SparkleEd, 3.0e-6),
        (AlgorithmName::SparkleGt, 3.0e-6),
    ] {
        for rounds in [1, 2, 3, 10, 80] {
            let wanted = written(&setting, name, rounds);
            let network = setting.run(&table(name), rounds as u64);
            for (i, node) in network.nodes().iter().enumerate() {
                for (found, wanted) in
                    [node.x, node.theta, node.v.unwrap(), node.z.unwrap()].iter().zip(&wanted)
                {
                    let off = apart(found, &wanted[i]);
                    assert!(off < slack, "{name}, {rounds} rounds, node {i}: {off:e}");
                }
            }
        }
    }
}

#[test]
fn the_equations_tell_the_methods_apart() {
    let setting = Setting::new(1.0);
    let names = [
        AlgorithmName::DSobaSo,
        AlgorithmName::SparkleExtra,
        AlgorithmName::SparkleEd,
        AlgorithmName::SparkleGt,
    ];
    let ends = names.map(|name| written(&setting, name, 10)[0].concat());
    for (i, one) in ends.iter().enumerate() {
        for (j, other) in ends.iter().enumerate().skip(i + 1) {
            let off = apart(one, other);
            assert!(off > 1.0e-3, "{} and {}: {off:e}", names[i], names[j]);
        }
    }
}

#[test]
fn d_soba_is_lopa_lg_where_nodes_agree_and_only_there() {
    let run = |heterogeneity: f32, name: AlgorithmName| {
        let setting = Setting::new(heterogeneity);
        let mut table = table(name);
        // LoPA's relaxation of a half takes half the step.
        table.alpha = Some(if name == AlgorithmName::LopaLg { 0.1 } else { 0.05 });
        let network = setting.run(&table, 60);
        let flat = |node: &crate::algorithms::NodeView<'_, _>| {
            [node.x, node.theta, node.v.unwrap(), node.z.unwrap()].concat()
        };
        network.nodes().iter().flat_map(flat).collect::<Vec<f32>>()
    };
    let both = [AlgorithmName::LopaLg, AlgorithmName::DSobaSo];
    let [lopa, d_soba] = both.map(|name| run(0.0, name));
    assert_eq!(lopa, d_soba);
    assert_eq!(lopa.len(), NODES as usize * (4 + 3 + 3 + 4));
    let [lopa, d_soba] = both.map(|name| run(1.0, name));
    assert!(apart(&lopa, &d_soba) > 1.0e-3);
}
