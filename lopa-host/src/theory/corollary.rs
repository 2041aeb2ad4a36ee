//! The step sizes of corollaries 1 to 4, with all constants written out.

use lopa_core::node::Scheme;

use super::{Theory, Variances};

/// What keeps α from being larger: the smallest of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// u or u': the conditions of the theorem, in the first rounds.
    Conditions,
    /// (a₀ / (a₁ (K + 1)))^½: the noise of the batches.
    Noise,
    /// (a₀ / (a₂ (K + 1)))^⅓: the heterogeneity.
    Heterogeneity,
}

/// Step sizes for which the paper proves a bound, and that bound.
///
/// γ, λ and β are c_γ α, c_λ α and c_β α with the smallest c that (EQ-cccc1) and (EQ-cccc2) allow. The b² in a₂ is the
/// measured one: the bound of lemma 1 would be larger.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Corollary {
    /// Its number: 1 for LG and 2 for GT; without variances, as with full batches, 3 and 4.
    pub number: u8,
    /// α.
    pub alpha: f64,
    /// What limits α.
    pub limit: Limit,
    /// β.
    pub beta: f64,
    /// λ.
    pub lambda: f64,
    /// γ.
    pub gamma: f64,
    /// τ, as given.
    pub tau: f64,
    /// u or u': the largest α that the conditions of the theorem allow.
    pub u: f64,
    /// a₀, a₁ and a₂; the last is zero with tracking.
    pub a: [f64; 3],
    /// a₀ / (α (K + 1)), a₁ α and a₂ α².
    pub terms: [f64; 3],
    /// Their sum, which bounds the mean of E‖∇Φ(x̄)‖² over rounds 0 to K.
    pub bound: f64,
}

impl Theory {
    /// The step sizes for K rounds and a relaxation τ between 0 and 1, by corollary 1 for LG and corollary 2 for GT;
    /// without variances these are corollaries 3 and 4.
    ///
    /// None where they do not exist: if the inner solution does not depend on x (C_{g,xθ} = 0), or the network is not
    /// connected.
    #[must_use]
    pub fn corollary(&self, scheme: Scheme, tau: f64, rounds: u64) -> Option<Corollary> {
        let Self { constants: k, variances: s, start, .. } = self;
        let (gap, m) = (1.0 - self.rho, self.nodes as f64);
        let (c, mu, l, phi) = (k.c_g_x_theta, k.mu_g, k.l(), k.varphi());
        let (l_x, omega) = (k.l_fg_x(), k.omega_theta());
        let reach = 32.0 * c * c * k.l_fg_theta() / (mu * mu) + l_x;
        let c_lambda = 48.0 * k.l_v_star() * c / mu * tau;
        let c_beta = 6.0 * k.l_theta_star() / omega * reach.sqrt() * tau;
        let c_gamma = 4.0 * l * tau;
        let third = |a: f64| libm::cbrt(a);
        let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);

        // The limits from λ and β, the same in (EQ-1-u3) and (EQ-u3-3-3).
        let widest = (2.0 / (mu + k.l_g_theta)).min((mu + k.l_g_theta) / (2.0 * mu * k.l_g_theta));
        let room = [
            (mu * mu / (8.0 * s.g_x_theta)).min(1.0) / (96.0 * tau * k.l_v_star() * c),
            widest * omega / (12.0 * tau * reach.sqrt() * k.l_theta_star()),
        ];
        let (thirds, gap_thirds) = (third(phi), third(gap * gap));
        let (number, u, high, share, order, bias) = match scheme {
            Scheme::LocalGradient => {
                let second = [
                    gap / (12.0 * phi.sqrt()),
                    gap_thirds / (4.0 * thirds),
                    third(reach) * gap_thirds / (4.0 * thirds),
                    gap.sqrt() / (3.0 * l_x.sqrt().sqrt()),
                    third(c * c) * gap_thirds / (4.0 * thirds * third(s.g_x_theta)),
                ];
                let last = (2.0 * c * c / s.g_x_theta).min(1.0) / (8.0 * l * tau);
                let u = least(&[1.0 / (2.0 * tau * l), least(&second), least(&room), last]);
                let d4 = 24.0 * phi * tau * u * u * u / (gap * gap * c_gamma);
                let bias = 4.0 * 24.0 * phi / (gap * gap * c_gamma) * self.heterogeneity.b / m;
                (1, u, [d4, 2.0 * phi * u / gap, 0.0], 2.0, 4.0, bias)
            }
            Scheme::GradientTracking => {
                let (pull, lift) = (gap_thirds * gap_thirds, third(tau * l));
                let first = gap * gap / (32.0 * phi.sqrt() * (tau * l).sqrt());
                let second = [
                    0.8 * c * c / s.g_theta_theta,
                    pull * lift / (6.0 * thirds),
                    pull * lift * third(c * c) / (3.0 * thirds * third(s.g_theta_theta)),
                    pull * lift * third(reach) / (4.0 * thirds * third(l_x)),
                    pull * lift / (4.0 * third(l_x)),
                ];
                let middle = least(&second).min(1.0) / (8.0 * tau * l);
                let u = least(&[1.0 / (2.0 * tau * l), first, middle, least(&room)]);
                let square = phi * tau * u * u / (gap * gap * gap);
                (2, u, [64.0 * square / gap, 4.0 * phi * u / gap, 16.0 * square], 4.0, 2.0, 0.0)
            }
        };
        let d = [
            8.0 * c * c * tau / (mu * c_lambda),
            reach * tau / (omega * c_beta),
            tau / (2.0 * c_gamma),
        ];
        let value = start.phi
            + d[0] * start.hv_error
            + d[1] * start.inner_error
            + d[2] * start.average_variance_error
            + high[0] * start.variance_error
            + high[1] * start.consensus_error
            + high[2] * start.gradient_error;
        let [g_theta, g_theta_theta, g_x_theta, f_theta, f_x] =
            [s.g_theta, s.g_theta_theta, s.g_x_theta, s.f_theta, s.f_x].map(f64::sqrt);
        let personal = (d[0] / tau).sqrt() * (f_theta + 2.0 * k.m() * g_theta_theta) * c_lambda
            + (d[1] / tau).sqrt() * g_theta * c_beta;
        let common = (d[2] / tau).sqrt() * (f_x + 2.0 * k.m() * g_x_theta) * c_gamma;
        let sigma = 2.0_f64.sqrt() * personal + (share / m).sqrt() * common;
        let a = [order * value / tau, order * sigma * sigma, bias];
        let all = rounds as f64 + 1.0;
        let mut decided = (u, Limit::Conditions);
        for (most, limit) in [
            ((a[0] / (a[1] * all)).sqrt(), Limit::Noise),
            (third(a[0] / (a[2] * all)), Limit::Heterogeneity),
        ] {
            if most < decided.0 {
                decided = (most, limit);
            }
        }
        let (alpha, limit) = decided;
        let terms = [a[0] / (alpha * all), a[1] * alpha, a[2] * alpha * alpha];
        let bound = terms.iter().sum();
        let (beta, lambda, gamma) = (c_beta * alpha, c_lambda * alpha, c_gamma * alpha);
        let number = if *s == Variances::default() { number + 2 } else { number };
        let found =
            Corollary { number, alpha, limit, beta, lambda, gamma, tau, u, a, terms, bound };
        (alpha > 0.0 && [alpha, beta, lambda, gamma, bound].iter().all(|a| a.is_finite()))
            .then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::theory;

    fn assert_near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1.0e-12 * wanted.abs(), "{found}, not {wanted}");
    }

    #[test]
    fn the_corollaries_on_paper() {
        let lg = theory().corollary(Scheme::LocalGradient, 0.5, 99).unwrap();
        assert_near(lg.u, 0.5 / (12.0 * 6_939.0_f64.sqrt()));
        assert_near(lg.lambda / lg.alpha, 22.5);
        assert_near(lg.gamma / lg.alpha, 9.375);
        assert_near(lg.beta / lg.alpha, 4.0 * 27.0_f64.sqrt());
        // a₀ = 4 · 3 / ½; ϑ = 24 φ / (¼ · 9.375), a₂ = 4 ϑ b² / m.
        assert_near(lg.a[0], 24.0);
        assert_near(lg.a[2], 2.0 * 24.0 * 6_939.0 * 4.0 / 9.375);
        assert_eq!((lg.a[1], lg.alpha), (0.0, lg.u));
        let gt = theory().corollary(Scheme::GradientTracking, 0.5, 99).unwrap();
        assert_near(gt.u, 0.25 / (32.0 * 6_939.0_f64.sqrt() * 2.34375_f64.sqrt()));
        assert_eq!((gt.a[1], gt.a[2], gt.alpha), (0.0, 0.0, gt.u));
        assert_near(gt.a[0], 12.0);
        assert_near(gt.bound, 12.0 / (gt.u * 100.0));
        assert_eq!((lg.number, gt.number), (3, 4), "without noise");
        assert_eq!((lg.limit, gt.limit), (Limit::Conditions, Limit::Conditions));
        assert_near(lg.terms[0], 24.0 / (lg.u * 100.0));
        assert_near(lg.terms[2], lg.a[2] * lg.u * lg.u);
        assert_eq!(lg.terms.iter().sum::<f64>(), lg.bound);
    }

    #[test]
    fn the_smallest_of_three_decides_alpha() {
        // In the long run α falls as K^-½ with noise and as K^-⅓ with heterogeneity, ever further below u.
        let mut noisy = theory();
        noisy.variances.f_theta = 0.4;
        let long = 1_000_000_000_000;
        let limit = |theory: Theory, scheme, rounds| {
            let found = theory.corollary(scheme, 0.5, rounds).unwrap();
            let wanted = match found.limit {
                Limit::Conditions => found.u,
                Limit::Noise => (found.a[0] / (found.a[1] * (rounds as f64 + 1.0))).sqrt(),
                Limit::Heterogeneity => {
                    libm::cbrt(found.a[0] / (found.a[2] * (rounds as f64 + 1.0)))
                }
            };
            assert_near(found.alpha, wanted);
            (found.number, found.limit)
        };
        let (lg, gt) = (Scheme::LocalGradient, Scheme::GradientTracking);
        assert_eq!(limit(theory(), lg, 9), (3, Limit::Conditions));
        assert_eq!(limit(theory(), lg, long), (3, Limit::Heterogeneity));
        assert_eq!(limit(theory(), gt, long), (4, Limit::Conditions));
        assert_eq!(limit(noisy, lg, long), (1, Limit::Noise));
        assert_eq!(limit(noisy, gt, long), (2, Limit::Noise));
    }

    #[test]
    fn steps_meet_the_conditions_of_the_theorems() {
        let mut noisy = theory();
        noisy.variances =
            Variances { g_theta: 0.2, g_theta_theta: 0.1, g_x_theta: 0.3, f_theta: 0.4, f_x: 0.5 };
        for theory in [theory(), noisy] {
            for scheme in [Scheme::LocalGradient, Scheme::GradientTracking] {
                let mut last = f64::INFINITY;
                for rounds in [10, 1_000, 1_000_000, 1_000_000_000_000] {
                    let found = theory.corollary(scheme, 0.5, rounds).unwrap();
                    let Corollary { alpha, beta, lambda, gamma, u, bound, .. } = found;
                    assert!(alpha <= u && lambda < 1.0 && beta < 0.5 && gamma < 1.0, "{found:?}");
                    assert!(bound < last, "more rounds, a better bound");
                    last = bound;
                }
            }
        }
    }

    #[test]
    fn without_a_coupling_or_a_connected_network_there_are_no_step_sizes() {
        let mut idle = theory();
        idle.constants.c_g_x_theta = 0.0;
        let apart = Theory { rho: 1.0, ..theory() };
        for theory in [idle, apart] {
            assert_eq!(theory.corollary(Scheme::GradientTracking, 0.5, 9), None);
            assert_eq!(theory.corollary(Scheme::LocalGradient, 0.5, 9), None);
        }
    }
}
