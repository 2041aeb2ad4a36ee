//! LoPA's nodes on a host: the core's own, with vectors on the heap.

use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::{Buffers, Config, Neighbour, Node, NodeError, Scheme, Scratch};
use lopa_core::problem::{Dimensions, Problem};

use super::{InProcess, Member, Outbox, Vectors, bytes_of};

/// A LoPA node of a simulation.
pub type SimulatedNode<P> = Node<P, Box<[f32]>, Box<[f32]>, Box<[f32]>>;

/// A LoPA network in one process.
pub type Simulation<P> = InProcess<SimulatedNode<P>>;

impl<P: Problem + Send + Sync> Member for SimulatedNode<P> {
    type Scratch = Scratch<Box<[f32]>, Box<[f32]>>;
    type Sent = f32;

    fn dimensions(&self) -> Dimensions {
        self.problem().dimensions()
    }

    fn scratch(inner: usize, workspace: usize) -> Self::Scratch {
        Scratch { direction: zeros(inner), workspace: zeros(workspace) }
    }

    fn compute(&mut self, scratch: &mut Self::Scratch) -> Result<(), NodeError> {
        Self::compute(self, scratch)
    }

    fn lengths(&self) -> [usize; 2] {
        let outer = self.state().x.len();
        [outer, if self.scheme() == Scheme::GradientTracking { outer } else { 0 }]
    }

    fn send(&mut self, sent: &mut Outbox<f32>) -> usize {
        let [x, y] = sent;
        // Only refused if it diverged: then it sends nothing.
        let handed_out = self.hand_out(x, y);
        if handed_out.is_ok() { bytes_of(sent) } else { 0 }
    }

    fn take_back(&mut self, [x, y]: &mut Outbox<f32>) {
        // It has just been handed out, and nothing happened since.
        let _ = self.hand_out(x, y);
    }

    fn mix<'a>(
        &mut self,
        own: Vectors<'a, f32>,
        neighbours: impl Iterator<Item = (f32, Vectors<'a, f32>)> + Clone,
        _: [&mut [f32]; 2],
    ) -> Result<(), NodeError> {
        self.mix_handed_out(own, neighbours.map(|(weight, [x, y])| Neighbour { weight, x, y }))
    }
}

impl<P: Problem + Send + Sync> InProcess<SimulatedNode<P>> {
    /// One node per problem; `start` gives x₀ for the length of x, and `config` gives node i its settings.
    ///
    /// # Errors
    /// Names the node that refuses its settings, or the edge that is wrong.
    pub fn new(
        problems: impl IntoIterator<Item = P>,
        scheme: Scheme,
        edges: Vec<Edge>,
        start: impl Fn(usize) -> Vec<f32>,
        config: impl Fn(u32) -> Config,
    ) -> Result<Self, NetworkError> {
        Self::join(Self::in_round_0(problems, scheme, start, config)?, edges)
    }

    /// The nodes of such a network.
    pub(crate) fn in_round_0(
        problems: impl IntoIterator<Item = P>,
        scheme: Scheme,
        start: impl Fn(usize) -> Vec<f32>,
        config: impl Fn(u32) -> Config,
    ) -> Result<Vec<SimulatedNode<P>>, NetworkError> {
        let node = |(number, problem): (u32, P)| {
            let size = problem.dimensions();
            let tracking = scheme == Scheme::GradientTracking;
            let buffers = Buffers {
                x: start(size.outer).into_boxed_slice(),
                y: zeros(size.outer),
                z: zeros(size.outer),
                theta: zeros(size.inner),
                v: zeros(size.inner),
                delta: zeros(if tracking { size.outer } else { 0 }),
            };
            Node::new(problem, scheme, config(number), buffers)
                .map_err(|error| NetworkError::Node { node: number as usize, error })
        };
        (0_u32..).zip(problems).map(node).collect()
    }
}

fn zeros(len: usize) -> Box<[f32]> {
    vec![0.0; len].into_boxed_slice()
}
