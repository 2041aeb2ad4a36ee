//! Updates of single vectors: each checks first, and writes only finite values.

use core::array::{from_mut, from_ref};

use super::{NodeError, Variable};
use crate::vector::{
    Finite, Number, WRITTEN_OUT, add_gap, all_finite, set_gap, update, update_both,
};
#[cfg(feature = "simd")]
use crate::widest;
use crate::widest::Work;

/// Adds one neighbour's pull on a part of a vector, to zero if it is the first.
pub(super) fn pull(
    name: &'static str,
    gap: &mut [f32],
    first: bool,
    weight: f32,
    theirs: &[f32],
    own: &[f32],
    part: core::ops::Range<usize>,
) -> Result<(), NodeError> {
    check_length(name, theirs, own.len())?;
    if let (Some(theirs), Some(own)) = (theirs.get(part.clone()), own.get(part)) {
        if first {
            set_gap(gap, weight, theirs, own);
        } else {
            add_gap(gap, weight, theirs, own);
        }
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

/// `a -= step * direction`, unless an element would stop being finite: then nothing changes. Uses up the direction.
pub(super) fn descend(a: &mut [f32], step: f32, direction: &mut [f32]) -> bool {
    let finite = update_both(a, direction, move |a, direction| (a - Number(step) * direction, a));
    if !finite {
        for (a, old) in a.iter_mut().zip(direction) {
            *a = *old;
        }
    }
    finite
}

/// LG: replaces s in `z` with z + γ (s - z), with the old z in `old`; restores the old z if that fails.
pub(super) fn smooth(z: &mut [f32], old: &[f32], gamma: f32) -> bool {
    let finite =
        update(z.iter_mut().zip(old), move |s, old| Number(*old) + Number(gamma) * (s - old));
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
    let finite =
        update(delta.iter_mut().zip(&*z), move |s, z| Number(*z) + Number(gamma) * (s - z));
    if finite {
        update_both(z, delta, move |z, next| (next, next - z));
    }
    finite
}

/// How many elements of x and y are computed before they are checked, and written if they are finite: as many as
/// registers hold.
pub(super) const FEW: usize = match (cfg!(target_pointer_width = "64"), WRITTEN_OUT) {
    (true, _) => 16,
    (false, true) => 4,
    (false, false) => 1,
};

/// GT: x += τ (gap - α y), then y += gap + δ, as far as both stay finite.
pub(super) fn mix_tracking(
    x: &mut [f32],
    y: &mut [f32],
    delta: &[f32],
    gaps: [&[f32]; 2],
    steps: [f32; 2],
) -> Result<(), Variable> {
    let mix = MixTracking { x, y, delta, gaps, steps };
    #[cfg(feature = "simd")]
    return widest::run_long(mix.x.len(), mix);
    #[cfg(not(feature = "simd"))]
    mix.run()
}

struct MixTracking<'a> {
    x: &'a mut [f32],
    y: &'a mut [f32],
    delta: &'a [f32],
    gaps: [&'a [f32]; 2],
    steps: [f32; 2],
}

impl Work for MixTracking<'_> {
    type Output = Result<(), Variable>;

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) -> Self::Output {
        let Self { x, y, delta, gaps: [x_gap, y_gap], steps } = self;
        let (x, x_rest) = x.as_chunks_mut::<FEW>();
        let (y, y_rest) = y.as_chunks_mut::<FEW>();
        let (delta, delta_rest) = delta.as_chunks::<FEW>();
        let (x_gap, x_gap_rest) = x_gap.as_chunks::<FEW>();
        let (y_gap, y_gap_rest) = y_gap.as_chunks::<FEW>();
        let sum = |y, gap, delta| (Number(y) + gap + delta).0;
        let gaps = x_gap.iter().zip(y_gap);
        for (((x, y), delta), (x_gap, y_gap)) in x.iter_mut().zip(y).zip(delta).zip(gaps) {
            let mut next = [0.0; FEW];
            for i in 0..FEW {
                next[i] = sum(y[i], y_gap[i], delta[i]);
            }
            mix_few(x, y, x_gap, steps, next)?;
        }
        let gaps = x_gap_rest.iter().zip(y_gap_rest);
        let rest = x_rest.iter_mut().zip(y_rest).zip(delta_rest).zip(gaps);
        for (((x, y), delta), (x_gap, y_gap)) in rest {
            let next = sum(*y, *y_gap, *delta);
            mix_few(from_mut(x), from_mut(y), from_ref(x_gap), steps, [next])?;
        }
        Ok(())
    }
}

/// LG: x += τ (gap - α y), then y = z, as far as x stays finite.
pub(super) fn mix_local(
    x: &mut [f32],
    y: &mut [f32],
    z: &[f32],
    gap: &[f32],
    steps: [f32; 2],
) -> Result<(), Variable> {
    let (x, x_rest) = x.as_chunks_mut::<FEW>();
    let (y, y_rest) = y.as_chunks_mut::<FEW>();
    let (z, z_rest) = z.as_chunks::<FEW>();
    let (gap, gap_rest) = gap.as_chunks::<FEW>();
    for ((x, y), (z, gap)) in x.iter_mut().zip(y).zip(z.iter().zip(gap)) {
        mix_few(x, y, gap, steps, *z)?;
    }
    for ((x, y), (z, gap)) in x_rest.iter_mut().zip(y_rest).zip(z_rest.iter().zip(gap_rest)) {
        mix_few(from_mut(x), from_mut(y), from_ref(gap), steps, [*z])?;
    }
    Ok(())
}

/// x += τ (gap - α y), then y = `next`, unless one of them would not be finite.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
fn mix_few<const N: usize>(
    x: &mut [f32; N],
    y: &mut [f32; N],
    gap: &[f32; N],
    steps: [f32; 2],
    next: [f32; N],
) -> Result<(), Variable> {
    (*x, *y) = (moved(x, y, gap, steps, &next)?, next);
    Ok(())
}

/// x + τ (gap - α y), unless it or `next`, which y becomes, would not be finite.
#[cfg_attr(feature = "simd", inline(always))]
#[cfg_attr(not(feature = "simd"), inline)]
pub(super) fn moved<const N: usize>(
    x: &[f32; N],
    y: &[f32; N],
    gap: &[f32; N],
    [tau, alpha]: [f32; 2],
    next: &[f32; N],
) -> Result<[f32; N], Variable> {
    let mut finite = Finite::default();
    let mut moved = [0.0; N];
    for i in 0..N {
        moved[i] = (Number(x[i]) + Number(tau) * (Number(gap[i]) - Number(alpha) * y[i])).0;
        finite.note(moved[i]);
        finite.note(next[i]);
    }
    if finite.all() {
        return Ok(moved);
    }
    Err(if all_finite(&moved) { Variable::Direction } else { Variable::Outer })
}
