//! Gossip-DSBO, personalised: one inner step, a Neumann series, local hypergradients.
//!
//! Yang, Zhang and Wang, "Decentralized gossip-based stochastic bilevel optimization over communication networks",
//! NeurIPS 2022. A reconstruction of its personalised form: the original also sends its inner variable, and averages
//! of Jacobians and Hessians (n × p and p × p numbers) that it keeps over the rounds. With inner variables of their
//! own there is nothing to agree on there, and products with fresh batches take the place of the matrices.

use lopa_core::node::Variable;
use lopa_core::problem::Problem;

use super::AlgorithmName;
use super::estimate::Neumann;
use super::fleet::{Ask, Rule, Variables};
use super::update::{mix, replace};

/// z is the newest hypergradient.
#[derive(Debug)]
pub(super) struct Gossip {
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) neumann: Neumann,
}

impl Rule for Gossip {
    fn name(&self) -> AlgorithmName {
        AlgorithmName::GossipDsbo
    }

    fn keep(&self, own: &mut Variables, outer: usize, inner: usize) {
        own.v = vec![0.0; inner];
        [own.z, own.delta] = [0; 2].map(|_| vec![0.0; outer]);
    }

    fn compute<P: Problem>(
        &self,
        own: &mut Variables,
        ask: &mut Ask<'_, P>,
    ) -> Result<(), Variable> {
        self.neumann.hypergradient(own, ask, self.beta)?;
        let Variables { z, delta, .. } = own;
        if replace(z, delta) { Ok(()) } else { Err(Variable::Hypergradient) }
    }

    fn travelling<'v>(&self, own: &'v Variables) -> [&'v [f32]; 2] {
        [&own.x, &[]]
    }

    fn mix(
        &self,
        own: &mut Variables,
        [pull, _]: [&[f32]; 2],
        room: &mut [f32],
    ) -> Result<(), Variable> {
        let moved = mix(&mut own.x, 1.0, pull, self.alpha, &own.z, room);
        if moved { Ok(()) } else { Err(Variable::Outer) }
    }
}
