//! Updates of whole vectors: each checks first and writes only what is finite.

use lopa_core::vector::all_finite;

/// Takes `new` for `a`, unless it has an element that is not finite.
pub(super) fn replace(a: &mut [f32], new: &[f32]) -> bool {
    let finite = all_finite(new);
    if finite {
        a.copy_from_slice(new);
    }
    finite
}

/// `a -= step * direction`; `direction` is used up.
pub(super) fn descend(a: &mut [f32], step: f32, direction: &mut [f32]) -> bool {
    for (direction, a) in direction.iter_mut().zip(&*a) {
        *direction = a - step * *direction;
    }
    replace(a, direction)
}

/// `a += weight * (new - a)`, which for a weight of 1 is `new` to the bit; `new` ends as what a really changed by.
///
/// Not as the weighted difference: what tracks the network's mean of a must see its roundings too.
pub(super) fn average(a: &mut [f32], weight: f32, new: &mut [f32]) -> bool {
    if weight < 1.0 {
        for (new, a) in new.iter_mut().zip(&*a) {
            *new = a + weight * (*new - a);
        }
    }
    let finite = all_finite(new);
    if finite {
        for (a, new) in a.iter_mut().zip(new) {
            let old = std::mem::replace(a, *new);
            *new -= old;
        }
    }
    finite
}

/// `y += gap + delta`; `room` is overwritten.
pub(super) fn track(y: &mut [f32], gap: &[f32], delta: &[f32], room: &mut [f32]) -> bool {
    for (room, (y, (gap, delta))) in room.iter_mut().zip(y.iter().zip(gap.iter().zip(delta))) {
        *room = y + gap + delta;
    }
    replace(y, room)
}

/// `a += share * (gap - step * direction)`; `room` is overwritten.
pub(super) fn mix(
    a: &mut [f32],
    share: f32,
    gap: &[f32],
    step: f32,
    direction: &[f32],
    room: &mut [f32],
) -> bool {
    for (room, (a, (gap, direction))) in
        room.iter_mut().zip(a.iter().zip(gap.iter().zip(direction)))
    {
        *room = a + share * (gap - step * direction);
    }
    replace(a, room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_not_finite_is_written() {
        let mut a = [1.0, 2.0];
        assert!(!replace(&mut a, &[0.0, f32::NAN]));
        assert!(!descend(&mut a, 1e30, &mut [1e30, 0.0]));
        assert!(!average(&mut a, 0.5, &mut [f32::INFINITY, 0.0]));
        assert!(!track(&mut a, &[f32::MAX, 0.0], &[f32::MAX, 0.0], &mut [0.0; 2]));
        assert!(!mix(&mut a, 1.0, &[f32::NAN, 0.0], 1.0, &[0.0; 2], &mut [0.0; 2]));
        assert_eq!(a, [1.0, 2.0]);
    }

    #[test]
    fn an_average_tells_what_really_changed() {
        let (mut a, mut new) = ([1.0_f32, -2.0], [1.0e-9_f32, 2.0]);
        let before = a;
        assert!(average(&mut a, 1.0e-9, &mut new));
        for i in 0..2 {
            assert_eq!(before[i] + new[i], a[i]);
        }
        assert_eq!(new[0], 0.0, "one part in 10^9 is lost in a float, and said to be");
        let mut new = [0.3, 0.7];
        assert!(average(&mut a, 1.0, &mut new));
        assert_eq!(a, [0.3, 0.7]);
    }
}
