//! SPDB: one inner step, a Neumann series, gradient tracking.
//!
//! Lu, Cui, Squillante, Kingsbury and Horesh, "Decentralized bilevel optimization for personalized client learning",
//! ICASSP 2022. A reconstruction: its printed algorithm was not at hand, only what others say of it (personal inner
//! variables, one SGD step, a Q-loop with a Neumann series, a primal-dual method that amounts to gradient tracking).

use lopa_core::node::Variable;
use lopa_core::problem::Problem;

use super::AlgorithmName;
use super::estimate::Neumann;
use super::fleet::{Ask, Rule, Variables};
use super::update::{average, mix, track};

/// z is the newest hypergradient, y tracks its mean.
#[derive(Debug)]
pub(super) struct Spdb {
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) neumann: Neumann,
}

impl Rule for Spdb {
    fn name(&self) -> AlgorithmName {
        AlgorithmName::Spdb
    }

    fn keep(&self, own: &mut Variables, outer: usize, inner: usize) {
        own.v = vec![0.0; inner];
        [own.z, own.y, own.delta] = [0; 3].map(|_| vec![0.0; outer]);
    }

    fn compute<P: Problem>(
        &self,
        own: &mut Variables,
        ask: &mut Ask<'_, P>,
    ) -> Result<(), Variable> {
        self.neumann.hypergradient(own, ask, self.beta)?;
        let Variables { z, delta, .. } = own;
        if average(z, 1.0, delta) { Ok(()) } else { Err(Variable::Hypergradient) }
    }

    fn travelling<'v>(&self, own: &'v Variables) -> [&'v [f32]; 2] {
        [&own.x, &own.y]
    }

    fn mix(
        &self,
        own: &mut Variables,
        [x_pull, y_pull]: [&[f32]; 2],
        room: &mut [f32],
    ) -> Result<(), Variable> {
        if !track(&mut own.y, y_pull, &own.delta, room) {
            return Err(Variable::Direction);
        }
        let moved = mix(&mut own.x, 1.0, x_pull, self.alpha, &own.y, room);
        if moved { Ok(()) } else { Err(Variable::Outer) }
    }
}
