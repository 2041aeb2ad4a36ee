//! The second half of a round: how nodes agree on x, or on θ where there is one level.

use lopa_core::node::Variable;
use lopa_core::vector::all_finite;

use super::rule::Variables;
use super::update::{Updated, replace};

/// How nodes agree on a vector `a`. Each neighbour pulls it by w_ij (a_j - a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consensus {
    /// Every node moves by its own estimate z, which leaves a bias where nodes differ.
    Local,
    /// The same with the estimate of the round before, as MA-DSBO does; the newest one waits in `delta`.
    Delayed,
    /// The same, but nodes adapt, then combine, as D-SOBA does: x = W (x - α z).
    Diffusion,
    /// y tracks the network's mean of z, and nodes move by y.
    Tracking,
    /// The same, but y adapts, then combines, y = W (y + z - z_old), before nodes move by it: what is called semi-ATC, and
    /// gives the x of x = W (x - α y) with plain tracking. If x did so too, z would travel twice in a round, and a round would
    /// take two exchanges, one after the other.
    DiffusedTracking,
    /// A linearised augmented Lagrangian. With the penalty such that the linearised step mixes by ½ (I + W), the
    /// classical choice,
    ///
    /// ```text
    /// q += ½ (x - W x)          x = ½ (x + W x) - α z - q
    /// ```
    ///
    /// q, the variable `dual`, is α times the multipliers' pull. Its sum over the network is zero, and at rest it cancels
    /// what nodes disagree on: the bias of local gradients is gone, as with tracking, for one vector sent instead of
    /// two. Without q written out these are the steps of EXTRA (Shi, Ling, Wu and Yin, 2015).
    Multipliers,
    /// Exact diffusion (Yuan, Ying, Zhao and Sayed, 2019): the same, but nodes adapt, then combine. a, which travels, is
    ///
    /// ```text
    /// a = x - α z - q          x = ½ (a + W a)          q += ½ (a - W a)
    /// ```
    ///
    /// Without q written out, x₂ = ½ (I + W) (2 x₁ - x₀ - α (z₁ - z₀)).
    ExactDiffusion,
}

/// What all nodes agree on, and the steps towards it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreement {
    pub(super) consensus: Consensus,
    /// Whether there is one level, with one θ for all nodes and x fixed.
    pub(super) single_level: bool,
    /// The step size.
    pub(super) alpha: f32,
    /// The relaxation; 1 for methods without.
    pub(super) tau: f32,
}

impl Agreement {
    /// The vectors that travel to neighbours, the second one empty if there is only one.
    pub(super) fn travelling<'v>(&self, own: &'v Variables) -> [&'v [f32]; 2] {
        let agreed = if self.single_level { &own.theta } else { &own.x };
        match self.consensus {
            Consensus::Diffusion | Consensus::ExactDiffusion => [&own.delta, &own.y],
            Consensus::DiffusedTracking => [agreed, &own.delta],
            _ => [agreed, &own.y],
        }
    }

    /// Between the halves of a round: where nodes adapt, then combine, makes of `delta` what travels.
    pub(super) fn adapt(&self, own: &mut Variables) -> Updated {
        let Variables { x, z, y, dual, delta, .. } = own;
        let name = match self.consensus {
            Consensus::Diffusion => {
                for (delta, (x, z)) in delta.iter_mut().zip(x.iter().zip(z)) {
                    let moved = x - self.alpha * *z;
                    *z = std::mem::replace(delta, moved);
                }
                Variable::Outer
            }
            Consensus::ExactDiffusion => {
                let own = x.iter().zip(z.iter().zip(&*dual));
                for (delta, (x, (z, dual))) in delta.iter_mut().zip(own) {
                    *delta = x - self.alpha * z - dual;
                }
                Variable::Outer
            }
            Consensus::DiffusedTracking => {
                delta.iter_mut().zip(&*y).for_each(|(delta, y)| *delta += y);
                Variable::Direction
            }
            _ => return Ok(()),
        };
        if all_finite(delta) { Ok(()) } else { Err(name) }
    }

    /// Moves by the neighbours' pulls on each vector that travelled, and by the node's own direction. `room` is as long
    /// as one of them.
    pub(super) fn mix(
        &self,
        own: &mut Variables,
        [pull, y_pull]: [&[f32]; 2],
        room: &mut [f32],
    ) -> Updated {
        let Variables { x, theta, z, y, dual, old_x, delta, .. } = own;
        let (a, name) =
            if self.single_level { (theta, Variable::Inner) } else { (x, Variable::Outer) };
        let move_by = |direction: &[f32], a: &mut [f32], room: &mut [f32]| {
            let own = a.iter().zip(pull.iter().zip(direction));
            for (room, (a, (pull, direction))) in room.iter_mut().zip(own) {
                *room = a + self.tau * (pull - self.alpha * direction);
            }
            replace(a, room, name)
        };
        match self.consensus {
            // A method that keeps no z has its estimate in `delta`.
            Consensus::Local => move_by(if z.is_empty() { delta } else { z }, a, room)?,
            Consensus::Delayed => {
                move_by(z, a, room)?;
                std::mem::swap(z, delta);
            }
            Consensus::Diffusion => {
                add(room, delta, 1.0, pull);
                replace(a, room, name)?;
            }
            Consensus::DiffusedTracking => {
                add(room, delta, 1.0, y_pull);
                replace(y, room, Variable::Direction)?;
                move_by(y, a, room)?;
            }
            Consensus::ExactDiffusion => {
                add(room, delta, 0.5, pull);
                replace(a, room, name)?;
                dual.iter_mut().zip(pull).for_each(|(dual, pull)| *dual -= 0.5 * pull);
            }
            Consensus::Tracking => {
                let own = y.iter().zip(y_pull.iter().zip(&*delta));
                for (room, (y, (pull, delta))) in room.iter_mut().zip(own) {
                    *room = y + pull + delta;
                }
                replace(y, room, Variable::Direction)?;
                if !old_x.is_empty() {
                    old_x.copy_from_slice(a);
                }
                move_by(y, a, room)?;
            }
            Consensus::Multipliers => {
                let own = a.iter().zip(pull.iter().zip(z.iter().zip(&*dual)));
                for (room, (a, (pull, (z, dual)))) in room.iter_mut().zip(own) {
                    // The new q is the old one less half the pull: together the pull comes in whole.
                    *room = a + (pull - self.alpha * z - dual);
                }
                replace(a, room, name)?;
                dual.iter_mut().zip(pull).for_each(|(dual, pull)| *dual -= 0.5 * pull);
            }
        }
        Ok(())
    }
}

/// `room = a + weight * pull`.
fn add(room: &mut [f32], a: &[f32], weight: f32, pull: &[f32]) {
    for (room, (a, pull)) in room.iter_mut().zip(a.iter().zip(pull)) {
        *room = a + weight * pull;
    }
}
