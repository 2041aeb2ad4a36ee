//! The accuracy of a model.

use lopa_core::samples::{LabelKind, Samples};

/// The fraction of samples that are classified correctly; for real labels R², one minus the squared error divided by
/// that of the mean. `predict` calls its argument with the number and the predicted label of every sample. None if it
/// cannot predict.
#[must_use]
pub fn accuracy(
    samples: &Samples<'_>,
    predict: impl FnOnce(&mut dyn FnMut(usize, f32)) -> Option<()>,
) -> Option<f64> {
    let len = samples.len() as f64;
    if samples.labels().kind() != LabelKind::Real {
        let mut right = 0_u32;
        predict(&mut |index, label| right += u32::from(label == samples.label(index)))?;
        return Some(f64::from(right) / len);
    }
    let mean = (0..samples.len()).map(|i| f64::from(samples.label(i))).sum::<f64>() / len;
    let (mut error, mut spread) = (0.0, 0.0);
    predict(&mut |index, predicted| {
        let (predicted, label) = (f64::from(predicted), f64::from(samples.label(index)));
        error += (predicted - label) * (predicted - label);
        spread += (label - mean) * (label - mean);
    })?;
    Some(1.0 - error / spread.max(f64::MIN_POSITIVE))
}
