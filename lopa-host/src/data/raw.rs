//! Samples before they were standardised: what the blob of a chip contains, in as few bytes as possible.

use lopa_core::samples::{Features, Scale};

use super::table::{copy_rows, widen};

/// Raw samples, and how they became what nodes learn from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Raw {
    numbers: Numbers,
    /// Numbers to predict; none for classes, which are not scaled.
    pub(super) targets: Vec<f32>,
    /// One scale for each feature, then one for numbers to predict.
    pub(super) scales: Vec<Scale>,
}

/// A number that no float holds once it is scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beyond {
    pub(super) row: usize,
    /// Its feature; one more than the last for a number to predict.
    pub(super) column: usize,
    pub(super) raw: f32,
}

fn scale_rows(numbers: &mut [f32], scales: &[Scale]) -> Result<(), Beyond> {
    for (row, numbers) in numbers.chunks_exact_mut(scales.len().max(1)).enumerate() {
        for (column, (number, scale)) in numbers.iter_mut().zip(scales).enumerate() {
            let raw = *number;
            *number = scale.value(raw);
            if !number.is_finite() {
                return Err(Beyond { row, column, raw });
            }
        }
    }
    Ok(())
}

/// Features, row after row.
#[derive(Debug, Clone, PartialEq)]
enum Numbers {
    U8(Vec<u8>),
    I8(Vec<i8>),
    F32(Vec<f32>),
}

impl Numbers {
    /// Bytes if all numbers are whole and small enough. A float of -0 is not a byte, because its sign could matter.
    fn new(floats: Vec<f32>) -> Self {
        fn all<T: Copy + Into<f32>>(floats: &[f32], byte: impl Fn(f32) -> T) -> Option<Vec<T>> {
            let same = |&float: &f32| {
                let byte = byte(float);
                (byte.into().to_bits() == float.to_bits()).then_some(byte)
            };
            floats.iter().map(same).collect()
        }
        if let Some(bytes) = all(&floats, |float| float as u8) {
            return Self::U8(bytes);
        }
        match all(&floats, |float| float as i8) {
            Some(bytes) => Self::I8(bytes),
            None => Self::F32(floats),
        }
    }
}

impl Raw {
    /// Brings features and numbers to predict to other scales, and keeps what they were. There is one scale for each
    /// feature, then one for numbers to predict.
    ///
    /// # Errors
    /// Refuses numbers that no float holds once they are scaled.
    pub(super) fn scale(
        features: &mut [f32],
        targets: &mut [f32],
        scales: &[Scale],
    ) -> Result<Self, Beyond> {
        let numbers = Numbers::new(features.to_vec());
        let raw = Self { numbers, targets: targets.to_vec(), scales: scales.to_vec() };
        let width = scales.len().saturating_sub(1);
        scale_rows(features, &scales[..width])?;
        scale_rows(targets, &scales[width..])
            .map_err(|beyond| Beyond { column: width, ..beyond })?;
        Ok(raw)
    }

    /// The features, row after row.
    pub(super) fn features(&self) -> Features<'_> {
        match &self.numbers {
            Numbers::U8(raw) => Features::U8(raw),
            Numbers::I8(raw) => Features::I8(raw),
            Numbers::F32(raw) => Features::F32(raw),
        }
    }

    /// Some of the rows, in the given order.
    pub(super) fn gather(&self, rows: &[u32], width: usize) -> Self {
        let numbers = match &self.numbers {
            Numbers::U8(raw) => Numbers::U8(copy_rows(raw, rows, width)),
            Numbers::I8(raw) => Numbers::I8(copy_rows(raw, rows, width)),
            Numbers::F32(raw) => Numbers::F32(copy_rows(raw, rows, width)),
        };
        let labelled = if self.targets.is_empty() { &[] } else { rows };
        let targets = copy_rows(&self.targets, labelled, 1);
        Self { numbers, targets, scales: self.scales.clone() }
    }

    /// The same with another feature, which is 1 and stays 1.
    pub(super) fn with_intercept(&self, width: usize) -> Self {
        let numbers = match &self.numbers {
            Numbers::U8(raw) => Numbers::U8(widen(raw, width, 1)),
            Numbers::I8(raw) => Numbers::I8(widen(raw, width, 1)),
            Numbers::F32(raw) => Numbers::F32(widen(raw, width, 1.0)),
        };
        let mut scales = self.scales.clone();
        scales.insert(width, Scale::NONE);
        Self { numbers, targets: self.targets.clone(), scales }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_become_the_smallest_bytes_that_hold_them_all() {
        let scales = [Scale { offset: 3.0, factor: 0.5 }, Scale::NONE];
        let raw = |floats: &[f32]| {
            let mut scaled = floats.to_vec();
            let raw = Raw::scale(&mut scaled, &mut [], &scales).unwrap();
            assert_eq!(scaled[1], (floats[1] - 3.0) * 0.5);
            raw
        };
        assert_eq!(raw(&[0.0, 255.0, 7.0]).features(), Features::U8(&[0, 255, 7]));
        assert_eq!(raw(&[-128.0, 127.0]).features(), Features::I8(&[-128, 127]));
        for floats in [[-1.0, 128.0], [0.0, 256.0], [-129.0, 0.0], [0.5, 1.0], [-0.0, 1.0]] {
            assert_eq!(raw(&floats).features(), Features::F32(&floats));
        }
    }
}
