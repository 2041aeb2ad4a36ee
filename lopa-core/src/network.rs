//! The exchange of a round between nodes in one process, without links: for simulations and tests.

use crate::node::{Node, NodeError, Phase, Scheme};
use crate::problem::Problem;
use crate::vector::{Storage, add_gap};

/// One direction of a link: `node` listens to `neighbour`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Edge {
    /// The node that listens.
    pub node: u32,
    /// The neighbour it listens to.
    pub neighbour: u32,
    /// w_ij, the same in both directions.
    pub weight: f32,
}

/// Why an exchange was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize)]
#[non_exhaustive]
pub enum NetworkError {
    /// An edge names a node that does not exist, joins a node to itself, or is out of order.
    Edge {
        /// Its index.
        index: usize,
    },
    /// The weight of an edge is not a multiple of 1/256 between 0 and 1, as nodes with a [codec](crate::codec) need it.
    Weight {
        /// The index of the edge.
        index: usize,
    },
    /// There is not even room for one element: at least two floats per node are needed.
    Room {
        /// The least number of floats.
        needed: usize,
    },
    /// The nodes differ in length, scheme or progress.
    Unlike {
        /// The first node that differs from node 0.
        node: usize,
    },
    /// A node refused.
    Node {
        /// Which one.
        node: usize,
        /// Why.
        error: NodeError,
    },
}

impl core::fmt::Display for NetworkError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Edge { index } => write!(
                f,
                "edge {index} names a missing node, joins a node to itself, or is not sorted by (node, neighbour)"
            ),
            Self::Weight { index } => {
                write!(f, "the weight of edge {index} is not a multiple of 1/256 between 0 and 1")
            }
            Self::Room { needed } => {
                write!(f, "too little working memory: at least {needed} floats are needed")
            }
            Self::Unlike { node } => {
                write!(
                    f,
                    "node {node} differs from node 0 in length, scheme or progress: all nodes must agree"
                )
            }
            Self::Node { node, error } => write!(f, "node {node}: {error}"),
        }
    }
}

impl core::error::Error for NetworkError {}

/// Checks that edges are sorted by (node, neighbour), and join two different nodes out of `nodes` of them.
///
/// # Errors
/// Names the first edge that is wrong.
pub fn check_edges(edges: &[Edge], nodes: usize) -> Result<(), NetworkError> {
    let mut last = None;
    for (index, edge) in edges.iter().enumerate() {
        let place = (edge.node, edge.neighbour);
        let known = |node: u32| (node as usize) < nodes;
        let sorted = last.replace(place).is_none_or(|last| last < place);
        if !(sorted && known(edge.node) && known(edge.neighbour) && edge.node != edge.neighbour) {
            return Err(NetworkError::Edge { index });
        }
    }
    Ok(())
}

/// The mixing half of a round for all nodes at once.
///
/// `edges` contains both directions of every link, sorted by (node, neighbour). `room` is working memory: at least two
/// floats per node; with more, fewer passes are needed.
///
/// # Errors
/// Refuses invalid edges, too little room, and nodes that are not ready to mix.
pub fn exchange<P: Problem, X: Storage, T: Storage, D: Storage>(
    nodes: &mut [Node<P, X, T, D>],
    edges: &[Edge],
    room: &mut [f32],
) -> Result<(), NetworkError> {
    let Some(first) = nodes.first() else {
        // Without nodes there is nothing to do, and every edge is invalid.
        return if edges.is_empty() { Ok(()) } else { Err(NetworkError::Edge { index: 0 }) };
    };
    let (len, scheme) = (first.buffers.x.as_ref().len(), first.scheme);
    for (node, other) in nodes.iter().enumerate() {
        if let Phase::Diverged(divergence) = other.phase {
            return Err(NetworkError::Node { node, error: NodeError::Diverged(divergence) });
        }
    }
    for (node, other) in nodes.iter().enumerate() {
        let alike = other.buffers.x.as_ref().len() == len && other.scheme == scheme;
        if !alike || other.phase != (Phase::Mixing { next: 0 }) {
            return Err(NetworkError::Unlike { node });
        }
    }
    check_edges(edges, nodes.len())?;
    let chunk = (room.len() / 2).checked_div(nodes.len()).unwrap_or(0).min(len);
    if chunk == 0 {
        return Err(NetworkError::Room { needed: nodes.len().saturating_mul(2) });
    }

    let mut start = 0;
    while start < len {
        let end = start.saturating_add(chunk).min(len);
        let part = part_of(start..end);
        // All gaps of a chunk are computed before any node changes.
        room.fill(0.0);
        let mut edges = edges.iter().peekable();
        for (number, (node, gaps)) in nodes.iter().zip(room.chunks_exact_mut(2 * chunk)).enumerate()
        {
            let (x_gap, y_gap) = gaps.split_at_mut(chunk);
            while let Some(edge) = edges.next_if(|edge| edge.node as usize == number) {
                let Some(other) = nodes.get(edge.neighbour as usize) else { continue };
                let (own, theirs) = (&node.buffers, &other.buffers);
                add_gap(x_gap, edge.weight, part(&theirs.x), part(&own.x));
                if scheme == Scheme::GradientTracking {
                    add_gap(y_gap, edge.weight, part(&theirs.y), part(&own.y));
                }
            }
        }
        for (number, (node, gaps)) in nodes.iter_mut().zip(room.chunks_exact(2 * chunk)).enumerate()
        {
            let (x_gap, y_gap) = gaps.split_at(chunk);
            let size = (end - start).min(chunk);
            node.mix(&x_gap[..size], &y_gap[..size])
                .map_err(|error| NetworkError::Node { node: number, error })?;
        }
        start = end;
    }
    Ok(())
}

/// The same range of any vector; empty if the vector is too short.
fn part_of<X: Storage>(range: core::ops::Range<usize>) -> impl Fn(&X) -> &[f32] {
    move |a| a.as_ref().get(range.clone()).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_edges_are_refused() {
        let edge = |node, neighbour| Edge { node, neighbour, weight: 0.3 };
        for (edges, index) in [
            (&[edge(0, 1), edge(0, 1)][..], 1),
            (&[edge(1, 0), edge(0, 1)], 1),
            (&[edge(0, 2)], 0),
            (&[edge(1, 1)], 0),
        ] {
            assert_eq!(check_edges(edges, 2), Err(NetworkError::Edge { index }));
        }
        assert_eq!(check_edges(&[edge(0, 2), edge(2, 0), edge(2, 1)], 4), Ok(()));
    }
}
