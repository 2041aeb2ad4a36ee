//! Which part of a network has which nodes, and what parts send to each other.

use std::collections::BTreeSet;
use std::ops::Range;

use lopa_core::network::Edge;

/// A network's nodes in parts: consecutive numbers, of which no part has more than one more than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    nodes: usize,
    parts: usize,
}

impl Split {
    /// Splits `nodes` into `parts`; nothing if there are more parts than nodes, or none.
    #[must_use]
    pub fn new(nodes: usize, parts: usize) -> Option<Self> {
        (1..=nodes).contains(&parts).then_some(Self { nodes, parts })
    }

    /// How many nodes all parts have together.
    #[must_use]
    pub const fn all(&self) -> usize {
        self.nodes
    }

    /// How many parts there are.
    #[must_use]
    pub const fn parts(&self) -> usize {
        self.parts
    }

    /// The nodes of a part.
    #[must_use]
    pub fn nodes(&self, part: usize) -> Range<usize> {
        let begin = |part: usize| {
            let (each, more) = (self.nodes / self.parts, self.nodes % self.parts);
            part * each + part.min(more)
        };
        begin(part)..begin(part + 1)
    }

    /// The part of a node.
    fn part_of(&self, node: usize) -> usize {
        let (each, more) = (self.nodes / self.parts, self.nodes % self.parts);
        let large = more * (each + 1);
        if node < large { node / (each + 1) } else { more + (node - large) / each }
    }

    /// What a part sends and receives, for the edges of the whole network: both directions of every link, sorted.
    #[must_use]
    pub fn border(&self, part: usize, edges: &[Edge]) -> Border {
        let own = self.nodes(part);
        let mut to = vec![BTreeSet::new(); self.parts];
        let mut from = BTreeSet::new();
        for edge in edges {
            let (node, neighbour) = (edge.node as usize, edge.neighbour as usize);
            if own.contains(&node) && !own.contains(&neighbour) {
                to[self.part_of(neighbour)].insert(node - own.start);
                from.insert(neighbour);
            }
        }
        let strangers: Vec<usize> = from.into_iter().collect();
        let place = |node: usize| strangers.partition_point(|stranger| *stranger < node);
        let received = |other: usize| {
            let nodes = self.nodes(other);
            place(nodes.start)..place(nodes.end)
        };
        Border {
            to: to.into_iter().map(|nodes| nodes.into_iter().collect()).collect(),
            from: (0..self.parts).map(received).collect(),
            strangers,
            own,
        }
    }
}

/// Where a part of a network ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Border {
    /// The nodes of this part.
    pub own: Range<usize>,
    /// Neighbours in other parts, by their numbers in the network.
    pub strangers: Vec<usize>,
    /// For every part, which nodes of this one have neighbours there, counted from the first of this part.
    pub to: Vec<Vec<usize>>,
    /// For every part, which of the strangers are there.
    pub from: Vec<Range<usize>>,
}

impl Border {
    /// The edges of this part's nodes. Its own nodes are counted from 0, and the strangers follow.
    #[must_use]
    pub fn edges(&self, edges: &[Edge]) -> Vec<Edge> {
        let local = |node: u32| {
            let number = node as usize;
            let local = if self.own.contains(&number) {
                number - self.own.start
            } else {
                self.own.len() + self.strangers.partition_point(|stranger| *stranger < number)
            };
            // No larger than the number of nodes, which is a u32.
            local as u32
        };
        let own = edges.iter().filter(|edge| self.own.contains(&(edge.node as usize)));
        own.map(|edge| Edge {
            node: local(edge.node),
            neighbour: local(edge.neighbour),
            weight: edge.weight,
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;
    use lopa_core::draw::Draws;

    #[test]
    fn every_node_is_in_one_part_and_parts_are_alike() {
        for (nodes, parts) in [(1, 1), (7, 3), (10, 4), (100, 7), (5, 5)] {
            let split = Split::new(nodes, parts).unwrap();
            let all: Vec<usize> = (0..parts).flat_map(|part| split.nodes(part)).collect();
            assert_eq!(all, (0..nodes).collect::<Vec<_>>());
            for part in 0..parts {
                assert!(split.nodes(part).all(|node| split.part_of(node) == part));
                assert!(split.nodes(part).len().abs_diff(nodes / parts) <= 1);
            }
        }
        assert_eq!((Split::new(3, 4), Split::new(3, 0)), (None, None));
    }

    #[test]
    fn what_one_part_sends_another_awaits() {
        let edges = Topology::erdos_renyi(40, 0.2, 3).unwrap().metropolis();
        let split = Split::new(40, 3).unwrap();
        let borders = [0, 1, 2].map(|part| split.border(part, &edges));
        let mut links = 0;
        for one in 0..3 {
            links += borders[one].edges(&edges).len();
            for other in 0..3 {
                let sent = borders[one].to[other].iter().map(|node| node + borders[one].own.start);
                let awaited = &borders[other].strangers[borders[other].from[one].clone()];
                assert_eq!(sent.collect::<Vec<_>>(), awaited);
                assert_eq!(awaited.is_empty(), one == other);
            }
        }
        assert_eq!(links, edges.len());
    }

    /// The numbers of `docs/workers.md`.
    #[test]
    fn sixteen_parts_send_little_on_a_ring_and_two_fifths_of_their_nodes_on_a_random_graph() {
        const NODES: u32 = 16_000;
        let split = Split::new(NODES as usize, 16).unwrap();
        let ring = Topology::ring(NODES).metropolis();
        let sent = |edges: &[Edge]| -> Vec<usize> {
            let border = split.border(5, edges);
            border.to.iter().map(Vec::len).collect()
        };
        let to = sent(&ring);
        assert_eq!((to[4], to[6], to.iter().sum::<usize>()), (1, 1, 2));
        // Four links from every node to others anywhere: eight neighbours on average.
        let mut stream = Draws { seed: 1, node: 0 }.stream(0, crate::purposes::START);
        let mut edges: Vec<Edge> = Vec::new();
        for node in 0..NODES {
            for _ in 0..4 {
                let neighbour = ((stream.unit() * NODES as f32) as u32).min(NODES - 1);
                let weight = 0.1;
                edges.push(Edge { node, neighbour, weight });
                edges.push(Edge { node: neighbour, neighbour: node, weight });
            }
        }
        let to = sent(&edges);
        let all = to.iter().sum::<usize>() as f64 / 15.0 / f64::from(NODES / 16);
        assert!((0.37..0.42).contains(&all), "{all}: {to:?}");
    }
}
