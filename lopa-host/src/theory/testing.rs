//! What the tests of the theory have in common.

use super::{Constants, Heterogeneity, Theory, Variances};
use crate::exact::Measurement;

/// Constants with which everything can be computed on paper: φ = 6939, L = 4.6875, L_v* = 1.875, ω = 3/8.
pub(super) const CONSTANTS: Constants = Constants {
    mu_g: 1.0,
    l_g_theta: 3.0,
    c_g_x_theta: 0.5,
    l_g_x_theta: 1.0,
    l_g_theta_theta: 0.5,
    l_f_theta: 1.0,
    l_f_x: 2.0,
    c_f_theta: 0.5,
};

/// Four different nodes with full batches that start from their solutions.
pub(super) fn theory() -> Theory {
    Theory {
        constants: CONSTANTS,
        heterogeneity: Heterogeneity { b_f: 1.0, b_g: 1.0, b: 2.0 },
        variances: Variances::default(),
        rho: 0.5,
        nodes: 4,
        start: Measurement { hypergradient: 1.0, phi: 3.0, ..Measurement::default() },
    }
}
