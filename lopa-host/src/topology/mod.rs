//! Networks: which nodes are linked, and with which weights.
//!
//! - [`Topology`]: an undirected, connected graph; its [families](Topology#families), or an [edge
//!   list](edge_list);
//! - [`Kind`]: a topology by its name in a file or on a command line, such as `grid 3x4`;
//! - [`Weights`]: the mixing matrix W on a graph, by the Metropolis rule or from a file ([`WeightRule`]);
//! - [`spectrum`]: how fast W mixes; [`find()`]: a graph that mixes at a given rate;
//! - [`drawing`]: a picture of it.
//!
//! ```
//! use lopa_host::topology::{Kind, Weights};
//! let kind: Kind = "torus 4x5".parse()?;
//! let topology = kind.build(None, 0)?;
//! let weights = Weights::metropolis(&topology);
//! assert_eq!((topology.nodes(), topology.links().count()), (20, 40));
//! assert!((weights.spectrum().rho() - 0.5236).abs() < 1e-4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::VecDeque;

use lopa_core::network::Edge;

pub mod drawing;
pub mod edge_list;
mod error;
mod families;
mod find;
mod kind;
mod layout;
mod random;
pub mod spectrum;
mod weights;

pub use error::{BuildError, TopologyError, WeightsError};
pub use find::{Found, MOST_NODES_TO_FIND, find};
pub use kind::Kind;
pub use layout::Layout;
pub use weights::{WeightRule, Weights};

/// The most nodes of a graph.
pub const MOST_NODES: u32 = 1 << 24;

/// The most links of a graph.
pub const MOST_LINKS: usize = 1 << 26;

/// An undirected, connected graph.
///
/// ```
/// use lopa_host::topology::Topology;
/// let ring = Topology::ring(5);
/// assert_eq!(ring.links().count(), 5);
/// // Metropolis: each node of a ring has two neighbours, so every weight is 1/3.
/// assert!(ring.metropolis().iter().all(|edge| edge.weight == 1.0 / 3.0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Where each node's neighbours start in `ends`, and where the last one's stop.
    starts: Vec<usize>,
    /// Every node's neighbours in ascending order, one node after the other.
    ends: Vec<u32>,
}

impl Topology {
    /// A graph of `nodes` nodes with the given links; a link given twice counts once.
    ///
    /// # Errors
    /// Refuses links to missing nodes or from a node to itself, and graphs that are not connected.
    pub fn new(
        nodes: u32,
        links: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, TopologyError> {
        match nodes {
            0 => return Err(TopologyError::Empty),
            _ if nodes > MOST_NODES => return Err(TopologyError::TooLarge),
            _ => {}
        }
        let mut sorted = Vec::new();
        for (a, b) in links {
            if a == b || a >= nodes || b >= nodes {
                return Err(TopologyError::Link(a, b));
            }
            if sorted.len() == MOST_LINKS {
                return Err(TopologyError::TooLarge);
            }
            sorted.push((a.min(b), a.max(b)));
        }
        sorted.sort_unstable();
        sorted.dedup();
        let topology = Self::of_sorted(nodes as usize, &sorted);

        let distances = topology.distances(0);
        match (0..nodes).find(|&node| distances[node as usize].is_none()) {
            Some(node) => {
                let own = topology.distances(node);
                let joined = (0..nodes).filter(|&node| own[node as usize].is_some());
                Err(TopologyError::Disconnected(joined.collect()))
            }
            None => Ok(topology),
        }
    }

    /// From links that are sorted, each once, lower number first.
    fn of_sorted(nodes: usize, links: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; nodes + 1];
        for &(a, b) in links {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        // In this order a node's lower neighbours come before its higher ones, both ascending.
        let mut next = starts.clone();
        let mut ends = vec![0; 2 * links.len()];
        for &(a, b) in links {
            for (node, other) in [(a, b), (b, a)] {
                ends[next[node as usize]] = other;
                next[node as usize] += 1;
            }
        }
        Self { starts, ends }
    }

    /// The number of links on a shortest path from this node to every other; none where there is no path.
    pub(crate) fn distances(&self, from: u32) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.nodes()];
        distances[from as usize] = Some(0);
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((node, length)) = queue.pop_front() {
            for &other in self.neighbours(node) {
                if distances[other as usize].is_none() {
                    distances[other as usize] = Some(length + 1);
                    queue.push_back((other, length + 1));
                }
            }
        }
        distances
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// A node's neighbours in ascending order; none for a node that does not exist.
    #[must_use]
    pub fn neighbours(&self, node: u32) -> &[u32] {
        match self.starts.get(node as usize..) {
            Some(&[start, end, ..]) => &self.ends[start..end],
            _ => &[],
        }
    }

    /// The links, each once, lower number first.
    pub fn links(&self) -> impl Iterator<Item = (u32, u32)> {
        self.directed().filter(|(a, b)| a < b)
    }

    /// Both directions of every link, sorted.
    fn directed(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.nodes() as u32).flat_map(|a| self.neighbours(a).iter().map(move |&b| (a, b)))
    }

    /// Metropolis weights, 1 / (1 + the larger degree): doubly stochastic on every graph.
    #[must_use]
    pub fn metropolis(&self) -> Vec<Edge> {
        let degree = |node: u32| self.neighbours(node).len();
        self.directed()
            .map(|(node, neighbour)| {
                let weight = 1.0 / (1 + degree(node).max(degree(neighbour))) as f32;
                Edge { node, neighbour, weight }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_graphs_are_refused_by_name() {
        assert_eq!(Topology::new(0, []), Err(TopologyError::Empty));
        assert_eq!(Topology::new(3, [(0, 3)]), Err(TopologyError::Link(0, 3)));
        assert_eq!(Topology::new(3, [(1, 1)]), Err(TopologyError::Link(1, 1)));
        assert_eq!(Topology::new(u32::MAX, []), Err(TopologyError::TooLarge));
        let error = Topology::new(6, [(0, 1), (2, 4), (4, 5)]).unwrap_err();
        assert_eq!(error, TopologyError::Disconnected(vec![2, 4, 5]));
        let text =
            "no path leads from node 0 to nodes 2, 4, 5: add a link that connects the network";
        assert_eq!(error.to_string(), text);
        let error = Topology::new(11, (2..11).map(|b| (1, b))).unwrap_err().to_string();
        assert!(error.contains("nodes 1, 2, 3, 4, 5, 6, 7, 8 and 2 more:"), "{error}");
        let error = Topology::new(2, []).unwrap_err().to_string();
        assert!(error.contains("to node 1:"), "{error}");
    }

    #[test]
    fn links_and_neighbours_are_sorted_and_each_once() {
        let graph = Topology::new(4, [(3, 1), (0, 1), (1, 3), (2, 1), (0, 3)]).unwrap();
        assert_eq!(graph.links().collect::<Vec<_>>(), [(0, 1), (0, 3), (1, 2), (1, 3)]);
        assert_eq!(graph.neighbours(1), [0, 2, 3]);
        assert_eq!(graph.neighbours(2), [1]);
        assert!(graph.neighbours(4).is_empty() && graph.neighbours(u32::MAX).is_empty());
    }
}
