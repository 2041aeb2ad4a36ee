//! How far nodes differ from one another, and batches from all samples: the b and the σ of the paper's assumptions 4
//! and 5, at a point.

use std::num::NonZeroU32;

use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::draw::Draws;
use lopa_core::oracles::{Evaluations, Oracles};
use lopa_core::problem::{Point, Problem};
use rayon::prelude::*;

use crate::exact::oracle::{Memory, Oracle};
use crate::exact::{ExactError, Solution, check_length, of_nodes, solve};
use crate::numerics::vector::{dot, mean, squared_distance};

/// The number of batches drawn for each variance.
const DRAWS: u64 = 200;

/// How far nodes differ at one x. All are squares, as in the paper.
///
/// The paper's hold everywhere, these at a point: they are estimates from below. Matrices are compared along the vector
/// v*(x) that they are multiplied with, which again gives at most their norm.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Heterogeneity {
    /// b_f²: Σ_i ‖∇f_i - ∇f‖² in x or in θ, whichever is larger, at the θ*(x) of the node where it is largest.
    pub b_f: f64,
    /// b_g²: (1/m) Σ_i Σ_j of the squared differences of ∇θ g, ∇²θθ g and ∇²xθ g between nodes i and j at θ_j*(x), the
    /// largest of the three.
    pub b_g: f64,
    /// b²: Σ_i ‖∇Φ_i(x) - ∇Φ(x)‖², measured directly; lemma 1 bounds it.
    pub b: f64,
}

/// How far a batch is from all samples at one x and the nodes' θ*(x), on the node where it is largest. All are squares.
///
/// Each is a mean over 200 batches. Matrices are again measured along v*(x). With full batches all are zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Variances {
    /// σ²_{g,θ}, of ∇θ g.
    pub g_theta: f64,
    /// σ²_{g,θθ}, of ∇²θθ g.
    pub g_theta_theta: f64,
    /// σ²_{g,xθ}, of ∇²xθ g.
    pub g_x_theta: f64,
    /// σ²_{f,θ}, of ∇θ f.
    pub f_theta: f64,
    /// σ²_{f,x}, of ∇x f.
    pub f_x: f64,
}

/// A node's derivatives at one point.
struct Derivatives {
    g_theta: Vec<f64>,
    hv: Vec<f64>,
    jv: Vec<f64>,
    f_theta: Vec<f64>,
    f_x: Vec<f64>,
}

impl Derivatives {
    fn of<P: Problem>(problem: &P, x: &[f32], at: &Solution) -> Self {
        let size = problem.dimensions();
        let mut memory = Memory::new(size);
        let mut oracle = Oracle::new(problem, x, &mut memory);
        let [mut g_theta, mut hv, mut f_theta] = [0; 3].map(|_| vec![0.0; size.inner]);
        let [mut jv, mut f_x] = [0; 2].map(|_| vec![0.0; size.outer]);
        oracle.inner_gradient(&at.theta, &mut g_theta);
        oracle.hessian_vector(&at.theta, &at.v, &mut hv);
        oracle.cross_vector(&at.theta, &at.v, &mut jv);
        oracle.outer_gradient_inner(&at.theta, &mut f_theta);
        oracle.outer_gradient_outer(&at.theta, &mut f_x);
        Self { g_theta, hv, jv, f_theta, f_x }
    }
}

/// The sum of squared distances from the mean.
fn around_mean<'v>(vectors: impl Iterator<Item = &'v [f64]> + Clone) -> f64 {
    let mean = mean(vectors.clone());
    vectors.map(|vector| squared_distance(vector, &mean)).sum()
}

fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

/// ‖v‖², or one if that is zero, to divide by.
fn length(v: &[f32]) -> f64 {
    let wide: Vec<f64> = v.iter().copied().map(f64::from).collect();
    Some(dot(&wide, &wide)).filter(|length| *length > 0.0).unwrap_or(1.0)
}

fn solutions<P: Problem + Sync>(problems: &[&P], x: &[f32]) -> Result<Vec<Solution>, ExactError> {
    let solved: Vec<_> = problems.par_iter().map(|problem| solve(*problem, x, None)).collect();
    of_nodes(solved)
}

impl Heterogeneity {
    /// Measures nodes whose θ have the same length, with m² evaluations of every oracle. The bits are the same for any
    /// number of threads.
    ///
    /// # Errors
    /// There are no nodes, or a node, which is named, cannot be solved at x or has a θ of another length.
    pub fn measure<P: Problem + Sync>(problems: &[&P], x: &[f32]) -> Result<Self, ExactError> {
        let needed = problems.first().ok_or(ExactError::Empty)?.dimensions().inner;
        let lengths = problems.iter().map(|problem| problem.dimensions().inner);
        of_nodes(lengths.map(|found| check_length("theta", found, needed)))?;
        let solutions = solutions(problems, x)?;
        let m = problems.len() as f64;
        // Column j: every node's derivatives at θ_j*.
        let columns: Vec<[f64; 4]> = solutions
            .par_iter()
            .enumerate()
            .map(|(own, at)| {
                let all: Vec<Derivatives> =
                    problems.iter().map(|problem| Derivatives::of(*problem, x, at)).collect();
                let own = &all[own];
                let sum = |of: fn(&Derivatives) -> &[f64]| -> f64 {
                    all.iter().map(|other| squared_distance(of(other), of(own))).sum()
                };
                let spread = |of: fn(&Derivatives) -> &[f64]| around_mean(all.iter().map(of));
                let length = length(&at.v);
                [
                    spread(|a| &a.f_x).max(spread(|a| &a.f_theta)),
                    sum(|a| &a.g_theta),
                    sum(|a| &a.hv) / length,
                    sum(|a| &a.jv) / length,
                ]
            })
            .collect();
        let mean = |at: usize| columns.iter().map(|column| column[at]).sum::<f64>() / m;
        Ok(Self {
            b_f: largest(columns.iter().map(|column| column[0])),
            b_g: largest([mean(1), mean(2), mean(3)]),
            b: around_mean(solutions.iter().map(|solution| &solution.hypergradient[..])),
        })
    }
}

impl Variances {
    /// Measures batches of the given size, drawn with `seed`.
    ///
    /// # Errors
    /// A node, which is named, cannot be solved at x.
    pub fn measure<P: Problem + Sync>(
        problems: &[&P],
        x: &[f32],
        size: BatchSize,
        seed: u64,
    ) -> Result<Self, ExactError> {
        let BatchSize::Drawn(size) = size else { return Ok(Self::default()) };
        let solutions = solutions(problems, x)?;
        let own: Vec<Self> = problems
            .par_iter()
            .zip(&solutions)
            .enumerate()
            .map(|(node, (problem, at))| Self::of_one(*problem, x, at, size, (seed, node as u32)))
            .collect();
        let worst = |of: fn(&Self) -> f64| largest(own.iter().map(of));
        Ok(Self {
            g_theta: worst(|own| own.g_theta),
            g_theta_theta: worst(|own| own.g_theta_theta),
            g_x_theta: worst(|own| own.g_x_theta),
            f_theta: worst(|own| own.f_theta),
            f_x: worst(|own| own.f_x),
        })
    }

    fn of_one<P: Problem>(
        problem: &P,
        x: &[f32],
        solution: &Solution,
        size: NonZeroU32,
        (seed, node): (u64, u32),
    ) -> Self {
        let whole = Derivatives::of(problem, x, solution);
        let dimensions = problem.dimensions();
        let mut workspace = vec![0.0; dimensions.workspace];
        let (mut inner, mut outer) = (vec![0.0; dimensions.inner], vec![0.0; dimensions.outer]);
        let draws = Draws { seed, node };
        let sampler =
            Sampler { draws, size: BatchSize::Drawn(size), sharing: Sharing::Independent };
        let (at, v) = (Point { x, theta: &solution.theta }, &solution.v[..]);
        let zero = vec![0.0; dimensions.inner];
        let mut sums = [0.0; 5];
        for round in 0..DRAWS {
            let mut count = Evaluations::default();
            let mut oracles = Oracles::new(problem, sampler, round, x, &mut count, &mut workspace);
            oracles.inner_gradient(at, &mut inner);
            sums[0] += squared_distance(&inner, &whole.g_theta);
            oracles.hessian_vector(at, v, &mut inner);
            sums[1] += squared_distance(&inner, &whole.hv);
            inner.fill(0.0);
            oracles.add_outer_gradient_inner(at, 1.0, &mut inner);
            sums[2] += squared_distance(&inner, &whole.f_theta);
            // The hypergradient is ∇x f - J v: v = 0 gives the first term, and the difference the second.
            oracles.hypergradient(at, &zero, &mut outer);
            sums[3] += squared_distance(&outer, &whole.f_x);
            let f_x = outer.clone();
            oracles.hypergradient(at, v, &mut outer);
            let product: Vec<f32> = f_x.iter().zip(&outer).map(|(f, s)| f - s).collect();
            sums[4] += squared_distance(&product, &whole.jv);
        }
        let [g_theta, hv, f_theta, f_x, jv] = sums.map(|sum| sum / DRAWS as f64);
        let length = length(v);
        Self { g_theta, g_theta_theta: hv / length, g_x_theta: jv / length, f_theta, f_x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic::Recipe;
    use crate::quadratics::QuadraticRecipe;
    use lopa_core::problems::Quadratic;

    #[test]
    fn equal_nodes_have_no_heterogeneity_and_others_that_of_the_closed_form() {
        let x = [0.3, -0.2, 0.4];
        for heterogeneity in [0.0, 1.0] {
            let recipe = QuadraticRecipe::new(3, 2, heterogeneity, 4);
            let data: Vec<_> = (0..4).map(|node| recipe.node(node)).collect();
            let problems: Vec<_> = data.iter().map(|data| data.problem().unwrap()).collect();
            let found = Heterogeneity::measure(&problems.iter().collect::<Vec<_>>(), &x).unwrap();
            if heterogeneity == 0.0 {
                assert!(found.b_f < 1.0e-9 && found.b_g < 1.0e-9 && found.b < 1.0e-9, "{found:?}");
                continue;
            }
            let spread = |vectors: Vec<Vec<f64>>| around_mean(vectors.iter().map(Vec::as_slice));
            let wide = |scale: f32, vector: &[f32]| -> Vec<f64> {
                vector.iter().map(|a| f64::from(scale * a)).collect()
            };
            // Against the closed form.
            let hypergradient = |problem: &Quadratic<'_>| {
                let (mut v, mut out) = ([0.0; 2], [0.0; 3]);
                problem.hypergradient(&x, &mut v, &mut out);
                wide(1.0, &out)
            };
            let wanted = spread(problems.iter().map(hypergradient).collect());
            assert!((found.b - wanted).abs() < 1.0e-5 * wanted, "{found:?}, not {wanted}");
            // ∇θ f = θ - t differs by t alone, ∇x f by r q.
            let parts = || problems.iter().map(Quadratic::parts);
            let targets = spread(parts().map(|own| wide(1.0, own.target)).collect());
            let centres = spread(parts().map(|own| wide(own.rigidity, own.centre)).collect());
            let wanted = targets.max(centres);
            assert!((found.b_f - wanted).abs() < 1.0e-5 * wanted, "{found:?}, not {wanted}");
            assert!(found.b_g > 0.1);
        }
    }

    #[test]
    fn batches_four_times_as_large_have_a_quarter_of_the_variance() {
        let recipe = Recipe { features: 4, relevant: 2, samples: 60, alike: false, seed: 1 };
        let shards: Vec<_> = (0..3).map(|node| recipe.shard(node)).collect();
        let problems: Vec<_> = shards.iter().map(|shard| shard.logistic().unwrap()).collect();
        let all: Vec<_> = problems.iter().collect();
        let measure = |size| Variances::measure(&all, &[-2.0; 4], size, 7).unwrap();
        let (small, large) = (measure(BatchSize::drawn(5)), measure(BatchSize::drawn(20)));
        for (a, b) in [
            (small.g_theta, large.g_theta),
            (small.g_theta_theta, large.g_theta_theta),
            (small.f_theta, large.f_theta),
        ] {
            assert!((2.8..5.6).contains(&(a / b)), "{small:?}, {large:?}");
        }
        // The regulariser does not depend on samples, nor f on x.
        assert!(small.g_x_theta < 1.0e-9 && small.f_x == 0.0, "{small:?}");
        assert_eq!(measure(BatchSize::Full), Variances::default());
    }
}
