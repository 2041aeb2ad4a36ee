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
    /// One node's numbers: an inner Hessian with eigenvalues from 1 to about 2, couplings of size 1, and goals that
    /// nodes share up to their heterogeneity.
    ///
    /// ```
    /// use lopa_host::quadratics::QuadraticRecipe;
    /// let recipe = QuadraticRecipe { outer: 3, inner: 2, heterogeneity: 0.0, seed: 1 };
    /// assert_eq!(recipe.node(0), recipe.node(7));
    /// let apart = QuadraticRecipe { heterogeneity: 1.0, ..recipe };
    /// assert_ne!(apart.node(0), apart.node(7));
    /// assert!(apart.node(0).problem().is_ok());
    /// ```
    #[must_use]
    pub fn node(&self, node: u32) -> QuadraticData {
        let stream = |node| Draws { seed: self.seed, node }.stream(0, purposes::QUADRATICS);
        let (mut common, mut own) = (stream(COMMON), stream(node));
        let mut draw = |len: usize, scale: f32| -> Vec<f32> {
            let one = |stream: &mut Stream| scale * stream.signed_unit();
            (0..len).map(|_| one(&mut common) + self.heterogeneity * one(&mut own)).collect()
        };
        let (n, p) = (self.outer, self.inner);
        // Positive whatever the heterogeneity.
        let diagonal = draw(p, 0.5).iter().map(|a| 1.0 + a.abs()).collect();
        let spike = draw(p, 0.3 / lopa_core::math::sqrt(p as f32));
        let coupling = draw(n * p, 1.0 / lopa_core::math::sqrt(n as f32));
        let [shift, target] = [draw(p, 1.0), draw(p, 2.0)];
        QuadraticData { diagonal, spike, coupling, shift, target, centre: draw(n, 1.0) }
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
