//! Dealing samples out: each node's share, split into training and validation.

use std::sync::Arc;

use lopa_core::draw::Draws;

use super::dataset::Dataset;
use super::error::DataError;
use super::partition::{LEAST, Partition, Pool};
use super::shard::Shard;
use super::source::Validation;
use super::table::{Owners, Table};
use crate::chance::{self, shuffled};
use crate::purposes;

/// How a data set becomes shards.
///
/// ```
/// use lopa_host::data::{Class, Dataset, Deal, Partition, Table, Targets, Values};
/// let labels = [0, 1, 2].repeat(200);
/// let classes = ["a", "b", "c"].map(|name| Class::new(0, name));
/// let values = Values::Bytes(vec![0; 600].into());
/// let table = Table::new(values, 1, Targets::Class(labels), classes.into())?;
///
/// let deal = Deal::new(3, Partition::LabelSubsets { classes: 1 }, 7);
/// let shards = deal.shards(Dataset::new(table, None)?)?;
/// assert!(shards.iter().all(|shard| shard.train.len() == 100 && shard.validation.len() == 100));
/// assert!(shards.iter().all(|shard| shard.counts().contains(&200)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deal {
    /// How many nodes there are.
    pub nodes: u32,
    /// The way samples are dealt out.
    pub partition: Partition,
    /// How many samples are dealt out, drawn from all; without it, as many as possible.
    pub samples: Option<usize>,
    /// What of a node's share is for validation.
    pub validation: Validation,
    /// What nodes are tested with.
    pub test: TestPart,
    /// The seed: the same seed gives the same shards.
    pub seed: u64,
}

/// What nodes are tested with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TestPart {
    /// All nodes with the whole test part.
    #[default]
    Common,
    /// Each node with as many test samples as possible in its own mixture of classes: a personal model need not know
    /// classes that its node never sees. Real targets have no classes, so the test is common.
    Matched,
}

/// The rows that a node gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// For training.
    pub train: Vec<u32>,
    /// For validation.
    pub validation: Vec<u32>,
}

impl Deal {
    /// All samples, half of them for validation, a common test.
    #[must_use]
    pub const fn new(nodes: u32, partition: Partition, seed: u64) -> Self {
        Self {
            nodes,
            partition,
            samples: None,
            validation: Validation::Part(0.5),
            test: TestPart::Common,
            seed,
        }
    }

    /// The rows of `table` that every node gets; no row goes to two nodes.
    ///
    /// # Errors
    /// Refuses settings out of range, and says which node has too few samples, and of which class.
    pub fn shares(&self, table: &Table) -> Result<Vec<Share>, DataError> {
        if self.nodes == 0 {
            let what = "there is no node to deal samples out to";
            return Err(DataError::Setting(what.into()));
        }
        if let Validation::Part(value) = self.validation
            && !(value > 0.0 && value < 1.0)
        {
            return Err(DataError::range("validation", value, "above 0 and below 1"));
        }
        let found = table.len();
        let samples = self.samples.unwrap_or(found);
        if samples > found {
            let what = format!("{samples} samples are requested, but there are only {found}");
            return Err(DataError::Deal(what));
        }
        // With an even deal the last node gets the fewest.
        enough(self.nodes - 1, samples / self.nodes as usize)?;
        let mut stream = Draws { seed: self.seed, node: 0 }.stream(0, purposes::POOL);
        let mut rows = shuffled(found, &mut stream);
        // These two take what they need from each class.
        let picky =
            matches!(self.partition, Partition::LabelRatio(_) | Partition::EqualSubsets { .. });
        if !picky {
            rows.truncate(samples);
        }
        let rows = if self.partition == Partition::Iid {
            vec![rows]
        } else {
            let labels = table.need_labels()?;
            let mut by_class = vec![Vec::new(); table.classes().len()];
            rows.iter().for_each(|&row| by_class[usize::from(labels[row as usize])].push(row));
            by_class
        };
        let Self { nodes, samples, seed, .. } = *self;
        let pool = Pool { rows, classes: table.classes(), nodes, samples, seed };
        let plan = match self.partition {
            Partition::Iid => pool.evenly(),
            Partition::Dirichlet { alpha } => pool.dirichlet(alpha)?,
            Partition::LabelSubsets { classes } => pool.subsets(classes)?,
            Partition::EqualSubsets { classes } => pool.equal_subsets(classes)?,
            Partition::LabelRatio(ratio) => pool.ratio(ratio)?,
        };
        let shares = pool.deal(&plan)?;
        (0..).zip(shares).map(|(node, share)| self.cut(node, share)).collect()
    }

    /// The shards themselves.
    ///
    /// # Errors
    /// As [`Deal::shares`]; and a matched test needs samples of every class that the node has.
    pub fn shards(&self, data: Dataset) -> Result<Vec<Shard>, DataError> {
        let shares = self.shares(&data.train)?;
        let test = data.test.map(Arc::new);
        let shard = |(node, share): (u32, &Share)| {
            let train = data.train.gather(&share.train);
            let validation = data.train.gather(&share.validation);
            let mut shard = Shard { train, validation, test: test.clone(), standard: None };
            if let (TestPart::Matched, Some(test)) = (self.test, &test) {
                shard.test = Some(self.matched(node, &shard.counts(), test)?);
            }
            Ok(shard)
        };
        (0..).zip(&shares).map(shard).collect()
    }

    /// The shards of samples whose file says which node each belongs to. Without a test part, a sixth of each node's samples
    /// is held out.
    ///
    /// # Errors
    /// Says which node has too few samples.
    pub fn owned(&self, data: &Dataset, owners: &Owners) -> Result<Vec<Shard>, DataError> {
        let Dataset { train, test } = data;
        let names = &owners.names;
        if names.len() != self.nodes as usize {
            return Err(DataError::Deal(format!(
                "the file names {} nodes, but network.nodes is {}: set network.nodes = {}",
                names.len(),
                self.nodes,
                names.len()
            )));
        }
        let rows_of = |owners: &Owners, name: &str| -> Vec<u32> {
            let place = owners.names.iter().position(|other| other == name).map(|at| at as u32);
            (0..)
                .zip(&owners.of)
                .filter(|(_, of)| Some(**of) == place)
                .map(|(row, _)| row)
                .collect()
        };
        let shard = |(node, name): (u32, &String)| {
            let mut rows = rows_of(owners, name);
            let test = match test {
                Some(test) => {
                    let rows =
                        test.owners().map(|owners| rows_of(owners, name)).unwrap_or_default();
                    if rows.is_empty() {
                        return Err(DataError::Deal(format!(
                            "the test file has no samples of node \"{name}\""
                        )));
                    }
                    test.gather(&rows)
                }
                None => {
                    let mut stream = Draws { seed: self.seed, node }.stream(0, purposes::HOLD_OUT);
                    chance::shuffle(&mut rows, &mut stream);
                    let left = rows.len() - (rows.len() / 6).max(1);
                    train.gather(&rows.split_off(left))
                }
            };
            let share = self.cut(node, rows).map_err(|error| match error {
                DataError::Deal(what) => DataError::Deal(format!("node \"{name}\": {what}")),
                other => other,
            })?;
            let (validation, train) = (train.gather(&share.validation), train.gather(&share.train));
            Ok(Shard { train, validation, test: Some(Arc::new(test)), standard: None })
        };
        (0..).zip(names.iter()).map(shard).collect()
    }

    /// As many test samples as possible with classes in the proportions of `counts`.
    fn matched(
        &self,
        node: u32,
        counts: &[usize],
        test: &Arc<Table>,
    ) -> Result<Arc<Table>, DataError> {
        let Some(labels) = test.labels() else { return Ok(Arc::clone(test)) };
        let both = counts.iter().copied().zip(test.counts()).enumerate();
        let own = both.filter(|(_, (wanted, _))| *wanted > 0);
        // The class that runs out first.
        let scarce = own.min_by(|(_, (wanted, left)), (_, other)| {
            let (other_wanted, other_left) = other;
            (left * other_wanted).cmp(&(other_left * wanted))
        });
        let Some((class, (wanted, left))) = scarce else { return Ok(Arc::clone(test)) };
        if left == 0 {
            return Err(DataError::Deal(format!(
                "node {node} has samples of class \"{}\", but the test part has none: add some, or leave the class out",
                test.classes()[class].name
            )));
        }
        let mut quota: Vec<usize> = counts.iter().map(|count| count * left / wanted).collect();
        let mut stream = Draws { seed: self.seed, node }.stream(0, purposes::TEST);
        let mut rows = shuffled(test.len(), &mut stream);
        rows.retain(|&row| {
            let quota = &mut quota[usize::from(labels[row as usize])];
            let take = *quota > 0;
            *quota -= usize::from(take);
            take
        });
        Ok(Arc::new(test.gather(&rows)))
    }

    /// Splits a node's share in two, at random.
    fn cut(&self, node: u32, mut share: Vec<u32>) -> Result<Share, DataError> {
        let found = share.len();
        enough(node, found)?;
        let mut stream = Draws { seed: self.seed, node }.stream(0, purposes::CUT);
        chance::shuffle(&mut share, &mut stream);
        let Validation::Part(part) = self.validation else {
            return Ok(Share { validation: share.clone(), train: share });
        };
        let validation = (part * found as f64 + 0.5) as usize;
        let validation = share.split_off(found - validation.clamp(1, found - 1));
        Ok(Share { train: share, validation })
    }
}

/// Refuses a share that cannot be split.
fn enough(node: u32, found: usize) -> Result<(), DataError> {
    if found >= LEAST {
        return Ok(());
    }
    Err(DataError::Deal(format!(
        "node {node} gets {found} samples but needs {LEAST}, to train and to validate with: use more samples or fewer \
         nodes"
    )))
}

#[cfg(test)]
mod tests;
