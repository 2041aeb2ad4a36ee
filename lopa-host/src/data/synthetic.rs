//! Data with a known truth: all labels depend on the same few features, on each node in a different way unless nodes are
//! to be alike.

use std::ops::Range;
use std::sync::Arc;

use lopa_core::draw::{Draws, Lanes, Purpose};
use rayon::prelude::*;

use super::shard::Shard;
use super::table::{Class, Table, Targets, Values};
use crate::purposes;

/// How many nodes draw together: what fits into the widest vectors.
const TOGETHER: usize = 16;

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
    ///
    /// ```
    /// use lopa_host::data::synthetic::Recipe;
    /// let recipe = Recipe { features: 6, relevant: 2, samples: 20, alike: false, seed: 5 };
    /// assert_eq!(recipe.shards(20)[3], recipe.shard(3));
    /// ```
    #[must_use]
    pub fn shard(&self, node: u32) -> Shard {
        self.group([node], &Self::classes()).swap_remove(0)
    }

    /// The shards of the first `nodes` nodes.
    #[must_use]
    pub fn shards(&self, nodes: u32) -> Vec<Shard> {
        self.shards_of(0..nodes)
    }

    /// The shards of some nodes.
    #[must_use]
    pub fn shards_of(&self, nodes: Range<u32>) -> Vec<Shard> {
        let (classes, nodes) = (Self::classes(), nodes.collect::<Vec<u32>>());
        let (groups, rest) = nodes.as_chunks::<TOGETHER>();
        let groups = groups.par_iter().flat_map_iter(|nodes| self.group(*nodes, &classes));
        let rest = rest.par_iter().flat_map_iter(|node| self.group([*node], &classes));
        groups.chain(rest).collect()
    }

    fn classes() -> Arc<[Class]> {
        Arc::new([Class::new(-1, "-1"), Class::new(1, "+1")])
    }

    /// The shards of nodes that draw in step.
    fn group<const N: usize>(&self, nodes: [u32; N], classes: &Arc<[Class]>) -> Vec<Shard> {
        let truths = nodes.map(|node| self.truth(node));
        let tables = |samples: usize, part: Purpose| {
            let mut lanes = Lanes::new(nodes.map(|node| self.draws(node)), 0, part);
            let (mut sums, mut chances) = (vec![[0.0; N]; self.features], [[0.0; N]]);
            let room =
                || (Vec::with_capacity(samples * self.features), Vec::with_capacity(samples));
            let mut drawn = nodes.map(|_| room());
            for _ in 0..samples {
                // Roughly standard normal: the sum of twelve uniform numbers has variance one.
                lanes.sum_units(12, &mut sums);
                lanes.sum_units(1, &mut chances);
                for (lane, (features, labels)) in drawn.iter_mut().enumerate() {
                    let at = features.len();
                    features.extend(sums.iter().map(|sums| sums[lane] - 6.0));
                    let margin = lopa_core::vector::dot(&features[at..], &truths[lane]);
                    let chance = lopa_core::math::sigmoid(2.0 * margin);
                    labels.push(u8::from(chances[0][lane] < chance));
                }
            }
            drawn.map(|(features, labels)| {
                let (values, targets) = (Values::Floats(features.into()), Targets::Class(labels));
                Table::trusted(values, self.features, targets, Arc::clone(classes))
            })
        };
        let train = tables(self.samples, purposes::SYNTHETIC_TRAIN);
        let validation = tables(self.samples, purposes::SYNTHETIC_VALIDATION);
        let test = tables(10 * self.samples, purposes::SYNTHETIC_TEST);
        let parts = train.into_iter().zip(validation).zip(test);
        let shard = |((train, validation), test)| Shard {
            train,
            validation,
            test: Some(Arc::new(test)),
            standard: None,
        };
        parts.map(shard).collect()
    }

    /// How a node's labels depend on the features that matter.
    fn truth(&self, node: u32) -> Vec<f32> {
        let owner = if self.alike { u32::MAX } else { node };
        let mut truth = self.draws(owner).stream(0, purposes::SYNTHETIC_TRUTH);
        (0..self.relevant.min(self.features))
            .map(|_| if truth.unit() < 0.5 { -1.0 } else { 1.0 } * (1.0 + truth.unit()))
            .collect()
    }

    const fn draws(&self, node: u32) -> Draws {
        Draws { seed: self.seed, node }
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
        // In whatever company.
        for (first, nodes) in [(0, 5), (1, 16), (0, 40)] {
            let shards = recipe.shards_of(first..first + nodes);
            assert_eq!(shards.len(), nodes as usize);
            assert!((first..).zip(&shards).all(|(node, own)| *own == recipe.shard(node)));
        }
        // Nodes that are alike have other samples of the same kind.
        let alike = Recipe { alike: true, ..recipe };
        assert_ne!(alike.shard(3).train, alike.shard(4).train);
        assert_ne!(alike.shard(3).train, shard.train);
    }
}
