//! Conjugate gradients in f64 on products in f32.

use super::vector::{dot, norm, subtract};

/// Two roundings of f32: little is gained by a residual below this part of its scale.
pub(crate) const ROUNDING: f64 = f32::EPSILON as f64;

/// The vectors of a solve; allocated once.
#[derive(Debug, Clone)]
pub(crate) struct Conjugate {
    /// Before a pass, the residual b - H a; after it, what is left of it according to the recursion.
    pub(crate) residual: Vec<f64>,
    /// After a pass, what to add to a.
    pub(crate) correction: Vec<f64>,
    direction: Vec<f64>,
    product: Vec<f64>,
    rounded: Vec<f32>,
}

impl Conjugate {
    pub(crate) fn new(len: usize) -> Self {
        let [residual, correction, direction, product] = [0; 4].map(|_| vec![0.0; len]);
        Self { residual, correction, direction, product, rounded: vec![0.0; len] }
    }

    /// Brings the norm of the residual down to `target`, or as far as `budget` products allow; returns it.
    ///
    /// The direction is rounded to f32 before its product is taken and is used as rounded, and step and conjugation are
    /// computed from inner products with it (not from the norms that equal them on paper), so the only rounding in f32
    /// is that of the products.
    pub(crate) fn pass(
        &mut self,
        mut product_of: impl FnMut(&[f32], &mut [f64]),
        target: f64,
        budget: &mut u64,
    ) -> f64 {
        let Self { residual, correction, direction, product, rounded } = self;
        correction.fill(0.0);
        direction.copy_from_slice(residual);
        let mut left = norm(residual);
        // In exact arithmetic p products are enough; with rounding, hardly ever more than twice as many are needed.
        for _ in 0..2 * residual.len() + 10 {
            let largest = direction.iter().fold(0.0_f64, |top, d| top.max(d.abs()));
            if !(left > target && largest > 0.0 && largest.is_finite()) || *budget == 0 {
                break;
            }
            *budget -= 1;
            for (rounded, direction) in rounded.iter_mut().zip(direction.iter_mut()) {
                *rounded = (*direction / largest) as f32;
                *direction = f64::from(*rounded);
            }
            product_of(rounded, product);
            let curvature = dot(direction, product);
            // This happens on strongly convex problems only when nothing but rounding is left.
            if !(curvature > 0.0 && curvature.is_finite()) {
                break;
            }
            let step = dot(residual, direction) / curvature;
            correction.iter_mut().zip(&*direction).for_each(|(c, d)| *c += step * d);
            subtract(residual, step, product);
            left = norm(residual);
            let back = -dot(residual, product) / curvature;
            direction.iter_mut().zip(&*residual).for_each(|(d, r)| *d = r + back * *d);
        }
        left
    }

    /// Solves H a = b starting from the given a, by passes with the true residual computed between them; returns the
    /// norm of that residual at the end.
    pub(crate) fn solve(
        &mut self,
        mut product_of: impl FnMut(&[f32], &mut [f64]),
        b: &[f64],
        a: &mut Vec<f32>,
        budget: &mut u64,
    ) -> f64 {
        let goal = ROUNDING * norm(b);
        let mut better = vec![0.0; a.len()];
        let mut left = self.true_residual(&mut product_of, b, a);
        if !(left.is_finite() && left <= norm(b)) {
            a.fill(0.0);
            self.residual.copy_from_slice(b);
            left = norm(b);
        }
        while left > goal && *budget > 0 {
            let expected = self.pass(&mut product_of, goal.max(1.0e-5 * left), budget);
            for (better, (a, c)) in better.iter_mut().zip(a.iter().zip(&self.correction)) {
                *better = (f64::from(*a) + c) as f32;
            }
            let now = self.true_residual(&mut product_of, b, &better);
            // Above the floor that rounding sets, the recursion agrees with the true residual.
            let floor = !(now < 0.5 * left && now < 4.0 * expected);
            if now < left {
                std::mem::swap(a, &mut better);
                left = now;
            }
            if floor {
                break;
            }
        }
        left
    }

    fn true_residual(
        &mut self,
        product_of: &mut impl FnMut(&[f32], &mut [f64]),
        b: &[f64],
        a: &[f32],
    ) -> f64 {
        product_of(a, &mut self.product);
        for (r, (b, q)) in self.residual.iter_mut().zip(b.iter().zip(&self.product)) {
            *r = b - q;
        }
        norm(&self.residual)
    }
}
