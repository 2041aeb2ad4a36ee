//! Networks of random quadratics for the tests of the exchange, in one memory and over links.
#![allow(dead_code, reason = "each test binary uses its part")]

use lopa_core::batch::Sampler;
use lopa_core::draw::{Draws, Purpose};
use lopa_core::exchange::{Exchange, Timing};
use lopa_core::node::{Buffers, Config, Node, Scheme};
use lopa_core::problems::{Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;
use lopa_host::fault::Faults;
use lopa_host::linked::{LINKS, LinkedNetwork, Linking, Wiring};
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
    lopa_core::wire::message_len(values) + 4
}

/// Lines without faults at 1 Mbit/s.
pub fn linking(wiring: Wiring, chunk: u32, values: usize) -> Linking {
    let baud = 1_000_000;
    let compute = 2_000;
    // A bus of the tests has a handful of nodes, a window up to eight chunks.
    let timing = Timing::uart(baud, frame(values), if wiring == Wiring::Direct { 8 } else { 32 }, compute);
    Linking { wiring, baud, compute, chunk, timing, faults: Faults::NONE, seed: 1 }
}

/// The exchange of a simulated node.
pub type SimulatedExchange<const W: usize, const V: usize, const F: usize> =
    Exchange<LINKS, LINKS, W, V, F>;
