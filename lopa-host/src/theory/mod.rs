//! The paper's theory at a point: the constants of its assumptions, the step sizes and bounds that follow, and whether
//! runs keep them.
//!
//! - [`Constants`]: what assumptions 2 and 3 bound, measured where a run starts;
//! - [`Heterogeneity`] and [`Variances`]: how far nodes differ, and batches from all samples (assumptions 4 and 5);
//! - [`Theory`]: all of these, with the step sizes and bounds of the [corollaries](Corollary) and of [lemma 1](Lemma);
//! - [`Check`]: whether runs stay below the bound of a corollary;
//! - [`Coefficients`]: the Lyapunov function V of theorems 1 and 2.

mod check;
mod constants;
mod corollary;
mod heterogeneity;
mod lemma;
mod lipschitz;
mod lyapunov;
#[cfg(test)]
mod testing;

pub use check::{Check, Course, Ended, Verdict};
pub use constants::Constants;
pub use corollary::{Corollary, Limit};
pub use heterogeneity::{Heterogeneity, Variances};
pub use lemma::Lemma;
pub(crate) use lipschitz::largest_curvature;
pub use lyapunov::Coefficients;

use crate::exact::Measurement;

/// All that the paper's bounds depend on, measured where a run starts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Theory {
    /// μ_g, the L and the C of assumptions 2 and 3.
    pub constants: Constants,
    /// The b of assumption 4.
    pub heterogeneity: Heterogeneity,
    /// The σ of assumption 5.
    pub variances: Variances,
    /// ρ = ‖W - 11'/m‖².
    pub rho: f64,
    /// m, the number of nodes.
    pub nodes: usize,
    /// The network's errors at the start.
    pub start: Measurement,
}
