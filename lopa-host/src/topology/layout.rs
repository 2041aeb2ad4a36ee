//! Where a drawing of a network places its nodes.

use lopa_core::draw::Draws;

use super::Topology;
use crate::chance::shuffle;
use crate::purposes;

/// How the nodes of a drawing are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// On a circle, node 0 at the top, clockwise.
    Circle,
    /// Node 0 in the middle of the others' circle.
    Star,
    /// Row by row.
    Grid {
        /// The nodes of a row.
        columns: u32,
    },
    /// As if springs held every two nodes as far apart as the shortest path between them is long.
    Springs {
        /// Another seed gives another drawing.
        seed: u64,
    },
}

/// A place; x grows to the right, y downwards.
pub type Point = [f64; 2];

impl Layout {
    /// A place for every node; linked nodes are about 1 apart.
    #[must_use]
    pub fn place(&self, topology: &Topology) -> Vec<Point> {
        let nodes = topology.nodes();
        match *self {
            Self::Circle => circle(nodes),
            Self::Star => std::iter::once([0.0; 2]).chain(circle(nodes - 1)).collect(),
            Self::Grid { columns } => {
                let columns = columns.max(1) as usize;
                (0..nodes).map(|i| [(i % columns) as f64, (i / columns) as f64]).collect()
            }
            Self::Springs { seed } => springs(topology, seed),
        }
    }
}

/// Nodes on a circle, 1 apart.
fn circle(nodes: usize) -> Vec<Point> {
    let turn = 2.0 * std::f64::consts::PI / nodes as f64;
    let radius = (1.0 / turn).max(0.5);
    (0..nodes)
        .map(|i| libm::sincos(i as f64 * turn))
        .map(|(sin, cos)| [radius * sin, -radius * cos])
        .collect()
}

/// How many nodes' distances to all others count; beyond it, those of some and of all neighbours do.
const PIVOTS: usize = 200;
/// How often every spring is relaxed.
const SWEEPS: u32 = 60;

/// Two nodes, and how far apart they should be.
struct Spring {
    ends: [usize; 2],
    length: f64,
}

/// Springs relaxed one by one, in random order and less and less (Zheng, Pawar and Goodman, "Graph drawing by
/// stochastic gradient descent", 2018). It avoids the knots in which forces that act all at once get caught.
fn springs(topology: &Topology, seed: u64) -> Vec<Point> {
    let nodes = topology.nodes();
    let mut stream = Draws { seed, node: 0 }.stream(0, purposes::LAYOUT);
    let mut places: Vec<Point> =
        (0..nodes).map(|_| [stream.signed_unit().into(), stream.signed_unit().into()]).collect();
    let mut springs = stretched(topology);
    let longest = springs.iter().fold(1.0, |top: f64, spring| spring.length.max(top));
    // The step starts where even the weakest spring is fully relaxed and ends at a tenth for the strongest.
    let mut step = longest * longest;
    let shrink = libm::pow(0.1 / step, 1.0 / f64::from(SWEEPS - 1));
    for _ in 0..SWEEPS {
        shuffle(&mut springs, &mut stream);
        for Spring { ends: [a, b], length } in &springs {
            let gap = [places[*a][0] - places[*b][0], places[*a][1] - places[*b][1]];
            let now = (gap[0] * gap[0] + gap[1] * gap[1]).sqrt().max(1e-9);
            let share = (step / (length * length)).min(1.0);
            let pull = 0.5 * share * (now - length) / now;
            for axis in 0..2 {
                places[*a][axis] -= pull * gap[axis];
                places[*b][axis] += pull * gap[axis];
            }
        }
        step *= shrink;
    }
    lie_flat(&mut places);
    places
}

/// The springs between nodes and, for large networks, only between pivots or neighbours and nodes.
fn stretched(topology: &Topology) -> Vec<Spring> {
    let nodes = topology.nodes();
    let pivots = nodes.min(PIVOTS);
    let is_pivot = |node: usize| (node * pivots) % nodes < pivots;
    let mut springs = Vec::new();
    for pivot in (0..nodes).filter(|&node| is_pivot(node)) {
        let distances = topology.distances(pivot as u32);
        let spring =
            |node: usize| Some(Spring { ends: [pivot, node], length: distances[node]?.into() });
        let others = (0..nodes).filter(|&node| node > pivot || !is_pivot(node));
        springs.extend(others.filter(|&node| node != pivot).filter_map(spring));
    }
    let rest = topology.links().map(|(a, b)| [a as usize, b as usize]);
    let rest = rest.filter(|ends| !ends.iter().any(|&end| is_pivot(end)));
    springs.extend(rest.map(|ends| Spring { ends, length: 1.0 }));
    springs
}

/// Turns the places so that they spread most from left to right, node 0 in the upper left quarter.
fn lie_flat(places: &mut [Point]) {
    let mean = |of: &dyn Fn(&Point) -> f64| {
        places.iter().map(of).sum::<f64>() / places.len().max(1) as f64
    };
    let centre = [mean(&|p| p[0]), mean(&|p| p[1])];
    let spread = |i: usize, j: usize| mean(&|p| (p[i] - centre[i]) * (p[j] - centre[j]));
    let (xx, yy, xy) = (spread(0, 0), spread(1, 1), spread(0, 1));
    // The direction of the larger eigenvalue of the 2x2 covariance.
    let half = 0.5 * (xx - yy);
    let root = (half * half + xy * xy).sqrt();
    let axis = if half >= 0.0 { [half + root, xy] } else { [xy, root - half] };
    let length = (axis[0] * axis[0] + axis[1] * axis[1]).sqrt();
    let [cos, sin] = if length > 1e-12 { axis.map(|a| a / length) } else { [1.0, 0.0] };
    for place in places.iter_mut() {
        let [x, y] = [place[0] - centre[0], place[1] - centre[1]];
        *place = [cos * x + sin * y, cos * y - sin * x];
    }
    let flip =
        places.first().map_or([1.0; 2], |first| first.map(|at| if at > 0.0 { -1.0 } else { 1.0 }));
    places.iter_mut().for_each(|place| *place = [flip[0] * place[0], flip[1] * place[1]]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::vector::squared_distance;

    fn distance(a: Point, b: Point) -> f64 {
        squared_distance(&a, &b).sqrt()
    }

    #[test]
    fn springs_find_the_shape_of_a_grid() {
        let grid = Topology::grid(5, 7).unwrap();
        for seed in 0..5 {
            let places = springs(&grid, seed);
            for (a, b) in grid.links() {
                let length = distance(places[a as usize], places[b as usize]);
                assert!((0.6..1.4).contains(&length), "seed {seed}, {a}-{b}: {length}");
            }
            // Opposite corners are the farthest apart; rows lie along the picture.
            assert!(distance(places[0], places[34]) > 6.0);
            assert!((places[6][0] - places[0][0]).abs() > 4.0 && places[0][0] < 0.0);
        }
    }

    #[test]
    fn large_networks_are_unfolded_too() {
        let path = Topology::path(1_000).unwrap();
        let places = springs(&path, 0);
        assert!(distance(places[0], places[999]) > 700.0);
        let near =
            path.links().filter(|&(a, b)| distance(places[a as usize], places[b as usize]) < 3.0);
        assert!(near.count() > 900);
    }

    #[test]
    fn places_repeat_and_are_numbers() {
        for nodes in 1..5 {
            for layout in [
                Layout::Circle,
                Layout::Star,
                Layout::Grid { columns: 0 },
                Layout::Springs { seed: 3 },
            ] {
                let graph = Topology::ring(nodes);
                let places = layout.place(&graph);
                assert_eq!(places.len(), nodes as usize);
                assert_eq!(places, layout.place(&graph));
                assert!(places.iter().flatten().all(|at| at.is_finite()), "{layout:?}");
            }
        }
    }
}
