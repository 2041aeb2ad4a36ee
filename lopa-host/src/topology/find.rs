//! A graph with a wanted rho.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use lopa_core::draw::{Draws, Stream};

use super::{Topology, TopologyError, Weights};
use crate::chance::{below, shuffle};
use crate::locked::locked;
use crate::purposes;

/// The most nodes that [`find`] searches for.
pub const MOST_NODES_TO_FIND: u32 = 1_000;

/// Searches that start afresh.
const STARTS: u32 = 16;
/// Changes tried in each of them.
const CHANGES: u32 = 300;
/// The search ends when it is this close.
const CLOSE: f64 = 1.0e-9;
/// Multiplications after which a search ends: a few seconds.
const WORK: usize = 2_000_000_000;

/// A graph that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The graph.
    pub topology: Topology,
    /// Its rho, with Metropolis weights.
    pub rho: f64,
    /// The rho that was wanted.
    pub wanted: f64,
}

impl Found {
    /// How far the graph's rho is from the wanted one.
    #[must_use]
    pub fn off(&self) -> f64 {
        (self.rho - self.wanted).abs()
    }
}

/// A graph whose rho with Metropolis weights is as close to `wanted` as a search of a few seconds gets.
///
/// It starts from paths and rings, adds links in random order until rho has fallen far enough, and then adds, removes and
/// moves single links as long as that comes closer. The same seed finds the same graph.
///
/// ```
/// let found = lopa_host::topology::find(0.79, 10, 1)?;
/// assert_eq!(found.topology.nodes(), 10);
/// assert!(found.off() < 0.01);
/// # Ok::<(), lopa_host::topology::TopologyError>(())
/// ```
///
/// # Errors
/// Refuses a rho outside [0, 1), and fewer nodes than 1 or more than [`MOST_NODES_TO_FIND`].
pub fn find(wanted: f64, nodes: u32, seed: u64) -> Result<Found, TopologyError> {
    TopologyError::unless((0.0..1.0).contains(&wanted), "rho", "in [0, 1)", wanted)?;
    if nodes > MOST_NODES_TO_FIND {
        return Err(TopologyError::Search(nodes));
    }
    let path = Topology::path(nodes)?;
    let rho = Weights::metropolis(&path).spectrum().rho();
    let best = Found { topology: path, rho, wanted };
    let mut search = Search { nodes, best, work: WORK };
    for family in [Topology::star, Topology::complete] {
        search.consider(family(nodes)?);
    }
    for start in 0..STARTS {
        let mut stream = Draws { seed, node: 0 }.stream(start.into(), purposes::FIND);
        let Some(found) = search.descend(start % 2 == 1, &mut stream) else { break };
        search.improve(found, &mut stream);
        if search.best.off() <= CLOSE {
            break;
        }
    }
    Ok(search.best)
}

/// [`find`], once for all runs of this process that want the same graph: a study has hundreds of them.
pub(super) fn find_once(wanted: f64, nodes: u32, seed: u64) -> Result<Found, TopologyError> {
    type Place = Arc<OnceLock<Result<Found, TopologyError>>>;
    static PLACES: Mutex<BTreeMap<(u64, u32, u64), Place>> = Mutex::new(BTreeMap::new());
    // Searches for other graphs do not wait for this one.
    let place = locked(&PLACES).entry((wanted.to_bits(), nodes, seed)).or_default().clone();
    place.get_or_init(|| find(wanted, nodes, seed)).clone()
}

type Links = Vec<(u32, u32)>;

struct Search {
    nodes: u32,
    best: Found,
    work: usize,
}

impl Search {
    /// A graph's rho minus the wanted one; keeps the closest graph. None once all work is used up.
    fn consider(&mut self, topology: Topology) -> Option<f64> {
        let weights = Weights::metropolis(&topology);
        let spectrum = weights.spectrum();
        self.work = self.work.checked_sub((spectrum.steps + 10) * (weights.edges().len() + 10))?;
        let (rho, wanted) = (spectrum.rho(), self.best.wanted);
        let found = Found { topology, rho, wanted };
        if found.off() < self.best.off() {
            self.best = found;
        }
        Some(rho - wanted)
    }

    /// The same for links; infinite if they do not connect all nodes.
    fn excess(&mut self, links: &[(u32, u32)]) -> Option<f64> {
        match Topology::new(self.nodes, links.iter().copied()) {
            Ok(topology) => self.consider(topology),
            Err(_) => Some(f64::INFINITY),
        }
    }

    /// Adds links to a path or ring until rho crosses the wanted one.
    fn descend(&mut self, closed: bool, stream: &mut Stream) -> Option<Links> {
        let base = |(a, b): &(u32, u32)| b - a == 1 || (closed && b - a == self.nodes - 1);
        let all = (0..self.nodes).flat_map(|a| (a + 1..self.nodes).map(move |b| (a, b)));
        let (mut links, mut more): (Links, Links) = all.partition(base);
        shuffle(&mut more, stream);
        let fixed = links.len();
        links.append(&mut more);
        // With `few` links rho is too large, or there are no more to remove; with `many` it is not, or there are no more.
        let (mut few, mut many) = (fixed, links.len());
        while few + 1 < many {
            let middle = few.midpoint(many);
            let above = self.excess(&links[..middle])? > 0.0;
            *(if above { &mut few } else { &mut many }) = middle;
        }
        let few_off = self.excess(&links[..few])?.abs();
        let many_off = self.excess(&links[..many])?.abs();
        links.truncate(if few_off < many_off { few } else { many });
        Some(links)
    }

    /// Adds, removes or moves links as long as that comes closer.
    fn improve(&mut self, mut links: Links, stream: &mut Stream) -> Option<()> {
        let mut off = self.excess(&links)?.abs();
        for _ in 0..CHANGES {
            let mut changed = links.clone();
            // One change adds or removes a link, two may move one.
            for _ in 0..1 + stream.next() % 2 {
                toggle(&mut changed, self.nodes, stream);
            }
            let now = self.excess(&changed)?.abs();
            if now < off {
                (links, off) = (changed, now);
            }
            if off <= CLOSE {
                break;
            }
        }
        Some(())
    }
}

/// Removes a random link, or adds one between two random nodes, equally often.
fn toggle(links: &mut Links, nodes: u32, stream: &mut Stream) {
    if below(stream, 2) == 0 {
        if !links.is_empty() {
            links.swap_remove(below(stream, links.len()));
        }
        return;
    }
    let [a, b] = [nodes; 2].map(|nodes| below(stream, nodes as usize) as u32);
    let link = (a.min(b), a.max(b));
    if a != b && !links.contains(&link) {
        links.push(link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_nodes_leave_little_choice() {
        for nodes in 1..3 {
            let found = find(0.5, nodes, 0).unwrap();
            assert_eq!(found.topology, Topology::path(nodes).unwrap());
            assert!((found.off() - 0.5).abs() < 1e-12);
        }
        assert_eq!(find(0.0, 6, 0).unwrap().topology, Topology::complete(6).unwrap());
    }

    #[test]
    fn what_is_kept_belongs_to_one_rho_size_and_seed() {
        for (wanted, nodes, seed) in
            [(0.5, 6, 0), (0.6, 6, 0), (0.5, 7, 0), (0.5, 6, 1), (1.5, 6, 0)]
        {
            let found = find(wanted, nodes, seed);
            // The second time from memory.
            assert_eq!([(); 2].map(|()| find_once(wanted, nodes, seed)), [found.clone(), found]);
        }
    }
}
