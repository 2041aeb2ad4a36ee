//! LoPA behind the trait: a [`Simulation`] of the nodes that run on chips, its bits untouched.

use std::fmt;

use lopa_core::checkpoint::CheckpointError;
use lopa_core::network::NetworkError;
use lopa_core::node::Scheme;
use lopa_core::problem::Problem;

use super::{Algorithm, AlgorithmName, NodeView, RestoreError, Sent};
use crate::simulation::{SimulatedNode, Simulation};

impl<'n, P: Problem> From<&'n SimulatedNode<P>> for NodeView<'n, P> {
    fn from(node: &'n SimulatedNode<P>) -> Self {
        let state = node.state();
        Self {
            id: node.config().sampler.draws.node,
            problem: node.problem(),
            evaluations: node.evaluations(),
            round: state.round,
            x: state.x,
            theta: state.theta,
            v: Some(state.v),
            z: Some(state.z),
            y: Some(state.y),
            extra: Vec::new(),
        }
    }
}

impl Sent {
    /// What a LoPA node has sent after some rounds.
    pub(crate) fn of_lopa<P: Problem>(node: Option<&SimulatedNode<P>>) -> Self {
        let Some(node) = node else { return Self::default() };
        let state = node.state();
        let tracking = node.scheme() == Scheme::GradientTracking;
        let vectors = state.round * if tracking { 2 } else { 1 };
        Self { vectors, floats: vectors * state.x.len() as u64 }
    }
}

/// The nodes' checkpoints as a chip writes them, one behind the other; nothing in the middle of a round.
pub(crate) fn checkpoint<P: Problem>(nodes: &[SimulatedNode<P>]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for node in nodes {
        node.checkpoint().ok()?.for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    Some(bytes)
}

impl<P: Problem + Send + Sync + fmt::Debug> Algorithm<P> for Simulation<P> {
    fn name(&self) -> AlgorithmName {
        match self.nodes().first().map(SimulatedNode::scheme) {
            Some(Scheme::LocalGradient) => AlgorithmName::LopaLg,
            _ => AlgorithmName::LopaGt,
        }
    }

    fn step(&mut self) -> Result<(), NetworkError> {
        Self::round(self)
    }

    fn round(&self) -> u64 {
        self.nodes().first().map_or(0, |node| node.state().round)
    }

    fn nodes(&self) -> Vec<NodeView<'_, P>> {
        Self::nodes(self).iter().map(NodeView::from).collect()
    }

    fn sent(&self) -> Sent {
        Sent::of_lopa(Self::nodes(self).first())
    }

    fn checkpoint(&self) -> Option<Vec<u8>> {
        checkpoint(Self::nodes(self))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        let mut rest = bytes;
        for (number, node) in self.nodes_mut().iter_mut().enumerate() {
            let refused = |error| RestoreError { node: number, error };
            let (needed, found) = (node.checkpoint_len(), rest.len());
            let (own, others) = rest
                .split_at_checked(needed)
                .ok_or(refused(CheckpointError::Length { needed, found }))?;
            node.restore(own).map_err(refused)?;
            rest = others;
        }
        Ok(())
    }
}
