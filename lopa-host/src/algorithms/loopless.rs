//! D-SOBA and SPARKLE, personalised: no loops. A round makes one step of θ, one of v, and one of a moving average of
//! hypergradients, as LoPA does; how x is agreed on is in `consensus.rs`.
//!
//! # D-SOBA
//!
//! Kong, Zhu, Lu, Huang and Yuan, "Decentralized bilevel optimization: a perspective from transient iteration complexity",
//! JMLR 26(240), 2025. All steps start from the old iterates, and x moves by the old average h:
//!
//! ```text
//! θ -= β ∇θ g      v -= λ (H v - ∇θ f)      h += γ (∇x f - J v - h)      x = W (x - α h_old)
//! ```
//!
//! Its abstract was available, which has the single loop, the variant with products (SO) and the one with gradients only
//! (FO). Its pseudo-code was not: the order of the steps is that of MA-SOBA, the method on one machine that it extends, and
//! is not verified. The original also mixes θ and v, which are the nodes' own here.
//!
//! **LoPA-LG** makes the same steps of θ, v and z = h, from the same iterates and batches, and also moves x by the old z.
//! The two differ in x alone: LoPA-LG combines, then adapts, x += τ (W x - x - α z), and D-SOBA adapts, then combines,
//! without a relaxation. So with τ = 1 they are W x - α z and W (x - α z). They coincide, for D-SOBA's α equal to LoPA's τ α,
//! where nodes agree on x and z: for one node, or for nodes with the same data. Otherwise D-SOBA's bias is that of the
//! neighbours' mean hypergradients, LoPA-LG's that of its own.
//!
//! FO takes central differences of ∇θ g and ∇x g along v for both products,
//!
//! ```text
//! H v ≈ (∇θ g(x, θ + δ v) - ∇θ g(x, θ - δ v)) / 2δ      J v ≈ (∇x g(x, θ + δ v) - ∇x g(x, θ - δ v)) / 2δ
//! ```
//!
//! on the batches that the products would use: as δ shrinks FO becomes SO, draw by draw. In floats δ must not be too small.
//! Its error has two parts: about (δ ‖v‖)² from the curvature, and ε / (δ ‖v‖) from rounding the gradients, with
//! ε = 2⁻²⁴ and sizes near one. Both together are smallest near δ ‖v‖ = ε^⅓ = 2⁻⁸, so δ is 2⁻⁸ (1 + ‖θ‖) / ‖v‖, with the
//! largest element as the norm. That leaves products right to about four digits, to fewer with integer arithmetic, whose
//! gradients are coarser. The paper's choice of δ is not known here.
//!
//! # SPARKLE
//!
//! Zhu, Kong, Lu, Huang and Yuan, "SPARKLE: a unified single-loop primal-dual framework for decentralized bilevel
//! optimization", NeurIPS 2024. Every step uses the newest variables, and x moves by the newest average:
//!
//! ```text
//! θ -= β ∇θ g      v -= λ (H v - ∇θ f)      z += γ (∇x f - J v - z)      x by EXTRA, exact diffusion or tracking
//! ```
//!
//! Its abstract was available: one loop, and a choice of these ways to correct for heterogeneity, at each level. Its
//! pseudo-code was not, so that the order of the steps is not verified. EXTRA, exact diffusion and tracking are as published,
//! with ½ (I + W) for the mixing matrix of the first two, which makes every W safe. The original also corrects θ and v, which
//! are the nodes' own here, so there is one way to choose.

use lopa_core::node::Variable;
use lopa_core::oracles::Oracles;
use lopa_core::problem::{Point, Problem};
use lopa_core::vector::all_finite;

use super::estimate::approach;
use super::rule::{Ask, Variables};
use super::update::{Updated, average, blend, descend};

/// z is the moving average. D-SOBA moves x by the one before, while the new one is in `delta`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loopless {
    pub(super) beta: f32,
    pub(super) lambda: f32,
    pub(super) gamma: f32,
    pub(super) order: Order,
}

/// Where a step's derivatives are evaluated, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// All at the old iterates.
    AtOnce,
    /// The same, with differences of gradients for products.
    AtOnceByDifferences,
    /// Each where the steps before it lead.
    InTurn,
}

impl Loopless {
    pub(super) fn compute<P: Problem>(&self, own: &mut Variables, ask: &mut Ask<'_, P>) -> Updated {
        let Variables { x, theta, v, z, delta, .. } = own;
        let spare = std::mem::take(&mut ask.spare);
        let (mut oracles, [a, b, c]) = ask.at(x);
        if self.order == Order::InTurn {
            approach(&mut oracles, x, theta, self.beta, 1, [a, b, c])?;
            let at = Point { x, theta };
            oracles.hv_residual(at, v, b);
            descend(v, self.lambda, b, Variable::HessianInverseVector)?;
            oracles.hypergradient(at, v, delta);
            return average(z, self.gamma, delta, Variable::Hypergradient);
        }
        let at = Point { x, theta };
        if self.order == Order::AtOnce {
            oracles.hv_residual(at, v, b);
            oracles.hypergradient(at, v, delta);
        } else {
            products_by_differences(&mut oracles, at, v, [a, c], spare, [b, delta]);
            oracles.add_outer_gradient_inner(at, -1.0, b);
            delta.iter_mut().for_each(|cross| *cross = -*cross);
            oracles.add_outer_gradient_outer(at, delta);
        }
        oracles.inner_gradient(at, a);
        descend(theta, self.beta, a, Variable::Inner)?;
        descend(v, self.lambda, b, Variable::HessianInverseVector)?;
        blend(delta, self.gamma, z);
        if all_finite(delta) { Ok(()) } else { Err(Variable::Hypergradient) }
    }
}

/// ε^⅓ for the rounding ε of a float.
const STEP: f32 = 1.0 / 256.0;

/// Writes H v and J v from four gradients. `moved` and `low` are as long as θ, `low_cross` as x: room for the gradients on one
/// side, because sums with the same roundings are to be subtracted, not one from the start of the other.
pub(super) fn products_by_differences<P: Problem>(
    oracles: &mut Oracles<'_, P>,
    at: Point<'_>,
    v: &[f32],
    [moved, low]: [&mut [f32]; 2],
    low_cross: &mut [f32],
    [high, high_cross]: [&mut [f32]; 2],
) {
    let largest = |a: &[f32]| a.iter().fold(0.0, |largest: f32, a| largest.max(a.abs()));
    let delta = STEP * (1.0 + largest(at.theta)) / largest(v);
    // Along a v of zero any step does.
    let delta = if delta.is_finite() { delta } else { 1.0 };
    for (step, inner, outer) in
        [(-delta, &mut *low, &mut *low_cross), (delta, &mut *high, &mut *high_cross)]
    {
        for (moved, (theta, v)) in moved.iter_mut().zip(at.theta.iter().zip(v)) {
            *moved = theta + step * v;
        }
        inner.fill(0.0);
        outer.fill(0.0);
        // Whether there is a gradient in x was checked when the network was built.
        oracles.add_gradients_for_products(Point { x: at.x, theta: moved }, inner, outer);
    }
    for (high, low) in [(high, low), (high_cross, low_cross)] {
        high.iter_mut().zip(low).for_each(|(high, low)| *high = (*high - *low) * (0.5 / delta));
    }
}
