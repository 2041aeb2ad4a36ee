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
