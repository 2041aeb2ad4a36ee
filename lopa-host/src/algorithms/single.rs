//! DGD and DSGT: one level, one model for all, the outer variable left where it starts.
//!
//! They minimise the mean over the nodes of g_i(x₀, θ). For the logistic problem that is the l2-regularised regression
//! with coefficient μ that the paper compares with if e^x₀ = μ/2, so x₀ = ln(μ/2).
//!
//! DGD: Lian et al., "Can decentralized algorithms outperform centralized algorithms?", NeurIPS 2017 (D-PSGD).
//! DSGT: gradient tracking, Pu and Nedić, "Distributed stochastic gradient tracking methods", 2021; after Xu et al., 2015.

use lopa_core::node::Variable;
use lopa_core::problem::{Point, Problem};

use super::AlgorithmName;
use super::fleet::{Ask, Rule, Variables};
use super::update::{average, mix, track};
use lopa_core::vector::all_finite;

/// DGD: the newest gradient lives in `delta` for half a round.
#[derive(Debug)]
pub(super) struct Dgd {
    pub(super) alpha: f32,
}

impl Rule for Dgd {
    fn name(&self) -> AlgorithmName {
        AlgorithmName::Dgd
    }

    fn keep(&self, own: &mut Variables, _: usize, inner: usize) {
        own.delta = vec![0.0; inner];
    }

    fn compute<P: Problem>(
        &self,
        own: &mut Variables,
        ask: &mut Ask<'_, P>,
    ) -> Result<(), Variable> {
        let Variables { x, theta, delta, .. } = own;
        let (mut oracles, _) = ask.at(x);
        oracles.inner_gradient(Point { x, theta }, delta);
        if all_finite(delta) { Ok(()) } else { Err(Variable::Inner) }
    }

    fn travelling<'v>(&self, own: &'v Variables) -> [&'v [f32]; 2] {
        [&own.theta, &[]]
    }

    fn mix(
        &self,
        own: &mut Variables,
        [pull, _]: [&[f32]; 2],
        room: &mut [f32],
    ) -> Result<(), Variable> {
        let moved = mix(&mut own.theta, 1.0, pull, self.alpha, &own.delta, room);
        if moved { Ok(()) } else { Err(Variable::Inner) }
    }
}

/// DSGT: z is the newest gradient, y tracks its mean.
#[derive(Debug)]
pub(super) struct Dsgt {
    pub(super) alpha: f32,
}

impl Rule for Dsgt {
    fn name(&self) -> AlgorithmName {
        AlgorithmName::Dsgt
    }

    fn keep(&self, own: &mut Variables, _: usize, inner: usize) {
        [own.z, own.y, own.delta] = [0; 3].map(|_| vec![0.0; inner]);
    }

    fn compute<P: Problem>(
        &self,
        own: &mut Variables,
        ask: &mut Ask<'_, P>,
    ) -> Result<(), Variable> {
        let Variables { x, theta, z, delta, .. } = own;
        let (mut oracles, _) = ask.at(x);
        oracles.inner_gradient(Point { x, theta }, delta);
        if average(z, 1.0, delta) { Ok(()) } else { Err(Variable::Inner) }
    }

    fn travelling<'v>(&self, own: &'v Variables) -> [&'v [f32]; 2] {
        [&own.theta, &own.y]
    }

    fn mix(
        &self,
        own: &mut Variables,
        [pull, y_pull]: [&[f32]; 2],
        room: &mut [f32],
    ) -> Result<(), Variable> {
        if !track(&mut own.y, y_pull, &own.delta, room) {
            return Err(Variable::Direction);
        }
        let moved = mix(&mut own.theta, 1.0, pull, self.alpha, &own.y, room);
        if moved { Ok(()) } else { Err(Variable::Inner) }
    }
}
