//! A table to learn from and one to test with.

use lopa_core::draw::Draws;

use super::error::DataError;
use super::table::{Table, Targets, Values, same_width};
use crate::chance::shuffled;
use crate::purposes;

/// A data set before it is dealt out.
///
/// ```
/// use std::sync::Arc;
/// use lopa_host::data::{Dataset, Table, Targets, Values};
/// let targets = Targets::Real(vec![0.0; 100]);
/// let table = Table::new(Values::Floats(vec![1.0; 200]), 2, targets, Arc::new([]))?;
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
    /// Combines two parts. Where labels are numbers without a name, both get the classes of the part that has more.
    ///
    /// # Errors
    /// Refuses parts of different widths, encodings or classes.
    pub fn new(train: Table, test: Option<Table>) -> Result<Self, DataError> {
        let Some(test) = test else { return Ok(Self { train, test: None }) };
        same_width(train.width(), test.width())?;
        let bytes = |table: &Table| matches!(table.values(), Values::Bytes(_));
        let real = |table: &Table| matches!(table.targets(), Targets::Real(_));
        let (a, b) = (train.shared_classes(), test.shared_classes());
        let all = if a.len() < b.len() { b.clone() } else { a.clone() };
        let fit = all.starts_with(&a) && all.starts_with(&b);
        if bytes(&train) != bytes(&test) || real(&train) != real(&test) || !fit {
            let what = "training and test samples differ in their classes or encoding: they do not belong together";
            return Err(DataError::Table(what.into()));
        }
        Ok(Self { train: train.with_classes(all.clone()), test: Some(test.with_classes(all)) })
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
    pub fn hold_out(self, count: usize, seed: u64) -> Result<Self, DataError> {
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
