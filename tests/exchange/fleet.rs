//! Networks of random quadratics for the tests of the exchange, in-process and over links.

use std::ops::Range;

use lopa_core::batch::Sampler;
use lopa_core::codec::{Codec, Ledgers};
use lopa_core::draw::{Draws, Purpose};
use lopa_core::exchange::{Micros, Standing, Timing};
use lopa_core::network::Edge;
use lopa_core::node::{Buffers, Config, Node, Scheme};
use lopa_core::problems::{Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{SEAL_LONGEST, Seal, message_len};
use lopa_host::network::{Faults, LinkedNetwork, Linking, Simulation, Wiring};
use lopa_host::topology::Topology;
use proptest::prelude::*;

use super::node::{Coded, round};
pub use super::node::{QuadraticNode, bits};
use crate::reference::optimum::optimum;

/// The parameters of a test network.
#[derive(Debug, Clone)]
pub struct Fleet {
    pub topology: Topology,
    pub scheme: Scheme,
    pub outer: usize,
    pub inner: usize,
    pub rounds: u64,
    pub seed: u64,
    /// How vectors travel; `None` for floats.
    pub codec: Option<Codec>,
}

/// Leaks test data, so that it lives as long as the test.
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
        self.node_with(node, Self::config(node as u32))
    }

    /// A fresh node with its own settings.
    pub fn node_with(&self, node: usize, config: Config) -> QuadraticNode {
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
        let node = Node::new(self.problem(node), self.scheme, config, buffers).unwrap();
        let Some(codec) = self.codec else { return QuadraticNode::Floats(node) };
        let zeros = |len: usize| vec![0; len].into_boxed_slice();
        let ledgers = Ledgers {
            x_known: zeros(self.outer),
            x_gap: zeros(self.outer),
            y_known: zeros(delta),
            y_gap: zeros(delta),
        };
        QuadraticNode::Coded(Coded::new(node, codec, ledgers).unwrap())
    }

    /// All nodes, fresh.
    pub fn nodes(&self) -> Vec<QuadraticNode> {
        (0..self.topology.nodes()).map(|node| self.node(node)).collect()
    }

    /// The states after all rounds in-process, which any links must reproduce.
    pub fn states(&self) -> Vec<Vec<u32>> {
        let problems = (0..self.topology.nodes()).map(|node| self.problem(node));
        let edges = self.edges();
        if self.codec.is_some() {
            let mut nodes = self.nodes();
            (0..self.rounds).for_each(|_| round(&mut nodes, &edges));
            return nodes.iter().map(bits).collect();
        }
        let mut simulation =
            Simulation::new(problems, self.scheme, edges, |outer| vec![0.0; outer], Self::config)
                .unwrap();
        (0..self.rounds).for_each(|_| simulation.round().unwrap());
        let nodes = simulation.nodes().iter().cloned().map(QuadraticNode::Floats);
        nodes.map(|node| bits(&node)).collect()
    }

    /// The same fleet with vectors that travel in few bits: three blocks, and a shorter one. The first round of an epoch has four
    /// chunks; the others have two with 8 bits, and one with fewer.
    pub fn coded(self, bits: u32) -> Self {
        Self { codec: Some(codec(bits)), outer: 100, ..self }
    }

    /// The weights of the links: with a codec, in multiples of 1/256.
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges = self.topology.metropolis();
        if self.codec.is_some() {
            let shared = |weight: f32| f32::from((256.0 * weight) as u8) / 256.0;
            edges.iter_mut().for_each(|edge| edge.weight = shared(edge.weight));
        }
        edges
    }

    /// Lines without faults for [`Network`], with two chunks per round in most tests.
    pub fn plain(&self, wiring: Wiring) -> Linking {
        let chunk = if self.codec.is_some() { 32 } else { 4 };
        linking(wiring, chunk, self.values())
    }

    /// After this time a node that gives no sign of life is dead.
    pub fn silence(&self) -> Micros {
        self.plain(Wiring::Direct).timing.silence
    }

    /// Floats of a chunk, y included.
    pub fn values(&self) -> usize {
        if self.codec.is_some() { VALUES } else { 8 }
    }

    /// How far from the optimum a fleet with gradient tracking may end.
    pub fn tolerance(&self) -> f64 {
        if self.codec.is_some() { 2e-5 } else { 1e-5 }
    }

    /// The same nodes over links.
    pub fn linked<const WINDOW: usize, const VALUES: usize>(
        &self,
        linking: Linking,
    ) -> LinkedNetwork<QuadraticNode, WINDOW, VALUES> {
        LinkedNetwork::new(self.nodes(), &self.edges(), self.rounds, linking).unwrap()
    }
}

/// A codec with this many bits.
pub fn codec(bits: u32) -> Codec {
    Codec::new(bits, Codec::USUAL_UNIT).unwrap()
}

/// The longest message with this many values, sealed.
pub const fn frame(values: usize) -> usize {
    message_len(values) + SEAL_LONGEST
}

/// Lines without faults at 1 Mbit/s.
pub fn linking(wiring: Wiring, chunk: u32, values: usize) -> Linking {
    let baud = 1_000_000;
    let compute = [2_000, 2_000];
    // A bus of the tests has a handful of nodes, a window up to eight chunks.
    let timing = Timing::uart(
        baud,
        message_len(values) + Seal::PLAIN.overhead(),
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
        clocks: Vec::new(),
    }
}

impl Fleet {
    /// The exact optimum of some nodes together, in f64: their mean hypergradient is affine in x.
    pub fn optimum(&self, nodes: &[usize]) -> Vec<f64> {
        optimum(&nodes.iter().map(|&node| self.problem(node)).collect::<Vec<_>>())
    }
}

/// The most floats of a chunk in most tests, y included.
pub const VALUES: usize = 64;

/// A network with room for chunks of a block.
pub type Network = LinkedNetwork<QuadraticNode, 3, VALUES>;

/// An hour of simulated time, far more than any test needs.
pub const LONG: Micros = 3_600_000_000;

/// A fleet with gradient tracking.
pub fn tracking(topology: Topology, rounds: u64) -> Fleet {
    let scheme = Scheme::GradientTracking;
    Fleet { topology, scheme, outer: 6, inner: 4, rounds, seed: 11, codec: None }
}

/// A fleet whose vectors travel as floats, and one in which they travel in few bits.
pub fn both(fleet: Fleet) -> [Fleet; 2] {
    [fleet.clone(), fleet.coded(4)]
}

/// A path of nodes.
pub fn path(nodes: u32) -> Topology {
    Topology::new(nodes, (1..nodes).map(|node| (node - 1, node))).unwrap()
}

/// A node in the middle, and leaves.
pub fn star(nodes: u32) -> Topology {
    Topology::new(nodes, (1..nodes).map(|leaf| (0, leaf))).unwrap()
}

/// The largest distance of any of the nodes' x from the optimum of `of`.
pub fn distance(network: &Network, fleet: &Fleet, nodes: &[usize], of: &[usize]) -> f64 {
    let optimum = fleet.optimum(of);
    let far = |node: &QuadraticNode| {
        let x = node.state().x.iter().zip(&optimum);
        x.map(|(x, o)| (f64::from(*x) - o).abs()).fold(0.0, f64::max)
    };
    nodes.iter().map(|&i| far(network.node(i))).fold(0.0, f64::max)
}

/// The largest element of |Σy − Σz| over some nodes: 0 up to rounding, unless something was lost between rounds.
pub fn drift(network: &Network, nodes: &[usize]) -> f64 {
    let outer = network.node(nodes[0]).state().y.len();
    let gap = |at: usize| {
        let gaps = nodes.iter().map(|&i| {
            let state = network.node(i).state();
            f64::from(state.y[at]) - f64::from(state.z[at])
        });
        gaps.sum::<f64>().abs()
    };
    (0..outer).map(gap).fold(0.0, f64::max)
}

/// A node's checkpoint between two rounds, restored into a fresh node.
pub fn rebooted(fleet: &Fleet, network: &Network, number: usize) -> QuadraticNode {
    restored(fleet, number, &saved(network, number))
}

/// A node's checkpoint; it must be between two rounds.
pub fn saved(network: &Network, number: usize) -> Vec<u8> {
    let node = network.node(number);
    let mut bytes = vec![0; node.checkpoint_len()];
    node.save(&mut bytes).unwrap();
    bytes
}

/// A node restored from its checkpoint.
pub fn restored(fleet: &Fleet, number: usize, checkpoint: &[u8]) -> QuadraticNode {
    let mut node = fleet.node(number);
    node.restore(checkpoint).unwrap();
    node
}

/// The standing of a neighbour for a node.
pub fn standing(network: &Network, node: usize, neighbour: usize) -> Standing {
    let mut all = network.exchange(node).standings();
    all.find(|(number, _)| *number as usize == neighbour).unwrap().1
}

prop_compose! {
    /// A connected graph: a random tree with some more links.
    pub fn topologies(nodes: Range<u32>)(
        nodes in nodes,
        choices in prop::collection::vec(any::<u32>(), 12),
    ) -> Topology {
        let tree = (1..nodes).map(|node| (choices[node as usize] % node, node));
        let more = choices[7..].iter().map(|c| (c % nodes, (c / 8) % nodes)).filter(|(a, b)| a != b);
        Topology::new(nodes, tree.chain(more)).unwrap()
    }
}
