//! Updates of single vectors: each checks first, and writes only finite values.

use super::NodeError;
use crate::vector::{add_gap, all_finite};

/// Adds one neighbour's pull on a part of a vector.
pub(super) fn pull(
    name: &'static str,
    gap: &mut [f32],
    weight: f32,
    theirs: &[f32],
    own: &[f32],
    part: core::ops::Range<usize>,
) -> Result<(), NodeError> {
    check_length(name, theirs, own.len())?;
    if let (Some(theirs), Some(own)) = (theirs.get(part.clone()), own.get(part)) {
        add_gap(gap, weight, theirs, own);
    }
    Ok(())
}

/// Refuses a vector of the wrong length.
pub(super) fn check_length(
    name: &'static str,
    buffer: &[f32],
    needed: usize,
) -> Result<(), NodeError> {
    let found = buffer.len();
    if found == needed { Ok(()) } else { Err(NodeError::Length { name, needed, found }) }
}

/// `a -= step * direction`, unless an element would stop being finite: then nothing changes.
pub(super) fn descend(a: &mut [f32], step: f32, direction: &mut [f32]) -> bool {
    for (direction, a) in direction.iter_mut().zip(&*a) {
        *direction = a - step * *direction;
    }
    let finite = all_finite(direction);
    if finite {
        for (a, moved) in a.iter_mut().zip(direction) {
            *a = *moved;
        }
    }
    finite
}

/// LG: replaces s in `z` with z + γ (s - z), with the old z in `old`; restores the old z if that fails.
pub(super) fn smooth(z: &mut [f32], old: &[f32], gamma: f32) -> bool {
    for (z, old) in z.iter_mut().zip(old) {
        *z = old + gamma * (*z - old);
    }
    let finite = all_finite(z);
    if !finite {
        for (z, old) in z.iter_mut().zip(old) {
            *z = *old;
        }
    }
    finite
}

/// GT: adds γ (s - z) to z, with s in `delta`, unless that fails; afterwards `delta` is the actual change of z.
///
/// The actual change, not γ (s - z): near the end z stands still while that is below half a unit in its last place, and y
/// would drift away from z by it, round after round.
pub(super) fn track(delta: &mut [f32], z: &mut [f32], gamma: f32) -> bool {
    let mut finite = true;
    for (delta, z) in delta.iter_mut().zip(&*z) {
        *delta = z + gamma * (*delta - z);
        finite &= delta.is_finite();
    }
    if finite {
        for (z, delta) in z.iter_mut().zip(delta) {
            let old = core::mem::replace(z, *delta);
            *delta -= old;
        }
    }
    finite
}
