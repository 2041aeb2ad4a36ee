//! Nodes that follow a rule: what every algorithm but LoPA has in common.

use std::fmt;

use lopa_core::batch::Sampler;
use lopa_core::checkpoint::CheckpointError;
use lopa_core::draw::Draws;
use lopa_core::node::{Divergence, NodeError, Variable};
use lopa_core::oracles::{Evaluations, Oracles};
use lopa_core::problem::{Dimensions, Problem};
use lopa_core::vector::all_finite;

use super::estimate::Room;
use super::{NodeView, Participant};
use crate::network::Member;

/// A node's variables; one that its algorithm does not have is empty.
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// All that outlives a round, by name.
    fn all(&self) -> [(&'static str, &[f32]); 9] {
        [
            ("x", &self.x),
            ("theta", &self.theta),
            ("v", &self.v),
            ("z", &self.z),
            ("y", &self.y),
            ("momentum", &self.momentum),
            ("dual", &self.dual),
            ("old_x", &self.old_x),
            ("old_theta", &self.old_theta),
        ]
    }

    fn all_mut(&mut self) -> [&mut [f32]; 9] {
        [
            &mut self.x,
            &mut self.theta,
            &mut self.v,
            &mut self.z,
            &mut self.y,
            &mut self.momentum,
            &mut self.dual,
            &mut self.old_x,
            &mut self.old_theta,
        ]
    }
}

/// What an algorithm does on one node.
pub(super) trait Rule: fmt::Debug + Copy + Send + Sync {
    /// Gives the variables it keeps besides x and θ their lengths: `outer` and `inner` are those of x and θ.
    fn keep(&self, own: &mut Variables, outer: usize, inner: usize);

    /// The local half of a round.
    fn compute<P: Problem>(
        &self,
        own: &mut Variables,
        ask: &mut Ask<'_, P>,
    ) -> Result<(), Variable>;

    /// The vectors that travel, the second one empty if there is only one.
    fn travelling<'v>(&self, own: &'v Variables) -> [&'v [f32]; 2];

    /// The other half, from the neighbours' pulls Σ_j w_ij (a_j - a) on each vector that travelled. `room` is as long
    /// as the longer of them.
    fn mix(
        &self,
        own: &mut Variables,
        pulls: [&[f32]; 2],
        room: &mut [f32],
    ) -> Result<(), Variable>;
}

/// One node's oracles in one round, and memory to work in.
pub(super) struct Ask<'a, P> {
    problem: &'a P,
    sampler: Sampler,
    pub(super) round: u64,
    evaluations: &'a mut Evaluations,
    scratch: &'a mut Scratch,
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
pub(super) struct RuleNode<P, R> {
    rule: R,
    problem: P,
    sampler: Sampler,
    evaluations: Evaluations,
    round: u64,
    own: Variables,
    /// Room to mix in.
    room: Vec<f32>,
}

impl<P: Problem, R: Rule> RuleNode<P, R> {
    /// A node in round 0, at x.
    pub(super) fn new(
        rule: R,
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
        let mut own = Variables { x, theta: vec![0.0; size.inner], ..Variables::default() };
        rule.keep(&mut own, size.outer, size.inner);
        let longest = rule.travelling(&own).map(<[f32]>::len).into_iter().max();
        let room = vec![0.0; longest.unwrap_or(0)];
        let evaluations = Evaluations::default();
        Ok(Self { rule, problem, sampler, evaluations, round: 0, own, room })
    }

    const fn diverged(round: u64, variable: Variable) -> NodeError {
        NodeError::Diverged(Divergence { round, variable })
    }
}

impl<P: Problem + Send + Sync, R: Rule> Member for RuleNode<P, R> {
    type Scratch = Scratch;

    fn dimensions(&self) -> Dimensions {
        self.problem.dimensions()
    }

    fn scratch(inner: usize, workspace: usize) -> Scratch {
        Scratch { workspace: vec![0.0; workspace], inner: [0; 3].map(|_| vec![0.0; inner]) }
    }

    fn compute(&mut self, scratch: &mut Scratch) -> Result<(), NodeError> {
        let Self { rule, problem, sampler, evaluations, round, own, .. } = self;
        let mut ask =
            Ask { problem: &*problem, sampler: *sampler, round: *round, evaluations, scratch };
        rule.compute(own, &mut ask).map_err(|variable| Self::diverged(*round, variable))
    }

    fn travelling(&self) -> [&[f32]; 2] {
        self.rule.travelling(&self.own)
    }

    fn mix(&mut self, pulls: [&[f32]; 2]) -> Result<(), NodeError> {
        let Self { rule, own, room, round, .. } = self;
        rule.mix(own, pulls, room).map_err(|variable| Self::diverged(*round, variable))?;
        *round += 1;
        Ok(())
    }
}

impl<P: Problem + Send + Sync, R: Rule> Participant<P> for RuleNode<P, R> {
    fn view(&self) -> NodeView<'_, P> {
        fn some(vector: &[f32]) -> Option<&[f32]> {
            Some(vector).filter(|vector| !vector.is_empty())
        }
        let own = &self.own;
        // The first five have places of their own.
        let extra = own.all().into_iter().skip(5).filter(|(_, vector)| !vector.is_empty());
        NodeView {
            id: self.sampler.draws.node,
            problem: &self.problem,
            evaluations: self.evaluations,
            round: self.round,
            x: &own.x,
            theta: &own.theta,
            v: some(&own.v),
            z: some(&own.z),
            y: some(&own.y),
            extra: extra.collect(),
        }
    }

    fn save(&self, bytes: &mut Vec<u8>) -> Option<()> {
        bytes.extend(self.round.to_le_bytes());
        bytes.extend(self.evaluations.to_array().into_iter().flat_map(u64::to_le_bytes));
        let values = self.own.all().into_iter().flat_map(|(_, vector)| vector);
        bytes.extend(values.flat_map(|a| a.to_le_bytes()));
        Some(())
    }

    fn restore<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], CheckpointError> {
        const COUNTS: usize = 6;
        let floats: usize = self.own.all().iter().map(|(_, vector)| vector.len()).sum();
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
