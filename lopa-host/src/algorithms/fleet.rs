//! Nodes that follow a rule: what every algorithm but LoPA has in common.

use std::fmt;

use lopa_core::batch::Sampler;
use lopa_core::checkpoint::CheckpointError;
use lopa_core::draw::Draws;
use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::{Divergence, NodeError, Variable};
use lopa_core::oracles::{Evaluations, Oracles};
use lopa_core::problem::Problem;
use lopa_core::vector::{add_gap, all_finite};
use rayon::prelude::*;

use super::estimate::Room;
use super::{Algorithm, AlgorithmName, NodeView, RestoreError, Sent};
use crate::simulation::{first_error, starts};

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
pub(super) trait Rule: fmt::Debug + Send + Sync {
    fn name(&self) -> AlgorithmName;

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

/// What is free between calls; one a thread.
#[derive(Debug)]
struct Scratch {
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

    /// Where draws that are no batches come from.
    pub(super) const fn draws(&self) -> (Draws, u64) {
        (self.sampler.draws, self.round)
    }
}

#[derive(Debug)]
struct Member<P> {
    problem: P,
    sampler: Sampler,
    evaluations: Evaluations,
    own: Variables,
    /// The pulls on what travels, one behind the other, and room to mix in.
    pulls: Vec<f32>,
    room: Vec<f32>,
}

impl<P> Member<P> {
    fn view(&self, round: u64) -> NodeView<'_, P> {
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
            round,
            x: &own.x,
            theta: &own.theta,
            v: some(&own.v),
            z: some(&own.z),
            y: some(&own.y),
            extra: extra.collect(),
        }
    }
}

/// Nodes on a weighted graph, all with the same rule.
#[derive(Debug)]
pub(super) struct Fleet<P, R> {
    rule: R,
    members: Vec<Member<P>>,
    edges: Vec<Edge>,
    starts: Vec<usize>,
    round: u64,
    diverged: Option<NetworkError>,
}

impl<P: Problem, R: Rule> Fleet<P, R> {
    /// One node a problem; `start` gives x₀ for the length of x.
    pub(super) fn new(
        rule: R,
        problems: impl IntoIterator<Item = P>,
        edges: Vec<Edge>,
        start: impl Fn(usize) -> Vec<f32>,
        sampler: impl Fn(u32) -> Sampler,
    ) -> Result<Self, NetworkError> {
        let mut members: Vec<Member<P>> = Vec::new();
        for (number, problem) in (0_u32..).zip(problems) {
            let (node, size) = (number as usize, problem.dimensions());
            let refuse = |error| Err(NetworkError::Node { node, error });
            if size.outer == 0 || size.inner == 0 {
                return refuse(NodeError::Empty);
            }
            let x = start(size.outer);
            let (needed, found) = (size.outer, x.len());
            if found != needed {
                return refuse(NodeError::Length { name: "x", needed, found });
            }
            if let Some(index) = x.iter().position(|x| !x.is_finite()) {
                return refuse(NodeError::Start { index });
            }
            let mut own = Variables { x, theta: vec![0.0; size.inner], ..Variables::default() };
            rule.keep(&mut own, size.outer, size.inner);
            let lengths = rule.travelling(&own).map(<[f32]>::len);
            if let Some(first) = members.first()
                && rule.travelling(&first.own).map(<[f32]>::len) != lengths
            {
                return Err(NetworkError::Unlike { node });
            }
            let pulls = vec![0.0; lengths[0] + lengths[1]];
            let room = vec![0.0; lengths[0].max(lengths[1])];
            let evaluations = Evaluations::default();
            let sampler = sampler(number);
            members.push(Member { problem, sampler, evaluations, own, pulls, room });
        }
        let starts = starts(&edges, members.len())?;
        Ok(Self { rule, members, edges, starts, round: 0, diverged: None })
    }
}

impl<P: Problem + Send + Sync, R: Rule> Fleet<P, R> {
    fn move_on(&mut self) -> Result<(), NetworkError> {
        let Self { rule, members, edges, starts, .. } = self;
        let (rule, round) = (&*rule, self.round);
        let largest = |of: fn(&P) -> usize| members.iter().map(|m| of(&m.problem)).max();
        let inner = largest(|problem| problem.dimensions().inner).unwrap_or(0);
        let workspace = largest(|problem| problem.dimensions().workspace).unwrap_or(0);
        let scratch = || Scratch {
            workspace: vec![0.0; workspace],
            inner: [vec![0.0; inner], vec![0.0; inner], vec![0.0; inner]],
        };
        let failed = |variable| NodeError::Diverged(Divergence { round, variable });
        let computed = members.par_iter_mut().map_init(scratch, |scratch, member| {
            let Member { problem, sampler, evaluations, own, .. } = member;
            let mut ask =
                Ask { problem: &*problem, sampler: *sampler, round, evaluations, scratch };
            rule.compute(own, &mut ask).map_err(failed)
        });
        first_error(computed.collect())?;
        // Everyone's pull is taken before anyone moves.
        let mut pulls: Vec<Vec<f32>> =
            members.iter_mut().map(|member| std::mem::take(&mut member.pulls)).collect();
        pulls.par_iter_mut().enumerate().for_each(|(number, pulls)| {
            pulls.fill(0.0);
            let own = rule.travelling(&members[number].own);
            let (first, second) = pulls.split_at_mut(own[0].len());
            for edge in &edges[starts[number]..starts[number + 1]] {
                let theirs = rule.travelling(&members[edge.neighbour as usize].own);
                add_gap(first, edge.weight, theirs[0], own[0]);
                add_gap(second, edge.weight, theirs[1], own[1]);
            }
        });
        let mixed = members.par_iter_mut().zip(pulls).map(|(member, pulls)| {
            let (first, second) = pulls.split_at(rule.travelling(&member.own)[0].len());
            let result = rule.mix(&mut member.own, [first, second], &mut member.room);
            member.pulls = pulls;
            result.map_err(failed)
        });
        first_error(mixed.collect())?;
        self.round += 1;
        Ok(())
    }
}

impl<P: Problem + Send + Sync + fmt::Debug, R: Rule> Algorithm<P> for Fleet<P, R> {
    fn name(&self) -> AlgorithmName {
        self.rule.name()
    }

    fn step(&mut self) -> Result<(), NetworkError> {
        let moved = self.diverged.map_or_else(|| self.move_on(), Err);
        self.diverged = moved.err();
        moved
    }

    fn round(&self) -> u64 {
        self.round
    }

    fn nodes(&self) -> Vec<NodeView<'_, P>> {
        self.members.iter().map(|member| member.view(self.round)).collect()
    }

    fn sent(&self) -> Sent {
        let lengths = self.members.first().map(|m| self.rule.travelling(&m.own).map(<[f32]>::len));
        let lengths = lengths.unwrap_or_default().map(|len| len as u64);
        let vectors = lengths.iter().filter(|len| **len > 0).count() as u64;
        Sent { vectors: self.round * vectors, floats: self.round * (lengths[0] + lengths[1]) }
    }

    fn checkpoint(&self) -> Option<Vec<u8>> {
        if self.diverged.is_some() {
            return None;
        }
        let mut bytes = self.round.to_le_bytes().to_vec();
        for member in &self.members {
            let counts = member.evaluations.to_array();
            counts.iter().for_each(|count| bytes.extend(count.to_le_bytes()));
            for (_, vector) in member.own.all() {
                vector.iter().for_each(|a| bytes.extend(a.to_le_bytes()));
            }
        }
        Some(bytes)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        let floats = |member: &Member<P>| member.own.all().map(|(_, a)| a.len()).iter().sum();
        let lengths: Vec<usize> =
            self.members.iter().map(floats).map(|floats: usize| 40 + 4 * floats).collect();
        let (needed, found) = (8 + lengths.iter().sum::<usize>(), bytes.len());
        let Some((round, mut rest)) = bytes.split_first_chunk().filter(|_| needed == found) else {
            return Err(RestoreError { node: 0, error: CheckpointError::Length { needed, found } });
        };
        for (node, (member, len)) in self.members.iter_mut().zip(lengths).enumerate() {
            let (own, others) = rest.split_at(len);
            rest = others;
            let (counts, values) = own.split_at(40);
            let (counts, _) = counts.as_chunks::<8>();
            let mut values = values.as_chunks::<4>().0.iter().map(|a| f32::from_le_bytes(*a));
            for vector in member.own.all_mut() {
                vector.iter_mut().zip(&mut values).for_each(|(a, value)| *a = value);
                if !all_finite(vector) {
                    return Err(RestoreError { node, error: CheckpointError::NonFinite });
                }
            }
            let count = |at: usize| counts.get(at).map_or(0, |a| u64::from_le_bytes(*a));
            member.evaluations = Evaluations::from_array([0, 1, 2, 3, 4].map(count));
        }
        (self.round, self.diverged) = (u64::from_le_bytes(*round), None);
        Ok(())
    }
}
