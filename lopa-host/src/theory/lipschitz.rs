//! Norms of second and third derivatives at a point.
//!
//! With h = ⟨∇θ g, v⟩ the oracles give ∇x h = ∇²xθ g · v and ∇θ h = ∇²θθ g · v. Their differences along directions are
//! all second derivatives of h: third derivatives of g, and the transposes of these as well.

use lopa_core::problem::Problem;

use crate::exact::oracle::{Memory, Oracle};
use crate::numerics::lanczos::{Wanted, ends, random_direction, symmetric_norm};
use crate::numerics::vector::{dot, norm, normalise, orthogonalise};

/// The largest element of a step of a central difference, whose truncation error is about a ten-thousandth of this.
const STEP: f64 = 1.0 / 64.0;
/// The relative errors of a product in f32, and of a difference of two.
const PRODUCT: f64 = 1.0e-7;
const DIFFERENCE: f64 = 1.0e-4;
/// The most vectors in whose span the norm of the cross derivative is sought.
const SPAN: usize = 40;
/// Random starts of an ascent, its rounds, and the power steps of a round.
const STARTS: u32 = 4;
const ROUNDS: usize = 4;
const POWER: usize = 3;

/// The derivatives of a problem at (x, θ).
pub(super) struct Local<'a, P: ?Sized> {
    problem: &'a P,
    x: &'a [f32],
    theta: &'a [f32],
    seed: u64,
    memory: Memory,
}

/// The largest eigenvalue of ∇²θθ g at (x, θ).
pub(crate) fn largest_curvature<P: Problem + ?Sized>(problem: &P, x: &[f32], theta: &[f32]) -> f64 {
    Local::new(problem, x, theta, 1).hessian_norm()
}

/// A way to go from (x, θ): changes of x and of θ, where there are any.
type Way<'a> = (Option<&'a [f64]>, Option<&'a [f64]>);

/// A direction in (x, θ) of length one.
struct Direction {
    x: Vec<f64>,
    theta: Vec<f64>,
}

impl Direction {
    fn way(&self) -> Way<'_> {
        (Some(&self.x), Some(&self.theta))
    }
}

fn rounded(a: &[f64]) -> Vec<f32> {
    a.iter().map(|&a| a as f32).collect()
}

fn moved(from: &[f32], along: &[f64], h: f64) -> Vec<f32> {
    from.iter().zip(along).map(|(&a, d)| (f64::from(a) + h * d) as f32).collect()
}

fn largest<'a>(elements: impl Iterator<Item = &'a f64>) -> f64 {
    elements.fold(0.0, |top, a| top.max(a.abs()))
}

impl<'a, P: Problem + ?Sized> Local<'a, P> {
    pub(super) fn new(problem: &'a P, x: &'a [f32], theta: &'a [f32], seed: u64) -> Self {
        Self { problem, x, theta, seed, memory: Memory::new(problem.dimensions()) }
    }

    fn here(&mut self) -> Oracle<'_, P> {
        Oracle::new(self.problem, self.x, &mut self.memory)
    }

    /// The derivative of an oracle's answer along a way, by central differences.
    fn along(
        &mut self,
        (dx, dtheta): Way<'_>,
        mut ask: impl FnMut(&mut Oracle<'_, P>, &[f32], &mut [f64]),
        out: &mut [f64],
    ) {
        let largest = largest(dx.iter().chain(&dtheta).flat_map(|d| d.iter()));
        if largest == 0.0 {
            out.fill(0.0);
            return;
        }
        let h = STEP / largest;
        let mut behind = vec![0.0; out.len()];
        for (h, out) in [(h, &mut *out), (-h, &mut behind)] {
            let from = |at: &[f32], d: Option<&[f64]>| d.map_or(at.to_vec(), |d| moved(at, d, h));
            let (x, theta) = (from(self.x, dx), from(self.theta, dtheta));
            ask(&mut Oracle::new(self.problem, &x, &mut self.memory), &theta, out);
        }
        out.iter_mut().zip(&behind).for_each(|(out, behind)| *out = (*out - behind) / (2.0 * h));
    }

    /// The derivative of ∇²θθ g · v along a way.
    fn hessian_along(&mut self, way: Way<'_>, v: &[f64], out: &mut [f64]) {
        let v = rounded(v);
        self.along(way, |oracle, theta, out| oracle.hessian_vector(theta, &v, out), out);
    }

    /// The derivative of ∇²xθ g · v along a way.
    fn cross_along(&mut self, way: Way<'_>, v: &[f64], out: &mut [f64]) {
        let v = rounded(v);
        self.along(way, |oracle, theta, out| oracle.cross_vector(theta, &v, out), out);
    }

    /// The direction of both derivatives together: the gradient in (x, θ) of the derivative of h along a way. Nothing
    /// where it is zero.
    fn steepest(&mut self, way: Way<'_>, v: &[f64]) -> Option<Direction> {
        let (mut x, mut theta) = (vec![0.0; self.x.len()], vec![0.0; self.theta.len()]);
        self.cross_along(way, v, &mut x);
        self.hessian_along(way, v, &mut theta);
        let length = (dot(&x, &x) + dot(&theta, &theta)).sqrt();
        if length > 0.0 {
            x.iter_mut().chain(&mut theta).for_each(|a| *a /= length);
        }
        (length != 0.0).then_some(Direction { x, theta })
    }

    /// ∇θ f.
    pub(super) fn outer_gradient_inner(&mut self) -> Vec<f64> {
        let (theta, mut out) = (self.theta, vec![0.0; self.theta.len()]);
        self.here().outer_gradient_inner(theta, &mut out);
        out
    }

    /// The smallest and the largest eigenvalue of ∇²θθ g.
    pub(super) fn hessian_ends(&mut self) -> (f64, f64) {
        let (theta, seed) = (self.theta, self.seed);
        let mut oracle = self.here();
        ends(theta.len(), seed, PRODUCT, Wanted::Ends, |a, out| {
            oracle.hessian_vector(theta, &rounded(a), out);
        })
    }

    /// ‖∇²θθ g‖.
    fn hessian_norm(&mut self) -> f64 {
        let (theta, seed) = (self.theta, self.seed);
        let mut oracle = self.here();
        symmetric_norm(theta.len(), seed, PRODUCT, |a, out| {
            oracle.hessian_vector(theta, &rounded(a), out);
        })
    }

    /// ‖∇²θθ f‖.
    pub(super) fn outer_curvature_inner(&mut self) -> f64 {
        symmetric_norm(self.theta.len(), self.seed, DIFFERENCE, |a, out| {
            self.along((None, Some(a)), |f, theta, out| f.outer_gradient_inner(theta, out), out);
        })
    }

    /// ‖∇²xx f‖.
    pub(super) fn outer_curvature_outer(&mut self) -> f64 {
        symmetric_norm(self.x.len(), self.seed, DIFFERENCE, |a, out| {
            self.along((Some(a), None), |f, theta, out| f.outer_gradient_outer(theta, out), out);
        })
    }

    /// ‖∇²xθ g‖: exact in the span of a Krylov space of J'J, so that a rough J' only costs a few vectors more.
    pub(super) fn cross_norm(&mut self) -> f64 {
        let (theta, mut best) = (self.theta, 0.0_f64);
        let mut basis = vec![random_direction(theta.len(), self.seed, 0)];
        let mut images: Vec<Vec<f64>> = Vec::new();
        loop {
            let mut image = vec![0.0; self.x.len()];
            self.here().cross_vector(theta, &rounded(&basis[basis.len() - 1]), &mut image);
            images.push(image);
            let image = &images[images.len() - 1];
            let squared = symmetric_norm(images.len(), self.seed, PRODUCT * PRODUCT, |a, out| {
                let mut sum = vec![0.0; image.len()];
                for (image, a) in images.iter().zip(a) {
                    sum.iter_mut().zip(image).for_each(|(sum, i)| *sum += a * i);
                }
                out.iter_mut().zip(&images).for_each(|(out, image)| *out = dot(&sum, image));
            });
            let (before, now) = (best, squared.max(0.0).sqrt());
            best = now;
            let still = images.len() > 5 && now - before <= PRODUCT * now;
            if still || images.len() >= SPAN.min(theta.len()) {
                return best;
            }
            let mut next = vec![0.0; theta.len()];
            self.along((Some(image), None), |g, at, out| g.inner_gradient(at, out), &mut next);
            normalise(&mut next);
            orthogonalise(&mut next, &basis);
            let rest = normalise(&mut next);
            if rest.is_nan() || rest <= PRODUCT {
                return best;
            }
            basis.push(next);
        }
    }

    /// The largest ‖∂∇²θθ g‖ along a direction of length one.
    ///
    /// The best direction for v is the gradient of v'∇²θθ g v in (x, θ); the best v for a direction is the top
    /// eigenvector of the derivative. In turns, neither makes it worse.
    pub(super) fn hessian_change(&mut self) -> f64 {
        let mut best = 0.0_f64;
        for start in 0..STARTS {
            let mut v = random_direction(self.theta.len(), self.seed, start);
            for _ in 0..ROUNDS {
                let Some(direction) = self.steepest((None, Some(&v)), &v) else { break };
                for _ in 0..POWER {
                    let mut next = vec![0.0; v.len()];
                    self.hessian_along(direction.way(), &v, &mut next);
                    best = best.max(norm(&next));
                    if normalise(&mut next) == 0.0 {
                        break;
                    }
                    v = next;
                }
            }
        }
        best
    }

    /// The largest ‖∂∇²xθ g‖ along a direction of length one.
    ///
    /// For a v, ∂(∇²xθ g · v) is a matrix from directions to x, and its transpose is known; its largest singular
    /// value gives direction and w. The best v for them is the gradient of w'∂(∇²xθ g · v) in v.
    pub(super) fn cross_change(&mut self) -> f64 {
        let mut best = 0.0_f64;
        for start in 0..STARTS {
            let mut v = random_direction(self.theta.len(), self.seed, start);
            let mut w = random_direction(self.x.len(), self.seed, start);
            'ascent: for _ in 0..ROUNDS {
                for step in 1..=POWER {
                    let along_w = self.steepest((Some(&w), None), &v);
                    let Some(direction) = along_w else { break 'ascent };
                    self.cross_along(direction.way(), &v, &mut w);
                    best = best.max(norm(&w));
                    if normalise(&mut w) == 0.0 {
                        break 'ascent;
                    }
                    if step == POWER {
                        self.mixed_along(&w, &direction, &mut v);
                    }
                }
                if normalise(&mut v) == 0.0 {
                    break;
                }
            }
        }
        best
    }

    /// The gradient in v of w'∂(∇²xθ g · v): ∇θ g differentiated in x along w and then along a direction.
    fn mixed_along(&mut self, w: &[f64], direction: &Direction, out: &mut [f64]) {
        self.hessian_along((Some(w), None), &direction.theta, out);
        // The rest is the second derivative of ∇θ g in x along w and d: a quarter of the one along w + d less the one
        // along w - d.
        let mut second = |sign: f64| {
            let along: Vec<f64> = w.iter().zip(&direction.x).map(|(w, d)| w + sign * d).collect();
            let largest = largest(along.iter());
            let mut sum = vec![0.0; out.len()];
            if largest == 0.0 {
                return sum;
            }
            // Wider than for a first derivative: rounding counts for more.
            let h = 4.0 * STEP / largest;
            for (at, weight) in [(h, 1.0), (0.0, -2.0), (-h, 1.0)] {
                let x = moved(self.x, &along, at);
                let mut gradient = vec![0.0; sum.len()];
                Oracle::new(self.problem, &x, &mut self.memory)
                    .inner_gradient(self.theta, &mut gradient);
                for (sum, gradient) in sum.iter_mut().zip(&gradient) {
                    *sum += weight / (h * h) * gradient;
                }
            }
            sum
        };
        let (plus, minus) = (second(1.0), second(-1.0));
        for (out, (plus, minus)) in out.iter_mut().zip(plus.iter().zip(&minus)) {
            *out += 0.25 * (plus - minus);
        }
    }
}
