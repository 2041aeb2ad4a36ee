//! Updates of whole vectors: each writes only what is finite, and otherwise names the variable that is not.

use lopa_core::node::Variable;
use lopa_core::vector::all_finite;

/// What an update returns: the variable that diverged, if one did.
pub(super) type Updated = Result<(), Variable>;

/// Takes `new` for `a`, unless it has an element that is not finite.
pub(super) fn replace(a: &mut [f32], new: &[f32], name: Variable) -> Updated {
    if !all_finite(new) {
        return Err(name);
    }
    a.copy_from_slice(new);
    Ok(())
}

/// `a -= step * direction`; `direction` is used up.
pub(super) fn descend(a: &mut [f32], step: f32, direction: &mut [f32], name: Variable) -> Updated {
    for (direction, a) in direction.iter_mut().zip(&*a) {
        *direction = a - step * *direction;
    }
    replace(a, direction, name)
}

/// Turns `new` into the moving average `a + weight * (new - a)`; `a` stays.
pub(super) fn blend(new: &mut [f32], weight: f32, a: &[f32]) {
    for (new, a) in new.iter_mut().zip(a) {
        *new = a + weight * (*new - a);
    }
}

/// `a += weight * (new - a)`, which for a weight of 1 is `new` to the bit; `new` ends as what a really changed by.
///
/// Not as the weighted difference: what tracks the network's mean of a must see its roundings too.
pub(super) fn average(a: &mut [f32], weight: f32, new: &mut [f32], name: Variable) -> Updated {
    if weight < 1.0 {
        blend(new, weight, a);
    }
    if !all_finite(new) {
        return Err(name);
    }
    for (a, new) in a.iter_mut().zip(new) {
        let old = std::mem::replace(a, *new);
        *new -= old;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_not_finite_is_written() {
        let (mut a, name) = ([1.0, 2.0], Variable::Inner);
        assert_eq!(replace(&mut a, &[0.0, f32::NAN], name), Err(name));
        assert_eq!(descend(&mut a, 1e30, &mut [1e30, 0.0], name), Err(name));
        assert_eq!(average(&mut a, 0.5, &mut [f32::INFINITY, 0.0], name), Err(name));
        assert_eq!(a, [1.0, 2.0]);
    }

    #[test]
    fn an_average_tells_what_really_changed() {
        let (mut a, mut new) = ([1.0_f32, -2.0], [1.0e-9_f32, 2.0]);
        let before = a;
        average(&mut a, 1.0e-9, &mut new, Variable::Inner).unwrap();
        for i in 0..2 {
            assert_eq!(before[i] + new[i], a[i]);
        }
        assert_eq!(new[0], 0.0, "one part in 10^9 is lost in a float, and said to be");
        let mut new = [0.3, 0.7];
        average(&mut a, 1.0, &mut new, Variable::Inner).unwrap();
        assert_eq!(a, [0.3, 0.7]);
    }
}
