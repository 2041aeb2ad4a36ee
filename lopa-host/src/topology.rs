//! Who talks to whom, and with which weight.

use std::collections::BTreeSet;
use std::fmt;

use lopa_core::network::Edge;

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
    neighbours: Vec<BTreeSet<u32>>,
}

/// Why a graph was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopologyError {
    /// There are no nodes.
    Empty,
    /// A link names a node there is not, or joins a node to itself.
    Link(u32, u32),
    /// No path leads from node 0 to this one.
    Disconnected(u32),
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a network needs at least one node"),
            Self::Link(a, b) => {
                write!(f, "link {a}-{b} names a missing node or joins a node to itself")
            }
            Self::Disconnected(node) => {
                write!(f, "no path leads from node 0 to node {node}: the network is not connected")
            }
        }
    }
}

impl std::error::Error for TopologyError {}

impl Topology {
    /// A graph of `nodes` nodes with the given links.
    ///
    /// # Errors
    /// Refuses links that make no sense, and graphs that are not connected.
    pub fn new(
        nodes: u32,
        links: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, TopologyError> {
        let mut neighbours = vec![BTreeSet::new(); nodes as usize];
        for (a, b) in links {
            if a == b || a >= nodes || b >= nodes {
                return Err(TopologyError::Link(a, b));
            }
            neighbours[a as usize].insert(b);
            neighbours[b as usize].insert(a);
        }
        let mut reached = vec![false; nodes as usize];
        let mut next = vec![0];
        *reached.first_mut().ok_or(TopologyError::Empty)? = true;
        while let Some(node) = next.pop() {
            for &other in &neighbours[node as usize] {
                if !std::mem::replace(&mut reached[other as usize], true) {
                    next.push(other);
                }
            }
        }
        match (0..nodes).find(|&node| !reached[node as usize]) {
            Some(node) => Err(TopologyError::Disconnected(node)),
            None => Ok(Self { neighbours }),
        }
    }

    /// Every node talks to the one before and the one after, all around.
    ///
    /// # Panics
    /// With no nodes.
    #[must_use]
    pub fn ring(nodes: u32) -> Self {
        let links = (0..nodes).map(|a| (a, (a + 1) % nodes)).filter(|(a, b)| a != b);
        Self::new(nodes, links).expect("a ring with a node is connected")
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.neighbours.len()
    }

    /// The links, each once, lower number first.
    pub fn links(&self) -> impl Iterator<Item = (u32, u32)> {
        (0_u32..)
            .zip(&self.neighbours)
            .flat_map(|(a, others)| others.range(a..).map(move |&b| (a, b)))
    }

    /// Metropolis weights, 1 / (1 + the larger degree): doubly stochastic whatever the graph.
    #[must_use]
    pub fn metropolis(&self) -> Vec<Edge> {
        let degree = |node: u32| self.neighbours[node as usize].len();
        (0_u32..)
            .zip(&self.neighbours)
            .flat_map(|(node, others)| {
                others.iter().map(move |&neighbour| {
                    let weight = 1.0 / (1 + degree(node).max(degree(neighbour))) as f32;
                    Edge { node, neighbour, weight }
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_symmetric_and_leave_something_for_the_node_itself() {
        let star = Topology::new(5, (1..5).map(|b| (0, b))).unwrap();
        let edges = star.metropolis();
        for edge in &edges {
            let back = Edge { node: edge.neighbour, neighbour: edge.node, ..*edge };
            assert!(edges.contains(&back));
        }
        for node in 0..5 {
            let own: f32 = edges.iter().filter(|e| e.node == node).map(|e| e.weight).sum();
            assert!(own < 1.0, "{own}");
        }
        assert!(edges.is_sorted_by_key(|e| (e.node, e.neighbour)));
    }

    #[test]
    fn bad_graphs_are_refused_by_name() {
        assert_eq!(Topology::new(0, []), Err(TopologyError::Empty));
        assert_eq!(Topology::new(3, [(0, 3)]), Err(TopologyError::Link(0, 3)));
        assert_eq!(Topology::new(3, [(1, 1)]), Err(TopologyError::Link(1, 1)));
        assert_eq!(Topology::new(4, [(0, 1), (2, 3)]), Err(TopologyError::Disconnected(2)));
    }

    #[test]
    fn small_rings_are_what_they_can_be() {
        assert_eq!(Topology::ring(1).links().count(), 0);
        assert_eq!(Topology::ring(2).links().count(), 1);
        assert_eq!(Topology::ring(3).links().count(), 3);
    }
}
