//! Graphs that are not random: path, ring, star, grid, torus, complete.

use super::{MOST_LINKS, MOST_NODES, Topology, TopologyError};

/// # Families
impl Topology {
    /// Every node is linked to the one before and the one after.
    ///
    /// # Errors
    /// Refuses no nodes, and too many.
    pub fn path(nodes: u32) -> Result<Self, TopologyError> {
        Self::new(nodes, (1..nodes).map(|b| (b - 1, b)))
    }

    /// Every node is linked to the one before and the one after, all around.
    ///
    /// # Panics
    /// With no nodes, or more than [`MOST_NODES`].
    #[must_use]
    pub fn ring(nodes: u32) -> Self {
        Self::torus(1, nodes).expect("a ring with a node is connected")
    }

    /// Every node is linked to node 0.
    ///
    /// # Errors
    /// Refuses no nodes, and too many.
    pub fn star(nodes: u32) -> Result<Self, TopologyError> {
        Self::new(nodes, (1..nodes).map(|b| (0, b)))
    }

    /// Every node is linked to the ones left, right, above and below. Nodes are numbered row by row.
    ///
    /// # Errors
    /// Refuses no nodes, and too many.
    pub fn grid(rows: u32, columns: u32) -> Result<Self, TopologyError> {
        let nodes = area(rows, columns)?;
        let right = (0..nodes).filter(|a| a % columns + 1 < columns).map(|a| (a, a + 1));
        let down = (0..nodes - columns).map(|a| (a, a + columns));
        Self::new(nodes, right.chain(down))
    }

    /// A grid whose rows and columns are rings.
    ///
    /// ```
    /// # use lopa_host::topology::Topology;
    /// let torus = Topology::torus(3, 4)?;
    /// assert_eq!(torus.neighbours(0), [1, 3, 4, 8]);
    /// # Ok::<(), lopa_host::topology::TopologyError>(())
    /// ```
    ///
    /// # Errors
    /// Refuses no nodes, and too many.
    pub fn torus(rows: u32, columns: u32) -> Result<Self, TopologyError> {
        let nodes = area(rows, columns)?;
        let right = (0..nodes).map(|a| (a, a - a % columns + (a % columns + 1) % columns));
        let down = (0..nodes).map(|a| (a, (a + columns) % nodes));
        Self::new(nodes, right.chain(down).filter(|(a, b)| a != b))
    }

    /// Every node is linked to every other.
    ///
    /// # Errors
    /// Refuses no nodes, and too many: there are nodes * (nodes - 1) / 2 links.
    pub fn complete(nodes: u32) -> Result<Self, TopologyError> {
        let links = u64::from(nodes) * u64::from(nodes.saturating_sub(1)) / 2;
        if links > MOST_LINKS as u64 {
            return Err(TopologyError::TooLarge);
        }
        Self::new(nodes, (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))))
    }
}

/// The nodes of a grid.
fn area(rows: u32, columns: u32) -> Result<u32, TopologyError> {
    match rows.checked_mul(columns) {
        Some(0) => Err(TopologyError::Empty),
        Some(nodes) if nodes <= MOST_NODES => Ok(nodes),
        _ => Err(TopologyError::TooLarge),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degrees(graph: &Topology) -> Vec<usize> {
        (0..graph.nodes() as u32).map(|node| graph.neighbours(node).len()).collect()
    }

    #[test]
    fn small_rings_are_what_they_can_be() {
        assert_eq!(Topology::ring(1).links().count(), 0);
        assert_eq!(Topology::ring(2).links().count(), 1);
        assert_eq!(Topology::ring(3).links().count(), 3);
        assert_eq!(Topology::ring(4).neighbours(0), [1, 3]);
    }

    #[test]
    fn every_family_has_its_degrees() {
        assert_eq!(degrees(&Topology::path(4).unwrap()), [1, 2, 2, 1]);
        assert_eq!(degrees(&Topology::star(4).unwrap()), [3, 1, 1, 1]);
        assert_eq!(degrees(&Topology::complete(4).unwrap()), [3, 3, 3, 3]);
        assert_eq!(degrees(&Topology::grid(2, 3).unwrap()), [2, 3, 2, 2, 3, 2]);
        assert_eq!(degrees(&Topology::grid(3, 1).unwrap()), [1, 2, 1]);
        assert_eq!(degrees(&Topology::torus(3, 4).unwrap()), [4; 12]);
        // Two rows are each other's above and below: one link, not two.
        assert_eq!(degrees(&Topology::torus(2, 3).unwrap()), [3; 6]);
        assert_eq!(Topology::torus(5, 1).unwrap(), Topology::ring(5));
        assert_eq!(Topology::grid(1, 5).unwrap(), Topology::path(5).unwrap());
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(Topology::path(0), Err(TopologyError::Empty));
        assert_eq!(Topology::star(0), Err(TopologyError::Empty));
        assert_eq!(Topology::complete(0), Err(TopologyError::Empty));
        assert_eq!(Topology::grid(0, 4), Err(TopologyError::Empty));
        assert_eq!(Topology::torus(4, 0), Err(TopologyError::Empty));
        assert_eq!(Topology::torus(1 << 16, 1 << 16), Err(TopologyError::TooLarge));
        assert_eq!(Topology::grid(u32::MAX, 1), Err(TopologyError::TooLarge));
        assert_eq!(Topology::complete(100_000), Err(TopologyError::TooLarge));
    }
}
