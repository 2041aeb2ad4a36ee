//! Small networks with Metropolis weights.

use lopa_core::network::Edge;

/// 0 - 1 - 2.
#[must_use]
pub fn path() -> [Edge; 4] {
    metropolis(&[(0, 1), (1, 2)])
}

/// 0 - 1 - 2 - 3 - 0.
#[must_use]
pub fn ring() -> [Edge; 8] {
    metropolis(&[(0, 1), (1, 2), (2, 3), (0, 3)])
}

/// 0 in the middle of 1, 2 and 3.
#[must_use]
pub fn star() -> [Edge; 6] {
    metropolis(&[(0, 1), (0, 2), (0, 3)])
}

/// Both directions of every link, sorted, each weighing 1 / (1 + the larger of its ends' degrees).
fn metropolis<const E: usize>(links: &[(u32, u32)]) -> [Edge; E] {
    let degree = |node: u32| links.iter().filter(|&&(a, b)| a == node || b == node).count();
    let directions = || links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
    let mut last = None;
    core::array::from_fn(|_| {
        // The smallest direction not listed yet: with few links, a sort is not worth its code.
        let next = directions().filter(|&d| last.is_none_or(|last| d > last)).min();
        let (node, neighbour) = next.expect("E is twice the number of links");
        last = next;
        let weight = 1.0 / (1.0 + degree(node).max(degree(neighbour)) as f32);
        Edge { node, neighbour, weight }
    })
}
