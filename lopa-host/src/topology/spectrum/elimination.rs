//! The low end of I - W by way of its inverse, for the long thin networks that Lanczos' method is slow on.
//!
//! Nodes are eliminated one after the other, fewest links first: what a node passed on, its neighbours then pass to
//! each other. Every number stays positive and nothing is ever subtracted, so nothing cancels (Grassmann, Taksar and
//! Heyman, 1985). Rings, paths, trees and grids leave little to do; a network for which this is too much work has
//! short ways between its nodes, and Lanczos' method is quick.

use std::collections::BTreeSet;

use lopa_core::network::Edge;

use super::{ABSOLUTE, RELATIVE, centre, dot, laplacian, lowest, norm, start};

/// Solves of a run; a well separated eigenvalue needs a dozen.
const MOST_SOLVES: usize = 200;

/// The smallest eigenvalue of I - W apart from 0, a bound of its error, and the solves it took. Nothing if more than
/// `work` steps of elimination are needed, or the bound is not small.
pub(super) fn lowest_by_inverse(
    nodes: usize,
    edges: &[Edge],
    work: usize,
) -> Option<(f64, f64, usize)> {
    let elimination = Elimination::new(nodes, edges, work)?;
    // Lanczos' method on the inverse, whose largest eigenvalue stands far from the others.
    let mut here = start(nodes);
    let (mut before, mut next, mut back) = (vec![0.0; nodes], vec![0.0; nodes], vec![0.0; nodes]);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::<f64>::new());
    // By how much a solution missed, at most: so far may the inverse be off, relative to its norm.
    let mut missed: f64 = 0.0;
    for solves in 1..=MOST_SOLVES {
        next.copy_from_slice(&here);
        elimination.solve(&mut next);
        centre(&mut next);
        laplacian(edges, &next, &mut back);
        back.iter_mut().zip(&here).for_each(|(b, h)| *b -= h);
        missed = missed.max(norm(&back));

        let link = beside.last().copied().unwrap_or(0.0);
        next.iter_mut().zip(&before).for_each(|(n, b)| *n -= link * b);
        let along = dot(&next, &here);
        next.iter_mut().zip(&here).for_each(|(n, h)| *n -= along * h);
        centre(&mut next);
        diagonal.push(-along);
        let rest = norm(&next);
        let (value, tail) = lowest(&diagonal, &beside);
        let top = -value;
        if !(top.is_finite() && top > 0.0) {
            return None;
        }
        let (gap, residual) = (1.0 / top, rest * tail / top);
        if residual <= 0.25 * RELATIVE {
            // Where the inverse is known to a small part, so is the gap; two covers the rest of the series.
            let error = 2.0 * gap * (residual + missed);
            return (error <= (RELATIVE * gap).max(ABSOLUTE)).then_some((gap, error, solves));
        }
        beside.push(rest);
        next.iter_mut().for_each(|n| *n /= rest);
        std::mem::swap(&mut before, &mut here);
        std::mem::swap(&mut here, &mut next);
    }
    None
}

/// I - W, taken apart node by node.
struct Elimination {
    /// The nodes in the order of elimination but for the last: node, its weights' sum, where its links end.
    steps: Vec<(u32, f64, usize)>,
    /// The node that is left.
    last: usize,
    /// Their links at that time, one node after the other.
    links: Vec<(u32, f64)>,
}

impl Elimination {
    fn new(nodes: usize, edges: &[Edge], work: usize) -> Option<Self> {
        let mut links: Vec<Vec<(u32, f64)>> = vec![Vec::new(); nodes];
        for edge in edges {
            links[edge.node as usize].push((edge.neighbour, edge.weight.into()));
        }
        let mut queue: BTreeSet<(usize, u32)> =
            (0..).zip(&links).map(|(node, links)| (links.len(), node)).collect();
        let mut result = Self { steps: Vec::with_capacity(nodes), last: 0, links: Vec::new() };
        let mut left = work;
        while queue.len() > 1 {
            let (_, node) = queue.pop_first()?;
            let own = std::mem::take(&mut links[node as usize]);
            let sum: f64 = own.iter().map(|&(_, weight)| weight).sum();
            for &(other, weight) in &own {
                let theirs = &mut links[other as usize];
                left = left.checked_sub(theirs.len() + own.len())?;
                queue.remove(&(theirs.len(), other));
                *theirs = merged(theirs, node, other, &own, weight / sum);
                queue.insert((theirs.len(), other));
            }
            result.links.extend_from_slice(&own);
            result.steps.push((node, sum, result.links.len()));
        }
        result.last = queue.pop_first()?.1 as usize;
        Some(result)
    }

    /// A solution of (I - W) x = b, in place; b has the mean zero.
    fn solve(&self, b: &mut [f64]) {
        let mut from = 0;
        for &(node, sum, to) in &self.steps {
            let part = b[node as usize] / sum;
            for &(other, weight) in &self.links[from..to] {
                b[other as usize] += weight * part;
            }
            from = to;
        }
        // Solutions differ by a constant: the last node's value is free.
        b[self.last] = 0.0;
        let mut to = self.links.len();
        for (step, &(node, sum, _)) in self.steps.iter().enumerate().rev() {
            let from = step.checked_sub(1).map_or(0, |before| self.steps[before].2);
            let flow: f64 = self.links[from..to]
                .iter()
                .map(|&(other, weight)| weight * b[other as usize])
                .sum();
            b[node as usize] = (b[node as usize] + flow) / sum;
            to = from;
        }
    }
}

/// The links of `own_number` without `gone`, and with `share` of the links that one had. All are sorted.
fn merged(
    theirs: &[(u32, f64)],
    gone: u32,
    own_number: u32,
    added: &[(u32, f64)],
    share: f64,
) -> Vec<(u32, f64)> {
    let mut result = Vec::with_capacity(theirs.len() + added.len());
    let mut theirs = theirs.iter().copied().filter(|&(node, _)| node != gone).peekable();
    for &(node, weight) in added.iter().filter(|&&(node, _)| node != own_number) {
        while let Some(link) = theirs.next_if(|&(their, _)| their < node) {
            result.push(link);
        }
        let before = theirs.next_if(|&(their, _)| their == node).map_or(0.0, |(_, weight)| weight);
        result.push((node, before + share * weight));
    }
    result.extend(theirs);
    result
}

#[cfg(test)]
mod tests {
    use super::super::super::{Topology, Weights};
    use super::*;

    #[test]
    fn a_solution_is_one() {
        let graph = Topology::geometric(60, 0.3, 2).unwrap();
        let weights = Weights::metropolis(&graph);
        let elimination = Elimination::new(60, weights.edges(), usize::MAX).unwrap();
        let b = start(60);
        let (mut x, mut back) = (b.clone(), vec![0.0; 60]);
        elimination.solve(&mut x);
        laplacian(weights.edges(), &x, &mut back);
        let off = back.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-13, "{off:e}");
    }

    #[test]
    fn both_ways_agree() {
        for (graph, name) in [
            (Topology::geometric(200, 0.15, 1).unwrap(), "geometric"),
            (Topology::small_world(300, 4, 0.05, 1).unwrap(), "small world"),
            (Topology::grid(12, 17).unwrap(), "grid"),
            (Topology::ring(400), "ring"),
        ] {
            let weights = Weights::metropolis(&graph);
            let spectrum = weights.spectrum();
            assert!(spectrum.steps < super::super::PATIENCE, "{name} is Lanczos' alone");
            let (gap, error, _) =
                lowest_by_inverse(graph.nodes(), weights.edges(), usize::MAX).unwrap();
            let off = (gap - spectrum.gap).abs();
            assert!(off <= error + spectrum.error && off < 1e-9 * gap, "{name}: {off:e} {error:e}");
        }
    }

    #[test]
    fn too_much_work_is_refused() {
        let graph = Topology::erdos_renyi(300, 0.3, 1).unwrap();
        let weights = Weights::metropolis(&graph);
        assert!(lowest_by_inverse(300, weights.edges(), 100_000).is_none());
        assert!(lowest_by_inverse(300, weights.edges(), usize::MAX).is_some());
    }

    #[test]
    fn a_hundred_thousand_nodes_in_a_row() {
        let third = f64::from(1.0_f32 / 3.0);
        for (graph, turn) in
            [(Topology::ring(100_000), 2.0), (Topology::path(100_000).unwrap(), 1.0)]
        {
            let spectrum = Weights::metropolis(&graph).spectrum();
            let sine = libm::sin(std::f64::consts::PI * turn / 200_000.0);
            let known = 4.0 * third * sine * sine;
            // Far more digits than an error bound of 1e-14 promises.
            assert!((spectrum.gap / known - 1.0).abs() < 1e-10, "{spectrum:?}");
            assert!(spectrum.error < 2e-14 && spectrum.steps < 1_000, "{spectrum:?}");
        }
    }
}
