//! What holds in every round: sums, counts, agreement, draws, threads, checkpoints.

use std::fmt::Debug;
use std::num::NonZeroU32;

use lopa_core::batch::Sampler;
use lopa_core::draw::Draws;
use lopa_core::network::NetworkError;
use lopa_core::node::{NodeError, Variable};
use lopa_core::oracles::{Evaluations, Oracles};
use lopa_core::problem::{Point, Problem};
use lopa_core::problems::{LogisticLoss, Meta};
use lopa_core::samples::LabelKind;

use super::{NODES, Setting, TERMS, mean, table};
use crate::algorithms::estimate::{Neumann, descend_from_zero};
use crate::algorithms::{
    Algorithm, AlgorithmName, AlgorithmTable, Batch, NodeView, Sent, Truncation, build,
};
use crate::data::{Shard, synthetic::Recipe};
use crate::topology::Topology;

/// All bits of all nodes.
fn bits<P>(network: &dyn Algorithm<P>) -> Vec<u32> {
    let mut bits = Vec::new();
    for node in network.nodes() {
        let own = [Some(node.x), Some(node.theta), node.v, node.z, node.y];
        let extra = node.extra.iter().map(|(_, vector)| *vector);
        let all = own.into_iter().flatten().chain(extra);
        bits.extend(all.flat_map(|vector| vector.iter().map(|a| a.to_bits())));
    }
    bits
}

#[test]
fn what_tracks_has_the_mean_of_what_it_tracks() {
    let setting = Setting::new(1.0);
    for name in [
        AlgorithmName::LopaGt,
        AlgorithmName::Spdb,
        AlgorithmName::Mdbo,
        AlgorithmName::Vrdbo,
        AlgorithmName::Dsgt,
    ] {
        let mut network = setting.build(&table(name));
        for round in 0..500 {
            network.step().unwrap();
            let nodes = network.nodes();
            let y = mean(nodes.iter().filter_map(|node| node.y));
            let z = mean(nodes.iter().filter_map(|node| node.z));
            let off = y.iter().zip(&z).map(|(y, z)| (y - z).abs()).fold(0.0, f64::max);
            assert!(off < 3.0e-6 && !y.is_empty(), "{name}, round {round}: {off:e}");
        }
    }
}

#[test]
fn multipliers_of_consensus_add_up_to_nothing_and_steps_are_those_of_extra() {
    let setting = Setting::new(1.0);
    let table = table(AlgorithmName::Slam);
    let mut network = setting.build(&table);
    let mut past: Vec<[Vec<Vec<f32>>; 2]> = Vec::new();
    for round in 0..200 {
        let x = network.nodes().iter().map(|node| node.x.to_vec()).collect();
        network.step().unwrap();
        let nodes = network.nodes();
        let dual = mean(nodes.iter().map(|node| node.extra[0].1));
        assert_eq!(nodes[0].extra[0].0, "dual");
        assert!(dual.iter().all(|a| a.abs() < 1.0e-6), "round {round}: {dual:?}");
        past.push([x, nodes.iter().map(|node| node.z.unwrap().to_vec()).collect()]);
        if let [.., [x0, z0], [x1, z1]] = &past[..] {
            // x₂ = (I + W) x₁ - ½ (I + W) x₀ - α (z₁ - z₀).
            for (i, node) in nodes.iter().enumerate() {
                for t in 0..4 {
                    let pull = |x: &[Vec<f32>]| -> f64 {
                        let own = setting.edges.iter().filter(|edge| edge.node as usize == i);
                        own.map(|edge| {
                            let other = f64::from(x[edge.neighbour as usize][t]);
                            f64::from(edge.weight) * (other - f64::from(x[i][t]))
                        })
                        .sum()
                    };
                    let a = |x: &[Vec<f32>]| f64::from(x[i][t]);
                    let wanted = 2.0 * a(x1) + pull(x1)
                        - a(x0)
                        - 0.5 * pull(x0)
                        - f64::from(table.alpha) * (a(z1) - a(z0));
                    let off = (f64::from(node.x[t]) - wanted).abs();
                    assert!(off < 2.0e-6, "round {round}: {off:e}");
                }
            }
        }
    }
}

#[test]
fn a_round_costs_what_is_said() {
    let setting = Setting::new(1.0);
    let q = u64::from(TERMS);
    // ∇θ g, H v, J v, ∇θ f, ∇x f; vectors and numbers sent.
    for (name, counts, vectors, floats) in [
        (AlgorithmName::LopaLg, [1, 1, 1, 1, 1], 1, 4),
        (AlgorithmName::LopaGt, [1, 1, 1, 1, 1], 2, 8),
        (AlgorithmName::Spdb, [1, q - 1, 1, 1, 1], 2, 8),
        (AlgorithmName::MaDsbo, [3, q, 1, 1, 1], 1, 4),
        (AlgorithmName::GossipDsbo, [1, q - 1, 1, 1, 1], 1, 4),
        (AlgorithmName::Slam, [1, q - 1, 1, 1, 1], 1, 4),
        (AlgorithmName::Mdbo, [1, q - 1, 1, 1, 1], 2, 8),
        // Twice each, but for the first round.
        (AlgorithmName::Vrdbo, [2, 2 * q - 2, 2, 2, 2], 2, 8),
        (AlgorithmName::Dgd, [1, 0, 0, 0, 0], 1, 3),
        (AlgorithmName::Dsgt, [1, 0, 0, 0, 0], 2, 6),
    ] {
        let network = setting.run(&table(name), 11);
        let first = if name == AlgorithmName::Vrdbo { 2 } else { 1 };
        let wanted = counts.map(|count| 10 * count + count / first);
        for node in network.nodes() {
            assert_eq!(node.evaluations.to_array(), wanted, "{name}");
        }
        assert_eq!(network.sent(), Sent { vectors: 11 * vectors, floats: 11 * floats }, "{name}");
        assert_eq!(network.round(), 11, "{name}");
    }
}

#[test]
fn random_truncation_costs_half_and_is_right_on_average() {
    let setting = Setting::new(1.0);
    let problem = setting.problems()[0];
    let (x, theta) = ([0.3, -0.2, 0.5, 0.1], [0.4, -0.7, 0.2]);
    let at = Point { x: &x, theta: &theta };
    let terms = NonZeroU32::new(6).unwrap();
    let mut count = Evaluations::default();
    let mut estimate = |truncation, round: u64| {
        let neumann = Neumann { lambda: 0.3, terms, truncation };
        let sampler = Sampler::full(0);
        let mut oracles = Oracles::new(&problem, sampler, round, &x, &mut count, &mut []);
        let (mut v, mut room) = ([0.0; 3], [[0.0; 3]; 3]);
        let room = room.each_mut().map(|room| &mut room[..]);
        let draws = (Draws { seed: 5, node: 0 }, round);
        neumann.estimate(&mut oracles, draws, at, &mut v, room).unwrap();
        v
    };
    let exact = estimate(Truncation::Fixed, 0);
    let rounds = 20_000;
    let random: Vec<[f32; 3]> = (0..rounds).map(|k| estimate(Truncation::Random, k)).collect();
    let average = mean(random.iter().map(|v| &v[..]));
    for (average, exact) in average.iter().zip(exact) {
        // Estimates spread as wide as they are long: a percent is a good standard error.
        assert!((average - f64::from(exact)).abs() < 0.03, "{average} for {exact}");
    }
    assert!(random.iter().any(|v| v != &random[0]));
    let products = (count.hessian_vector - 5) as f64 / rounds as f64;
    assert!((products - 2.5).abs() < 0.05, "{products}");
    // And all terms are the steps MA-DSBO makes from zero.
    let (mut v, mut room) = ([0.0; 3], [[0.0; 3]; 3]);
    let room = room.each_mut().map(|room| &mut room[..]);
    let mut oracles = Oracles::new(&problem, Sampler::full(0), 0, &x, &mut count, &mut []);
    descend_from_zero(&mut oracles, at, 0.3, 6, &mut v, room).unwrap();
    assert!(v.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1.0e-6), "{v:?}, not {exact:?}");
}

#[test]
fn nodes_that_agree_go_on_agreeing_to_the_bit() {
    let setting = Setting::new(0.0);
    for name in AlgorithmName::ALL {
        let network = setting.run(&table(name), 50);
        let nodes = network.nodes();
        for node in &nodes {
            assert!(node.x == nodes[0].x && node.theta == nodes[0].theta, "{name}");
            assert!(node.z == nodes[0].z, "{name}");
        }
    }
}

#[test]
fn storm_that_forgets_everything_is_momentum_that_does() {
    let setting = Setting::new(1.0);
    let [mdbo, vrdbo] = [AlgorithmName::Mdbo, AlgorithmName::Vrdbo].map(|name| {
        let mut table = table(name);
        (table.gamma, table.inner_gamma) = (Some(1.0), Some(1.0));
        setting.run(&table, 60).nodes().iter().map(|node| node.x.to_vec()).collect::<Vec<_>>()
    });
    assert_eq!(mdbo, vrdbo);
}

/// A table for logistic regression, with chance in it wherever there can be.
fn drawn(name: AlgorithmName) -> AlgorithmTable {
    let mut table = table(name);
    table.batch = Batch::Drawn(5);
    table.hessian_steps = table.hessian_steps.map(|_| 4);
    table.truncation = table.truncation.map(|_| Truncation::Random);
    (table.beta, table.lambda) = (table.beta.map(|_| 0.05), table.lambda.map(|_| 0.05));
    table
}

/// Samples of two classes.
fn shards() -> Vec<Shard> {
    let recipe = Recipe { features: 5, relevant: 2, samples: 20, seed: 1 };
    (0..NODES).map(|node| recipe.shard(node)).collect()
}

/// A problem whose hypergradient is not zero where θ is.
fn meta(shard: &Shard) -> Meta<'_, LogisticLoss> {
    let kind = LabelKind::Binary;
    let (train, validation) = (shard.train.samples(kind), shard.validation.samples(kind));
    Meta::new(train.unwrap(), validation.unwrap(), 2.0).unwrap()
}

/// Thirty rounds on batches of five.
fn thirty_rounds<'p, P: Problem + Send + Sync + Debug + 'p>(
    problems: impl Iterator<Item = P>,
    table: &AlgorithmTable,
    seed: u64,
) -> Box<dyn Algorithm<P> + 'p> {
    let edges = Topology::ring(NODES).metropolis();
    let sampler = |node| Sampler::drawn(seed, node, NonZeroU32::new(5).unwrap());
    let mut network = build(table, problems, edges, |n| vec![-2.0; n], sampler).unwrap();
    (0..30).for_each(|_| network.step().unwrap());
    network
}

#[test]
fn storm_that_stands_still_is_momentum_and_in_motion_is_not() {
    let shards = shards();
    for (step, still) in [(1.0e-30, true), (0.05, false)] {
        let [mdbo, vrdbo] = [AlgorithmName::Mdbo, AlgorithmName::Vrdbo].map(|name| {
            let mut table = drawn(name);
            (table.alpha, table.beta) = (step, Some(step));
            thirty_rounds(shards.iter().map(meta), &table, 3)
        });
        for (a, b) in mdbo.nodes().iter().zip(vrdbo.nodes()) {
            let momentum = |node: &NodeView<'_, _>| {
                let found = node.extra.iter().find(|(name, _)| *name == "momentum");
                found.unwrap().1.to_vec()
            };
            for (a, b) in
                [(a.z.unwrap().to_vec(), b.z.unwrap().to_vec()), (momentum(a), momentum(&b))]
            {
                let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(if still { off < 1.0e-5 } else { off > 1.0e-4 }, "{off} with steps {step}");
                assert!(a.iter().any(|a| a.abs() > 1.0e-3), "{a:?}");
            }
        }
    }
}

#[test]
fn threads_do_not_change_a_bit_and_seeds_do() {
    let shards = shards();
    for name in AlgorithmName::ALL {
        let run = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let problems = shards.iter().map(|shard| shard.logistic().unwrap());
            pool.install(|| bits(&*thirty_rounds(problems, &drawn(name), seed)))
        };
        let one = run(1, 7);
        assert!(one == run(2, 7) && one == run(8, 7), "{name}");
        assert!(one != run(1, 8), "{name} draws nothing");
    }
}

#[test]
fn a_network_that_is_put_back_goes_on_to_the_same_bits() {
    let setting = Setting::new(1.0);
    for name in AlgorithmName::ALL {
        let mut table = table(name);
        table.truncation = table.truncation.map(|_| Truncation::Random);
        let straight = setting.run(&table, 12);
        let saved = setting.run(&table, 7).checkpoint().unwrap();
        let mut again = setting.build(&table);
        again.restore(&saved).unwrap();
        assert_eq!(again.round(), 7);
        (0..5).for_each(|_| again.step().unwrap());
        assert_eq!(bits(&*straight), bits(&*again), "{name}");
        let counts = |network: &dyn Algorithm<_>| network.nodes()[3].evaluations;
        assert_eq!(counts(&*straight), counts(&*again), "{name}");
        let mut fresh = setting.build(&table);
        assert!(fresh.restore(&saved[..saved.len() - 4]).is_err(), "{name}");
        assert!(fresh.restore(&[]).is_err(), "{name}");
    }
}

#[test]
fn divergence_is_named_and_nothing_infinite_is_left() {
    let setting = Setting::new(1.0);
    for name in AlgorithmName::ALL {
        for (key, variables) in [
            ("alpha", &[Variable::Outer, Variable::Direction, Variable::Inner][..]),
            ("beta", &[Variable::Inner, Variable::Hypergradient]),
            ("lambda", &[Variable::HessianInverseVector, Variable::Hypergradient]),
        ] {
            let mut table = table(name);
            let huge = |step: Option<f32>| step.map(|_| 1.0e20);
            match key {
                "alpha" => table.alpha = 1.0e20,
                "beta" => table.beta = huge(table.beta),
                _ => table.lambda = huge(table.lambda),
            }
            if key != "alpha" && table.beta.is_none() {
                continue;
            }
            let mut network = setting.build(&table);
            let error = (0..2_000).find_map(|_| network.step().err());
            let Some(NetworkError::Node { error: NodeError::Diverged(end), .. }) = error else {
                panic!("{name}, {key}: {error:?}");
            };
            // A wild x makes everything that is computed from it wild.
            assert!(key == "alpha" || variables.contains(&end.variable), "{name}, {key}: {end:?}");
            assert_eq!(network.step().err(), error, "it does not go on");
            assert!(network.checkpoint().is_none(), "{name}");
            let finite = bits(&*network).iter().all(|a| f32::from_bits(*a).is_finite());
            assert!(finite, "{name}, {key}");
        }
    }
}
