//! The constants of the paper's assumptions, measured at a point.

use lopa_core::problem::Problem;
use rayon::prelude::*;

use super::lipschitz::Local;
use crate::exact::{ExactError, Solver, of_nodes};
use crate::numerics::vector::norm;

/// The constants of assumptions 2 and 3, measured at one x and the nodes' θ*(x): the smallest μ_g over the nodes, and
/// the largest of each of the others.
///
/// The paper's constants hold everywhere. For most problems they can only be measured at a point, so these are local
/// estimates from below (μ_g from above). On a quadratic they are exact, up to f32. L_{f,x} and L_{f,θ} are meant as in
/// assumption 2, each in its own variable.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Constants {
    /// μ_g: g is at least this strongly convex in θ. The smallest eigenvalue of ∇²θθ g, by Lanczos' method.
    pub mu_g: f64,
    /// L_{g,θ}: the Lipschitz constant of ∇θ g in θ. The largest eigenvalue of ∇²θθ g, by Lanczos' method.
    pub l_g_theta: f64,
    /// C_{g,xθ}: the largest singular value of ∇²xθ g in the span of a few dozen vectors. Products with the matrix are
    /// the problem's own; products with its transpose, which only select those vectors, are central differences of ∇θ g
    /// in x.
    pub c_g_x_theta: f64,
    /// L_{g,xθ}: the Lipschitz constant of ∇²xθ g in (x, θ). The third derivative that changes it most, found by ascent
    /// from seeded random directions on central differences of ∇²xθ g · v and ∇²θθ g · v.
    pub l_g_x_theta: f64,
    /// L_{g,θθ}: the same for ∇²θθ g.
    pub l_g_theta_theta: f64,
    /// L_{f,θ}: the Lipschitz constant of ∇θ f in θ. The largest absolute eigenvalue of ∇²θθ f, by Lanczos' method on
    /// central differences of ∇θ f, which have about four correct digits.
    pub l_f_theta: f64,
    /// L_{f,x}: the same for ∇x f in x. Zero where f does not depend on x.
    pub l_f_x: f64,
    /// C_{f,θ}: ‖∇θ f(x, θ*(x))‖.
    pub c_f_theta: f64,
}

impl Constants {
    /// Measures the nodes' problems at `x`, such as the start of a run. `seed` determines the random directions.
    ///
    /// It takes up to about 1,000 Hessian-vector products per node, most of them for the smallest eigenvalue, and
    /// memory for 300 vectors of the length of x or θ per thread. The bits are the same for any number of threads.
    ///
    /// # Errors
    /// There are no nodes, or a node, which is named, has a problem that cannot be evaluated at x.
    pub fn measure<'n, P: Problem + Sync + ?Sized + 'n>(
        problems: impl IntoIterator<Item = &'n P>,
        x: &[f32],
        seed: u64,
    ) -> Result<Self, ExactError> {
        let problems: Vec<&P> = problems.into_iter().collect();
        let results: Vec<Result<Self, ExactError>> = problems
            .into_par_iter()
            .map(|problem| {
                let mut solver = Solver::new(problem.dimensions());
                let theta = &solver.solve(problem, x)?.theta;
                Self::of_one(Local::new(problem, x, theta, seed))
            })
            .collect();
        of_nodes(results)?.into_iter().reduce(|all, own| all.join(&own)).ok_or(ExactError::Empty)
    }

    fn of_one<P: Problem + ?Sized>(mut local: Local<'_, P>) -> Result<Self, ExactError> {
        let (mu_g, l_g_theta) = local.hessian_ends();
        let own = Self {
            mu_g,
            l_g_theta,
            c_g_x_theta: local.cross_norm(),
            l_g_x_theta: local.cross_change(),
            l_g_theta_theta: local.hessian_change(),
            l_f_theta: local.outer_curvature_inner(),
            l_f_x: local.outer_curvature_outer(),
            c_f_theta: norm(&local.outer_gradient_inner()),
        };
        let all = [
            own.mu_g,
            own.l_g_theta,
            own.c_g_x_theta,
            own.l_g_x_theta,
            own.l_g_theta_theta,
            own.l_f_theta,
            own.l_f_x,
            own.c_f_theta,
        ];
        if all.iter().all(|a| a.is_finite()) {
            Ok(own)
        } else {
            Err(ExactError::NotFinite { name: "a derivative" })
        }
    }

    /// Constants that hold for both.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            mu_g: self.mu_g.min(other.mu_g),
            l_g_theta: self.l_g_theta.max(other.l_g_theta),
            c_g_x_theta: self.c_g_x_theta.max(other.c_g_x_theta),
            l_g_x_theta: self.l_g_x_theta.max(other.l_g_x_theta),
            l_g_theta_theta: self.l_g_theta_theta.max(other.l_g_theta_theta),
            l_f_theta: self.l_f_theta.max(other.l_f_theta),
            l_f_x: self.l_f_x.max(other.l_f_x),
            c_f_theta: self.c_f_theta.max(other.c_f_theta),
        }
    }

    /// M = C_{f,θ} / μ_g, the bound of ‖v*(x)‖.
    #[must_use]
    pub fn m(&self) -> f64 {
        self.c_f_theta / self.mu_g
    }

    /// κ = max{L_{f,x}, L_{f,θ}, L_{g,θ}, L_{g,xθ}, L_{g,θθ}} / μ_g, the condition number.
    #[must_use]
    pub fn kappa(&self) -> f64 {
        let most = self.l_f_x.max(self.l_f_theta).max(self.l_g_theta);
        most.max(self.l_g_x_theta).max(self.l_g_theta_theta) / self.mu_g
    }

    /// L_{θ*} = C_{g,xθ} / μ_g, the Lipschitz constant of θ*(x).
    #[must_use]
    pub fn l_theta_star(&self) -> f64 {
        self.c_g_x_theta / self.mu_g
    }

    /// L_v = L_{f,θ} / μ_g + C_{f,θ} L_{g,θθ} / μ_g².
    #[must_use]
    pub fn l_v(&self) -> f64 {
        self.l_f_theta / self.mu_g + self.m() * self.l_g_theta_theta / self.mu_g
    }

    /// L_{v*} = L_v (1 + L_{θ*}), the Lipschitz constant of v*(x).
    #[must_use]
    pub fn l_v_star(&self) -> f64 {
        self.l_v() * (1.0 + self.l_theta_star())
    }

    /// L_f = L_{f,x} + C_{g,xθ} L_v + C_{f,θ} L_{g,xθ} / μ_g.
    #[must_use]
    pub fn l_f(&self) -> f64 {
        self.l_f_x + self.c_g_x_theta * self.l_v() + self.m() * self.l_g_x_theta
    }

    /// L = L_f (1 + L_{θ*}), the Lipschitz constant of ∇Φ.
    #[must_use]
    pub fn l(&self) -> f64 {
        self.l_f() * (1.0 + self.l_theta_star())
    }

    /// L_{fg,x} = 2 L_{f,x}² + 4 M² L_{g,xθ}².
    #[must_use]
    pub fn l_fg_x(&self) -> f64 {
        let (f, g) = (self.l_f_x, self.m() * self.l_g_x_theta);
        2.0 * f * f + 4.0 * g * g
    }

    /// L_{fg,θ} = 2 L_{f,θ}² + 4 M² L_{g,θθ}².
    #[must_use]
    pub fn l_fg_theta(&self) -> f64 {
        let (f, g) = (self.l_f_theta, self.m() * self.l_g_theta_theta);
        2.0 * f * f + 4.0 * g * g
    }

    /// ω_θ = μ_g L_{g,θ} / (2 (μ_g + L_{g,θ})).
    #[must_use]
    pub fn omega_theta(&self) -> f64 {
        self.mu_g * self.l_g_theta / (2.0 * (self.mu_g + self.l_g_theta))
    }

    /// φ = (L_{fg,x} + 32 C²_{g,xθ} L_{fg,θ} / μ_g²) (1 + 4 L²_{g,θ} / ω_θ²).
    #[must_use]
    pub fn varphi(&self) -> f64 {
        let (reach, bend) = (self.l_theta_star(), self.l_g_theta / self.omega_theta());
        (self.l_fg_x() + 32.0 * reach * reach * self.l_fg_theta()) * (1.0 + 4.0 * bend * bend)
    }
}
