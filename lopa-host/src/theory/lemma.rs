//! Lemma 1: how much hypergradients can differ when nodes differ on either level.

use super::{Constants, Theory};

/// Lemma 1 at a point: b² ≤ C₁ b_f² + C₂ b_g², where b² = Σ_i ‖∇Φ_i(x) - ∇Φ(x)‖².
///
/// # Inconsistencies in the paper
///
/// C₁ and C₂ are those of the appendix.
/// - Steps (a) of (EQ-phi-phi-1) and (EQ-phi-phi-1-2) double the contributions of L_{f,θ} and C_{f,θ} once more than
///   the last line does: following the proof, the terms of C₂ with L_{f,θ} or C_{f,θ} would be twice as large.
/// - Step (b) of (EQ-phi-phi-2) uses L_{f,x} as the Lipschitz constant of ∇x f in θ, while assumption 2 defines it in
///   x. Where f couples the two, as with a shared layer, the measured L_{f,x} may be too small for it.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Lemma {
    /// C₁.
    pub c_1: f64,
    /// C₂.
    pub c_2: f64,
    /// C₁ b_f² + C₂ b_g².
    pub bound: f64,
    /// The ratio of that to the measured b²; none where b² is zero.
    pub care: Option<f64>,
}

impl Constants {
    /// C₁ = 4 + 4 C²_{g,xθ} / μ_g² of lemma 1.
    #[must_use]
    pub fn c_1(&self) -> f64 {
        let reach = self.l_theta_star();
        4.0 + 4.0 * reach * reach
    }

    /// C₂ of lemma 1: 4 (4 C_f² C_g² / μ⁴ + 4 C_f² / μ² + L²_{f,x} / μ² + L²_{f,θ} C_g² / μ⁴
    /// + 4 C_f² C_g² L²_{g,θθ} / μ⁶ + 4 C_f² L²_{g,xθ} / μ⁴) with μ = μ_g, C_f = C_{f,θ} and C_g = C_{g,xθ}.
    #[must_use]
    pub fn c_2(&self) -> f64 {
        let [m, reach] = [self.m(), self.l_theta_star()].map(|a| a * a);
        let [l_f_x, l_f_theta, l_g_x_theta, l_g_theta_theta] =
            [self.l_f_x, self.l_f_theta, self.l_g_x_theta, self.l_g_theta_theta]
                .map(|l| l * l / (self.mu_g * self.mu_g));
        let inner = 4.0 * m * (reach + 1.0 + reach * l_g_theta_theta + l_g_x_theta);
        4.0 * (inner + l_f_x + l_f_theta * reach)
    }
}

impl Theory {
    /// Lemma 1 with the measured constants.
    #[must_use]
    pub fn lemma(&self) -> Lemma {
        let (c_1, c_2) = (self.constants.c_1(), self.constants.c_2());
        let bound = c_1 * self.heterogeneity.b_f + c_2 * self.heterogeneity.b_g;
        let b = self.heterogeneity.b;
        Lemma { c_1, c_2, bound, care: (b > 0.0).then(|| bound / b) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quadratics::QuadraticRecipe;
    use crate::theory::Heterogeneity;
    use crate::theory::testing::{CONSTANTS, theory};

    fn lemma(constants: Constants, heterogeneity: Heterogeneity) -> Lemma {
        Theory { constants, heterogeneity, ..theory() }.lemma()
    }

    #[test]
    fn the_lemma_on_paper() {
        // 4 + 4/4; 4 (1/4 + 1 + 4 + 1/4 + 1/16 + 1).
        assert_eq!((CONSTANTS.c_1(), CONSTANTS.c_2()), (5.0, 26.25));
        // With twice the μ_g: 4 + 4/16; 4 (1/64 + 1/4 + 1 + 1/64 + 1/1024 + 1/16).
        let stiff = Constants { mu_g: 2.0, ..CONSTANTS };
        assert_eq!((stiff.c_1(), stiff.c_2()), (4.25, 5.378_906_25));
        let apart = Heterogeneity { b_f: 3.0, b_g: 2.0, b: 7.5 };
        let Lemma { bound, care, .. } = lemma(CONSTANTS, apart);
        assert_eq!((bound, care), (67.5, Some(9.0)));
        let alike = Heterogeneity { b_f: 0.0, b_g: 0.0, b: 0.0 };
        assert_eq!(lemma(CONSTANTS, alike).care, None);
    }

    #[test]
    fn the_lemma_holds_on_random_quadratics() {
        for (seed, (outer, inner)) in
            (0..24).zip([(1, 1), (3, 2), (2, 5), (4, 4)].into_iter().cycle())
        {
            let heterogeneity = [0.1, 1.0, 4.0][seed as usize % 3];
            let recipe = QuadraticRecipe::new(outer, inner, heterogeneity, seed);
            let data: Vec<_> = (0..5).map(|node| recipe.node(node)).collect();
            let problems: Vec<_> = data.iter().map(|data| data.problem().unwrap()).collect();
            let problems: Vec<_> = problems.iter().collect();
            let x: Vec<f32> = (0..outer).map(|i| seed as f32 / 8.0 - i as f32).collect();
            let constants = Constants::measure(problems.iter().copied(), &x, seed).unwrap();
            let measured = Heterogeneity::measure(&problems, &x).unwrap();
            let Lemma { bound, care, .. } = lemma(constants, measured);
            assert!(measured.b > 1.0e-3, "{recipe:?}: these nodes differ");
            assert!(measured.b <= bound, "{recipe:?}: {} is above {bound}", measured.b);
            // And not by an arbitrary margin: the results page quotes this range.
            let care = care.unwrap_or_default();
            assert!((49.0..48_000.0).contains(&care), "{recipe:?}: {care}");
        }
    }
}
