//! A table to learn from and one to test with.

use lopa_core::draw::Draws;

use super::error::DataError;
use super::table::{Class, Table, Values, same_width};
use crate::chance::shuffled;
use crate::purposes;

/// A data set before it is dealt out.
///
/// ```
/// use std::sync::Arc;
/// use lopa_host::data::{Dataset, Table, Targets, Values};
/// let targets = Targets::Real(vec![0.0; 100]);
/// let table = Table::new(Values::Floats(vec![1.0; 200].into()), 2, targets, Arc::new([]))?;
/// let set = Dataset::new(table, None)?.hold_out(20, 7)?;
/// assert_eq!((set.train.len(), set.test.unwrap().len()), (80, 20));
/// # Ok::<(), lopa_host::data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// To be dealt out for training and validation.
    pub train: Table,
    /// For tests only.
    pub test: Option<Table>,
}

impl Dataset {
    /// Combines two parts. Both get the classes of either.
    ///
    /// # Errors
    /// Refuses parts of different widths, encodings or feature names, and without a class in common.
    pub fn new(mut train: Table, mut test: Option<Table>) -> Result<Self, DataError> {
        if let Some(test) = &mut test {
            same_width(train.width(), test.width())?;
            let bytes = |table: &Table| matches!(table.values(), Values::Bytes(_));
            let common = |class: &Class| test.classes().contains(class);
            let classes = match (train.labels(), test.labels()) {
                (Some(_), Some(_)) => train.classes().iter().any(common),
                (labels, other) => labels.is_none() == other.is_none(),
            };
            let names = train.names().is_empty()
                || test.names().is_empty()
                || train.names() == test.names();
            if bytes(&train) != bytes(test) || !classes || !names {
                let what = "training and test samples differ in their columns, classes or encoding: they do not \
                            belong together";
                return Err(DataError::Table(what.into()));
            }
            Table::unite([&mut train, test])?;
        }
        Ok(Self { train, test })
    }

    /// The samples of the named classes alone, in both parts; see [`Table::pick`].
    ///
    /// # Errors
    /// As [`Table::pick`].
    pub fn pick(self, names: &[&str]) -> Result<Self, DataError> {
        let test = self.test.map(|test| test.pick(names)).transpose()?;
        Ok(Self { train: self.train.pick(names)?, test })
    }

    /// Makes `count` samples the test part, drawn without replacement from those for training, in place of
    /// the test part there was.
    ///
    /// # Errors
    /// Refuses to hold out none or all.
    pub fn hold_out(&self, count: usize, seed: u64) -> Result<Self, DataError> {
        let found = self.train.len();
        if count == 0 || count >= found {
            return Err(DataError::Table(format!(
                "cannot hold out {count} of {found} samples: hold out at least one, and keep at least one"
            )));
        }
        let rows = shuffled(found, &mut Draws { seed, node: 0 }.stream(0, purposes::HOLD_OUT));
        let (test, train) = rows.split_at(count);
        Ok(Self { train: self.train.gather(train), test: Some(self.train.gather(test)) })
    }
}
