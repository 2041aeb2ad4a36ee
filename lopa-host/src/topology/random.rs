//! Random graphs: Erdős–Rényi, geometric, small world. The same seed gives the same graph everywhere.

use std::collections::BTreeSet;

use lopa_core::draw::{Draws, Purpose, Stream};

use super::{Topology, TopologyError};
use crate::chance::{below, unit};
use crate::purposes::{ERDOS_RENYI, GEOMETRIC, SMALL_WORLD};

/// How many graphs are drawn in search of a connected one.
pub(super) const TRIES: u32 = 100;

/// # Random families
impl Topology {
    /// Erdős and Rényi's: every two nodes are linked with the same `probability`.
    ///
    /// ```
    /// # use lopa_host::topology::Topology;
    /// let graph = Topology::erdos_renyi(20, 0.3, 7)?;
    /// assert_eq!(graph, Topology::erdos_renyi(20, 0.3, 7)?);
    /// assert_ne!(graph, Topology::erdos_renyi(20, 0.3, 8)?);
    /// # Ok::<(), lopa_host::topology::TopologyError>(())
    /// ```
    ///
    /// # Errors
    /// Refuses a probability outside (0, 1], and gives up if no random graph is connected.
    pub fn erdos_renyi(nodes: u32, probability: f64, seed: u64) -> Result<Self, TopologyError> {
        let fits = probability > 0.0 && probability <= 1.0;
        TopologyError::unless(fits, "the probability", "above 0 and at most 1", probability)?;
        if probability == 1.0 {
            return Self::complete(nodes);
        }
        let advice = || {
            let enough = libm::log(f64::from(nodes)) / f64::from(nodes);
            format!("try a probability well above ln(nodes)/nodes = {enough:.2}, or another seed")
        };
        until_connected(nodes, seed, ERDOS_RENYI, advice, |stream| {
            pairs(nodes, probability, stream)
        })
    }

    /// Random geometric: nodes are random points in a unit square; those at most `radius` apart are linked, like radios.
    ///
    /// # Errors
    /// Refuses a radius that is not positive, and gives up if no random graph is connected.
    pub fn geometric(nodes: u32, radius: f64, seed: u64) -> Result<Self, TopologyError> {
        let fits = radius > 0.0 && radius.is_finite();
        TopologyError::unless(fits, "the radius", "above 0", radius)?;
        let advice = || {
            let share = libm::log(f64::from(nodes)) / (std::f64::consts::PI * f64::from(nodes));
            let enough = share.sqrt();
            format!(
                "try a radius well above sqrt(ln(nodes)/(pi nodes)) = {enough:.2}, or another seed"
            )
        };
        until_connected(nodes, seed, GEOMETRIC, advice, |stream| close(nodes, radius, stream))
    }

    /// Watts and Strogatz's small world: a ring in which every node is linked to the nearest `neighbours`, half before and
    /// half after, and the far end of each link moves to any other node with probability `rewired`.
    ///
    /// # Errors
    /// Refuses an odd number of neighbours, or as many as nodes, and a probability outside [0, 1]; gives up if no random
    /// graph is connected.
    pub fn small_world(
        nodes: u32,
        neighbours: u32,
        rewired: f64,
        seed: u64,
    ) -> Result<Self, TopologyError> {
        let fits = neighbours > 0 && neighbours.is_multiple_of(2) && neighbours < nodes;
        let (name, range) =
            ("the number of neighbours", "even, above 0 and below the number of nodes");
        TopologyError::unless(fits, name, range, neighbours.into())?;
        let fits = (0.0..=1.0).contains(&rewired);
        TopologyError::unless(fits, "the probability of rewiring", "between 0 and 1", rewired)?;
        let advice = || "try more neighbours, less rewiring, or another seed".to_owned();
        until_connected(nodes, seed, SMALL_WORLD, advice, |stream| {
            rewire(nodes, neighbours, rewired, stream)
        })
    }
}

/// Draws links until they connect all nodes.
fn until_connected<L: Iterator<Item = (u32, u32)>>(
    nodes: u32,
    seed: u64,
    purpose: Purpose,
    advice: impl Fn() -> String,
    draw: impl Fn(Stream) -> L,
) -> Result<Topology, TopologyError> {
    if nodes > super::MOST_NODES {
        return Err(TopologyError::TooLarge);
    }
    for attempt in 0..TRIES {
        let stream = Draws { seed, node: 0 }.stream(attempt.into(), purpose);
        match Topology::new(nodes, draw(stream)) {
            Err(TopologyError::Disconnected(_)) => {}
            other => return other,
        }
    }
    Err(TopologyError::Unlucky(advice()))
}

/// Every pair with the same probability below one, in time proportional to the pairs taken: the number of pairs skipped
/// before the next one follows a geometric distribution (Batagelj and Brandes, 2005).
fn pairs(nodes: u32, probability: f64, mut stream: Stream) -> impl Iterator<Item = (u32, u32)> {
    let scale = 1.0 / libm::log1p(-probability);
    let (mut low, mut high) = (-1_i64, 1_i64);
    std::iter::from_fn(move || {
        // As far as i64 reaches at most, so a tiny probability ends the iteration.
        let skipped = (libm::log(1.0 - unit(&mut stream)) * scale) as i64;
        low = low.saturating_add(1).saturating_add(skipped);
        while low >= high && high < i64::from(nodes) {
            low -= high;
            high += 1;
        }
        (high < i64::from(nodes)).then_some((low as u32, high as u32))
    })
}

/// Nodes on the unit square, and the pairs at most `radius` apart; only nodes of adjoining cells are compared.
fn close(nodes: u32, radius: f64, mut stream: Stream) -> impl Iterator<Item = (u32, u32)> {
    let points: Vec<[f64; 2]> =
        (0..nodes).map(|_| [unit(&mut stream), unit(&mut stream)]).collect();
    // Cells at least as wide as the radius, and no more of them than nodes.
    let side = (1.0 / radius).min(f64::from(nodes).sqrt()).max(1.0) as usize;
    let cell = move |point: [f64; 2]| point.map(|at| (at * side as f64) as usize);
    let mut cells = vec![Vec::new(); side * side];
    for (node, &point) in (0_u32..).zip(&points) {
        let [column, row] = cell(point);
        cells[row * side + column].push(node);
    }
    (0..nodes).flat_map(move |a| {
        let here = points[a as usize];
        let [column, row] = cell(here);
        let mut found = Vec::new();
        for row in row.saturating_sub(1)..(row + 2).min(side) {
            for column in column.saturating_sub(1)..(column + 2).min(side) {
                for &b in &cells[row * side + column] {
                    let [x, y] = points[b as usize];
                    let (x, y) = (x - here[0], y - here[1]);
                    if a < b && x * x + y * y <= radius * radius {
                        found.push((a, b));
                    }
                }
            }
        }
        found
    })
}

/// A ring with links to the `neighbours` nearest nodes, some far ends moved, without double links or loops.
fn rewire(
    nodes: u32,
    neighbours: u32,
    rewired: f64,
    mut stream: Stream,
) -> impl Iterator<Item = (u32, u32)> {
    let link = |a: u32, b: u32| (a.min(b), a.max(b));
    let after = |a: u32, step: u32| ((u64::from(a) + u64::from(step)) % u64::from(nodes)) as u32;
    let lattice = || (1..=neighbours / 2).flat_map(move |step| (0..nodes).map(move |a| (a, step)));
    let mut links: BTreeSet<(u32, u32)> =
        lattice().map(|(a, step)| link(a, after(a, step))).collect();
    let mut degrees = vec![neighbours; nodes as usize];
    for (a, step) in lattice() {
        let old = link(a, after(a, step));
        // A node that is linked to all others has nowhere to move a link to.
        if unit(&mut stream) >= rewired || degrees[a as usize] >= nodes - 1 {
            continue;
        }
        let far = loop {
            let far = below(&mut stream, nodes as usize) as u32;
            if far != a && !links.contains(&link(a, far)) {
                break far;
            }
        };
        links.remove(&old);
        links.insert(link(a, far));
        degrees[after(a, step) as usize] -= 1;
        degrees[far as usize] += 1;
    }
    links.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(round: u64) -> Stream {
        Draws { seed: 5, node: 0 }.stream(round, Purpose::custom(0))
    }

    #[test]
    fn every_pair_is_as_likely_as_asked() {
        let mut counts = [[0; 6]; 6];
        for round in 0..10_000 {
            let drawn: Vec<_> = pairs(6, 0.3, stream(round)).collect();
            assert!(drawn.iter().all(|(a, b)| a < b) && drawn.is_sorted_by_key(|(a, b)| (*b, *a)));
            drawn.iter().for_each(|&(a, b)| counts[a as usize][b as usize] += 1);
        }
        for (a, row) in counts.iter().enumerate() {
            for count in &row[a + 1..] {
                assert!((2_800..3_200).contains(count), "{counts:?}");
            }
        }
        assert_eq!(pairs(1_000, 1e-300, stream(0)).count(), 0);
    }

    #[test]
    fn cells_miss_no_pair() {
        for (round, radius) in [(0, 0.03), (1, 0.1), (2, 0.33), (3, 0.9), (4, 7.0)] {
            let mut again = stream(round);
            let points: Vec<_> = (0..80).map(|_| (unit(&mut again), unit(&mut again))).collect();
            let near = |a: usize, b: usize| {
                let (x, y) = (points[a].0 - points[b].0, points[a].1 - points[b].1);
                x * x + y * y <= radius * radius
            };
            let all = (0..80).flat_map(|a| (a + 1..80).map(move |b| (a, b)));
            let expected: BTreeSet<(u32, u32)> =
                all.filter(|&(a, b)| near(a, b)).map(|(a, b)| (a as u32, b as u32)).collect();
            assert!(!expected.is_empty());
            assert_eq!(close(80, radius, stream(round)).collect::<BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn rewiring_keeps_the_number_of_links_and_moves_its_share() {
        let lattice: BTreeSet<_> = rewire(500, 6, 0.0, stream(0)).collect();
        assert_eq!(lattice.len(), 1_500);
        assert!(
            lattice.contains(&(0, 3)) && lattice.contains(&(0, 497)) && !lattice.contains(&(0, 4))
        );
        let moved: BTreeSet<_> = rewire(500, 6, 0.2, stream(0)).collect();
        assert_eq!(moved.len(), 1_500);
        let kept = moved.intersection(&lattice).count();
        assert!((1_140..1_260).contains(&kept), "{kept}");
        // Nowhere to go: every node talks to all others.
        assert_eq!(rewire(5, 4, 1.0, stream(0)).count(), 10);
    }

    #[test]
    fn impossible_parameters_are_refused_with_advice() {
        let text = |result: Result<Topology, TopologyError>| result.unwrap_err().to_string();
        assert_eq!(
            text(Topology::erdos_renyi(50, 0.01, 1)),
            "none of 100 random graphs was connected: try a probability well above ln(nodes)/nodes = 0.08, \
             or another seed"
        );
        assert!(text(Topology::geometric(50, 0.05, 1)).contains("= 0.16, or another seed"));
        for p in [0.0, -0.1, 1.5, f64::NAN] {
            assert!(text(Topology::erdos_renyi(5, p, 1)).contains("above 0 and at most 1, got"));
        }
        for radius in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(text(Topology::geometric(5, radius, 1)).contains("the radius must be above 0"));
        }
        for (nodes, k) in [(10, 0), (10, 3), (4, 4), (0, 2)] {
            assert!(text(Topology::small_world(nodes, k, 0.1, 1)).contains("must be even"));
        }
        assert!(text(Topology::small_world(10, 2, -0.1, 1)).contains("rewiring must be between"));
        assert_eq!(Topology::erdos_renyi(0, 0.5, 1), Err(TopologyError::Empty));
        assert_eq!(Topology::geometric(0, 0.5, 1), Err(TopologyError::Empty));
        assert_eq!(Topology::geometric(u32::MAX, 0.5, 1), Err(TopologyError::TooLarge));
    }

    #[test]
    fn one_node_is_connected() {
        assert_eq!(Topology::erdos_renyi(1, 0.5, 1).unwrap().nodes(), 1);
        assert_eq!(Topology::geometric(1, 0.5, 1).unwrap().nodes(), 1);
        assert_eq!(Topology::erdos_renyi(7, 1.0, 1).unwrap().links().count(), 21);
    }
}
