//! Nodes in one process: the exchange of a round, and what it refuses.

use crate::common::{N, gt, lg, scratch};
use lopa_core::network::{Edge, NetworkError, exchange};
use lopa_core::node::{Divergence, Neighbour, NodeError, Phase, Variable};

const fn edge(node: u32, neighbour: u32) -> Edge {
    Edge { node, neighbour, weight: 1.0 / 3.0 }
}
const PATH: [Edge; 4] = [edge(0, 1), edge(1, 0), edge(1, 2), edge(2, 1)];

#[test]
fn the_room_changes_the_number_of_passes_but_no_bit() {
    macro_rules! check {
        ($make:ident) => {{
            let mut by_hand = [0, 1, 2].map($make);
            for _ in 0..20 {
                by_hand.iter_mut().for_each(|node| node.compute(&mut scratch()).unwrap());
                let sent = by_hand.each_ref().map(|node| (*node.x_array(), *node.y_array()));
                for (i, node) in by_hand.iter_mut().enumerate() {
                    let listens = PATH.iter().filter(|edge| edge.node as usize == i);
                    node.mix_with(listens.map(|edge| {
                        let (x, y) = &sent[edge.neighbour as usize];
                        Neighbour { weight: edge.weight, x, y }
                    }))
                    .unwrap();
                }
            }
            for room in [6, 7, 12, 13, 6 * N, 1000] {
                let mut nodes = [0, 1, 2].map($make);
                for _ in 0..20 {
                    nodes.iter_mut().for_each(|node| node.compute(&mut scratch()).unwrap());
                    exchange(&mut nodes, &PATH, &mut vec![9.0; room]).unwrap();
                }
                for (node, other) in nodes.iter().zip(&by_hand) {
                    assert_eq!(node.state(), other.state());
                }
            }
        }};
    }
    check!(lg);
    check!(gt);
}

#[test]
fn bad_networks_are_refused_before_any_node_changes() {
    let mut nodes = [0, 1, 2].map(gt);
    let mut room = [0.0; 60];
    let refused = |nodes: &mut [_], edges: &[Edge], room: &mut [f32]| {
        exchange(nodes, edges, room).unwrap_err()
    };
    assert_eq!(refused(&mut nodes, &PATH, &mut room), NetworkError::Unlike { node: 0 });
    nodes.iter_mut().for_each(|node| node.compute(&mut scratch()).unwrap());
    for (edges, index) in [
        (&[edge(0, 1), edge(0, 3)][..], 1),
        (&[edge(3, 1)], 0),
        (&[edge(1, 1)], 0),
        (&[edge(0, 1), edge(0, 1)], 1),
        (&[edge(1, 0), edge(0, 1)], 1),
    ] {
        assert_eq!(refused(&mut nodes, edges, &mut room), NetworkError::Edge { index });
    }
    assert_eq!(refused(&mut nodes, &PATH, &mut [0.0; 5]), NetworkError::Room { needed: 6 });
    nodes[2].mix(&[0.0], &[0.0]).unwrap();
    assert_eq!(refused(&mut nodes, &PATH, &mut room), NetworkError::Unlike { node: 2 });
    assert_eq!(nodes[0].phase(), Phase::Mixing { next: 0 });
    let nobody = exchange::<crate::common::Broken, [f32; 1], [f32; 1], [f32; 1]>;
    nobody(&mut [], &[], &mut []).unwrap();
    assert_eq!(nobody(&mut [], &PATH, &mut []), Err(NetworkError::Edge { index: 0 }));
}

#[test]
fn a_node_that_diverges_is_named() {
    let mut nodes = [0, 1, 2].map(gt);
    nodes.iter_mut().for_each(|node| node.compute(&mut scratch()).unwrap());
    let mut edges = PATH;
    edges[2].weight = f32::INFINITY;
    let error = NodeError::Diverged(Divergence { round: 0, variable: Variable::Outer });
    // Equal x make 0 · ∞: NaN.
    assert_eq!(
        exchange(&mut nodes, &edges, &mut [0.0; 60]),
        Err(NetworkError::Node { node: 1, error })
    );
    assert_eq!(
        exchange(&mut nodes, &PATH, &mut [0.0; 60]),
        Err(NetworkError::Node { node: 1, error })
    );
}

#[test]
fn the_readme_and_the_docs_of_the_exchange_show_the_same_example() {
    let page = include_str!("../docs/two-nodes.md");
    let code = &page[page.find("```rust").unwrap()..];
    assert!(include_str!("../README.md").contains(code));
}
