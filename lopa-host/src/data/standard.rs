//! Standardisation: mean 0 and deviation 1 for every feature, learned from training samples only.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use lopa_core::samples::SamplesError;

use super::error::{DataError, Fault, FileError};
use super::shard::Shard;
use super::table::{Table, Values};
use super::text::{Lines, bare, excerpt};

/// The mean and deviation of every feature.
///
/// ```
/// use std::sync::Arc;
/// use lopa_host::data::{Standard, Table, Targets, Values};
/// // The second feature never changes.
/// let floats = Values::Floats(vec![1.0, 7.0, 3.0, 7.0]);
/// let mut table = Table::new(floats, 2, Targets::Real(vec![0.0; 2]), Arc::new([])).unwrap();
/// let standard = Standard::learn([&table])?;
/// assert_eq!((standard.mean(), standard.deviation()), (&[2.0, 7.0][..], &[1.0, 0.0][..]));
/// standard.apply(&mut table)?;
/// assert_eq!(table.values(), &Values::Floats(vec![-1.0, 0.0, 1.0, 0.0]));
/// # Ok::<(), lopa_host::data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Standard {
    /// Learns from the samples of one or more tables, taken together.
    ///
    /// # Errors
    /// Refuses bytes, no tables, and tables of different widths.
    pub fn learn<'a, I>(tables: I) -> Result<Self, DataError>
    where
        I: IntoIterator<Item = &'a Table>,
    {
        let tables: Vec<(&[f32], usize)> = tables
            .into_iter()
            .map(|table| match table.values() {
                Values::Bytes(_) => Err(DataError::Bytes),
                Values::Floats(values) => Ok((values.as_slice(), table.width())),
            })
            .collect::<Result<_, _>>()?;
        let width = tables.first().ok_or(DataError::Samples(SamplesError::Empty))?.1;
        if let Some(&(_, found)) = tables.iter().find(|(_, found)| *found != width) {
            return Err(DataError::Width { expected: width, found });
        }
        let rows = || tables.iter().flat_map(|(values, _)| values.chunks_exact(width));
        let count = rows().count() as f64;
        let first = rows().next().ok_or(DataError::Samples(SamplesError::Empty))?;

        let (mut mean, mut changes) = (vec![0.0; width], vec![false; width]);
        for row in rows() {
            for feature in 0..width {
                mean[feature] += f64::from(row[feature]);
                changes[feature] |= row[feature] != first[feature];
            }
        }
        mean.iter_mut().for_each(|mean| *mean /= count);
        let mut deviation = vec![0.0; width];
        for row in rows() {
            for feature in 0..width {
                let off = f64::from(row[feature]) - mean[feature];
                deviation[feature] += off * off;
            }
        }
        for (deviation, changes) in deviation.iter_mut().zip(changes) {
            // Rounding may leave something where nothing changes.
            *deviation = if changes { (*deviation / count).sqrt() } else { 0.0 };
        }
        Ok(Self { mean, deviation })
    }

    /// The mean of every feature.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The deviation of every feature; 0 for one that did not change.
    #[must_use]
    pub fn deviation(&self) -> &[f64] {
        &self.deviation
    }

    /// Standardises a table. Features that did not change in training become 0.
    ///
    /// # Errors
    /// Refuses bytes and another width.
    pub fn apply(&self, table: &mut Table) -> Result<(), DataError> {
        let (expected, found) = (self.mean.len(), table.width());
        if expected != found {
            return Err(DataError::Width { expected, found });
        }
        let values = table.floats_mut().ok_or(DataError::Bytes)?;
        for row in values.chunks_exact_mut(expected) {
            for ((value, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *value = if *deviation > 0.0 {
                    let standard = (f64::from(*value) - mean) / deviation;
                    standard.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
                } else {
                    0.0
                };
            }
        }
        Ok(())
    }

    /// Writes one line `mean,deviation` per feature, which reads back to the same bits.
    ///
    /// # Errors
    /// Passes on what `out` refuses.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(out, "mean,deviation")?;
        for (mean, deviation) in self.mean.iter().zip(&self.deviation) {
            writeln!(out, "{mean:e},{deviation:e}")?;
        }
        out.flush()
    }

    /// Reads what [`Standard::write`] wrote.
    ///
    /// # Errors
    /// Names the file, line and column of what is wrong.
    pub fn read(file: impl AsRef<Path>) -> Result<Self, FileError> {
        let mut lines = Lines::open(file.as_ref())?;
        let (mut mean, mut deviation) = (Vec::new(), Vec::new());
        while lines.advance()? {
            let text = lines.text()?;
            if lines.number() == 1 && text == "mean,deviation" {
                continue;
            }
            let found = text.split(',').count();
            if found != 2 {
                return Err(lines.line(Fault::Ragged { expected: 2, found }));
            }
            for (column, cell) in text.split(',').map(bare).enumerate() {
                let value = match cell.parse::<f64>() {
                    Ok(value) if value.is_finite() && (column == 0 || value >= 0.0) => value,
                    Ok(_) => return Err(lines.cell(column, Fault::NotFinite(excerpt(cell)))),
                    Err(_) => return Err(lines.cell(column, Fault::Number(excerpt(cell)))),
                };
                if column == 0 { mean.push(value) } else { deviation.push(value) }
            }
        }
        if mean.is_empty() {
            return Err(lines.file(Fault::Empty));
        }
        Ok(Self { mean, deviation })
    }
}

/// Standardises shards: learned from the training samples of all nodes, applied to training, validation and test
/// samples. Images stay as they are, because they are scaled by 1/255 when they are read; then nothing is returned.
///
/// # Errors
/// Refuses shards of different widths, and bytes among floats.
pub fn standardise(shards: &mut [Shard]) -> Result<Option<Standard>, DataError> {
    let bytes = |shard: &Shard| matches!(shard.train.values(), Values::Bytes(_));
    if shards.iter().all(bytes) {
        return Ok(None);
    }
    let standard = Standard::learn(shards.iter().map(|shard| &shard.train))?;
    // Test samples that nodes share are scaled once and stay shared.
    let mut tests: HashMap<*const Table, (Arc<Table>, Arc<Table>)> = HashMap::new();
    for shard in shards {
        standard.apply(&mut shard.train)?;
        standard.apply(&mut shard.validation)?;
        let Some(test) = &mut shard.test else { continue };
        if let Some((_, done)) = tests.get(&Arc::as_ptr(test)) {
            *test = Arc::clone(done);
            continue;
        }
        let mut table = Table::clone(test);
        standard.apply(&mut table)?;
        let raw = std::mem::replace(test, Arc::new(table));
        tests.insert(Arc::as_ptr(&raw), (raw, Arc::clone(test)));
    }
    Ok(Some(standard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Deal, Partition, Targets};

    fn table(values: Vec<f32>, width: usize) -> Table {
        let targets = Targets::Real(vec![0.0; values.len() / width]);
        Table::new(Values::Floats(values), width, targets, Arc::new([])).unwrap()
    }

    #[test]
    fn only_training_samples_teach() {
        // 0.1 has no exact sum: a constant must be known by its values, not by its deviation.
        let values = (0..60_u8).flat_map(|row| [f32::from(row), 0.1]).collect();
        let data = Dataset::new(table(values, 2), Some(table(vec![1e6, 5.0], 2))).unwrap();
        let mut shards = Deal::new(3, Partition::Iid, 1).shards(data).unwrap();
        let raw = shards.clone();
        let standard = standardise(&mut shards).unwrap().unwrap();
        assert_eq!(standard, Standard::learn(raw.iter().map(|shard| &shard.train)).unwrap());
        assert_eq!(standard.deviation()[1], 0.0);
        let again = Standard::learn(shards.iter().map(|shard| &shard.train)).unwrap();
        assert!(again.mean()[0].abs() < 1e-6 && (again.deviation()[0] - 1.0).abs() < 1e-6);
        let Values::Floats(test) = shards[0].test.as_ref().unwrap().values() else { panic!() };
        let expected = (1e6 - standard.mean()[0]) / standard.deviation()[0];
        assert_eq!(test, &[expected as f32, 0.0]);
        assert!(Arc::ptr_eq(shards[0].test.as_ref().unwrap(), shards[2].test.as_ref().unwrap()));
        let off = |at: usize| {
            f64::from(
                raw[1]
                    .validation
                    .samples(lopa_core::samples::LabelKind::Real)
                    .unwrap()
                    .row(at)
                    .dot(&[1.0, 0.0]),
            ) - standard.mean()[0]
        };
        let Values::Floats(validation) = shards[1].validation.values() else { panic!() };
        assert_eq!(validation[4], (off(2) / standard.deviation()[0]) as f32);
    }

    #[test]
    fn what_was_learned_reads_back_to_the_same_bits() {
        let values = vec![1.0 / 3.0, 7.0, 1e-30, 2e20, 7.0, 3e-30, 0.1, 7.0, 1e-38];
        let standard = Standard::learn([&table(values, 3)]).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        standard.write(&file).unwrap();
        assert_eq!(Standard::read(file.path()).unwrap(), standard);
        for (text, expected) in [
            ("mean,deviation\n", ": contains no samples"),
            ("mean,deviation\n1\n", ", line 2: 1 cells"),
            ("mean,deviation\n1,-2\n", ", line 2, column 2: -2"),
            ("mean,deviation\nx,2\n", ", line 2, column 1: \"x\" is not a number"),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let error = Standard::read(file.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_standardised() {
        let bytes = Values::Bytes(vec![1, 2]);
        let mut bytes = Table::new(bytes, 2, Targets::Real(vec![0.0]), Arc::new([])).unwrap();
        assert_eq!(Standard::learn([&bytes]), Err(DataError::Bytes));
        assert_eq!(Standard::learn([]), Err(DataError::Samples(SamplesError::Empty)));
        let (two, mut three) = (table(vec![1.0; 4], 2), table(vec![1.0; 3], 3));
        let width = DataError::Width { expected: 2, found: 3 };
        assert_eq!(Standard::learn([&two, &three]), Err(width.clone()));
        let standard = Standard::learn([&two]).unwrap();
        assert_eq!(standard.apply(&mut three), Err(width));
        assert_eq!(standard.apply(&mut bytes), Err(DataError::Bytes));
        // An outlier beyond what a float holds stays finite.
        let standard = Standard::learn([&table(vec![0.0, 1e-45], 1)]).unwrap();
        let mut outlier = table(vec![f32::MAX], 1);
        standard.apply(&mut outlier).unwrap();
        assert_eq!(outlier.values(), &Values::Floats(vec![f32::MAX]));
    }
}
