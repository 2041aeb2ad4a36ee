//! Data with a known truth: all labels depend on the same few features, on each node in a different way unless nodes are
//! to be alike.

use std::ops::Range;
use std::sync::Arc;

use lopa_core::draw::{Draws, Purpose};
use rayon::prelude::*;

use super::shard::Shard;
use super::table::{Class, Table, Targets, Values};
use crate::chance::rough_normal;
use crate::purposes;

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Features of a sample.
    pub features: usize,
    /// How many of them matter: the first ones.
    pub relevant: usize,
    /// Training samples per node; as many for validation, and ten times as many for the test.
    pub samples: usize,
    /// Whether labels depend on them in the same way on every node.
    pub alike: bool,
    /// The seed.
    pub seed: u64,
}

impl Recipe {
    /// The shard of one node. Nodes agree on which features matter, not on how.
    #[must_use]
    pub fn shard(&self, node: u32) -> Shard {
        self.shard_with(node, &Self::classes())
    }

    /// The shards of the first `nodes` nodes.
    #[must_use]
    pub fn shards(&self, nodes: u32) -> Vec<Shard> {
        self.shards_of(0..nodes)
    }

    /// The shards of some nodes.
    #[must_use]
    pub fn shards_of(&self, nodes: Range<u32>) -> Vec<Shard> {
        let classes = Self::classes();
        nodes.into_par_iter().map(|node| self.shard_with(node, &classes)).collect()
    }

    fn classes() -> Arc<[Class]> {
        Arc::new([Class::new(-1, "-1"), Class::new(1, "+1")])
    }

    fn shard_with(&self, node: u32, classes: &Arc<[Class]>) -> Shard {
        let draws = Draws { seed: self.seed, node };
        let owner = if self.alike { u32::MAX } else { node };
        let mut truth = Draws { seed: self.seed, node: owner }.stream(0, purposes::SYNTHETIC_TRUTH);
        let weights: Vec<f32> = (0..self.relevant.min(self.features))
            .map(|_| if truth.unit() < 0.5 { -1.0 } else { 1.0 } * (1.0 + truth.unit()))
            .collect();
        let table = |samples: usize, part: Purpose| {
            let mut stream = draws.stream(0, part);
            let mut features = Vec::with_capacity(samples * self.features);
            let mut labels = Vec::with_capacity(samples);
            for _ in 0..samples {
                let at = features.len();
                features.extend((0..self.features).map(|_| rough_normal(&mut stream)));
                let margin = lopa_core::vector::dot(&features[at..], &weights);
                let chance = lopa_core::math::sigmoid(2.0 * margin);
                labels.push(u8::from(stream.unit() < chance));
            }
            let (values, targets) = (Values::Floats(features), Targets::Class(labels));
            Table::trusted(values, self.features, targets, Arc::clone(classes))
        };
        Shard {
            train: table(self.samples, purposes::SYNTHETIC_TRAIN),
            validation: table(self.samples, purposes::SYNTHETIC_VALIDATION),
            test: Some(Arc::new(table(10 * self.samples, purposes::SYNTHETIC_TEST))),
            standard: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_different_and_repeatable() {
        let recipe = Recipe { features: 6, relevant: 2, samples: 20, alike: false, seed: 5 };
        assert_eq!(recipe.shard(3), recipe.shard(3));
        assert_ne!(recipe.shard(3), recipe.shard(4));
        let shard = recipe.shard(3);
        assert_ne!(shard.train, shard.validation);
        assert_eq!(shard.test.as_ref().unwrap().len(), 200);
        assert!(shard.logistic().is_ok());
        assert_eq!(recipe.shards(5)[3], shard);
        // Nodes that are alike have other samples of the same kind.
        let alike = Recipe { alike: true, ..recipe };
        assert_ne!(alike.shard(3).train, alike.shard(4).train);
        assert_ne!(alike.shard(3).train, shard.train);
    }
}
