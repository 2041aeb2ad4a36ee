//! The Laplacian I - W of a network: products with it, and solutions of its equations.
//!
//! Solutions come from eliminating the nodes one after the other, fewest links first: what a node passed on, its
//! neighbours then pass to each other. Every number stays positive and nothing is ever subtracted, so nothing cancels
//! (Grassmann, Taksar and Heyman, 1985). Rings, paths, trees and grids leave little to do.

use std::collections::BTreeSet;

use lopa_core::network::Edge;

/// Writes (I - W) x to `out`, as differences along the links: a node's own weight is implied, exactly as in the
/// exchange. The edges are sorted by node.
pub(crate) fn product(edges: &[Edge], x: &[f64], out: &mut [f64]) {
    let mut edges = edges.iter().peekable();
    for ((node, out), own) in (0_u32..).zip(out).zip(x) {
        *out = 0.0;
        while let Some(edge) = edges.next_if(|edge| edge.node == node) {
            *out += f64::from(edge.weight) * (own - x[edge.neighbour as usize]);
        }
    }
}

/// I - W with its nodes eliminated.
pub(crate) struct Elimination {
    /// All nodes but the last, in the order of elimination: node, sum of its weights, where its links end in `links`.
    steps: Vec<(u32, f64, usize)>,
    /// The node that is left.
    last: usize,
    /// The links that each node had when it was eliminated.
    links: Vec<(u32, f64)>,
}

impl Elimination {
    /// Eliminates the nodes; nothing if that takes more than `work` steps.
    pub(crate) fn new(nodes: usize, edges: &[Edge], work: usize) -> Option<Self> {
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

    /// A solution of (I - W) x = b, in place; the mean of b is zero.
    pub(crate) fn solve(&self, b: &mut [f64]) {
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

/// The links of node `own` without the one to `gone`, and with a `share` of the links that `gone` had. All are sorted.
fn merged(
    theirs: &[(u32, f64)],
    gone: u32,
    own: u32,
    added: &[(u32, f64)],
    share: f64,
) -> Vec<(u32, f64)> {
    let mut result = Vec::with_capacity(theirs.len() + added.len());
    let mut theirs = theirs.iter().copied().filter(|&(node, _)| node != gone).peekable();
    for &(node, weight) in added.iter().filter(|&&(node, _)| node != own) {
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
    use super::*;
    use crate::numerics::vector::centre;
    use crate::topology::{Topology, Weights};

    #[test]
    fn solutions_satisfy_the_equations() {
        let weights = Weights::metropolis(&Topology::geometric(60, 0.3, 2).unwrap());
        let elimination = Elimination::new(60, weights.edges(), usize::MAX).unwrap();
        let mut b: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 60) / 60.0).collect();
        centre(&mut b);
        let (mut x, mut back) = (b.clone(), vec![0.0; 60]);
        elimination.solve(&mut x);
        product(weights.edges(), &x, &mut back);
        let off = back.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-13, "{off:e}");
    }
}
