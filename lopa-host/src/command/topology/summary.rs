//! The properties of a network, as text and as JSON.

use std::collections::VecDeque;
use std::fmt::Write as _;

use lopa_host::topology::{Topology, Weights};
use serde::Serialize;

/// The most nodes that are listed individually.
const MOST_LISTED: usize = 24;
/// The most steps along links to compute the diameter; beyond that, a bound is given.
const MOST_STEPS: usize = 100_000_000;

/// The properties of a network.
#[derive(Debug, Serialize)]
pub(super) struct Summary<'a> {
    #[serde(skip)]
    weights: &'a Weights,
    network: String,
    pub(super) nodes: usize,
    links: usize,
    degrees: Degrees,
    /// A node with the most links: it needs a UART for each.
    busiest: u32,
    diameter: usize,
    /// If not, the diameter may be larger.
    diameter_exact: bool,
    pub(super) rho: f64,
    rho_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rho_wanted: Option<f64>,
    /// Before the weights were rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    rho_unrounded: Option<f64>,
    second_eigenvalue: f64,
    last_eigenvalue: f64,
    gap: f64,
    /// What each node keeps of its own value.
    own: Vec<f64>,
    /// Each link once: two nodes and the weight.
    edges: Vec<(u32, u32, f32)>,
}

#[derive(Debug, Serialize)]
struct Degrees {
    least: usize,
    mean: f64,
    most: usize,
}

impl<'a> Summary<'a> {
    /// Of these weights; `unrounded` are those they were rounded from.
    pub(super) fn new(
        weights: &'a Weights,
        unrounded: Option<&Weights>,
        network: String,
        rho_wanted: Option<f64>,
    ) -> Self {
        let topology = weights.topology();
        let (nodes, links) = (topology.nodes(), topology.links().count());
        let degrees = weights.degrees();
        let least = degrees.iter().copied().min().unwrap_or(0);
        let most = degrees.iter().copied().max().unwrap_or(0);
        let busiest = (0..).zip(&degrees).find(|(_, degree)| **degree == most);
        let mut own = vec![1.0_f64; nodes];
        weights.edges().iter().for_each(|e| own[e.node as usize] -= f64::from(e.weight));
        let once = weights.edges().iter().filter(|edge| edge.node < edge.neighbour);
        let edges = once.map(|edge| (edge.node, edge.neighbour, edge.weight)).collect();
        let spectrum = weights.spectrum();
        let (diameter, diameter_exact) = diameter(topology, links);
        Self {
            weights,
            network,
            nodes,
            links,
            degrees: Degrees { least, mean: 2.0 * links as f64 / nodes as f64, most },
            busiest: busiest.map_or(0, |(node, _)| node),
            diameter,
            diameter_exact,
            rho: spectrum.rho(),
            rho_error: spectrum.error,
            rho_wanted,
            rho_unrounded: unrounded.map(|weights| weights.spectrum().rho()),
            second_eigenvalue: spectrum.second,
            last_eigenvalue: spectrum.last,
            gap: spectrum.gap,
            own,
            edges,
        }
    }

    pub(super) fn text(&self) -> String {
        let Degrees { least, mean, most } = self.degrees;
        let bound = if self.diameter_exact { "" } else { "at least " };
        let uarts = match most {
            0 => "none".into(),
            _ => format!("{most} at node {}, the busiest", self.busiest),
        };
        let mut rows = vec![
            ("network", self.network.clone()),
            ("nodes", self.nodes.to_string()),
            ("links", self.links.to_string()),
            ("links per node", format!("{least} to {most}, {mean:.2} on average")),
            ("UARTs", uarts),
            ("diameter", format!("{bound}{}", self.diameter)),
            ("rho", format!("{:.9} +- {:.0e}", self.rho, self.rho_error)),
        ];
        if let Some(wanted) = self.rho_wanted {
            rows.push(("wanted", format!("{wanted}, {:.1e} away", (self.rho - wanted).abs())));
        }
        if let Some(before) = self.rho_unrounded {
            let change = self.rho - before;
            rows.push(("rounding", format!("to 1/256, rho was {before:.9} ({change:+.1e})")));
        }
        rows.push((
            "eigenvalues",
            format!("second {:.9}, last {:.9}", self.second_eigenvalue, self.last_eigenvalue),
        ));
        rows.push(("spectral gap", significant(self.gap)));
        if let Some(rounds) = self.rounds() {
            let noun = if rounds == 1 { "round" } else { "rounds" };
            rows.push(("mixing", format!("disagreement falls to a tenth in {rounds} {noun}")));
        }
        let mut text = String::new();
        for (name, value) in rows {
            let _ = writeln!(text, "{name:<14} {value}");
        }
        text + &self.listing()
    }

    /// The rounds after which the slowest disagreement is a tenth of what it was.
    fn rounds(&self) -> Option<u64> {
        let rate = -libm::log1p(-self.gap);
        let rounds = libm::ceil(std::f64::consts::LN_10 / rate).max(1.0);
        (self.gap > 0.0 && rounds.is_finite()).then_some(rounds as u64)
    }

    /// The links of each node with their weights, if there are not too many.
    fn listing(&self) -> String {
        if self.nodes > MOST_LISTED {
            return format!("\nnodes are listed up to {MOST_LISTED}: --json has them all\n");
        }
        let mut text = String::from("\nnode    keeps  neighbours and weights\n");
        for (node, own) in (0_u32..).zip(&self.own) {
            let edges = self.weights.edges().iter().filter(|edge| edge.node == node);
            let others = edges.map(|edge| format!("  {}: {:.4}", edge.neighbour, edge.weight));
            text += &format!("{node:>4}   {own:.4}{}\n", others.collect::<String>());
        }
        text
    }
}

/// At least six significant digits, however small the value.
fn significant(value: f64) -> String {
    if value >= 1e-3 { format!("{value:.9}") } else { format!("{value:.6e}") }
}

/// The longest of all shortest paths, and whether that is certain.
fn diameter(topology: &Topology, links: usize) -> (usize, bool) {
    let nodes = topology.nodes() as u32;
    let mut distances = Vec::new();
    if topology.nodes().saturating_mul(2 * links + topology.nodes()) <= MOST_STEPS {
        let farthest = (0..nodes).map(|node| farthest(topology, node, &mut distances).1);
        return (farthest.max().unwrap_or(0), true);
    }
    // From one end to the other: exact on trees and rings, a bound elsewhere.
    let (mut node, mut longest) = (0, 0);
    for _ in 0..4 {
        let (far, length) = farthest(topology, node, &mut distances);
        (node, longest) = (far, longest.max(length));
    }
    (longest, false)
}

/// A node farthest from this one, and how far it is.
fn farthest(topology: &Topology, from: u32, distances: &mut Vec<usize>) -> (u32, usize) {
    distances.clear();
    distances.resize(topology.nodes(), usize::MAX);
    distances[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    let mut last = from;
    while let Some(node) = queue.pop_front() {
        last = node;
        for &other in topology.neighbours(node) {
            if distances[other as usize] == usize::MAX {
                distances[other as usize] = distances[node as usize] + 1;
                queue.push_back(other);
            }
        }
    }
    (last, distances[last as usize])
}
