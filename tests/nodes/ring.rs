//! The network that the boards run: a ring of four, and a node on its own.

use std::num::NonZeroU32;

use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::blob::{self, Plan, Start, Wiring};
use lopa_core::draw::Draws;
use lopa_core::exchange::{Peer, Timing};
use lopa_core::network::Edge;
use lopa_core::node::{Config, Scheme};
use lopa_core::problems::AnyProblem;
use lopa_core::steps::StepSizes;
use lopa_host::synthetic::{Recipe, Shard};
use lopa_host::topology::Topology;

pub const NODES: usize = 4;
pub const ROUNDS: u64 = 200;
pub const CHECKPOINT_EVERY: u32 = 25;
pub const START: f32 = -4.0;
pub const SCHEME: Scheme = Scheme::GradientTracking;

pub fn config(node: u32) -> Config {
    let steps = StepSizes::new(0.5, 0.3, 0.3, 0.5, 0.7).expect("sound steps");
    let size = BatchSize::Drawn(NonZeroU32::new(8).expect("not zero"));
    let draws = Draws { seed: 11, node };
    Config { steps, sampler: Sampler { draws, size, sharing: Sharing::Independent } }
}

const RECIPE: Recipe = Recipe { features: 24, relevant: 6, samples: 20, seed: 5 };

pub fn shards() -> Vec<Shard> {
    (0..NODES as u32).map(|node| RECIPE.shard(node)).collect()
}

/// Where each link of a node leads: 1 to the node before, 2 to the node after.
pub fn wires(node: usize) -> [Option<usize>; 5] {
    [None, Some((node + NODES - 1) % NODES), Some((node + 1) % NODES), None, None]
}

/// The nodes' blobs.
pub fn blobs(rounds: u64) -> Vec<Vec<u8>> {
    let edges = Topology::ring(NODES as u32).metropolis();
    let shards = shards();
    shards.iter().enumerate().map(|(node, shard)| blob(node, shard, rounds, &edges)).collect()
}

/// The blob of node 0, on its own, with so many features.
#[allow(dead_code, reason = "each test binary uses its part")]
pub fn alone(features: usize, rounds: u64) -> Vec<u8> {
    blob(0, &Recipe { features, ..RECIPE }.shard(0), rounds, &[])
}

fn blob(node: usize, shard: &Shard, rounds: u64, edges: &[Edge]) -> Vec<u8> {
    // So patient that nobody is given up, however busy this machine is.
    let timing = Timing {
        retry: 1_000_000,
        retry_most: 4_000_000,
        delay: 1_000,
        silence: 100_000_000,
        patience: 400_000_000,
        probe: 1_000_000,
    };
    let plan = Plan {
        network: 1,
        rounds,
        scheme: SCHEME,
        config: config(node as u32),
        chunk: 10,
        timing,
        baud: 115_200,
        wiring: Wiring::Direct,
        checkpoint_every: CHECKPOINT_EVERY,
    };
    let peer = |edge: &Edge| {
        let leads = |to: &Option<usize>| *to == Some(edge.neighbour as usize);
        let link = wires(node).iter().position(leads).expect("a neighbour") as u8;
        Peer { node: edge.neighbour, link, weight: edge.weight }
    };
    let own = edges.iter().filter(|edge| edge.node as usize == node);
    let peers: Vec<Peer> = own.map(peer).collect();
    let problem = AnyProblem::Logistic(shard.logistic().expect("a sound shard"));
    let mut bytes = Vec::new();
    blob::write(&plan, &problem, Start::Number(START), &peers, |piece| bytes.extend(piece))
        .expect("a sound blob");
    bytes
}
