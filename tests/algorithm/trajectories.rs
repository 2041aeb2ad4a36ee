//! Whole runs of LG and GT against Algorithm 1 in f64, and against each other where bits must not change.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use crate::reference::algorithm::Network;
use crate::reference::fixtures::{Encoding, Instance, Kind, Rng, Shape};
use crate::reference::fleet::{Fleet, Problems, exact_steps};
use crate::reference::graphs::Graph;
use crate::reference::{Lists, distance, exact, largest};
use lopa_core::batch::{Sampler, Sharing};
use lopa_core::draw::Purpose;
use lopa_core::node::{Neighbour, Scheme};
use lopa_core::problem::{Population, Problem};
use lopa_core::steps::StepSizes;
use lopa_core::vector::add_gap;

const SCHEMES: [Scheme; 2] = [Scheme::LocalGradient, Scheme::GradientTracking];

/// Rounds, and the largest error of a variable in them: four times the worst measured over all runs. Rounding errors add up
/// in the slowest direction of x until it settles; in other directions they fade.
const BOUNDS: [(u64, f64); 5] =
    [(1, 1.2e-6), (2, 1.2e-6), (10, 1.2e-6), (100, 4.0e-6), (1_000, 3.0e-5)];

/// A network to run: its nodes' problems have the same shape and different data.
struct Setting {
    graph: Graph,
    instances: Vec<Instance>,
    x0: Vec<f32>,
    steps: StepSizes,
}

impl Setting {
    fn new(kind: Kind, graph: Graph, m: usize) -> Self {
        let mut rng = Rng(m as u64);
        let (width, hidden) = if kind == Kind::SharedLayer { (9, 4) } else { (7, 5) };
        let instances: Vec<Instance> = (0..m)
            .map(|i| {
                let encoding = [Encoding::U8, Encoding::I8, Encoding::F32][i % 3];
                // Nodes have different numbers of samples, too.
                let (train, validation) = (6 + rng.below(9), 5 + rng.below(9));
                let shape = Shape { kind, encoding, width, hidden, classes: 3, train, validation };
                Instance::random(&mut rng, shape)
            })
            .collect();
        let x0 = rng.vector(instances[0].sizes().0, -1.0, 0.5);
        let steps = StepSizes::new(0.08, 0.15, 0.12, 0.3, 0.6).unwrap();
        Self { graph, instances, x0, steps }
    }

    fn problems(&self) -> Vec<Box<dyn Problem + '_>> {
        self.instances.iter().map(Instance::core).collect()
    }

    fn fleet<'a>(
        &self,
        problems: &'a Problems<'a>,
        scheme: Scheme,
        sampler: impl Fn(u32) -> Sampler,
    ) -> Fleet<'a> {
        let weights = self.graph.weights(self.instances.len());
        Fleet::new(problems, &weights, self.steps, scheme, &self.x0, sampler)
    }

    /// Runs both, and compares x, θ, v, z and y of all nodes in the rounds of [`BOUNDS`].
    ///
    /// An error counts relative to the largest element the variable has had on any node so far.
    fn agrees(&self, scheme: Scheme, sampler: impl Fn(u32) -> Sampler, last: u64) {
        let problems = self.problems();
        let mut fleet = self.fleet(&problems, scheme, &sampler);
        let references: Vec<_> = self.instances.iter().map(Instance::reference).collect();
        let lists = |i: usize, k: u64| lists(&sampler(i as u32), k, problems[i].population());
        let mut network = Network::new(
            &references,
            self.graph.weights(self.instances.len()),
            exact_steps(&self.steps),
            scheme == Scheme::GradientTracking,
            &exact(&self.x0),
            lists,
        );
        let mut peaks = [0.0_f64; 5];
        for round in 1..=last {
            fleet.round();
            network.step();
            let mut errors = [0.0_f64; 5];
            for (found, wanted) in fleet.states().iter().zip(&network.nodes) {
                let pairs = [
                    (found.x, &wanted.x),
                    (found.theta, &wanted.theta),
                    (found.v, &wanted.v),
                    (found.z, &wanted.z),
                    (found.y, &wanted.y),
                ];
                assert_eq!(found.round, round);
                for (i, (found, wanted)) in pairs.into_iter().enumerate() {
                    peaks[i] = peaks[i].max(largest(wanted));
                    errors[i] = largest(&[errors[i], distance(&exact(found), wanted)]);
                }
            }
            if let Some((_, bound)) = BOUNDS.iter().find(|(checked, _)| *checked == round) {
                let names = ["x", "theta", "v", "z", "y"];
                for (name, (error, peak)) in names.into_iter().zip(errors.into_iter().zip(peaks)) {
                    let (graph, m) = (self.graph, self.instances.len());
                    let place = format!("{name}, round {round}, {scheme:?}, {graph:?} of {m}");
                    assert!(error <= bound * peak, "{place}: {error:e} of {peak}");
                }
            }
        }
    }
}

/// The samples of the five oracles in round k.
fn lists(sampler: &Sampler, k: u64, population: Population) -> Lists {
    let inner = |purpose| sampler.batch(k, purpose, population.inner).indices().collect();
    let outer = |purpose| sampler.batch(k, purpose, population.outer).indices().collect();
    Lists {
        inner_gradient: inner(Purpose::INNER_GRADIENT),
        hessian_vector: inner(Purpose::HESSIAN_VECTOR),
        cross_vector: inner(Purpose::CROSS_VECTOR),
        outer_gradient_inner: outer(Purpose::OUTER_GRADIENT_INNER),
        outer_gradient_outer: outer(Purpose::OUTER_GRADIENT_OUTER),
    }
}

/// Both schemes on full batches over several networks, a thousand rounds.
fn full(kind: Kind, networks: &[(Graph, usize)]) {
    for &(graph, m) in networks {
        let setting = Setting::new(kind, graph, m);
        for scheme in SCHEMES {
            setting.agrees(scheme, Sampler::full, 1_000);
        }
    }
}

#[test]
fn quadratic() {
    full(Kind::Quadratic, &[(Graph::Complete, 1), (Graph::Star, 8), (Graph::Ring, 3)]);
}

#[test]
fn logistic() {
    full(Kind::Logistic, &[(Graph::Path, 2), (Graph::Ring, 5)]);
}

#[test]
fn ridge() {
    full(Kind::Ridge, &[(Graph::Path, 6), (Graph::Random, 8)]);
}

#[test]
fn shared_layer() {
    full(Kind::SharedLayer, &[(Graph::Star, 4), (Graph::Random, 5)]);
}

#[test]
fn meta_logistic() {
    full(Kind::MetaLogistic, &[(Graph::Complete, 4), (Graph::Path, 1)]);
}

#[test]
fn meta_squared() {
    full(Kind::MetaSquared, &[(Graph::Random, 7), (Graph::Ring, 3)]);
}

#[test]
fn every_oracle_uses_the_batch_drawn_for_it() {
    for kind in
        [Kind::Logistic, Kind::Ridge, Kind::SharedLayer, Kind::MetaLogistic, Kind::MetaSquared]
    {
        let setting = Setting::new(kind, Graph::Ring, 4);
        for sharing in [Sharing::Independent, Sharing::PerLevel] {
            let size = NonZeroU32::new(3).unwrap();
            let sampler = |i| Sampler { sharing, ..Sampler::drawn(9, i, size) };
            SCHEMES.into_iter().for_each(|scheme| setting.agrees(scheme, sampler, 100));
            // Both sides were given the same lists; every sample must be in some of them.
            let population = setting.problems()[0].population();
            let seen: BTreeSet<usize> =
                (0..100).flat_map(|k| lists(&sampler(0), k, population).inner_gradient).collect();
            assert!(seen.into_iter().eq(0..population.inner), "{kind:?}");
        }
    }
}

/// The bits of all nodes' variables and counters, between rounds.
fn bits(fleet: &Fleet<'_>) -> Vec<u64> {
    let mut bits = Vec::new();
    for node in &fleet.nodes {
        let state = node.state();
        for vector in [state.x, state.theta, state.v, state.z, state.y] {
            bits.extend(vector.iter().map(|a| u64::from(a.to_bits())));
        }
        bits.extend(node.evaluations().to_array());
        bits.extend([state.round, state.epoch.number, state.epoch.mark.into()]);
    }
    bits
}

#[test]
fn bits_do_not_depend_on_how_vectors_are_divided() {
    let setting = Setting::new(Kind::SharedLayer, Graph::Random, 6);
    let (m, n) = (6, setting.x0.len());
    assert!(n > 32, "mix_with must need more than one chunk");
    let problems = setting.problems();
    for scheme in SCHEMES {
        let mut fleet = setting.fleet(&problems, scheme, Sampler::full);
        // From one element per pass to more room than there are elements, with and without a remainder.
        let rooms = [2 * m, 4 * m - 1, 2 * m * 7, 2 * m * 31 + 5, 2 * m * (n - 1), 2 * m * (n + 9)];
        let mut cut = rooms.map(|room| fleet.clone().with_room(room));
        let (mut whole, mut by_hand) = (fleet.clone(), fleet.clone());
        for round in 0..60 {
            fleet.round();
            cut.iter_mut().for_each(Fleet::round);
            mix_whole(&mut whole);
            mix_by_hand(&mut by_hand, round);
            let wanted = bits(&fleet);
            for (fleet, room) in cut.iter().zip(rooms) {
                assert!(bits(fleet) == wanted, "{scheme:?}, room {room}, round {round}");
            }
            assert!(bits(&whole) == wanted, "{scheme:?}, mix_with, round {round}");
            assert!(bits(&by_hand) == wanted, "{scheme:?}, mix, round {round}");
        }
    }
}

/// x and y of all nodes, as they are sent.
fn sent(fleet: &Fleet<'_>) -> Vec<(Vec<f32>, Vec<f32>)> {
    fleet.states().iter().map(|state| (state.x.to_vec(), state.y.to_vec())).collect()
}

/// A round in which nodes exchange whole vectors.
fn mix_whole(fleet: &mut Fleet<'_>) {
    fleet.compute();
    let sent = sent(fleet);
    for (i, node) in fleet.nodes.iter_mut().enumerate() {
        let received = fleet.edges.iter().filter(|edge| edge.node as usize == i).map(|edge| {
            let (x, y) = &sent[edge.neighbour as usize];
            Neighbour { weight: edge.weight, x, y }
        });
        node.mix_with(received).unwrap();
    }
}

/// A round in which every node uses its own chunk lengths.
fn mix_by_hand(fleet: &mut Fleet<'_>, round: usize) {
    fleet.compute();
    let sent = sent(fleet);
    let mut rng = Rng(round as u64);
    for (i, node) in fleet.nodes.iter_mut().enumerate() {
        let (x, y) = &sent[i];
        let mut start = 0;
        while start < x.len() {
            let end = x.len().min(start + 1 + rng.below(17));
            let (mut x_gap, mut y_gap) = (vec![0.0; end - start], vec![0.0; end - start]);
            for edge in fleet.edges.iter().filter(|edge| edge.node as usize == i) {
                let (their_x, their_y) = &sent[edge.neighbour as usize];
                add_gap(&mut x_gap, edge.weight, &their_x[start..end], &x[start..end]);
                add_gap(&mut y_gap, edge.weight, &their_y[start..end], &y[start..end]);
            }
            node.mix(&x_gap, &y_gap).unwrap();
            start = end;
        }
    }
}

#[test]
fn a_restored_fleet_continues_bit_for_bit() {
    let setting = Setting::new(Kind::Logistic, Graph::Ring, 5);
    let problems = setting.problems();
    let sampler = |i| Sampler::drawn(77, i, NonZeroU32::new(4).unwrap());
    for scheme in SCHEMES {
        let mut fleet = setting.fleet(&problems, scheme, sampler);
        let mut fresh = fleet.clone();
        (0..300).for_each(|_| fleet.round());
        let saved: Vec<Vec<u8>> = fleet
            .nodes
            .iter()
            .map(|node| {
                let mut bytes = vec![0xff; node.checkpoint_len()];
                assert_eq!(node.save(&mut bytes), Ok(bytes.len()));
                bytes
            })
            .collect();
        let at_save = bits(&fleet);
        (0..300).for_each(|_| fleet.round());
        let wanted = bits(&fleet);
        assert!(fleet.nodes.iter().all(|node| node.evaluations().to_array() == [600; 5]));

        // A node that never ran, and one that ran too far.
        for fleet in [&mut fresh, &mut fleet] {
            for (node, saved) in fleet.nodes.iter_mut().zip(&saved) {
                node.restore(saved).unwrap();
            }
            assert!(bits(fleet) == at_save, "{scheme:?}");
            (0..300).for_each(|_| fleet.round());
            assert!(bits(fleet) == wanted, "{scheme:?}");
        }
    }
}
