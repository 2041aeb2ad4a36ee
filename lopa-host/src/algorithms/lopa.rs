//! LoPA: the nodes that run on chips, their bits untouched.

use lopa_core::checkpoint::CheckpointError;
use lopa_core::problem::Problem;

use super::{NodeView, Participant};
use crate::network::{CodedSimulatedNode, SimulatedNode};

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
        write(self.checkpoint(), bytes)
    }

    fn restore<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], CheckpointError> {
        let (own, rest) = split(bytes, self.checkpoint_len())?;
        Self::restore(self, own)?;
        Ok(rest)
    }
}

impl<P: Problem + Send + Sync> Participant<P> for CodedSimulatedNode<P> {
    fn view(&self) -> NodeView<'_, P> {
        self.node().into()
    }

    /// With what its neighbours know of it.
    fn save(&self, bytes: &mut Vec<u8>) -> Option<()> {
        write(self.checkpoint(), bytes)
    }

    fn restore<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], CheckpointError> {
        let (own, rest) = split(bytes, self.checkpoint_len())?;
        Self::restore(self, own)?;
        Ok(rest)
    }
}

fn write<E>(checkpoint: Result<impl Iterator<Item = u32>, E>, bytes: &mut Vec<u8>) -> Option<()> {
    bytes.extend(checkpoint.ok()?.flat_map(u32::to_le_bytes));
    Some(())
}

/// A checkpoint of so many bytes, and what follows it.
fn split(bytes: &[u8], needed: usize) -> Result<(&[u8], &[u8]), CheckpointError> {
    let found = bytes.len();
    bytes.split_at_checked(needed).ok_or(CheckpointError::Length { needed, found })
}
