//! A network that runs: all nodes in one memory, the exchange without links.

use lopa_core::network::{self, Edge, NetworkError};
use lopa_core::node::{Buffers, Config, Node, Scheme, Scratch};
use lopa_core::problem::Problem;

/// A node of a simulation.
pub type SimulatedNode<P> = Node<P, Box<[f32]>, Box<[f32]>, Box<[f32]>>;

/// Nodes on a weighted graph, moving round by round.
#[derive(Debug)]
pub struct Simulation<P> {
    nodes: Vec<SimulatedNode<P>>,
    edges: Vec<Edge>,
    scratch: Scratch<Box<[f32]>, Box<[f32]>>,
    room: Box<[f32]>,
}

impl<P: Problem> Simulation<P> {
    /// One node a problem, all starting with `start` in every element of x; `config` gives node i its
    /// settings.
    ///
    /// # Errors
    /// Passes on what a node refuses.
    pub fn new(
        problems: impl IntoIterator<Item = P>,
        scheme: Scheme,
        edges: Vec<Edge>,
        start: f32,
        config: impl Fn(u32) -> Config,
    ) -> Result<Self, NetworkError> {
        let mut nodes = Vec::new();
        let (mut inner, mut workspace, mut outer) = (0, 0, 0);
        for (number, problem) in (0_u32..).zip(problems) {
            let size = problem.dimensions();
            (inner, outer) = (size.inner, size.outer);
            workspace = workspace.max(size.workspace);
            let zeros = |len| vec![0.0; len].into_boxed_slice();
            let buffers = Buffers {
                x: vec![start; outer].into_boxed_slice(),
                y: zeros(outer),
                z: zeros(outer),
                theta: zeros(inner),
                v: zeros(inner),
                delta: zeros(if scheme == Scheme::GradientTracking { outer } else { 0 }),
            };
            let node = Node::new(problem, scheme, config(number), buffers)
                .map_err(|error| NetworkError::Node { node: number as usize, error })?;
            nodes.push(node);
        }
        let scratch = Scratch {
            direction: vec![0.0; inner].into_boxed_slice(),
            workspace: vec![0.0; workspace].into_boxed_slice(),
        };
        // A few chunks a vector keep the working memory in the cache.
        let room = vec![0.0; 2 * nodes.len() * outer.min(64)].into_boxed_slice();
        Ok(Self { nodes, edges, scratch, room })
    }

    /// One round of every node.
    ///
    /// # Errors
    /// Names the node that diverged.
    pub fn round(&mut self) -> Result<(), NetworkError> {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.compute(&mut self.scratch)
                .map_err(|error| NetworkError::Node { node: number, error })?;
        }
        network::exchange(&mut self.nodes, &self.edges, &mut self.room)
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[SimulatedNode<P>] {
        &self.nodes
    }
}
