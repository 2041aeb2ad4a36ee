//! What the tests of the theory have in common.

use super::Constants;

/// Numbers with which everything can be done on paper.
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
