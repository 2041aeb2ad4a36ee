//! MDBO and VRDBO, personalised: momentum or STORM on both levels, a Neumann series, gradient tracking.
//!
//! Gao, Gu and Thai, "On the convergence of distributed stochastic bilevel optimization algorithms over a network",
//! AISTATS 2023, in LoPA's letters: their η is τ, their β₁ and β₂ are α and β, and α₁η, α₂η (with VRDBO α₁η², α₂η²) are
//! γ and γ'. MDBO is from its pseudo-code, VRDBO is MDBO with the estimator of STORM in place of the momentum, as its
//! paper describes it. Inner variables are the nodes' own: nothing is mixed or tracked there. Both take their first
//! estimates whole, as STORM asks.

use lopa_core::node::Variable;
use lopa_core::problem::{Point, Problem};

use super::estimate::Neumann;
use super::rule::{Ask, Variables};
use super::update::{Updated, average, descend};

/// z is the smoothed hypergradient, y tracks its mean, `momentum` is the smoothed inner gradient.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mdbo {
    /// Whether it is VRDBO.
    pub(super) reduced: bool,
    /// τβ.
    pub(super) inner_step: f32,
    pub(super) gamma: f32,
    pub(super) inner_gamma: f32,
    pub(super) neumann: Neumann,
}

/// Turns a new estimate into what average takes for one of weight 1: STORM's, with the old estimate `z` and what the
/// same batches say of the point before, `then`.
fn storm(new: &mut [f32], weight: f32, z: &[f32], then: &[f32]) {
    for (new, (z, then)) in new.iter_mut().zip(z.iter().zip(then)) {
        *new += (1.0 - weight) * (z - then);
    }
}

impl Mdbo {
    pub(super) fn compute<P: Problem>(&self, own: &mut Variables, ask: &mut Ask<'_, P>) -> Updated {
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
        average(z, gamma, delta, Variable::Hypergradient)?;
        average(momentum, inner_gamma, a, Variable::Inner)?;
        if self.reduced {
            old_theta.copy_from_slice(theta);
        }
        b.copy_from_slice(momentum);
        descend(theta, self.inner_step, b, Variable::Inner)
    }
}
