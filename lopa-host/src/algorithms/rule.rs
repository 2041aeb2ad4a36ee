//! Nodes that follow a rule: what every algorithm but LoPA has in common.

use lopa_core::batch::Sampler;
use lopa_core::checkpoint::CheckpointError;
use lopa_core::draw::Draws;
use lopa_core::node::{Divergence, NodeError, Variable};
use lopa_core::oracles::{Evaluations, Oracles};
use lopa_core::problem::{Dimensions, Point, Problem};
use lopa_core::vector::all_finite;

use super::consensus::{Agreement, Consensus};
use super::estimate::{Estimate, Room};
use super::{NodeView, Participant};
use crate::network::{self, Member, Outbox, Vectors};

/// A node's variables; one that its algorithm does not have is empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variables {
    pub(super) x: Vec<f32>,
    pub(super) theta: Vec<f32>,
    pub(super) v: Vec<f32>,
    pub(super) z: Vec<f32>,
    pub(super) y: Vec<f32>,
    /// The smoothed inner gradient.
    pub(super) momentum: Vec<f32>,
    /// The multiplier of consensus.
    pub(super) dual: Vec<f32>,
    /// Where the node was a round ago.
    pub(super) old_x: Vec<f32>,
    pub(super) old_theta: Vec<f32>,
    /// From the computing half of a round to its mixing half, and never longer.
    pub(super) delta: Vec<f32>,
}

impl Variables {
    /// All that outlives a round.
    fn all(&self) -> [&Vec<f32>; 9] {
        let Self { x, theta, v, z, y, momentum, dual, old_x, old_theta, .. } = self;
        [x, theta, v, z, y, momentum, dual, old_x, old_theta]
    }

    fn all_mut(&mut self) -> [&mut Vec<f32>; 9] {
        let Self { x, theta, v, z, y, momentum, dual, old_x, old_theta, .. } = self;
        [x, theta, v, z, y, momentum, dual, old_x, old_theta]
    }

    /// What not every method has, by name.
    fn extra(&self) -> [(&'static str, &Vec<f32>); 4] {
        let Self { momentum, dual, old_x, old_theta, .. } = self;
        [("momentum", momentum), ("dual", dual), ("old_x", old_x), ("old_theta", old_theta)]
    }
}

/// What an algorithm does on one node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The local half of a round.
    pub(super) estimate: Estimate,
    /// The other half.
    pub(super) agreement: Agreement,
}

impl Rule {
    /// The variables of a node that starts at x.
    fn variables(&self, x: Vec<f32>, inner: usize) -> Variables {
        let Agreement { consensus, single_level, .. } = self.agreement;
        let (mdbo, reduced) = match self.estimate {
            Estimate::Mdbo(method) => (true, method.reduced),
            _ => (false, false),
        };
        let zeros = |len: usize, kept: bool| vec![0.0; if kept { len } else { 0 }];
        let agreed = if single_level { inner } else { x.len() };
        Variables {
            theta: zeros(inner, true),
            v: zeros(inner, !single_level),
            z: zeros(agreed, !(single_level && consensus == Consensus::Local)),
            y: zeros(
                agreed,
                matches!(consensus, Consensus::Tracking | Consensus::DiffusedTracking),
            ),
            momentum: zeros(inner, mdbo),
            dual: zeros(
                agreed,
                matches!(consensus, Consensus::Multipliers | Consensus::ExactDiffusion),
            ),
            old_x: if reduced { x.clone() } else { Vec::new() },
            old_theta: zeros(inner, reduced),
            delta: zeros(agreed, true),
            x,
        }
    }
}

/// One node's oracles in one round, and memory to work in.
pub(super) struct Ask<'a, P> {
    problem: &'a P,
    sampler: Sampler,
    pub(super) round: u64,
    evaluations: &'a mut Evaluations,
    scratch: &'a mut Scratch,
    /// Memory as long as what nodes agree on.
    pub(super) spare: &'a mut [f32],
}

/// Memory that is free between calls.
#[derive(Debug)]
pub(super) struct Scratch {
    workspace: Vec<f32>,
    inner: [Vec<f32>; 3],
}

impl<P: Problem> Ask<'_, P> {
    /// The oracles at an x, and three vectors as long as θ.
    pub(super) fn at(&mut self, x: &[f32]) -> (Oracles<'_, P>, Room<'_>) {
        let size = self.problem.dimensions();
        let Scratch { workspace, inner } = &mut *self.scratch;
        let workspace = &mut workspace[..size.workspace];
        let oracles =
            Oracles::new(self.problem, self.sampler, self.round, x, self.evaluations, workspace);
        (oracles, inner.each_mut().map(|room| &mut room[..size.inner]))
    }

    /// Where draws that are not batches come from.
    pub(super) const fn draws(&self) -> (Draws, u64) {
        (self.sampler.draws, self.round)
    }
}

/// A node that follows a rule.
#[derive(Debug)]
pub(super) struct RuleNode<P> {
    rule: Rule,
    problem: P,
    sampler: Sampler,
    evaluations: Evaluations,
    round: u64,
    own: Variables,
    /// Room to work in, as long as what nodes agree on.
    room: Vec<f32>,
}

impl<P: Problem> RuleNode<P> {
    /// A node in round 0, at x.
    pub(super) fn new(
        rule: Rule,
        problem: P,
        x: Vec<f32>,
        sampler: Sampler,
    ) -> Result<Self, NodeError> {
        let size = problem.dimensions();
        if size.outer == 0 || size.inner == 0 {
            return Err(NodeError::Empty);
        }
        let (needed, found) = (size.outer, x.len());
        if found != needed {
            return Err(NodeError::Length { name: "x", needed, found });
        }
        if let Some(index) = x.iter().position(|x| !x.is_finite()) {
            return Err(NodeError::Start { index });
        }
        let own = rule.variables(x, size.inner);
        let room = vec![0.0; own.delta.len()];
        let evaluations = Evaluations::default();
        Ok(Self { rule, problem, sampler, evaluations, round: 0, own, room })
    }

    /// Whether its problem offers the gradient of g in x, which differences of gradients need.
    pub(super) fn offers_gradient_in_x(&self) -> bool {
        let Self { problem, sampler, own: Variables { x, theta, .. }, .. } = self;
        let mut evaluations = Evaluations::default();
        let mut workspace = vec![0.0; problem.dimensions().workspace];
        let (mut inner, mut outer) = (vec![0.0; theta.len()], vec![0.0; x.len()]);
        Oracles::new(problem, *sampler, 0, x, &mut evaluations, &mut workspace)
            .add_gradients_for_products(Point { x, theta }, &mut inner, &mut outer)
    }

    /// What travels to neighbours.
    fn travelling(&self) -> Vectors<'_, f32> {
        self.rule.agreement.travelling(&self.own)
    }

    const fn diverged(round: u64, variable: Variable) -> NodeError {
        NodeError::Diverged(Divergence { round, variable })
    }
}

impl<P: Problem + Send + Sync> Member for RuleNode<P> {
    type Scratch = Scratch;
    type Sent = f32;

    fn dimensions(&self) -> Dimensions {
        self.problem.dimensions()
    }

    fn scratch(inner: usize, workspace: usize) -> Scratch {
        Scratch { workspace: vec![0.0; workspace], inner: [0; 3].map(|_| vec![0.0; inner]) }
    }

    fn compute(&mut self, scratch: &mut Scratch) -> Result<(), NodeError> {
        let Self { rule, problem, sampler, evaluations, round, own, room } = self;
        let (problem, sampler, spare) = (&*problem, *sampler, &mut room[..]);
        let mut ask = Ask { problem, sampler, round: *round, evaluations, scratch, spare };
        let computed =
            rule.estimate.compute(own, &mut ask).and_then(|()| rule.agreement.adapt(own));
        computed.map_err(|variable| Self::diverged(*round, variable))
    }

    fn lengths(&self) -> [usize; 2] {
        self.travelling().map(<[f32]>::len)
    }

    fn send(&mut self, sent: &mut Outbox<f32>) -> usize {
        let vectors = self.travelling();
        sent.iter_mut().zip(vectors).for_each(|(sent, vector)| sent.copy_from_slice(vector));
        network::bytes_of(sent)
    }

    fn mix<'a>(
        &mut self,
        _: Vectors<'a, f32>,
        neighbours: impl Iterator<Item = (f32, Vectors<'a, f32>)>,
        [x, y]: [&mut [f32]; 2],
    ) -> Result<(), NodeError> {
        network::pull(self.travelling(), neighbours, [x, y]);
        let Self { rule, own, room, round, .. } = self;
        let mixed = rule.agreement.mix(own, [x, y], room);
        mixed.map_err(|variable| Self::diverged(*round, variable))?;
        *round += 1;
        Ok(())
    }
}

impl<P: Problem + Send + Sync> Participant<P> for RuleNode<P> {
    fn view(&self) -> NodeView<'_, P> {
        let own = &self.own;
        let [v, z, y] =
            [&own.v, &own.z, &own.y].map(|vector| (!vector.is_empty()).then_some(&vector[..]));
        let kept = own.extra().into_iter().filter(|(_, vector)| !vector.is_empty());
        NodeView {
            id: self.sampler.draws.node,
            problem: &self.problem,
            evaluations: self.evaluations,
            round: self.round,
            x: &own.x,
            theta: &own.theta,
            v,
            z,
            y,
            extra: kept.map(|(name, vector)| (name, &vector[..])).collect(),
        }
    }

    fn save(&self, bytes: &mut Vec<u8>) -> Option<()> {
        bytes.extend(self.round.to_le_bytes());
        bytes.extend(self.evaluations.to_array().into_iter().flat_map(u64::to_le_bytes));
        let values = self.own.all().into_iter().flatten();
        bytes.extend(values.flat_map(|a| a.to_le_bytes()));
        Some(())
    }

    fn restore<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], CheckpointError> {
        const COUNTS: usize = 6;
        let floats: usize = self.own.all().iter().map(|vector| vector.len()).sum();
        let (needed, found) = (8 * COUNTS + 4 * floats, bytes.len());
        let split = bytes.split_at_checked(needed);
        let (own, rest) = split.ok_or(CheckpointError::Length { needed, found })?;
        let (counts, values) = own.split_at(8 * COUNTS);
        let mut values = values.as_chunks::<4>().0.iter().map(|a| f32::from_le_bytes(*a));
        for vector in self.own.all_mut() {
            vector.iter_mut().zip(&mut values).for_each(|(a, value)| *a = value);
            if !all_finite(vector) {
                return Err(CheckpointError::NonFinite);
            }
        }
        let mut counts = counts.as_chunks::<8>().0.iter().map(|a| u64::from_le_bytes(*a));
        self.round = counts.next().unwrap_or_default();
        self.evaluations =
            Evaluations::from_array([0; 5].map(|_| counts.next().unwrap_or_default()));
        Ok(rest)
    }
}
