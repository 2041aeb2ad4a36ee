//! The largest of several scores. This text is part of every exported module with a score per class.

use super::sigmoid::exp;

/// The place of the largest score.
pub(super) fn largest(scores: &[f32]) -> usize {
    let mut best = (0, scores.first().copied().unwrap_or(0.0));
    for (place, &score) in scores.iter().enumerate() {
        if score > best.1 {
            best = (place, score);
        }
    }
    best.0
}

/// The probability of the class that has it.
pub(super) fn largest_share(scores: &[f32]) -> f32 {
    let top = scores.get(largest(scores)).copied().unwrap_or(0.0);
    let mut total = 0.0;
    for score in scores {
        total += exp(score - top);
    }
    1.0 / total
}
