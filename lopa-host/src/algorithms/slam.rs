//! SLAM, personalised: one inner step, a Neumann series, a linearised augmented Lagrangian for consensus.
//!
//! Lu, Zeng, Cui, Squillante, Horesh, Kingsbury, Liu and Hong, "A stochastic linearized augmented Lagrangian method for
//! decentralized bilevel optimization", NeurIPS 2022. A reconstruction of its personalised form: its printed algorithm
//! was not at hand. With the penalty such that the linearised step mixes by ½ (I + W), the classical choice,
//!
//! ```text
//! q += ½ (x - W x)          x = ½ (x + W x) - α (∇x f - J v) - q
//! ```
//!
//! q is α times the multipliers' pull. Its sum over the network is zero, and at rest it cancels what nodes disagree on:
//! the bias of local gradients is gone, as with tracking, for one vector sent instead of two. Without q written out
//! these are the steps of EXTRA (Shi, Ling, Wu and Yin, 2015).

use lopa_core::node::Variable;
use lopa_core::problem::Problem;
use lopa_core::vector::all_finite;

use super::AlgorithmName;
use super::estimate::Neumann;
use super::fleet::{Ask, Rule, Variables};
use super::update::replace;

/// z is the newest hypergradient, q the dual variable.
#[derive(Debug)]
pub(super) struct Slam {
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) neumann: Neumann,
}

impl Rule for Slam {
    fn name(&self) -> AlgorithmName {
        AlgorithmName::Slam
    }

    fn keep(&self, own: &mut Variables, outer: usize, inner: usize) {
        own.v = vec![0.0; inner];
        [own.z, own.dual, own.delta] = [0; 3].map(|_| vec![0.0; outer]);
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
        let Variables { x, z, dual, .. } = own;
        for ((room, x), ((z, dual), pull)) in
            room.iter_mut().zip(&*x).zip(z.iter().zip(&*dual).zip(pull))
        {
            // The new q is the old one less half the pull: together the pull comes in whole.
            *room = x + (pull - self.alpha * z - dual);
        }
        if !all_finite(room) {
            return Err(Variable::Outer);
        }
        x.copy_from_slice(room);
        for (dual, pull) in dual.iter_mut().zip(pull) {
            *dual -= 0.5 * pull;
        }
        Ok(())
    }
}
