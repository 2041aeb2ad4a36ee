//! One node's inner solution, Hessian-inverse-vector product and hypergradient.

use lopa_core::oracles::Evaluations;
use lopa_core::problem::{Dimensions, Problem};

use super::oracle::{Memory, Oracle};
use super::{ExactError, check_length};
use crate::numerics::conjugate::{Conjugate, ROUNDING};
use crate::numerics::vector::{dot, norm};

/// The most Newton steps; ten are many.
const STEPS: u32 = 60;
/// Below this part of its scale, a gradient that no longer falls consists of rounding errors.
const NEARLY: f64 = 1.0e-4;

/// How far the equations of a [`Solution`] are from zero, relative to the size of their terms.
///
/// One rounding of f32 is 6e-8. The relative errors of θ* and v* are at most these times the condition number of
/// ∇²θθ g.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Residuals {
    /// ‖∇θ g(x, θ*)‖ relative to ‖∇²θθ g(x, θ*) θ*‖.
    pub inner: f64,
    /// ‖∇²θθ g(x, θ*) v* - ∇θ f(x, θ*)‖ relative to ‖∇θ f(x, θ*)‖.
    pub hv: f64,
}

/// A node's exact answers at one x.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solution {
    /// θ*(x), the inner solution.
    pub theta: Vec<f32>,
    /// v*(x) = [∇²θθ g]⁻¹ ∇θ f at θ*(x).
    pub v: Vec<f32>,
    /// The node's hypergradient ∇Φ_i(x) = ∇x f - ∇²xθ g · v*(x).
    pub hypergradient: Vec<f64>,
    /// Φ_i(x) = f(x, θ*(x)).
    pub phi: f64,
    /// How accurate it is.
    pub residuals: Residuals,
    /// The evaluations it took, each over all samples.
    pub evaluations: Evaluations,
}

/// Solves one node's inner problem again and again in the same memory, each time from the last solution.
#[derive(Debug, Clone)]
pub struct Solver {
    memory: Memory,
    conjugate: Conjugate,
    gradient: Vec<f64>,
    trial_gradient: Vec<f64>,
    trial: Vec<f32>,
    solution: Solution,
}

/// θ*(x), v*(x), Φ(x) and ∇Φ(x) of one node, over all samples.
///
/// `start` may be any guess of θ* and v*, such as a node's own θ and v, or an earlier solution: the answer is the same
/// up to rounding, and found sooner. The [module](super) describes its accuracy and cost.
///
/// θ* comes from Newton's method, with steps by conjugate gradients on Hessian-vector products, damped where g is far
/// from its quadratic model; v* comes from conjugate gradients.
///
/// ```
/// use lopa_core::problems::Ridge;
/// use lopa_core::samples::{Features, Labels, Samples};
/// use lopa_host::exact;
///
/// // One feature, g = mean ½(sθ - y)² + e^x θ²: θ* = mean(sy) / (mean(s²) + 2 e^x).
/// let set = Samples::new(Features::F32(&[1.0, 2.0]), 1, Labels::Real(&[3.0, 5.0]))?;
/// let solution = exact::solve(&Ridge::new(set, set)?, &[0.0], None)?;
/// assert!((solution.theta[0] - 6.5 / 4.5).abs() < 1e-6);
/// assert!(solution.residuals.inner < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A vector has the wrong length, or the problem has no finite gradient at x.
pub fn solve<P: Problem + ?Sized>(
    problem: &P,
    x: &[f32],
    start: Option<(&[f32], &[f32])>,
) -> Result<Solution, ExactError> {
    let mut solver = Solver::new(problem.dimensions());
    if let Some((theta, v)) = start {
        solver.start(theta, v)?;
    }
    solver.solve(problem, x)?;
    Ok(solver.solution)
}

impl Solver {
    /// Allocates memory for problems of one size, some 13 p + 2 n floats. It starts from θ = v = 0.
    #[must_use]
    pub fn new(size: Dimensions) -> Self {
        Self {
            memory: Memory::new(size),
            conjugate: Conjugate::new(size.inner),
            gradient: vec![0.0; size.inner],
            trial_gradient: vec![0.0; size.inner],
            trial: vec![0.0; size.inner],
            solution: Solution {
                theta: vec![0.0; size.inner],
                v: vec![0.0; size.inner],
                hypergradient: vec![0.0; size.outer],
                ..Solution::default()
            },
        }
    }

    /// Makes the next solve start from a guess of θ* and v*.
    ///
    /// # Errors
    /// A vector has the wrong length.
    pub fn start(&mut self, theta: &[f32], v: &[f32]) -> Result<(), ExactError> {
        check_length("theta", theta.len(), self.solution.theta.len())?;
        check_length("v", v.len(), self.solution.v.len())?;
        self.solution.theta.copy_from_slice(theta);
        self.solution.v.copy_from_slice(v);
        Ok(())
    }

    /// The last solution; before the first one, zeros or the guess.
    #[must_use]
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// Solves at `x`, starting from the last solution.
    ///
    /// # Errors
    /// As [`solve`](fn@solve). After an error the next solve starts from zero.
    pub fn solve<P: Problem + ?Sized>(
        &mut self,
        problem: &P,
        x: &[f32],
    ) -> Result<&Solution, ExactError> {
        let size = problem.dimensions();
        check_length("x", x.len(), size.outer)?;
        check_length("theta", self.solution.theta.len(), size.inner)?;
        check_length("the solver's hypergradient", self.solution.hypergradient.len(), size.outer)?;
        match self.solve_at(problem, x) {
            Ok(()) => Ok(&self.solution),
            Err(error) => {
                *self = Self::new(size);
                Err(error)
            }
        }
    }

    fn solve_at<P: Problem + ?Sized>(&mut self, problem: &P, x: &[f32]) -> Result<(), ExactError> {
        if !lopa_core::vector::all_finite(x) {
            return Err(ExactError::NotFinite { name: "x" });
        }
        let Self { memory, conjugate, gradient, trial_gradient, trial, solution } = self;
        let Solution { theta, v, hypergradient, phi, residuals, .. } = solution;
        memory.evaluations = Evaluations::default();
        let mut oracle = Oracle::new(problem, x, memory);
        let mut budget = 10 * (theta.len() as u64 + 100);

        let newton = Newton {
            oracle: &mut oracle,
            conjugate,
            budget: &mut budget,
            theta,
            gradient,
            trial,
            trial_gradient,
        };
        residuals.inner = newton.solve()?;

        // From here on `gradient` holds ∇θ f.
        oracle.outer_gradient_inner(theta, gradient);
        let size = norm(gradient);
        if !size.is_finite() {
            return Err(ExactError::NotFinite { name: "the outer gradient" });
        }
        let product = |a: &[f32], out: &mut [f64]| oracle.hessian_vector(theta, a, out);
        let left = conjugate.solve(product, gradient, v, &mut budget);
        residuals.hv = if size > 0.0 { left / size } else { 0.0 };
        oracle.hypergradient(theta, v, hypergradient);
        *phi = oracle.outer_loss(theta);
        if !(phi.is_finite() && norm(hypergradient).is_finite()) {
            return Err(ExactError::NotFinite { name: "the hypergradient" });
        }
        solution.evaluations = self.memory.evaluations;
        Ok(())
    }
}

/// Newton's method on the inner problem.
struct Newton<'n, 'a, P: ?Sized> {
    oracle: &'n mut Oracle<'a, P>,
    conjugate: &'n mut Conjugate,
    budget: &'n mut u64,
    /// The point, and ∇θ g there.
    theta: &'n mut Vec<f32>,
    gradient: &'n mut Vec<f64>,
    /// The point that is tried, and ∇θ g there.
    trial: &'n mut Vec<f32>,
    trial_gradient: &'n mut Vec<f64>,
}

impl<P: Problem + ?Sized> Newton<'_, '_, P> {
    /// Moves θ to the inner solution and returns the relative residual there.
    fn solve(mut self) -> Result<f64, ExactError> {
        self.trial.fill(0.0);
        self.oracle.inner_gradient(self.trial, self.trial_gradient);
        let at_zero = norm(self.trial_gradient);
        if !at_zero.is_finite() {
            return Err(ExactError::NotFinite { name: "the inner gradient" });
        }
        // A guess is used only if it is better than zero.
        let guess = self.theta.iter().any(|&t| t != 0.0) && {
            self.oracle.inner_gradient(self.theta, self.gradient);
            norm(self.gradient).is_finite()
                && self.oracle.inner_loss(self.theta) <= self.oracle.inner_loss(self.trial)
        };
        if !guess {
            self.accept();
        }
        let mut left = norm(self.gradient);
        let mut stalled = false;
        for _ in 0..STEPS {
            let weight = self.weight();
            let scale = if weight > 0.0 { weight } else { at_zero };
            if left <= ROUNDING * scale || *self.budget == 0 {
                break;
            }
            let nearly = left < NEARLY * (at_zero + weight);
            // Nearer to the solution the model is better and the step more exact; but nothing below rounding is worth a
            // product.
            let part = left / scale;
            let accuracy = part.sqrt().max(0.1 * ROUNDING / part).min(0.3);
            let residual = &mut self.conjugate.residual;
            residual.iter_mut().zip(&*self.gradient).for_each(|(r, g)| *r = -g);
            let product =
                |a: &[f32], out: &mut [f64]| self.oracle.hessian_vector(self.theta, a, out);
            self.conjugate.pass(product, accuracy * left, self.budget);
            let Some(now) = self.search(left, nearly) else { break };
            let falls = now <= 0.5 * left;
            if nearly && !falls {
                // Once may be chance; the second time, the better of the two points stays.
                if stalled || now > left {
                    if now < left {
                        self.accept();
                        left = now;
                    }
                    break;
                }
                stalled = true;
            } else {
                stalled = false;
            }
            self.accept();
            left = now;
        }
        let weight = self.weight();
        let scale = if weight > 0.0 { weight } else { at_zero };
        Ok(if scale > 0.0 { left / scale } else { 0.0 })
    }

    /// Moves to the point that was tried.
    fn accept(&mut self) {
        std::mem::swap(self.theta, self.trial);
        std::mem::swap(self.gradient, self.trial_gradient);
    }

    /// ‖∇²θθ g θ‖; overwrites the gradient of the point that was tried.
    fn weight(&mut self) -> f64 {
        self.oracle.hessian_vector(self.theta, self.theta, self.trial_gradient);
        norm(self.trial_gradient)
    }

    /// Tries steps along the correction until one does not overshoot, and returns the norm of the gradient there. None
    /// if no such step changes θ.
    fn search(&mut self, left: f64, nearly: bool) -> Option<f64> {
        let slope = dot(self.gradient, &self.conjugate.correction);
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        let mut step = 1.0;
        loop {
            let along = self.theta.iter().zip(&self.conjugate.correction);
            for (trial, (&t, c)) in self.trial.iter_mut().zip(along) {
                *trial = (f64::from(t) + step * c) as f32;
            }
            if step < 1.0e-10 || self.trial == self.theta {
                return None;
            }
            self.oracle.inner_gradient(self.trial, self.trial_gradient);
            let now = norm(self.trial_gradient);
            let there = dot(self.trial_gradient, &self.conjugate.correction);
            if now.is_finite() {
                // Still downhill, or the gradient has fallen, or it is all rounding.
                if there <= 0.0 || now <= 0.5 * left || (nearly && now <= 2.0 * left) {
                    return Some(now);
                }
                // g is convex: past the minimum the loss decides, and must not have grown.
                if there <= -0.5 * slope
                    && self.oracle.inner_loss(self.trial) <= self.oracle.inner_loss(self.theta)
                {
                    return Some(now);
                }
                step *= (-slope / (there - slope)).clamp(0.1, 0.5);
            } else {
                step *= 0.1;
            }
        }
    }
}
