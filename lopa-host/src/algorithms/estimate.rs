//! The first half of a round: steps towards the inner solution, estimates of v = (∇²θθ g)⁻¹ ∇θ f, and what nodes then
//! move by.

use std::num::NonZeroU32;

use lopa_core::draw::Draws;
use lopa_core::node::Variable;
use lopa_core::oracles::Oracles;
use lopa_core::problem::{Point, Problem};
use lopa_core::vector::add_scaled;

use super::Truncation;
use super::loopless::Loopless;
use super::ma_dsbo::MaDsbo;
use super::mdbo::Mdbo;
use super::rule::{Ask, Variables};
use super::update::{Updated, average, descend, replace};
use crate::purposes;

/// Vectors of the inner variable's length to work in.
pub(super) type Room<'r> = [&'r mut [f32]; 3];

/// How a method estimates what nodes move by: to z, with what z changed by in `delta`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Estimate {
    /// The inner gradient, where there is one level: z is the newest one; DGD does not keep it.
    Gradient,
    /// One inner step, then the hypergradient there by a Neumann series: z is the newest one.
    Series {
        /// The inner step size.
        beta: f32,
        /// The series.
        neumann: Neumann,
    },
    /// As MA-DSBO does.
    MaDsbo(MaDsbo),
    /// As MDBO and VRDBO do.
    Mdbo(Mdbo),
    /// As D-SOBA and SPARKLE do.
    Loopless(Loopless),
}

impl Estimate {
    /// The local half of a round.
    pub(super) fn compute<P: Problem>(&self, own: &mut Variables, ask: &mut Ask<'_, P>) -> Updated {
        match self {
            Self::Gradient => {
                let Variables { x, theta, z, delta, .. } = own;
                ask.at(x).0.inner_gradient(Point { x, theta }, delta);
                average(z, 1.0, delta, Variable::Inner)
            }
            Self::Series { beta, neumann } => {
                let draws = ask.draws();
                let Variables { x, theta, v, z, delta, .. } = own;
                let (mut oracles, [a, b, c]) = ask.at(x);
                approach(&mut oracles, x, theta, *beta, 1, [a, b, c])?;
                let at = Point { x, theta };
                neumann.estimate(&mut oracles, draws, at, v, [a, b, c])?;
                oracles.hypergradient(at, v, delta);
                average(z, 1.0, delta, Variable::Hypergradient)
            }
            Self::MaDsbo(method) => method.compute(own, ask),
            Self::Mdbo(method) => method.compute(own, ask),
            Self::Loopless(method) => method.compute(own, ask),
        }
    }
}

/// `steps` gradient steps of θ at a fixed x, each on a batch of its own.
pub(super) fn approach<P: Problem>(
    oracles: &mut Oracles<'_, P>,
    x: &[f32],
    theta: &mut [f32],
    beta: f32,
    steps: u32,
    [room, ..]: Room<'_>,
) -> Updated {
    for step in 0..steps {
        oracles.repeat(step);
        oracles.inner_gradient(Point { x, theta }, room);
        descend(theta, beta, room, Variable::Inner)?;
    }
    oracles.repeat(0);
    Ok(())
}

/// A Neumann series for the inverse Hessian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Neumann {
    /// λ.
    pub(super) lambda: f32,
    /// Q.
    pub(super) terms: NonZeroU32,
    /// Whether all terms are added, or one is drawn for all.
    pub(super) truncation: Truncation,
}

impl Neumann {
    /// Writes the estimate to `v`: one ∇θ f and up to Q - 1 Hessian-vector products.
    pub(super) fn estimate<P: Problem>(
        &self,
        oracles: &mut Oracles<'_, P>,
        (draws, round): (Draws, u64),
        at: Point<'_>,
        v: &mut [f32],
        [term, product, sum]: Room<'_>,
    ) -> Updated {
        let Self { lambda, terms, truncation } = *self;
        let last = match truncation {
            Truncation::Fixed => terms.get() - 1,
            Truncation::Random => draws.stream(round, purposes::TRUNCATION).below(terms),
        };
        term.fill(0.0);
        oracles.add_outer_gradient_inner(at, 1.0, term);
        sum.fill(0.0);
        add_scaled(sum, lambda, term);
        for step in 1..=last {
            // The first batch of the purpose stays free, as in a loop of inner steps.
            oracles.repeat(step);
            oracles.hessian_vector(at, term, product);
            add_scaled(term, -lambda, product);
            add_scaled(sum, lambda, term);
        }
        oracles.repeat(0);
        if truncation == Truncation::Random {
            let scale = terms.get() as f32 * lambda;
            sum.iter_mut().zip(&*term).for_each(|(sum, term)| *sum = scale * term);
        }
        replace(v, sum, Variable::HessianInverseVector)
    }
}

/// Writes the estimate of `steps` gradient steps on ½ v'Hv - v'∇θ f from v = 0: one ∇θ f and `steps` - 1 Hessian-vector
/// products, as the first step needs none.
pub(super) fn descend_from_zero<P: Problem>(
    oracles: &mut Oracles<'_, P>,
    at: Point<'_>,
    lambda: f32,
    steps: u32,
    v: &mut [f32],
    [target, product, estimate]: Room<'_>,
) -> Updated {
    target.fill(0.0);
    oracles.add_outer_gradient_inner(at, 1.0, target);
    estimate.fill(0.0);
    add_scaled(estimate, lambda, target);
    for step in 1..steps {
        oracles.repeat(step);
        oracles.hessian_vector(at, estimate, product);
        add_scaled(product, -1.0, target);
        add_scaled(estimate, -lambda, product);
    }
    oracles.repeat(0);
    replace(v, estimate, Variable::HessianInverseVector)
}
