//! What one node has.

use std::sync::Arc;

use super::table::Table;

/// A node's share of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// For the inner problem.
    pub train: Table,
    /// For the outer problem.
    pub validation: Table,
    /// For nobody but the judge; nodes may have it in common.
    pub test: Option<Arc<Table>>,
}

impl Shard {
    /// How many samples of each class the node has for training and validation; none for real targets.
    #[must_use]
    pub fn counts(&self) -> Vec<usize> {
        let pairs = self.train.counts().into_iter().zip(self.validation.counts());
        pairs.map(|(train, validation)| train + validation).collect()
    }
}

/// How many samples of each class each node has: a row a node, a column a class.
///
/// ```
/// use lopa_host::data::label_counts;
/// use lopa_host::synthetic::Recipe;
/// let recipe = Recipe { features: 3, relevant: 1, samples: 20, seed: 1 };
/// let shards: Vec<_> = (0..4).map(|node| recipe.shard(node).into()).collect();
/// let counts = label_counts(&shards);
/// assert_eq!(counts.len(), 4);
/// assert!(counts.iter().all(|node| node.iter().sum::<usize>() == 40));
/// ```
#[must_use]
pub fn label_counts(shards: &[Shard]) -> Vec<Vec<usize>> {
    shards.iter().map(Shard::counts).collect()
}
