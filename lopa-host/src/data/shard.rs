//! The data of one node.

use std::sync::Arc;

use lopa_core::problems::Logistic;
use lopa_core::samples::LabelKind;

use super::error::DataError;
use super::rows;
use super::standard::Standard;
use super::table::Table;

/// A node's share of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// For the inner problem.
    pub train: Table,
    /// For the outer problem.
    pub validation: Table,
    /// For tests only; nodes may share it.
    pub test: Option<Arc<Table>>,
    /// How the file's numbers became these, if they were scaled. The same for all nodes, so that a strength of a feature
    /// means the same on each: a fleet can agree on it by averaging sums, without showing a sample.
    pub standard: Option<Arc<Standard>>,
}

/// Puts the samples that nodes learn from next to each other, in large pages of memory where the system has them: rows that are
/// drawn at random are found sooner. Samples for tests stay where they are.
///
/// ```
/// use lopa_host::data::{synthetic::Recipe, together};
/// let recipe = Recipe { features: 200, relevant: 4, samples: 500, alike: false, seed: 7 };
/// let mut shards = recipe.shards(8);
/// together(&mut shards);
/// assert_eq!(shards, recipe.shards(8));
/// ```
pub fn together(shards: &mut [Shard]) {
    let mut values = Vec::new();
    for Shard { train, validation, .. } in shards {
        values.extend([train.values_mut(), validation.values_mut()]);
    }
    rows::together(&mut values);
}

impl Shard {
    /// The node's problem: how strongly to regularise each feature of a logistic regression.
    ///
    /// # Errors
    /// Refuses labels that are not two classes, and what the problem refuses.
    pub fn logistic(&self) -> Result<Logistic<'_>, DataError> {
        let kind = LabelKind::Binary;
        Ok(Logistic::new(self.train.samples(kind)?, self.validation.samples(kind)?)?)
    }

    /// The name of the node that its samples belong to, where a file says so.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        let owners = self.train.owners()?;
        Some(&owners.names[*owners.of.first()? as usize])
    }

    /// A checksum (CRC-32) of everything the node learns from: the same samples give the same one everywhere.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        let mut digest = crc32fast::Hasher::new();
        self.train.digest(&mut digest);
        self.validation.digest(&mut digest);
        digest.finalize()
    }

    /// How many samples of each class the node has for training and validation; none for real targets.
    #[must_use]
    pub fn counts(&self) -> Vec<usize> {
        let pairs = self.train.counts().into_iter().zip(self.validation.counts());
        pairs.map(|(train, validation)| train + validation).collect()
    }
}
