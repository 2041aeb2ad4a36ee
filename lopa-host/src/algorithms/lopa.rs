//! LoPA: the nodes that run on chips, their bits untouched.

use lopa_core::checkpoint::CheckpointError;
use lopa_core::problem::Problem;

use super::{NodeView, Participant};
use crate::network::SimulatedNode;

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

impl<P: Problem + Send + Sync> Participant<P> for SimulatedNode<P> {
    fn view(&self) -> NodeView<'_, P> {
        self.into()
    }

    /// As a chip writes it.
    fn save(&self, bytes: &mut Vec<u8>) -> Option<()> {
        let words = self.checkpoint().ok()?;
        bytes.extend(words.flat_map(u32::to_le_bytes));
        Some(())
    }

    fn restore<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], CheckpointError> {
        let (needed, found) = (self.checkpoint_len(), bytes.len());
        let split = bytes.split_at_checked(needed);
        let (own, rest) = split.ok_or(CheckpointError::Length { needed, found })?;
        Self::restore(self, own)?;
        Ok(rest)
    }
}
