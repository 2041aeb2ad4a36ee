//! Every algorithm on quadratics that differ from node to node: where it ends, and what holds on the way.

mod differences;
mod invariants;
mod optimum;
mod tables;
mod written;

use lopa_core::batch::Sampler;
use lopa_core::network::Edge;
use lopa_core::problems::Quadratic;

use super::{Algorithm, AlgorithmName, AlgorithmTable, Batch, Key, Truncation, build};
use crate::numerics::vector::mean;
use crate::quadratics::{QuadraticData, QuadraticRecipe};
use crate::topology::Topology;

const NODES: u32 = 6;
/// Long enough for the series to be exact: (1 - λ)^Q is below a rounding.
const TERMS: u32 = 40;

/// A table with steps that suit the quadratics, and series without chance.
fn table(name: AlgorithmName) -> AlgorithmTable {
    let about = name.about();
    let takes =
        |key: Key| about.needs.contains(&key) || about.takes.iter().any(|(other, _)| *other == key);
    let step = |key: Key, value: f32| takes(key).then_some(value);
    AlgorithmTable {
        name,
        alpha: Some(0.05),
        beta: step(Key::Beta, 0.3),
        lambda: step(Key::Lambda, 0.4),
        gamma: step(Key::Gamma, 0.3),
        tau: step(Key::Tau, 0.5),
        inner_gamma: step(Key::InnerGamma, 0.6),
        inner_steps: takes(Key::InnerSteps).then_some(3),
        hessian_steps: takes(Key::HessianSteps).then_some(TERMS),
        truncation: takes(Key::Truncation).then_some(Truncation::Fixed),
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
        let recipe = QuadraticRecipe::new(4, 3, heterogeneity, 3);
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

    /// W times vectors.
    fn mixed(&self, vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let slices: Vec<&[f64]> = vectors.iter().map(|vector| &vector[..]).collect();
        let pulls = self.pulls(&slices).into_iter().zip(vectors);
        pulls
            .map(|(pull, own)| pull.iter().zip(own).map(|(pull, own)| pull + own).collect())
            .collect()
    }

    /// What each node's neighbours pull its vector by: Σ_j w_ij (a_j - a).
    fn pulls<A: Copy + Into<f64>>(&self, vectors: &[&[A]]) -> Vec<Vec<f64>> {
        let mut pulls: Vec<_> = vectors.iter().map(|vector| vec![0.0; vector.len()]).collect();
        for edge in &self.edges {
            let (own, other) = (edge.node as usize, edge.neighbour as usize);
            let pair = vectors[own].iter().zip(vectors[other]);
            for (pull, (own, other)) in pulls[own].iter_mut().zip(pair) {
                *pull += f64::from(edge.weight) * (Into::<f64>::into(*other) - (*own).into());
            }
        }
        pulls
    }
}

/// The largest difference of two vectors' elements.
fn apart<A: Copy + Into<f64>, B: Copy + Into<f64>>(a: &[A], b: &[B]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(&a, &b)| (a.into() - b.into()).abs()).fold(0.0, f64::max)
}
