//! The sum of a linear model, in one fixed order. This text is part of every exported module.

/// The bias plus each feature times its weight, added one after the other: a sum of floats depends on its order.
pub(super) fn affine(weights: &[f32], bias: f32, features: &[f32]) -> f32 {
    let mut sum = bias;
    for (weight, feature) in weights.iter().zip(features) {
        sum += weight * feature;
    }
    sum
}
