//! MA-DSBO, personalised: loops for the inner variable and for v, a moving average of hypergradients.
//!
//! Chen, Huang, Ma and Balasubramanian, "Decentralized stochastic bilevel optimization with improved per-iteration
//! complexity", ICML 2023. From its pseudo-code, with the change the LoPA paper makes: the inner variable and v make
//! local steps only. v then is what LoPA's authors call SHIA, λ Σ_{t<Q} (I - λ H)^t ∇θ f. Its first step, from v = 0, is
//! λ ∇θ f: no product with zero is computed or counted.

use lopa_core::node::Variable;
use lopa_core::problem::{Point, Problem};
use lopa_core::vector::all_finite;

use super::estimate::{approach, descend_from_zero};
use super::rule::{Ask, Variables};
use super::update::{Updated, blend};

/// z is the moving average; x moves by the one before, while the new one is in `delta`.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaDsbo {
    pub(super) beta: f32,
    pub(super) lambda: f32,
    pub(super) gamma: f32,
    pub(super) inner_steps: u32,
    pub(super) hessian_steps: u32,
}

impl MaDsbo {
    pub(super) fn compute<P: Problem>(&self, own: &mut Variables, ask: &mut Ask<'_, P>) -> Updated {
        let Variables { x, theta, v, z, delta, .. } = own;
        let (mut oracles, [a, b, c]) = ask.at(x);
        approach(&mut oracles, x, theta, self.beta, self.inner_steps, [a, b, c])?;
        let at = Point { x, theta };
        descend_from_zero(&mut oracles, at, self.lambda, self.hessian_steps, v, [a, b, c])?;
        oracles.hypergradient(at, v, delta);
        blend(delta, self.gamma, z);
        if all_finite(delta) { Ok(()) } else { Err(Variable::Hypergradient) }
    }
}
