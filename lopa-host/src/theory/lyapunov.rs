//! The Lyapunov function of the paper's proofs.

use lopa_core::node::Scheme;
use lopa_core::steps::StepSizes;

use super::Constants;
use crate::exact::Measurement;

/// d₀ to d₆, the weights of the errors in
///
/// ```text
/// V = d₀ Φ(x̄) + d₁ (1/m) ‖v - v*(x̄)‖² + d₂ (1/m) ‖θ - θ*(x̄)‖² + d₃ ‖∇Φ(x̄) - z̄‖²
///   + d₄ (1/m) ‖∇Φ̃(x̄) - z‖² + d₅ (1/m) ‖x - 1 ⊗ x̄‖² + d₆ (1/m) ‖y - 1 ⊗ ȳ‖²          (EQ-V)
/// ```
///
/// as theorem 1 (LG) and theorem 2 (GT) give them. With full batches and small enough steps, theorem 2 says that V
/// falls by at least τα/2 ‖∇Φ(x̄)‖² per round; with LG it is half of that, less a term from heterogeneity.
///
/// # Inconsistencies in the paper
///
/// - d₂ is printed as (L_{fg,x} + 32 C²_{g,xθ} L_{fg,θ} / μ_g²) τα / (ω_θ β) in the theorems, and with d₁ q_x in the
///   proofs. With q_x = 4 L_{fg,θ} λ / (μ_g α), from the lemma on Hv errors, they are equal.
/// - d₅ of LG is 2φα / (1 - ρ) in theorem 1, but twice that in its proof (EQ-the1-dddd) and in theorem 2. The proof
///   uses half of it for the errors it removes and half for condition EQ-the1-C5; the theorem's value leaves nothing
///   for the second. So here it is 4φα / (1 - ρ) for both.
/// - d₄ of LG has α⁴ in theorem and proof, while the proof needs d₄ γ to outweigh 6τα² d₅ / (1 - ρ), which has α³. It
///   is kept as printed. With steps far from the theorem's, V can then grow while z settles.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Coefficients {
    /// d₀ to d₆.
    pub d: [f64; 7],
}

impl Coefficients {
    /// The coefficients for a problem's constants, step sizes, ρ = ‖W - 11'/m‖² (the square of the second largest
    /// singular value, see [`Weights::spectrum`](crate::topology::Weights::spectrum)), and a scheme.
    ///
    /// In a connected network ρ is below one; otherwise the coefficients are infinite.
    #[must_use]
    pub fn new(constants: &Constants, steps: &StepSizes, rho: f64, scheme: Scheme) -> Self {
        let [alpha, beta, lambda, gamma, tau] =
            [steps.alpha(), steps.beta(), steps.lambda(), steps.gamma(), steps.tau()]
                .map(f64::from);
        let cross = constants.c_g_x_theta * constants.c_g_x_theta;
        let reach = constants.l_fg_x()
            + 32.0 * cross * constants.l_fg_theta() / (constants.mu_g * constants.mu_g);
        let (phi, gap) = (constants.varphi(), (1.0 - rho).max(0.0));
        let (d4, d6) = match scheme {
            Scheme::LocalGradient => {
                let alpha_squared = alpha * alpha;
                (24.0 * phi * tau * alpha_squared * alpha_squared / (gap * gap * gamma), 0.0)
            }
            Scheme::GradientTracking => (
                64.0 * phi * tau * gamma * alpha * alpha / (gap * gap * gap * gap),
                16.0 * phi * tau * alpha * alpha / (gap * gap * gap),
            ),
        };
        let d = [
            1.0,
            8.0 * cross * tau * alpha / (constants.mu_g * lambda),
            reach * tau * alpha / (constants.omega_theta() * beta),
            tau * alpha / (2.0 * gamma),
            d4,
            4.0 * phi * alpha / gap,
            d6,
        ];
        Self { d }
    }

    /// The value of V for a network.
    #[must_use]
    pub fn value(&self, measured: &Measurement) -> f64 {
        let terms = [
            measured.phi,
            measured.hv_error,
            measured.inner_error,
            measured.average_variance_error,
            measured.variance_error,
            measured.consensus_error,
            measured.gradient_error,
        ];
        self.d.iter().zip(terms).map(|(d, term)| d * term).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::CONSTANTS;

    #[test]
    fn the_coefficients_on_paper() {
        // M = ½, ω = 3/8, L_fg,x = 8 + 1 = 9, L_fg,θ = 2 + ¼; 9 + 32·¼·2.25 = 27; φ = 27 (1 + 36·64/9) = 6939.
        assert_eq!(CONSTANTS.m(), 0.5);
        assert_eq!(CONSTANTS.omega_theta(), 0.375);
        assert_eq!((CONSTANTS.l_fg_x(), CONSTANTS.l_fg_theta()), (9.0, 2.25));
        assert_eq!(CONSTANTS.varphi(), 6_939.0);
        let steps = StepSizes::new(0.25, 0.125, 0.5, 0.75, 0.5).unwrap();
        let lg = Coefficients::new(&CONSTANTS, &steps, 0.5, Scheme::LocalGradient).d;
        let gt = Coefficients::new(&CONSTANTS, &steps, 0.5, Scheme::GradientTracking).d;
        let common = [1.0, 0.5, 72.0, 1.0 / 12.0];
        // LG: 24 φ/2 /256 · 4 / ¾ and 4 φ/4 · 2. GT: 64 φ/2 · ¾ /16 · 16, the same, 16 φ/2 /16 · 8.
        for (found, wanted) in [
            (lg, [0.25 * 6_939.0, 2.0 * 6_939.0, 0.0]),
            (gt, [24.0 * 6_939.0, 2.0 * 6_939.0, 4.0 * 6_939.0]),
        ] {
            for (found, wanted) in found.iter().zip(common.iter().chain(&wanted)) {
                assert!((found - wanted).abs() <= 1.0e-14 * wanted, "{found}, not {wanted}");
            }
        }
    }

    #[test]
    fn every_error_has_its_own_coefficient() {
        let measured = Measurement {
            hypergradient: 1.0e9,
            phi: 1.0,
            hv_error: 10.0,
            inner_error: 100.0,
            average_variance_error: 1.0e3,
            variance_error: 1.0e4,
            consensus_error: 1.0e5,
            gradient_error: 1.0e6,
            ..Measurement::default()
        };
        let coefficients = Coefficients { d: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] };
        assert_eq!(coefficients.value(&measured), 7_654_321.0);
    }
}
