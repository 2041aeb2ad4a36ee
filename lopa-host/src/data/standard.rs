//! Standardisation: mean 0 and deviation 1 for every feature and every number to predict, learned from training samples
//! only.

use std::collections::HashMap;
use std::sync::Arc;

use lopa_core::samples::{SamplesError, Scale};

use super::error::DataError;
use super::shard::Shard;
use super::table::{Table, Targets, Values, already_scaled, same_width};

/// The mean and deviation of every feature, and of what is to be predicted.
///
/// ```
/// use std::sync::Arc;
/// use lopa_host::data::{Standard, Table, Targets, Values};
/// // The second feature never changes.
/// let floats = Values::Floats(vec![1.0, 7.0, 3.0, 7.0].into());
/// let mut table = Table::new(floats, 2, Targets::Real(vec![0.0; 2]), Arc::new([])).unwrap();
/// let standard = Standard::learn([&table])?;
/// assert_eq!((&standard.mean, &standard.deviation), (&vec![2.0, 7.0], &vec![1.0, 0.0]));
/// standard.apply(&mut table)?;
/// assert_eq!(table.values(), &Values::Floats(vec![-1.0, 0.0, 1.0, 0.0].into()));
/// # Ok::<(), lopa_host::data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    /// The mean of every feature.
    pub mean: Vec<f64>,
    /// The deviation of every feature; 0 for one that did not change.
    pub deviation: Vec<f64>,
    /// The mean and the deviation of numbers to predict; 0 and 1 for classes.
    pub target: (f64, f64),
}

impl Standard {
    /// Learns from the samples of one or more tables, taken together.
    ///
    /// # Errors
    /// Refuses bytes, no tables, and tables of different widths.
    pub fn learn<'a>(tables: impl IntoIterator<Item = &'a Table>) -> Result<Self, DataError> {
        let (mut all, mut targets, mut width) = (Vec::new(), Vec::new(), None);
        for table in tables {
            if let Targets::Real(own) = table.targets() {
                targets.extend_from_slice(own);
            }
            same_width(*width.get_or_insert(table.width()), table.width())?;
            match table.values() {
                Values::Bytes(_) => return Err(already_scaled()),
                Values::Floats(values) => all.push(values),
            }
        }
        let width = width.ok_or(SamplesError::Empty)?;
        let rows = || all.iter().flat_map(|values| values.chunks_exact(width));
        let first = rows().next().ok_or(SamplesError::Empty)?;
        let count = rows().count() as f64;

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
        let targets: Vec<f64> = targets.iter().map(|target| f64::from(*target)).collect();
        Ok(Self { mean, deviation, target: moments(&targets) })
    }

    /// The scale of every feature, then that of numbers to predict, rounded once to the floats that chips and the
    /// simulation compute with: a standardised number has the same bits on both.
    #[must_use]
    pub fn scales(&self) -> Vec<Scale> {
        let pairs = self.mean.iter().copied().zip(self.deviation.iter().copied());
        pairs.chain([self.target]).map(|(mean, deviation)| scale(mean, deviation)).collect()
    }

    /// Standardises a table. Features that did not change in training become 0.
    ///
    /// # Errors
    /// Refuses bytes and another width, and names a value too far from those of the training samples.
    pub fn apply(&self, table: &mut Table) -> Result<(), DataError> {
        same_width(self.mean.len(), table.width())?;
        table.scale(&self.scales())
    }
}

/// The scale that numbers with this mean and deviation are learned with; those that do not change become 0.
pub(crate) fn scale(mean: f64, deviation: f64) -> Scale {
    // The inverse of a deviation below all normal floats is beyond the largest one.
    let factor = (1.0 / deviation).min(f64::from(f32::MAX)) as f32;
    Scale { offset: mean as f32, factor: if deviation > 0.0 { factor } else { 0.0 } }
}

/// The mean and the deviation, 0 and 1 of no numbers; the deviation of equal numbers is 1.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let square = |number: &f64| (number - mean) * (number - mean);
    let variance = numbers.iter().map(square).sum::<f64>() / count;
    (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}

/// Standardises shards: learned from the training samples of all nodes, applied to training, validation and test
/// samples. Numbers to predict are standardised, too. Images stay as they are, because they are scaled by 1/255 when they are
/// read; then no shard has a [`Shard::standard`].
///
/// # Errors
/// Refuses shards of different widths, and bytes among floats.
pub fn standardise(shards: &mut [Shard]) -> Result<(), DataError> {
    let bytes = |shard: &Shard| matches!(shard.train.values(), Values::Bytes(_));
    if shards.iter().all(bytes) {
        return Ok(());
    }
    let standard = Standard::learn(shards.iter().map(|shard| &shard.train))?;
    change(shards, |table| standard.apply(table))?;
    let standard = Arc::new(standard);
    shards.iter_mut().for_each(|shard| shard.standard = Some(Arc::clone(&standard)));
    Ok(())
}

/// Gives every sample of every node another feature, which is 1.
pub(super) fn add_intercepts(shards: &mut [Shard]) -> Result<(), DataError> {
    change(shards, |table| {
        table.add_intercept();
        Ok(())
    })
}

/// Changes all tables. Test samples that nodes share are changed once and stay shared.
fn change(
    shards: &mut [Shard],
    change: impl Fn(&mut Table) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let mut tests: HashMap<*const Table, (Arc<Table>, Arc<Table>)> = HashMap::new();
    for shard in shards {
        change(&mut shard.train)?;
        change(&mut shard.validation)?;
        let Some(test) = &mut shard.test else { continue };
        if let Some((_, done)) = tests.get(&Arc::as_ptr(test)) {
            *test = Arc::clone(done);
            continue;
        }
        let mut table = Table::clone(test);
        change(&mut table)?;
        let raw = std::mem::replace(test, Arc::new(table));
        tests.insert(Arc::as_ptr(&raw), (raw, Arc::clone(test)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lopa_core::samples::{Features, LabelKind};

    use super::*;
    use crate::data::{Dataset, Deal, Partition, Targets};

    fn table(values: Vec<f32>, width: usize) -> Table {
        let targets = Targets::Real(vec![0.0; values.len() / width]);
        Table::new(Values::Floats(values.into()), width, targets, Arc::new([])).unwrap()
    }

    #[test]
    fn only_training_samples_teach() {
        // 0.1 has no exact sum: a constant must be known by its values, not by its deviation.
        let values = (0..60_u8).flat_map(|row| [f32::from(row), 0.1]).collect();
        let data = Dataset::new(table(values, 2), Some(table(vec![1e6, 5.0], 2))).unwrap();
        let mut shards = Deal::new(3, Partition::Iid, 1).shards(data).unwrap();
        let raw = shards.clone();
        standardise(&mut shards).unwrap();
        let standard = shards[0].standard.clone().unwrap();
        assert_eq!(*standard, Standard::learn(raw.iter().map(|shard| &shard.train)).unwrap());
        assert_eq!(standard.deviation[1], 0.0);
        let again = Standard::learn(shards.iter().map(|shard| &shard.train)).unwrap();
        assert!(again.mean[0].abs() < 1e-6 && (again.deviation[0] - 1.0).abs() < 1e-6);
        let Values::Floats(test) = shards[0].test.as_ref().unwrap().values() else { panic!() };
        let scales = standard.scales();
        assert_eq!(test[..], [scales[0].value(1e6), 0.0]);
        let expected = (1e6 - standard.mean[0]) / standard.deviation[0];
        assert!((f64::from(test[0]) / expected - 1.0).abs() < 1e-6);
        assert!(Arc::ptr_eq(shards[0].test.as_ref().unwrap(), shards[2].test.as_ref().unwrap()));
        let floats = |shard: &Shard| match shard.validation.values() {
            Values::Floats(values) => values[4],
            Values::Bytes(_) => panic!("the samples are floats"),
        };
        assert_eq!(floats(&shards[1]), scales[0].value(floats(&raw[1])));
    }

    #[test]
    fn raw_samples_have_the_bits_of_standardised_ones() {
        let values = (0..40_u8).flat_map(|row| [f32::from(row * 5), 7.0, f32::from(row % 3)]);
        let targets = Targets::Real((0..40_u8).map(|row| f32::from(row) * 0.3).collect());
        let data = Table::new(Values::Floats(values.collect()), 3, targets, Arc::new([])).unwrap();
        let data = Dataset::new(data, None).unwrap();
        let mut shards = Deal::new(2, Partition::Iid, 1).shards(data).unwrap();
        standardise(&mut shards).unwrap();
        add_intercepts(&mut shards).unwrap();
        let table = shards[1].train.gather(&[3, 0, 3]);
        let (own, raw) = (table.samples(LabelKind::Real), table.raw_samples(LabelKind::Real));
        let (own, raw) = (own.unwrap(), raw.unwrap());
        assert!(matches!(raw.features(), Features::U8(_)), "{raw:?}");
        for row in 0..3 {
            assert_eq!(own.label(row).to_bits(), raw.label(row).to_bits());
            for feature in 0..4 {
                let mut one = [0.0; 4];
                one[feature] = 1.0;
                let value = raw.row(row).dot(&one);
                assert_eq!(own.row(row).dot(&one).to_bits(), value.to_bits());
                // What never changes is 0, and the intercept 1.
                assert!(![1, 3].contains(&feature) || value == f32::from(feature == 3));
            }
        }
        // Without scaling there is nothing to keep.
        let plain = self::table(vec![1.0, 2.0], 1);
        assert_eq!(plain.raw_samples(LabelKind::Real), plain.samples(LabelKind::Real));
    }

    #[test]
    fn what_cannot_be_standardised() {
        let bytes = Values::Bytes(vec![1, 2].into());
        let mut bytes = Table::new(bytes, 2, Targets::Real(vec![0.0]), Arc::new([])).unwrap();
        let scaled = Err(already_scaled());
        assert_eq!(Standard::learn([&bytes]).map(|_| ()), scaled);
        assert_eq!(Standard::learn([]), Err(SamplesError::Empty.into()));
        let (two, mut three) = (table(vec![1.0; 4], 2), table(vec![1.0; 3], 3));
        let width = same_width(2, 3);
        assert_eq!(Standard::learn([&two, &three]).map(|_| ()), width);
        let standard = Standard::learn([&two]).unwrap();
        assert_eq!(standard.apply(&mut three), width);
        assert_eq!(standard.apply(&mut bytes), scaled);
        // Deviations that no float is the inverse of still give finite values; outliers beyond all floats are named.
        let mut tiny = table(vec![0.0, 1e-45], 1);
        let standard = Standard::learn([&tiny]).unwrap();
        standard.apply(&mut tiny).unwrap();
        let mut outlier = table(vec![0.0, f32::MAX], 1);
        let error = standard.apply(&mut outlier).unwrap_err().to_string();
        assert!(error.starts_with("feature 1 of sample 2 is 340282350000000000"), "{error}");
        let target = Targets::Real(vec![f32::MAX]);
        let mut outlier =
            Table::new(Values::Floats(vec![0.0].into()), 1, target, Arc::new([])).unwrap();
        let standard = Standard { target: (0.0, 0.5), ..standard };
        let error = standard.apply(&mut outlier).unwrap_err().to_string();
        assert!(error.starts_with("the number to predict of sample 1 is 3402823"), "{error}");
    }
}
