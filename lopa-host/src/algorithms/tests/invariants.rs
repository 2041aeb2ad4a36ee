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

use super::{NODES, Setting, TERMS, apart, mean, table};
use crate::algorithms::estimate::{Neumann, descend_from_zero};
use crate::algorithms::{
    Algorithm, AlgorithmName, AlgorithmTable, Batch, Key, NodeView, Sent, StepError, Truncation,
    build,
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
        AlgorithmName::SparkleGt,
        AlgorithmName::Dsgt,
    ] {
        let mut network = setting.build(&table(name));
        for round in 0..500 {
            network.step().unwrap();
            let nodes = network.nodes();
            let y = mean(nodes.iter().filter_map(|node| node.y));
            let z = mean(nodes.iter().filter_map(|node| node.z));
            let off = apart(&y, &z);
            assert!(off < 3.0e-6 && !y.is_empty(), "{name}, round {round}: {off:e}");
        }
    }
}

#[test]
fn multipliers_of_consensus_add_up_to_nothing() {
    let setting = Setting::new(1.0);
    for name in [AlgorithmName::Slam, AlgorithmName::SparkleExtra, AlgorithmName::SparkleEd] {
        let mut network = setting.build(&table(name));
        for round in 0..200 {
            network.step().unwrap();
            let nodes = network.nodes();
            assert_eq!(nodes[0].extra[0].0, "dual");
            let dual = mean(nodes.iter().map(|node| node.extra[0].1));
            assert!(dual.iter().all(|a| a.abs() < 1.0e-6), "{name}, round {round}: {dual:?}");
        }
        let nodes = network.nodes();
        assert!(
            nodes.iter().all(|node| node.extra[0].1.iter().any(|a| a.abs() > 1.0e-3)),
            "{name}"
        );
    }
}

#[test]
fn steps_of_slam_are_those_of_extra() {
    let setting = Setting::new(1.0);
    let table = table(AlgorithmName::Slam);
    let mut network = setting.build(&table);
    let alpha = f64::from(table.alpha.unwrap());
    let mut past = Vec::new();
    for round in 0..200 {
        let before = network.nodes();
        let xs: Vec<&[f32]> = before.iter().map(|node| node.x).collect();
        let (pulls, xs) = (setting.pulls(&xs), xs.concat());
        network.step().unwrap();
        let nodes = network.nodes();
        let flat = |of: fn(&NodeView<'_, _>) -> Vec<f32>| nodes.iter().flat_map(of);
        past.push((xs, pulls.concat(), flat(|node| node.z.unwrap().to_vec()).collect::<Vec<_>>()));
        let [.., (x0, pull0, z0), (x1, pull1, z1)] = &past[..] else { continue };
        for (i, x2) in flat(|node| node.x.to_vec()).enumerate() {
            // x₂ = (I + W) x₁ - ½ (I + W) x₀ - α (z₁ - z₀).
            let [x0, x1, x2, z0, z1] = [x0[i], x1[i], x2, z0[i], z1[i]].map(f64::from);
            let wanted = 2.0 * x1 + pull1[i] - x0 - 0.5 * pull0[i] - alpha * (z1 - z0);
            assert!((x2 - wanted).abs() < 2.0e-6, "round {round}: {x2}, not {wanted}");
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
        (AlgorithmName::MaDsbo, [3, q - 1, 1, 1, 1], 1, 4),
        (AlgorithmName::GossipDsbo, [1, q - 1, 1, 1, 1], 1, 4),
        (AlgorithmName::Slam, [1, q - 1, 1, 1, 1], 1, 4),
        (AlgorithmName::Mdbo, [1, q - 1, 1, 1, 1], 2, 8),
        // Twice each, but for the first round.
        (AlgorithmName::Vrdbo, [2, 2 * q - 2, 2, 2, 2], 2, 8),
        (AlgorithmName::DSobaSo, [1, 1, 1, 1, 1], 1, 4),
        // Two gradients in θ and two in x for the products.
        (AlgorithmName::DSobaFo, [5, 0, 0, 1, 1], 1, 4),
        (AlgorithmName::SparkleExtra, [1, 1, 1, 1, 1], 1, 4),
        (AlgorithmName::SparkleEd, [1, 1, 1, 1, 1], 1, 4),
        (AlgorithmName::SparkleGt, [1, 1, 1, 1, 1], 2, 8),
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
    let mut estimate = |truncation: Option<Truncation>, round: u64| {
        let mut oracles = Oracles::new(&problem, Sampler::full(0), round, &x, &mut count, &mut []);
        let (mut v, mut room) = ([0.0; 3], [[0.0; 3]; 3]);
        let room = room.each_mut().map(|room| &mut room[..]);
        let draws = (Draws { seed: 5, node: 0 }, round);
        match truncation.map(|truncation| Neumann { lambda: 0.3, terms, truncation }) {
            Some(neumann) => neumann.estimate(&mut oracles, draws, at, &mut v, room).unwrap(),
            None => descend_from_zero(&mut oracles, at, 0.3, 6, &mut v, room).unwrap(),
        }
        v
    };
    let exact = estimate(Some(Truncation::Fixed), 0);
    let rounds = 20_000;
    let random: Vec<[f32; 3]> =
        (0..rounds).map(|k| estimate(Some(Truncation::Random), k)).collect();
    // All terms are the steps MA-DSBO makes from zero.
    let steps = estimate(None, 0);
    assert!(apart(&steps, &exact) < 1.0e-6, "{steps:?}, not {exact:?}");
    let average = mean(random.iter().map(|v| &v[..]));
    // Estimates spread as wide as they are long: a percent is a good standard error.
    assert!(apart(&average, &exact) < 0.03, "{average:?} for {exact:?}");
    assert!(random.iter().any(|v| v != &random[0]));
    let products = (count.hessian_vector - 5 - 5) as f64 / rounds as f64;
    assert!((products - 2.5).abs() < 0.05, "{products}");
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
pub(super) fn drawn(name: AlgorithmName) -> AlgorithmTable {
    let mut table = table(name);
    table.batch = Batch::Drawn(5);
    table.hessian_steps = table.hessian_steps.map(|_| 4);
    table.truncation = table.truncation.map(|_| Truncation::Random);
    (table.beta, table.lambda) = (table.beta.map(|_| 0.05), table.lambda.map(|_| 0.05));
    table
}

/// Samples of two classes.
pub(super) fn shards() -> Vec<Shard> {
    let recipe = Recipe { features: 5, relevant: 2, samples: 20, alike: false, seed: 1 };
    (0..NODES).map(|node| recipe.shard(node)).collect()
}

/// A problem whose hypergradient is not zero where θ is.
pub(super) fn meta(shard: &Shard) -> Meta<'_, LogisticLoss> {
    let kind = LabelKind::Binary;
    let (train, validation) = (shard.train.samples(kind), shard.validation.samples(kind));
    Meta::new(train.unwrap(), validation.unwrap(), 2.0).unwrap()
}

/// Thirty rounds on batches of five.
pub(super) fn thirty_rounds<'p, P: Problem + Send + Sync + Debug + 'p>(
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
            (table.alpha, table.beta) = (Some(step), Some(step));
            thirty_rounds(shards.iter().map(meta), &table, 3)
        });
        for (a, b) in mdbo.nodes().iter().zip(vrdbo.nodes()) {
            assert_eq!((a.extra[0].0, b.extra[0].0), ("momentum", "momentum"));
            for (a, b) in [(a.z.unwrap(), b.z.unwrap()), (a.extra[0].1, b.extra[0].1)] {
                let off = apart(a, b);
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
            // A wild x makes everything that is computed from it wild.
            (Key::Alpha, None),
            (Key::Beta, Some([Variable::Inner, Variable::Hypergradient])),
            (Key::Lambda, Some([Variable::HessianInverseVector, Variable::Hypergradient])),
        ] {
            let mut table = table(name);
            if table.step(key).is_none() {
                continue;
            }
            table.set_step(key, 1.0e20);
            let mut network = setting.build(&table);
            let error = (0..2_000).find_map(|_| network.step().err());
            let Some(StepError::Network(NetworkError::Node {
                error: NodeError::Diverged(end),
                ..
            })) = error
            else {
                panic!("{name}, {key:?}: {error:?}");
            };
            let expected = variables.is_none_or(|variables| variables.contains(&end.variable));
            assert!(expected, "{name}, {key:?}: {end:?}");
            assert_eq!(network.step().err(), error, "it does not go on");
            assert!(network.checkpoint().is_none(), "{name}");
            let finite = bits(&*network).iter().all(|a| f32::from_bits(*a).is_finite());
            assert!(finite, "{name}, {key:?}");
        }
    }
}
