//! Nodes whose vectors travel in few bits: where they end, what they keep exactly, and when they stop.
#![allow(clippy::disallowed_methods, reason = "f64 references: their last bits do not matter")]

use crate::common::{self, config, quadratic, scratch};
use lopa_core::batch::Sampler;
use lopa_core::checkpoint::CheckpointError;
use lopa_core::codec::{
    BLOCK, Codec, CodedGtNode, CodedLgNode, CodedNeighbour, CodedNode, Integers, Ledgers, Share,
};
use lopa_core::draw::{Draws, Purpose};
use lopa_core::epoch::Epoch;
use lopa_core::node::{
    Config, Divergence, GtNode, LgNode, Neighbour, NodeError, Phase, Scratch, Variable,
};
use lopa_core::problem::Problem;
use lopa_core::problems::{Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;
use lopa_core::vector::Storage;

/// Not a multiple of a block.
const N: usize = 40;
const P: usize = 6;
const NODES: usize = 10;

/// The numbers of quadratics with diagonal inner Hessians: their optimum has a closed form.
struct Parts {
    diagonal: Vec<f32>,
    coupling: Vec<f32>,
    shift: Vec<f32>,
    target: Vec<f32>,
    centre: Vec<f32>,
}

const RIGIDITY: f32 = 0.5;

impl Parts {
    fn new(node: u32) -> Self {
        let mut stream = Draws { seed: 5, node }.stream(0, Purpose::INNER_GRADIENT);
        let mut draw = |len: usize, base: f32, scale: f32| -> Vec<f32> {
            (0..len).map(|_| base + scale * stream.signed_unit()).collect()
        };
        Self {
            diagonal: draw(P, 1.5, 0.5),
            coupling: draw(N * P, 0.0, 0.2),
            shift: draw(P, 0.0, 1.0),
            target: draw(P, 0.5, 2.0),
            centre: draw(N, 0.3, 1.0),
        }
    }

    fn problem(&self) -> Quadratic<'_> {
        Quadratic::new(QuadraticParts {
            diagonal: &self.diagonal,
            spike: &[0.0; P],
            coupling: &self.coupling,
            shift: &self.shift,
            target: &self.target,
            centre: &self.centre,
            rigidity: RIGIDITY,
        })
        .unwrap()
    }

    /// Adds ∇Φ at x: r (x - q) + B' A⁻¹ (θ* - t), with θ* = A⁻¹ (B x + c).
    fn add_hypergradient(&self, x: &[f64; N], out: &mut [f64; N]) {
        for e in 0..N {
            out[e] += f64::from(RIGIDITY) * (x[e] - f64::from(self.centre[e]));
        }
        for (p, row) in self.coupling.chunks(N).enumerate() {
            let pull: f64 = row.iter().zip(x).map(|(b, x)| f64::from(*b) * x).sum();
            let a = f64::from(self.diagonal[p]);
            let theta = (pull + f64::from(self.shift[p])) / a;
            let v = (theta - f64::from(self.target[p])) / a;
            row.iter().zip(out.iter_mut()).for_each(|(b, out)| *out += v * f64::from(*b));
        }
    }
}

/// The optimum of the mean of all nodes, by descent in f64.
fn optimum(parts: &[Parts]) -> [f64; N] {
    let mut x = [0.0; N];
    for _ in 0..3_000 {
        let mut gradient = [0.0; N];
        parts.iter().for_each(|part| part.add_hypergradient(&x, &mut gradient));
        x.iter_mut().zip(gradient).for_each(|(x, g)| *x -= 0.5 * g / parts.len() as f64);
    }
    x
}

fn steps() -> StepSizes {
    StepSizes::new(0.3, 0.3, 0.3, 0.5, 0.5).unwrap()
}

fn neighbours(node: usize) -> [usize; 2] {
    let around = [(node + 1) % NODES, (node + NODES - 1) % NODES];
    [around[0].min(around[1]), around[0].max(around[1])]
}

const WEIGHT: f32 = 85.0 / 256.0;

/// One round of a ring.
fn round<P, X, T, D, I, J>(
    nodes: &mut [CodedNode<P, X, T, D, I, J>],
    scratch: &mut Scratch<impl Storage, impl Storage>,
) -> Result<(), NodeError>
where
    P: Problem,
    X: Storage,
    T: Storage,
    D: Storage,
    I: Integers,
    J: Integers,
{
    let mut sent = Vec::new();
    for node in nodes.iter_mut() {
        node.compute(scratch)?;
        let len = node.state().x.len();
        let (mut x, mut y) = (vec![0; len], vec![0; len]);
        node.changes(&mut x, &mut y);
        sent.push((x, y));
    }
    let share = Share::of(WEIGHT).unwrap();
    for (number, node) in nodes.iter_mut().enumerate() {
        let of = |other: usize| CodedNeighbour { share, x: &sent[other].0, y: &sent[other].1 };
        node.mix_with(neighbours(number).map(of))?;
    }
    Ok(())
}

/// The root mean square distance of the nodes from a point.
fn distance<'a>(nodes: impl Iterator<Item = &'a [f32]>, point: &[f64; N]) -> f64 {
    let square = |x: &[f32]| -> f64 {
        x.iter().zip(point).map(|(x, best)| (f64::from(*x) - best).powi(2)).sum()
    };
    (nodes.map(square).sum::<f64>() / NODES as f64).sqrt()
}

/// The distance of floats after 20,000 rounds with the same weights.
fn distance_of_floats(parts: &[Parts], best: &[f64; N]) -> f64 {
    let config = |id| Config { steps: steps(), sampler: Sampler::full(id) };
    let node = |(id, part)| GtNode::<_, N, P>::gradient_tracking(part, config(id), [0.0; N]);
    let problems = parts.iter().map(Parts::problem);
    let mut nodes: Vec<_> = (0..).zip(problems).map(|each| node(each).unwrap()).collect();
    let mut scratch = Scratch::<[f32; P], [f32; 0]>::new();
    for _ in 0..20_000 {
        nodes.iter_mut().for_each(|node| node.compute(&mut scratch).unwrap());
        let sent: Vec<_> = nodes.iter().map(|node| (*node.x_array(), *node.y_array())).collect();
        for (number, node) in nodes.iter_mut().enumerate() {
            let of =
                |other: usize| Neighbour { weight: WEIGHT, x: &sent[other].0, y: &sent[other].1 };
            node.mix_with(neighbours(number).map(of)).unwrap();
        }
    }
    distance(nodes.iter().map(|node| &node.x_array()[..]), best)
}

#[test]
fn tracking_with_few_bits_ends_at_the_optimum_and_does_not_drift() {
    let parts: Vec<Parts> = (0..NODES as u32).map(Parts::new).collect();
    let best = optimum(&parts);
    let floats = distance_of_floats(&parts, &best);
    assert!(floats < 1.0e-5, "{floats:e}");
    let mut scratch = Scratch::<[f32; P], [f32; 0]>::new();
    for bits in [8, 4, 3] {
        let codec = Codec::new(bits, Codec::USUAL_UNIT).unwrap();
        let config = |id| Config { steps: steps(), sampler: Sampler::full(id) };
        let problems = parts.iter().map(Parts::problem);
        let mut nodes: Vec<_> = (0..)
            .zip(problems)
            .map(|(id, part)| {
                CodedGtNode::<_, N, P>::gradient_tracking(part, config(id), [0.0; N], codec)
                    .unwrap()
            })
            .collect();
        let mut found = Vec::new();
        for number in 1..=20_000 {
            round(&mut nodes, &mut scratch).unwrap();
            if [5_000, 10_000, 20_000].contains(&number) {
                found.push(distance(nodes.iter().map(|node| node.state().x), &best));
            }
        }
        println!("{bits} bits: {found:?}, floats {floats:e}");
        assert!(found[2] < 20.0 * floats, "{bits} bits: {found:?}, floats {floats:e}");
        assert!(found[2] < 1.2 * found[0] && found[1] < 1.2 * found[0], "{bits}: {found:?}");
        for e in 0..N {
            // Exactly zero, after 20,000 rounds.
            let gaps = nodes.iter().map(|node| [node.ledgers().x_gap[e], node.ledgers().y_gap[e]]);
            let sums =
                gaps.fold([0, 0], |[x, y], gap| [x + i64::from(gap[0]), y + i64::from(gap[1])]);
            assert_eq!(sums, [0, 0]);
            // Only the rounding of y itself is left.
            let apart = |node: &CodedGtNode<_, N, P>| {
                f64::from(node.state().y[e]) - f64::from(node.state().z[e])
            };
            let sum: f64 = nodes.iter().map(apart).sum();
            assert!(sum.abs() < 1.0e-5, "{bits} bits: {sum:e}");
        }
    }
}

#[test]
fn a_local_gradient_with_few_bits_ends_where_floats_do() {
    let parts: Vec<Parts> = (0..NODES as u32).map(Parts::new).collect();
    let config = |id| Config { steps: steps(), sampler: Sampler::full(id) };
    let codec = Codec::new(4, Codec::USUAL_UNIT).unwrap();
    let node = |id: u32| parts[id as usize].problem();
    let ids = 0..NODES as u32;
    let mut coded: Vec<_> = ids
        .clone()
        .map(|id| CodedLgNode::<_, N, P>::local_gradient(node(id), config(id), [0.0; N], codec))
        .map(Result::unwrap)
        .collect();
    let mut floats: Vec<_> = ids
        .map(|id| LgNode::<_, N, P>::local_gradient(node(id), config(id), [0.0; N]).unwrap())
        .collect();
    let mut scratch = Scratch::<[f32; P], [f32; 0]>::new();
    for _ in 0..2_000 {
        round(&mut coded, &mut scratch).unwrap();
        floats.iter_mut().for_each(|node| node.compute(&mut scratch).unwrap());
        let sent: Vec<_> = floats.iter().map(|node| *node.x_array()).collect();
        for (number, node) in floats.iter_mut().enumerate() {
            let of = |other: usize| Neighbour { weight: WEIGHT, x: &sent[other], y: &[] };
            node.mix_with(neighbours(number).map(of)).unwrap();
        }
    }
    for (coded, float) in coded.iter().zip(&floats) {
        let apart = coded.state().x.iter().zip(float.x_array()).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1.0e-5);
    }
}

type Small = CodedGtNode<Quadratic<'static>, { common::N }, { common::P }>;

fn small(id: u32, unit: i8) -> Result<Small, NodeError> {
    let codec = Codec::new(8, unit).unwrap();
    Small::gradient_tracking(quadratic(id), config(id), [0.5; common::N], codec)
}

/// A round of two neighbours.
fn pair(nodes: &mut [Small; 2]) -> Result<(), NodeError> {
    let mut sent = [([0; common::N], [0; common::N]); 2];
    for (node, (x, y)) in nodes.iter_mut().zip(&mut sent) {
        node.compute(&mut scratch())?;
        node.changes(x, y);
    }
    let share = Share::of(0.5).unwrap();
    for (node, (x, y)) in nodes.iter_mut().zip(sent.iter().rev()) {
        node.mix_with([CodedNeighbour { share, x, y }])?;
    }
    Ok(())
}

#[test]
fn an_epoch_opens_with_values_in_full() {
    let mut nodes = [small(0, -22).unwrap(), small(1, -22).unwrap()];
    assert!(nodes[0].is_opening());
    let (mut x, mut y) = ([0; common::N], [7; common::N]);
    nodes[0].changes(&mut x, &mut y);
    // One half is 2^21 units: 8 bits could say so too, but not the values after some rounds.
    assert_eq!((x, y), ([1 << 21; common::N], [0; common::N]));
    for _ in 0..20 {
        pair(&mut nodes).unwrap();
        assert!(!nodes[0].is_opening());
    }
    let epoch = Epoch::FIRST.after(1, 9);
    nodes.iter_mut().for_each(|node| node.restart(epoch, 7));
    assert!(nodes[0].is_opening() && nodes[0].ledgers().x_gap == [0; common::N]);
    let grid = nodes[0].codec().outer();
    let want = nodes.each_ref().map(|node| node.node().x_array().map(|x| grid.number(x)));
    nodes[0].changes(&mut x, &mut y);
    assert_eq!(x, want[0]);
    pair(&mut nodes).unwrap();
    assert_eq!(nodes.each_ref().map(|node| node.ledgers().x_known), want);
    assert_eq!((nodes[0].state().round, nodes[0].state().epoch), (8, epoch));
    // The gap is that of the values, to the last unit.
    let gap = nodes[0].ledgers().x_gap;
    assert_eq!(gap, core::array::from_fn(|e| 128 * (want[1][e] - want[0][e])));
}

#[test]
fn changes_are_the_same_until_they_are_mixed() {
    let mut nodes = [small(0, -22).unwrap(), small(1, -22).unwrap()];
    for _ in 0..3 {
        pair(&mut nodes).unwrap();
    }
    let changes = |node: &Small| {
        let (mut x, mut y) = ([0; common::N], [0; common::N]);
        node.changes(&mut x, &mut y);
        (x, y)
    };
    let before = changes(&nodes[0]);
    nodes[0].compute(&mut scratch()).unwrap();
    assert_eq!(changes(&nodes[0]), before, "a chunk that was lost is computed again");
    assert!(before.0 != [0; common::N] && before.1 != [0; common::N]);
}

#[test]
fn a_checkpoint_continues_with_the_same_bits() {
    let bits = |node: &Small| {
        let Ledgers { x_known, x_gap, y_known, y_gap } = *node.ledgers();
        let state = node.state();
        let floats = [state.x, state.y, state.z, state.theta, state.v].concat();
        (floats.iter().map(|a| a.to_bits()).collect::<Vec<_>>(), [x_known, x_gap, y_known, y_gap])
    };
    for rounds in [0, 1, 13] {
        let mut nodes = [small(0, -22).unwrap(), small(1, -22).unwrap()];
        (0..rounds).for_each(|_| pair(&mut nodes).unwrap());
        let saved = nodes.each_ref().map(|node| {
            let mut bytes = vec![0; node.checkpoint_len()];
            assert_eq!(node.save(&mut bytes), Ok(bytes.len()));
            bytes
        });
        let mut again = [small(0, -22).unwrap(), small(1, -22).unwrap()];
        // Not where they were, so that everything has to come from the checkpoint.
        (0..5).for_each(|_| pair(&mut again).unwrap());
        for (node, bytes) in again.iter_mut().zip(&saved) {
            node.restore(bytes).unwrap();
            assert_eq!(node.is_opening(), rounds == 0);
        }
        for _ in 0..10 {
            pair(&mut nodes).unwrap();
            pair(&mut again).unwrap();
        }
        assert_eq!(nodes.each_ref().map(bits), again.each_ref().map(bits));
        assert_eq!(again[0].state().round, rounds + 10);
    }
}

#[test]
fn a_damaged_or_foreign_checkpoint_changes_nothing() {
    let mut nodes = [small(0, -22).unwrap(), small(1, -22).unwrap()];
    (0..9).for_each(|_| pair(&mut nodes).unwrap());
    let mut bytes = vec![0; nodes[0].checkpoint_len()];
    nodes[0].save(&mut bytes).unwrap();
    let own = nodes[0].node().checkpoint_len();
    let before = (*nodes[0].ledgers(), *nodes[0].node().x_array());
    (0..3).for_each(|_| pair(&mut nodes).unwrap());
    let now = (*nodes[0].ledgers(), *nodes[0].node().x_array());
    assert_ne!(before, now);
    let mut restore = |bytes: &[u8]| {
        let result = nodes[0].restore(bytes);
        assert!(result.is_ok() || (*nodes[0].ledgers(), *nodes[0].node().x_array()) == now);
        result
    };
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(restore(&damaged).is_err(), "byte {at} of {}", bytes.len());
    }
    let (needed, found) = (bytes.len(), own);
    assert_eq!(restore(&bytes[..own]), Err(CheckpointError::Length { needed, found }));
    let mut other = vec![0; needed];
    small(0, -21).unwrap().save(&mut other).unwrap();
    assert_eq!(restore(&other), Err(CheckpointError::OtherNode { name: "codec" }));
    assert_eq!(restore(&bytes), Ok(()));
    assert_eq!((*nodes[0].ledgers(), *nodes[0].node().x_array()), before);
    nodes[0].compute(&mut scratch()).unwrap();
    assert_eq!(nodes[0].save(&mut bytes), Err(CheckpointError::MidRound));
}

#[test]
fn a_node_out_of_range_stops_and_says_why() {
    // Units of 2^-40 leave room for x up to 2^-11 only.
    let out = Divergence { round: 0, variable: Variable::Outer };
    let error = small(0, -40).unwrap_err();
    assert_eq!(error, NodeError::Range(out));
    assert!(error.to_string().contains("left the range of the codec in round 0"), "{error}");

    // x is in range, but the nodes drift too far apart for their gap: ±2^23 units of 2^-29.
    let mut nodes = [small(0, -29).unwrap(), small(1, -29).unwrap()];
    let error = (0..100).find_map(|_| pair(&mut nodes).err()).unwrap();
    let NodeError::Range(Divergence { round, .. }) = error else { panic!("{error:?}") };
    assert!(round > 0);
    let stopped = nodes.iter_mut().find(|node| node.phase() != Phase::Ready);
    let stopped = stopped.filter(|node| matches!(node.phase(), Phase::Diverged(_))).unwrap();
    assert_eq!(stopped.compute(&mut scratch()), Err(error));
    assert_eq!(stopped.mix_with([]), Err(error));
    assert!(stopped.state().x.iter().all(|x| x.is_finite()));
}

#[test]
fn memory_of_the_wrong_length_and_calls_out_of_turn_are_refused() {
    let codec = Codec::new(8, -22).unwrap();
    let ledgers = |x: usize, y: usize| Ledgers {
        x_known: vec![9; x],
        x_gap: vec![9; x],
        y_known: vec![9; y],
        y_gap: vec![9; y],
    };
    let coded = |node, x, y| CodedNode::new(node, codec, ledgers(x, y));
    let error = |name, needed, found| Some(NodeError::Length { name, needed, found });
    assert_eq!(coded(common::gt(0), 4, 5).err(), error("x_known", 5, 4));
    assert_eq!(coded(common::gt(0), 5, 0).err(), error("y_known", 5, 0));
    let node = coded(common::gt(0), 5, 5).unwrap();
    assert_eq!(
        node.ledgers(),
        &Ledgers { x_known: vec![0; 5], x_gap: vec![0; 5], y_known: vec![0; 5], y_gap: vec![0; 5] }
    );
    let lg = CodedNode::new(common::lg(0), codec, ledgers(5, 0));
    assert!(lg.is_ok());

    let mut node = small(0, -22).unwrap();
    assert_eq!(node.mix_with([]), Err(NodeError::OutOfTurn));
    node.compute(&mut scratch()).unwrap();
    let share = Share::of(0.25).unwrap();
    let short = [CodedNeighbour { share, x: &[0; 3], y: &[0; 3] }];
    let length = NodeError::Length { name: "neighbour's x", needed: 5, found: 3 };
    assert_eq!(node.mix_with(short), Err(length));
    assert!(CodedNode::new(node.node().clone(), codec, ledgers(5, 5)).is_err());
    assert_eq!(node.mix_with([]), Ok(()));
    const { assert!(!N.is_multiple_of(BLOCK)) };
}
