//! Data with a known truth: everyone's labels hang on the same few features, each node's in its own way.

use std::sync::Arc;

use lopa_core::draw::{Draws, Purpose, Stream};
use lopa_core::problem::ProblemError;
use lopa_core::problems::Logistic;
use lopa_core::samples::{Features, Labels, Samples, SamplesError};

use crate::data::{self, Class, Table, Targets, Values};

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Features of a sample.
    pub features: usize,
    /// How many of them matter: the first ones.
    pub relevant: usize,
    /// Training samples of a node; as many for validation, ten times as many for the test.
    pub samples: usize,
    /// The seed.
    pub seed: u64,
}

/// One set of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    features: Vec<f32>,
    labels: Vec<u8>,
    width: usize,
}

impl Set {
    /// The samples, to learn from or to judge by.
    ///
    /// # Errors
    /// Refuses an empty set.
    pub fn samples(&self) -> Result<Samples<'_>, SamplesError> {
        Samples::new(Features::F32(&self.features), self.width, Labels::Binary(&self.labels))
    }
}

/// A node's share of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// For the inner problem.
    pub train: Set,
    /// For the outer problem.
    pub validation: Set,
    /// For nobody but the judge.
    pub test: Set,
}

impl Shard {
    /// The node's problem: how strongly to regularise each feature of a logistic regression.
    ///
    /// # Errors
    /// Passes on what the samples or the problem refuse.
    pub fn logistic(&self) -> Result<Logistic<'_>, ShardError> {
        let (train, validation) = (self.train.samples(), self.validation.samples());
        let (train, validation) =
            (train.map_err(ShardError::Samples)?, validation.map_err(ShardError::Samples)?);
        Logistic::new(train, validation).map_err(ShardError::Problem)
    }
}

impl From<Shard> for data::Shard {
    /// The same samples, not copied, in the form in which data from files comes.
    fn from(shard: Shard) -> Self {
        let classes: Arc<[Class]> = Arc::new([Class::new(-1, "-1"), Class::new(1, "+1")]);
        let table = |set: Set| {
            let (values, targets) = (Values::Floats(set.features), Targets::Class(set.labels));
            Table::trusted(values, set.width, targets, Arc::clone(&classes))
        };
        let test = Some(Arc::new(table(shard.test)));
        Self { train: table(shard.train), validation: table(shard.validation), test }
    }
}

/// Why a shard was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardError {
    /// Its samples.
    Samples(SamplesError),
    /// Its problem.
    Problem(ProblemError),
}

impl std::fmt::Display for ShardError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Samples(error) => error.fmt(f),
            Self::Problem(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShardError {}

impl Recipe {
    /// The shard of one node. Nodes agree on which features matter, not on how.
    #[must_use]
    pub fn shard(&self, node: u32) -> Shard {
        let draws = Draws { seed: self.seed, node };
        let mut truth = draws.stream(0, Purpose::custom(0));
        let weights: Vec<f32> = (0..self.relevant.min(self.features))
            .map(|_| if truth.unit() < 0.5 { -1.0 } else { 1.0 } * (1.0 + truth.unit()))
            .collect();
        let set = |samples: usize, part: u32| {
            let mut stream = draws.stream(0, Purpose::custom(part));
            let mut set = Set { features: Vec::new(), labels: Vec::new(), width: self.features };
            for _ in 0..samples {
                let at = set.features.len();
                set.features.extend((0..self.features).map(|_| normal(&mut stream)));
                let margin = lopa_core::vector::dot(&set.features[at..], &weights);
                let chance = lopa_core::math::sigmoid(2.0 * margin);
                set.labels.push(u8::from(stream.unit() < chance));
            }
            set
        };
        Shard {
            train: set(self.samples, 1),
            validation: set(self.samples, 2),
            test: set(10 * self.samples, 3),
        }
    }
}

/// About a standard normal number: twelve uniform ones have variance one. The same bits everywhere.
fn normal(stream: &mut Stream) -> f32 {
    (0..12).map(|_| stream.unit()).sum::<f32>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_different_and_repeatable() {
        let recipe = Recipe { features: 6, relevant: 2, samples: 20, seed: 5 };
        assert_eq!(recipe.shard(3), recipe.shard(3));
        assert_ne!(recipe.shard(3), recipe.shard(4));
        let shard = recipe.shard(3);
        assert_ne!(shard.train, shard.validation);
        assert_eq!(shard.test.samples().unwrap().len(), 200);
        assert!(shard.logistic().is_ok());
    }
}
