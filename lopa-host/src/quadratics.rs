//! Random quadratics: a problem with a closed form for every node, which needs no data.

use lopa_core::draw::{Draws, Stream};
use lopa_core::problem::ProblemError;
use lopa_core::problems::{Quadratic, QuadraticParts};

use crate::purposes;

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuadraticRecipe {
    /// n: the length of the shared variable.
    pub outer: usize,
    /// p: the length of a node's own variable.
    pub inner: usize,
    /// How much nodes differ: 0 not at all, 1 as much as they have in common.
    pub heterogeneity: f32,
    /// How much their inner goals differ, if not as much as the rest.
    pub inner_goals: Option<f32>,
    /// How much their outer goals differ, if not as much as the rest.
    pub outer_goals: Option<f32>,
    /// The largest curvature of inner problems with a heterogeneity of 1, at least 1; the smallest is always about 1.
    pub condition: f32,
    /// The seed.
    pub seed: u64,
}

/// The numbers of one node's quadratic.
#[derive(Debug, Clone, PartialEq)]
pub struct QuadraticData {
    diagonal: Vec<f32>,
    spike: Vec<f32>,
    coupling: Vec<f32>,
    shift: Vec<f32>,
    target: Vec<f32>,
    centre: Vec<f32>,
}

/// What all nodes have in common is drawn as if by a node that does not exist.
const COMMON: u32 = u32::MAX;

impl QuadraticRecipe {
    /// Nodes that differ in everything, with curvatures from 1 to about 2.
    #[must_use]
    pub const fn new(outer: usize, inner: usize, heterogeneity: f32, seed: u64) -> Self {
        let (inner_goals, outer_goals) = (None, None);
        Self { outer, inner, heterogeneity, inner_goals, outer_goals, condition: 2.0, seed }
    }

    /// One node's numbers: an inner Hessian with eigenvalues from 1 to about the condition number, couplings of size 1,
    /// and goals that nodes share up to their heterogeneity.
    ///
    /// ```
    /// use lopa_host::quadratics::QuadraticRecipe;
    /// let recipe = QuadraticRecipe::new(3, 2, 0.0, 1);
    /// assert_eq!(recipe.node(0), recipe.node(7));
    /// let apart = QuadraticRecipe { heterogeneity: 1.0, ..recipe };
    /// assert_ne!(apart.node(0), apart.node(7));
    /// assert!(apart.node(0).problem().is_ok());
    /// ```
    #[must_use]
    pub fn node(&self, node: u32) -> QuadraticData {
        let stream = |node| Draws { seed: self.seed, node }.stream(0, purposes::QUADRATICS);
        let (mut common, mut own) = (stream(COMMON), stream(node));
        let mut draw = |len: usize, scale: f32, apart: f32| -> Vec<f32> {
            let one = |stream: &mut Stream| scale * stream.signed_unit();
            (0..len).map(|_| one(&mut common) + apart * one(&mut own)).collect()
        };
        let apart = self.heterogeneity;
        let [inner, outer] = [self.inner_goals, self.outer_goals].map(|own| own.unwrap_or(apart));
        let (n, p) = (self.outer, self.inner);
        // Positive whatever the heterogeneity.
        let steep = self.condition - 1.0;
        let diagonal = draw(p, 0.5, apart).iter().map(|a| 1.0 + steep * a.abs()).collect();
        let spike = draw(p, 0.3 / lopa_core::math::sqrt(p as f32), apart);
        let coupling = draw(n * p, 1.0 / lopa_core::math::sqrt(n as f32), apart);
        let (shift, target) = (draw(p, 1.0, inner), draw(p, 2.0, outer));
        let centre = draw(n, 1.0, outer);
        QuadraticData { diagonal, spike, coupling, shift, target, centre }
    }
}

impl QuadraticData {
    /// The node's problem.
    ///
    /// # Errors
    /// Refuses sizes of zero and numbers that are not finite.
    pub fn problem(&self) -> Result<Quadratic<'_>, ProblemError> {
        Quadratic::new(QuadraticParts {
            diagonal: &self.diagonal,
            spike: &self.spike,
            coupling: &self.coupling,
            shift: &self.shift,
            target: &self.target,
            centre: &self.centre,
            rigidity: 0.5,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_may_differ_more_or_less_than_the_rest() {
        let of = |inner_goals, outer_goals, node| {
            let all = QuadraticRecipe::new(3, 2, 1.0, 5);
            QuadraticRecipe { inner_goals, outer_goals, ..all }.node(node)
        };
        for (inner, outer, expected) in [
            (None, None, [true; 4]),
            (Some(0.0), None, [true, false, true, true]),
            (None, Some(0.0), [true, true, false, false]),
        ] {
            let (a, b) = (of(inner, outer, 0), of(inner, outer, 1));
            let curved = a.diagonal != b.diagonal && a.coupling != b.coupling && a.spike != b.spike;
            let found = [curved, a.shift != b.shift, a.target != b.target, a.centre != b.centre];
            assert_eq!(found, expected, "{inner:?}, {outer:?}");
        }
    }

    #[test]
    fn the_condition_number_is_that_of_the_steepest_direction() {
        let recipe = QuadraticRecipe { condition: 50.0, ..QuadraticRecipe::new(3, 400, 0.0, 5) };
        let diagonal = recipe.node(0).diagonal;
        assert!(diagonal.iter().all(|a| (1.0..=25.5).contains(a)));
        assert!(diagonal.iter().any(|a| *a > 24.0));
    }
}
