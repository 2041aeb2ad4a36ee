//! All nodes in one process: the exchange of a round without links, on all cores.
//!
//! Nodes compute at the same time, then mix at the same time; within a node every sum has its order. The bits are the
//! same for any number of threads.

use lopa_core::network::{Edge, NetworkError, check_edges};
use lopa_core::node::NodeError;
use lopa_core::problem::Dimensions;
use lopa_core::vector::add_gap;
use rayon::prelude::*;

/// A node of a network, whatever its algorithm.
pub trait Member: Send + Sync {
    /// Memory to compute in, which nodes on one thread share.
    type Scratch;

    /// The size of its problem.
    fn dimensions(&self) -> Dimensions;

    /// Memory for any node of at most these sizes.
    fn scratch(inner: usize, workspace: usize) -> Self::Scratch;

    /// The local half of a round.
    ///
    /// # Errors
    /// Names the variable that diverged.
    fn compute(&mut self, scratch: &mut Self::Scratch) -> Result<(), NodeError>;

    /// The vectors that travel to neighbours; the second is empty if there is only one.
    fn travelling(&self) -> [&[f32]; 2];

    /// The other half of a round, from the pull of all neighbours, Σ_j w_ij (a_j - a), on each vector that travels.
    ///
    /// # Errors
    /// Names the variable that diverged.
    fn mix(&mut self, pulls: [&[f32]; 2]) -> Result<(), NodeError>;
}

/// Nodes on a weighted graph, moving round by round.
#[derive(Debug)]
pub struct InProcess<M> {
    nodes: Vec<M>,
    edges: Vec<Edge>,
    /// Where each node's edges begin in `edges`, and where the last one's end.
    starts: Vec<usize>,
    /// The pull on each node's travelling vectors, one behind the other.
    pulls: Vec<Vec<f32>>,
    /// The first node that diverged, and where: the network does not go on from there.
    failed: Option<NetworkError>,
}

impl<M: Member> InProcess<M> {
    /// Joins nodes by edges: both directions of every link, sorted by (node, neighbour).
    ///
    /// # Errors
    /// Names the edge that is wrong, or the first node whose vectors do not fit those of node 0.
    pub fn join(nodes: Vec<M>, edges: Vec<Edge>) -> Result<Self, NetworkError> {
        check_edges(&edges, nodes.len())?;
        let lengths = |node: &M| node.travelling().map(<[f32]>::len);
        let unlike = |node: &M| nodes.first().is_some_and(|first| lengths(first) != lengths(node));
        if let Some(node) = nodes.iter().position(unlike) {
            return Err(NetworkError::Unlike { node });
        }
        let start = |node| edges.partition_point(|edge| (edge.node as usize) < node);
        let starts = (0..=nodes.len()).map(start).collect();
        let pulls = nodes.iter().map(|node| vec![0.0; lengths(node).iter().sum()]).collect();
        Ok(Self { nodes, edges, starts, pulls, failed: None })
    }

    /// One round of every node.
    ///
    /// # Errors
    /// Names the node that diverged: the one with the lowest number.
    pub fn round(&mut self) -> Result<(), NetworkError> {
        let moved = self.failed.map_or_else(|| self.compute_and_mix(), Err);
        self.failed = moved.err();
        moved
    }

    fn compute_and_mix(&mut self) -> Result<(), NetworkError> {
        let Self { nodes, edges, starts, pulls, .. } = self;
        let largest = |of: fn(Dimensions) -> usize| {
            nodes.iter().map(|node| of(node.dimensions())).max().unwrap_or(0)
        };
        let (inner, workspace) = (largest(|size| size.inner), largest(|size| size.workspace));
        let computed = nodes
            .par_iter_mut()
            .map_init(|| M::scratch(inner, workspace), |scratch, node| node.compute(scratch));
        first_error(computed.collect())?;
        // Every pull is taken before any node moves.
        pulls.par_iter_mut().enumerate().for_each(|(number, pulls)| {
            pulls.fill(0.0);
            let own = nodes[number].travelling();
            let (first, second) = pulls.split_at_mut(own[0].len());
            for edge in &edges[starts[number]..starts[number + 1]] {
                let theirs = nodes[edge.neighbour as usize].travelling();
                add_gap(first, edge.weight, theirs[0], own[0]);
                add_gap(second, edge.weight, theirs[1], own[1]);
            }
        });
        let mixed = nodes.par_iter_mut().zip(&*pulls).map(|(node, pulls)| {
            let (first, second) = pulls.split_at(node.travelling()[0].len());
            node.mix([first, second])
        });
        first_error(mixed.collect())
    }

    /// Whether a node diverged, so that the network stands in the middle of a round.
    pub(crate) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &[M] {
        &self.nodes
    }

    /// The nodes, to put them where they were in an earlier run. All must be in the same round.
    pub fn nodes_mut(&mut self) -> &mut [M] {
        self.failed = None;
        &mut self.nodes
    }

    /// The nodes, to run them in another way.
    #[must_use]
    pub fn into_nodes(self) -> Vec<M> {
        self.nodes
    }
}

/// The first of many results that is an error.
fn first_error(results: Vec<Result<(), NodeError>>) -> Result<(), NetworkError> {
    let failed =
        results.into_iter().enumerate().find_map(|(node, result)| Some((node, result.err()?)));
    failed.map_or(Ok(()), |(node, error)| Err(NetworkError::Node { node, error }))
}
