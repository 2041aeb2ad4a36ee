//! Every algorithm on quadratics that differ from node to node: where it ends, and what holds on the way.

mod invariants;
mod optimum;
mod tables;

use lopa_core::batch::Sampler;
use lopa_core::network::Edge;
use lopa_core::problems::Quadratic;

use super::{Algorithm, AlgorithmName, AlgorithmTable, Batch, Truncation, build};
use crate::numerics::vector::mean;
use crate::quadratics::{QuadraticData, QuadraticRecipe};
use crate::topology::Topology;

const NODES: u32 = 6;
/// Long enough for the series to be exact: (1 - λ)^Q is below a rounding.
const TERMS: u32 = 40;

/// A table with steps that suit the quadratics, and series without chance.
pub(super) fn table(name: AlgorithmName) -> AlgorithmTable {
    let about = name.about();
    let takes = |key: &str| {
        let optional = about.takes.iter().map(|(key, _)| key);
        about.needs.iter().chain(optional).any(|other| other.name() == key)
    };
    let step = |key: &str, value: f32| takes(key).then_some(value);
    AlgorithmTable {
        name,
        alpha: 0.05,
        beta: step("beta", 0.3),
        lambda: step("lambda", 0.4),
        gamma: step("gamma", 0.3),
        tau: step("tau", 0.5),
        inner_gamma: step("inner_gamma", 0.6),
        inner_steps: takes("inner_steps").then_some(3),
        hessian_steps: takes("hessian_steps").then_some(TERMS),
        truncation: takes("truncation").then_some(Truncation::Fixed),
        batch: Batch::Full,
    }
}

/// Quadratics on a ring.
struct Setting {
    data: Vec<QuadraticData>,
    edges: Vec<Edge>,
}

impl Setting {
    fn new(heterogeneity: f32) -> Self {
        let recipe = QuadraticRecipe { outer: 4, inner: 3, heterogeneity, seed: 3 };
        let data = (0..NODES).map(|node| recipe.node(node)).collect();
        Self { data, edges: Topology::ring(NODES).metropolis() }
    }

    fn problems(&self) -> Vec<Quadratic<'_>> {
        self.data.iter().map(|data| data.problem().unwrap()).collect()
    }

    fn build(&self, table: &AlgorithmTable) -> Box<dyn Algorithm<Quadratic<'_>> + '_> {
        let start = |outer: usize| vec![0.2; outer];
        build(table, self.problems(), self.edges.clone(), start, Sampler::full).unwrap()
    }

    fn run(&self, table: &AlgorithmTable, rounds: u64) -> Box<dyn Algorithm<Quadratic<'_>> + '_> {
        let mut network = self.build(table);
        (0..rounds).for_each(|_| network.step().unwrap());
        network
    }
}

/// The largest difference of two vectors' elements.
fn apart(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
}
