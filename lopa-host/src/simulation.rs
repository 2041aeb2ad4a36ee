//! A network that runs: all nodes in one memory, the exchange without links, on all cores.
//!
//! Nodes compute at the same time, and mix at the same time; within a node every sum has its order. The bits are the
//! same for any number of threads.

use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::{Buffers, Config, Node, NodeError, Scheme, Scratch};
use lopa_core::problem::Problem;
use lopa_core::vector::add_gap;
use rayon::prelude::*;

/// A node of a simulation.
pub type SimulatedNode<P> = Node<P, Box<[f32]>, Box<[f32]>, Box<[f32]>>;

/// Nodes on a weighted graph, moving round by round.
#[derive(Debug)]
pub struct Simulation<P> {
    nodes: Vec<SimulatedNode<P>>,
    edges: Vec<Edge>,
    /// Where each node's edges begin in `edges`, and where the last one's end.
    starts: Vec<usize>,
    /// Each node's pull towards its neighbours: x, and with gradient tracking y behind it.
    gaps: Vec<Vec<f32>>,
    inner: usize,
    workspace: usize,
}

impl<P: Problem + Send + Sync> Simulation<P> {
    /// One node a problem, all starting with `start` in every element of x; `config` gives node i its
    /// settings.
    ///
    /// # Errors
    /// Passes on what a node refuses; refuses edges that are out of order or name a missing node.
    pub fn new(
        problems: impl IntoIterator<Item = P>,
        scheme: Scheme,
        edges: Vec<Edge>,
        start: f32,
        config: impl Fn(u32) -> Config,
    ) -> Result<Self, NetworkError> {
        Self::from_points(problems, scheme, edges, |outer| vec![start; outer], config)
    }

    /// The same with a starting point of any shape: `start` gives x₀ for the length of x.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn from_points(
        problems: impl IntoIterator<Item = P>,
        scheme: Scheme,
        edges: Vec<Edge>,
        start: impl Fn(usize) -> Vec<f32>,
        config: impl Fn(u32) -> Config,
    ) -> Result<Self, NetworkError> {
        let mut nodes = Vec::new();
        let (mut inner, mut workspace) = (0, 0);
        for (number, problem) in (0_u32..).zip(problems) {
            let size = problem.dimensions();
            inner = inner.max(size.inner);
            workspace = workspace.max(size.workspace);
            let zeros = |len| vec![0.0; len].into_boxed_slice();
            let tracking = scheme == Scheme::GradientTracking;
            let buffers = Buffers {
                x: start(size.outer).into_boxed_slice(),
                y: zeros(size.outer),
                z: zeros(size.outer),
                theta: zeros(size.inner),
                v: zeros(size.inner),
                delta: zeros(if tracking { size.outer } else { 0 }),
            };
            let node = Node::new(problem, scheme, config(number), buffers)
                .map_err(|error| NetworkError::Node { node: number as usize, error })?;
            nodes.push(node);
        }
        let starts = starts(&edges, nodes.len())?;
        let gaps = nodes.iter().map(|node| vec![0.0; 2 * node.state().x.len()]).collect();
        Ok(Self { nodes, edges, starts, gaps, inner, workspace })
    }

    /// One round of every node.
    ///
    /// # Errors
    /// Names the node that diverged, the one with the lowest number.
    pub fn round(&mut self) -> Result<(), NetworkError> {
        let (inner, workspace) = (self.inner, self.workspace);
        let scratch = || Scratch { direction: vec![0.0; inner], workspace: vec![0.0; workspace] };
        let computed =
            self.nodes.par_iter_mut().map_init(scratch, |scratch, node| node.compute(scratch));
        first_error(computed.collect())?;
        let Self { nodes, edges, starts, gaps, .. } = self;
        // Everyone's pull is taken before anyone moves.
        gaps.par_iter_mut().enumerate().for_each(|(number, gap)| {
            gap.fill(0.0);
            let own = nodes[number].state();
            let (x_gap, y_gap) = gap.split_at_mut(own.x.len());
            for edge in &edges[starts[number]..starts[number + 1]] {
                let other = nodes[edge.neighbour as usize].state();
                add_gap(x_gap, edge.weight, other.x, own.x);
                if nodes[number].scheme() == Scheme::GradientTracking {
                    add_gap(y_gap, edge.weight, other.y, own.y);
                }
            }
        });
        let mixed = nodes.par_iter_mut().zip(&*gaps).map(|(node, gap)| {
            let (x_gap, y_gap) = gap.split_at(gap.len() / 2);
            node.mix(x_gap, y_gap)
        });
        first_error(mixed.collect())
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[SimulatedNode<P>] {
        &self.nodes
    }

    /// The nodes, to put them where they were in an earlier run. All must be in the same round.
    pub fn nodes_mut(&mut self) -> &mut [SimulatedNode<P>] {
        &mut self.nodes
    }

    /// The nodes, to run them otherwise.
    #[must_use]
    pub fn into_nodes(self) -> Vec<SimulatedNode<P>> {
        self.nodes
    }
}

/// The first of many results that is an error.
pub(crate) fn first_error(results: Vec<Result<(), NodeError>>) -> Result<(), NetworkError> {
    let failed =
        results.into_iter().enumerate().find_map(|(node, result)| Some((node, result.err()?)));
    failed.map_or(Ok(()), |(node, error)| Err(NetworkError::Node { node, error }))
}

/// Where each node's edges begin; refuses what is not sorted or names a missing node.
pub(crate) fn starts(edges: &[Edge], nodes: usize) -> Result<Vec<usize>, NetworkError> {
    let place = |edge: &Edge| (edge.node, edge.neighbour);
    let bad = edges.iter().enumerate().position(|(index, edge)| {
        let sorted = index == 0 || place(&edges[index - 1]) < place(edge);
        let known = |node: u32| (node as usize) < nodes;
        !sorted || !known(edge.node) || !known(edge.neighbour) || edge.node == edge.neighbour
    });
    match bad {
        Some(index) => Err(NetworkError::Edge { index }),
        None => Ok((0..=nodes)
            .map(|node| edges.partition_point(|e| (e.node as usize) < node))
            .collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_edges_are_refused() {
        let edge = |node, neighbour| Edge { node, neighbour, weight: 0.3 };
        for (edges, index) in [
            (vec![edge(0, 1), edge(0, 1)], 1),
            (vec![edge(1, 0), edge(0, 1)], 1),
            (vec![edge(0, 2)], 0),
            (vec![edge(1, 1)], 0),
        ] {
            assert_eq!(starts(&edges, 2), Err(NetworkError::Edge { index }));
        }
        assert_eq!(starts(&[edge(0, 2), edge(2, 0), edge(2, 1)], 4), Ok(vec![0, 1, 1, 3, 3]));
    }
}
