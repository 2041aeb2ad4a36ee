//! Networks of random quadratics for the tests of the exchange, in one memory and over links.
#![allow(dead_code, reason = "each test binary uses its part")]

use lopa_core::batch::Sampler;
use lopa_core::draw::{Draws, Purpose};
use lopa_core::exchange::Timing;
use lopa_core::node::{Buffers, Config, Node, Scheme};
use lopa_core::problems::{Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{SEAL_LONGEST, Seal};
use lopa_host::fault::Faults;
use lopa_host::linked::{LinkedNetwork, Linking, Wiring};
use lopa_host::simulation::{SimulatedNode, Simulation};
use lopa_host::topology::Topology;

/// A node on a quadratic.
pub type QuadraticNode = SimulatedNode<Quadratic<'static>>;

/// What a test network is made of.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub topology: Topology,
    pub scheme: Scheme,
    pub outer: usize,
    pub inner: usize,
    pub rounds: u64,
    pub seed: u64,
}

/// Test data live as long as the test.
fn keep(values: Vec<f32>) -> &'static [f32] {
    values.leak()
}

impl Fleet {
    /// A well-conditioned quadratic, different for every node.
    pub fn problem(&self, node: usize) -> Quadratic<'static> {
        let mut stream =
            Draws { seed: self.seed, node: node as u32 }.stream(0, Purpose::custom(77));
        let mut draw = |len: usize, scale: f32| -> &'static [f32] {
            keep((0..len).map(|_| scale * stream.signed_unit()).collect())
        };
        let (n, p) = (self.outer, self.inner);
        Quadratic::new(QuadraticParts {
            diagonal: keep(draw(p, 0.5).iter().map(|a| 1.5 + a).collect()),
            spike: draw(p, 0.3),
            coupling: draw(n * p, 0.6 / (p as f32)),
            shift: draw(p, 1.0),
            target: draw(p, 2.0),
            centre: draw(n, 1.0),
            rigidity: 0.5,
        })
        .unwrap()
    }

    /// Node settings: full batches, steps that converge on these quadratics.
    pub fn config(node: u32) -> Config {
        let steps = StepSizes::new(0.2, 0.3, 0.3, 0.5, 0.7).unwrap();
        Config { steps, sampler: Sampler::full(node) }
    }

    /// A fresh node.
    pub fn node(&self, node: usize) -> QuadraticNode {
        let zeros = |len: usize| vec![0.0; len].into_boxed_slice();
        let delta = if self.scheme == Scheme::GradientTracking { self.outer } else { 0 };
        let buffers = Buffers {
            x: zeros(self.outer),
            y: zeros(self.outer),
            z: zeros(self.outer),
            theta: zeros(self.inner),
            v: zeros(self.inner),
            delta: zeros(delta),
        };
        Node::new(self.problem(node), self.scheme, Self::config(node as u32), buffers).unwrap()
    }

    /// All nodes, fresh.
    pub fn nodes(&self) -> Vec<QuadraticNode> {
        (0..self.topology.nodes()).map(|node| self.node(node)).collect()
    }

    /// The states after all rounds in one memory: what any links must reproduce.
    pub fn states(&self) -> Vec<Vec<u32>> {
        let problems = (0..self.topology.nodes()).map(|node| self.problem(node));
        let edges = self.topology.metropolis();
        let mut simulation =
            Simulation::new(problems, self.scheme, edges, 0.0, Self::config).unwrap();
        (0..self.rounds).for_each(|_| simulation.round().unwrap());
        simulation.nodes().iter().map(bits).collect()
    }

    /// The same nodes over links.
    pub fn linked<const WINDOW: usize, const VALUES: usize, const FRAME: usize>(
        &self,
        linking: Linking,
    ) -> LinkedNetwork<Quadratic<'static>, WINDOW, VALUES, FRAME> {
        LinkedNetwork::new(self.nodes(), &self.topology.metropolis(), self.rounds, linking).unwrap()
    }
}

/// Every bit of a node's state.
pub fn bits(node: &QuadraticNode) -> Vec<u32> {
    let s = node.state();
    [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect()
}

/// The frame length an exchange needs.
pub const fn frame(values: usize) -> usize {
    lopa_core::wire::message_len(values) + SEAL_LONGEST
}

/// Lines without faults at 1 Mbit/s.
pub fn linking(wiring: Wiring, chunk: u32, values: usize) -> Linking {
    let baud = 1_000_000;
    let compute = [2_000, 2_000];
    // A bus of the tests has a handful of nodes, a window up to eight chunks.
    let timing = Timing::uart(
        baud,
        frame(values),
        if wiring == Wiring::Direct { 8 } else { 32 },
        compute[1],
    );
    Linking {
        wiring,
        baud,
        compute,
        chunk,
        timing,
        seal: Seal::PLAIN,
        faults: Faults::NONE,
        seed: 1,
    }
}

impl Fleet {
    /// The exact optimum of some nodes together, in f64: their mean hypergradient is affine in x.
    pub fn optimum(&self, nodes: &[usize]) -> Vec<f64> {
        optimum(&nodes.iter().map(|&node| self.problem(node)).collect::<Vec<_>>())
    }
}

/// The exact optimum of quadratics together, in f64.
pub fn optimum(problems: &[Quadratic<'_>]) -> Vec<f64> {
    let n = problems[0].parts().centre.len();
    let mean = |x: &[f64]| -> Vec<f64> {
        let mut sum = vec![0.0; n];
        for problem in problems {
            let gradient = hypergradient(problem, x);
            sum.iter_mut().zip(gradient).for_each(|(s, g)| *s += g / problems.len() as f64);
        }
        sum
    };
    let zero = mean(&vec![0.0; n]);
    let column = |i: usize| {
        let mut e = vec![0.0; n];
        e[i] = 1.0;
        mean(&e).iter().zip(&zero).map(|(a, b)| a - b).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..n).map(column).collect();
    // The Hessian is symmetric: its columns are its rows.
    matrix::solve(&columns, &zero.iter().map(|b| -b).collect::<Vec<_>>())
}

/// ∇Φ of one node, from its parts.
fn hypergradient(problem: &Quadratic<'_>, x: &[f64]) -> Vec<f64> {
    let parts = problem.parts();
    let wide = |a: &[f32]| a.iter().map(|&a| f64::from(a)).collect::<Vec<f64>>();
    let (a, u, b) = (wide(parts.diagonal), wide(parts.spike), wide(parts.coupling));
    let (c, t, q) = (wide(parts.shift), wide(parts.target), wide(parts.centre));
    let mut dense: Vec<Vec<f64>> =
        u.iter().map(|ui| u.iter().map(|uj| ui * uj).collect()).collect();
    a.iter().enumerate().for_each(|(i, a)| dense[i][i] += a);
    let rows: Vec<&[f64]> = b.chunks(x.len()).collect();
    let right: Vec<f64> = rows
        .iter()
        .zip(&c)
        .map(|(row, c)| row.iter().zip(x).map(|(b, x)| b * x).sum::<f64>() + c)
        .collect();
    let theta = matrix::solve(&dense, &right);
    let v = matrix::solve(&dense, &theta.iter().zip(&t).map(|(a, b)| a - b).collect::<Vec<_>>());
    let mut gradient: Vec<f64> =
        x.iter().zip(&q).map(|(x, q)| f64::from(parts.rigidity) * (x - q)).collect();
    for (row, v) in rows.iter().zip(&v) {
        gradient.iter_mut().zip(*row).for_each(|(g, b)| *g += b * v);
    }
    gradient
}

#[path = "../reference/matrix.rs"]
mod matrix;
