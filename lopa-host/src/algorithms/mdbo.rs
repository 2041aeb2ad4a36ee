//! MDBO and VRDBO, personalised: momentum or STORM on both levels, a Neumann series, gradient tracking.
//!
//! Gao, Gu and Thai, "On the convergence of distributed stochastic bilevel optimization algorithms over a network",
//! AISTATS 2023, in LoPA's letters: their η is τ, their β₁ and β₂ are α and β, and α₁η, α₂η (with VRDBO α₁η², α₂η²) are
//! γ and γ'. MDBO is from its pseudo-code, VRDBO is MDBO with the estimator of STORM in place of the momentum, as its
//! paper describes it. Inner variables are the nodes' own: nothing is mixed or tracked there. Both take their first
//! estimates whole, as STORM asks.

use lopa_core::node::Variable;
use lopa_core::problem::{Point, Problem};

use super::AlgorithmName;
use super::estimate::Neumann;
use super::fleet::{Ask, Rule, Variables};
use super::update::{average, descend, mix, track};

/// z is the smoothed hypergradient, y tracks its mean, `momentum` is the smoothed inner gradient.
#[derive(Debug)]
pub(super) struct Mdbo {
    /// Whether it is VRDBO.
    pub(super) reduced: bool,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) gamma: f32,
    pub(super) inner_gamma: f32,
    pub(super) tau: f32,
    pub(super) neumann: Neumann,
}

/// Turns a new estimate into what average takes for one of weight 1: STORM's, with the old estimate `z` and what the
/// same batches say of the point before, `then`.
fn storm(new: &mut [f32], weight: f32, z: &[f32], then: &[f32]) {
    for (new, (z, then)) in new.iter_mut().zip(z.iter().zip(then)) {
        *new += (1.0 - weight) * (z - then);
    }
}

impl Rule for Mdbo {
    fn name(&self) -> AlgorithmName {
        if self.reduced { AlgorithmName::Vrdbo } else { AlgorithmName::Mdbo }
    }

    fn keep(&self, own: &mut Variables, outer: usize, inner: usize) {
        [own.v, own.momentum] = [0; 2].map(|_| vec![0.0; inner]);
        [own.z, own.y, own.delta] = [0; 3].map(|_| vec![0.0; outer]);
        if self.reduced {
            (own.old_x, own.old_theta) = (own.x.clone(), own.theta.clone());
        }
    }

    fn compute<P: Problem>(
        &self,
        own: &mut Variables,
        ask: &mut Ask<'_, P>,
    ) -> Result<(), Variable> {
        let (draws, first) = (ask.draws(), ask.round == 0);
        let Variables { x, theta, v, z, momentum, old_x, old_theta, delta, .. } = own;
        let storming = self.reduced && !first;
        let [gamma, inner_gamma] =
            [self.gamma, self.inner_gamma].map(|a| if first || self.reduced { 1.0 } else { a });
        // What the same batches say of the point before.
        let mut then = (Vec::new(), Vec::new());
        if storming {
            then = (vec![0.0; x.len()], vec![0.0; theta.len()]);
            let mut old_v = vec![0.0; theta.len()];
            let (mut oracles, [a, b, c]) = ask.at(old_x);
            let at = Point { x: old_x, theta: old_theta };
            self.neumann.estimate(&mut oracles, draws, at, &mut old_v, [a, b, c])?;
            oracles.hypergradient(at, &old_v, &mut then.0);
            oracles.inner_gradient(at, &mut then.1);
        }
        let (mut oracles, [a, b, c]) = ask.at(x);
        let at = Point { x, theta };
        self.neumann.estimate(&mut oracles, draws, at, v, [a, b, c])?;
        oracles.hypergradient(at, v, delta);
        oracles.inner_gradient(at, a);
        if storming {
            storm(delta, self.gamma, z, &then.0);
            storm(a, self.inner_gamma, momentum, &then.1);
        }
        if !average(z, gamma, delta) {
            return Err(Variable::Hypergradient);
        }
        if !average(momentum, inner_gamma, a) {
            return Err(Variable::Inner);
        }
        if self.reduced {
            old_theta.copy_from_slice(theta);
        }
        b.copy_from_slice(momentum);
        let moved = descend(theta, self.tau * self.beta, b);
        if moved { Ok(()) } else { Err(Variable::Inner) }
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
        if self.reduced {
            own.old_x.copy_from_slice(&own.x);
        }
        let moved = mix(&mut own.x, self.tau, x_pull, self.alpha, &own.y, room);
        if moved { Ok(()) } else { Err(Variable::Outer) }
    }
}
