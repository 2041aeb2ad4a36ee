//! Runs a network for a fixed number of rounds, in memory that the caller provides.

use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::draw::Draws;
use lopa_core::network::{Edge, exchange};
use lopa_core::node::{Buffers, Config, Node, Scheme, Scratch, State};
use lopa_core::oracles::Evaluations;
use lopa_core::problem::Problem;
use lopa_core::steps::StepSizes;

use crate::hash::Hash;

/// How many rounds every network runs.
pub const ROUNDS: u64 = 200;

/// The settings of a network, besides its problems.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The problem's name.
    pub problem: &'static str,
    /// The scheme.
    pub scheme: Scheme,
    /// α, β, λ, γ, τ.
    pub steps: [f32; 5],
    /// The seed of the batches.
    pub seed: u64,
    /// Samples in a batch; zero for all.
    pub batch: u32,
    /// Whether the oracles share batches.
    pub sharing: Sharing,
    /// Both directions of every link.
    pub edges: &'a [Edge],
    /// x₀.
    pub start: &'a [f32],
}

/// The final state of a network.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    /// The problem's name.
    pub problem: &'static str,
    /// The scheme.
    pub scheme: Scheme,
    /// x₀.
    pub start: &'a [f32],
    /// The nodes' variables and counters.
    pub nodes: &'a [(State<'a>, Evaluations)],
}

impl Ending<'_> {
    /// A hash of every bit of every node's variables, and of its counters.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hash = Hash::default();
        for (state, evaluations) in self.nodes {
            for variable in [state.x, state.theta, state.v, state.z, state.y] {
                hash.floats(variable);
            }
            hash.word(state.round);
            for count in evaluations.to_array() {
                hash.word(count);
            }
        }
        hash.value()
    }
}

/// The floats [`network`] needs for `nodes` nodes and `chunk` elements of exchange at a time.
#[must_use]
pub const fn memory(
    nodes: usize,
    outer: usize,
    inner: usize,
    workspace: usize,
    chunk: usize,
) -> usize {
    nodes * (4 * outer + 2 * inner) + inner + workspace + 2 * nodes * chunk
}

/// Runs one network and passes its final state on.
///
/// # Panics
/// If a program of this crate is set up incorrectly or diverges.
pub fn network<P: Problem, const K: usize>(
    problems: &[P; K],
    setting: &Setting<'_>,
    mut memory: &mut [f32],
    show: &mut dyn FnMut(&Ending<'_>),
) {
    let Setting { problem, scheme, start, .. } = *setting;
    let size = problems[0].dimensions();
    let [alpha, beta, lambda, gamma, tau] = setting.steps;
    let steps = StepSizes::new(alpha, beta, lambda, gamma, tau).expect("steps in range");
    let mut take = |len: usize| memory.split_off_mut(..len).expect("memory as computed");
    let mut nodes: [_; K] = core::array::from_fn(|i| {
        let delta = if scheme == Scheme::GradientTracking { size.outer } else { 0 };
        let buffers = Buffers {
            x: take(size.outer),
            y: take(size.outer),
            z: take(size.outer),
            theta: take(size.inner),
            v: take(size.inner),
            delta: take(delta),
        };
        buffers.x.copy_from_slice(start);
        let draws = Draws { seed: setting.seed, node: i as u32 };
        let size = BatchSize::drawn(setting.batch);
        let sampler = Sampler { draws, size, sharing: setting.sharing };
        Node::new(&problems[i], scheme, Config { steps, sampler }, buffers).expect("buffers fit")
    });
    let mut scratch = Scratch { direction: take(size.inner), workspace: take(size.workspace) };
    let room = memory;
    for _ in 0..ROUNDS {
        for node in &mut nodes {
            node.compute(&mut scratch).expect("no divergence");
        }
        exchange(&mut nodes, setting.edges, room).expect("no divergence");
    }
    let nodes = nodes.each_ref().map(|node| (node.state(), node.evaluations()));
    show(&Ending { problem, scheme, start, nodes: &nodes });
}
