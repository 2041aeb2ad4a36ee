//! The accuracy of a model.

use lopa_core::samples::{LabelKind, Row, Samples};

/// The fraction of samples that `predict` classifies correctly; for real labels R², one minus the squared error divided by
/// that of the mean. None if it cannot predict.
#[must_use]
pub fn accuracy<'a>(
    samples: &Samples<'a>,
    mut predict: impl FnMut(Row<'a>) -> Option<f32>,
) -> Option<f64> {
    let len = samples.len() as f64;
    if samples.labels().kind() != LabelKind::Real {
        let mut right = 0_u32;
        for index in 0..samples.len() {
            right += u32::from(predict(samples.row(index))? == samples.label(index));
        }
        return Some(f64::from(right) / len);
    }
    let mean = (0..samples.len()).map(|i| f64::from(samples.label(i))).sum::<f64>() / len;
    let (mut error, mut spread) = (0.0, 0.0);
    for index in 0..samples.len() {
        let predicted = f64::from(predict(samples.row(index))?);
        let label = f64::from(samples.label(index));
        error += (predicted - label) * (predicted - label);
        spread += (label - mean) * (label - mean);
    }
    Some(1.0 - error / spread.max(f64::MIN_POSITIVE))
}
