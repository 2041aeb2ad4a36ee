//! The sum of a linear model of scaled features, in one fixed order. This text is part of exported modules.

/// The bias plus each feature, less its offset, times its weight. The offset is subtracted first: as part of the bias it would
/// cancel most digits of a feature that is far from zero.
pub(super) fn centred(weights: &[f32], bias: f32, offsets: &[f32], features: &[f32]) -> f32 {
    let mut sum = bias;
    for ((weight, offset), feature) in weights.iter().zip(offsets).zip(features) {
        sum += weight * (feature - offset);
    }
    sum
}
