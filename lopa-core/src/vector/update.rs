//! Vectors that change element by element, and whether they stay finite.

use super::{SOFT_FLOATS, WRITTEN_OUT, in_chunks, shortest};
#[cfg(feature = "simd")]
use crate::widest;
use crate::widest::Work;

/// `out[i] = next(out[i], inputs[..][i])`, up to the end of the shortest slice. True if all of them are finite.
#[inline]
pub(crate) fn update<A: Copy, const N: usize>(
    out: &mut [f32],
    inputs: [&[A]; N],
    next: impl Fn(f32, [A; N]) -> f32,
) -> bool {
    let len = out.len().min(shortest(&inputs));
    let update = Update { out: &mut out[..len], inputs, next };
    #[cfg(feature = "simd")]
    return widest::run_long(len, update);
    #[cfg(not(feature = "simd"))]
    update.run()
}

struct Update<'a, A, F, const N: usize> {
    out: &'a mut [f32],
    inputs: [&'a [A]; N],
    next: F,
}

impl<A: Copy, F: Fn(f32, [A; N]) -> f32, const N: usize> Work for Update<'_, A, F, N> {
    type Output = bool;

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) -> bool {
        let Self { out, inputs, next } = self;
        let len = out.len();
        let mut finite = Finite::default();
        let mut done = 0;
        if FEW > 1 {
            // Whole chunks first: their addresses are computed once for all elements.
            let (chunks, _) = in_chunks::<A, FEW, N>(inputs, len);
            for (chunk, out) in out.as_chunks_mut::<FEW>().0[..len / FEW].iter_mut().enumerate() {
                for i in 0..FEW {
                    let mut given = [chunks[0][chunk][i]; N];
                    for n in 1..N {
                        given[n] = chunks[n][chunk][i];
                    }
                    out[i] = next(out[i], given);
                    finite.note(out[i]);
                }
            }
            done = len / FEW * FEW;
        }
        let mut own = inputs;
        for n in 0..N {
            own[n] = &inputs[n][..len];
        }
        for i in done..len {
            let mut given = [own[0][i]; N];
            for n in 1..N {
                given[n] = own[n][i];
            }
            out[i] = next(out[i], given);
            finite.note(out[i]);
        }
        finite.all()
    }
}

/// `out[i] = next(out[i], a[i])`, up to the end of the shorter slice. True if all of them are finite.
// Not `update` with one input: built for size, its arrays of one element would be loops.
#[inline]
pub(crate) fn update_with<A: Copy>(out: &mut [f32], a: &[A], next: impl Fn(f32, A) -> f32) -> bool {
    let update = UpdateWith { out, a, next };
    #[cfg(feature = "simd")]
    return widest::run_long(update.out.len(), update);
    #[cfg(not(feature = "simd"))]
    update.run()
}

struct UpdateWith<'a, A, F> {
    out: &'a mut [f32],
    a: &'a [A],
    next: F,
}

impl<A: Copy, F: Fn(f32, A) -> f32> Work for UpdateWith<'_, A, F> {
    type Output = bool;

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) -> bool {
        let mut finite = Finite::default();
        for (out, &a) in self.out.iter_mut().zip(self.a) {
            *out = (self.next)(*out, a);
            finite.note(*out);
        }
        finite.all()
    }
}

/// `(a[i], b[i]) = next(a[i], b[i])`, up to the end of the shorter slice. True if all elements of `a` are finite.
#[inline]
pub(crate) fn update_both(
    a: &mut [f32],
    b: &mut [f32],
    next: impl Fn(f32, f32) -> (f32, f32),
) -> bool {
    let update = UpdateBoth { a, b, next };
    #[cfg(feature = "simd")]
    return widest::run_long(update.a.len(), update);
    #[cfg(not(feature = "simd"))]
    update.run()
}

struct UpdateBoth<'a, F> {
    a: &'a mut [f32],
    b: &'a mut [f32],
    next: F,
}

impl<F: Fn(f32, f32) -> (f32, f32)> Work for UpdateBoth<'_, F> {
    type Output = bool;

    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    fn run(self) -> bool {
        let Self { a, b, next } = self;
        let (a, a_rest) = a.as_chunks_mut::<FEW>();
        let (b, b_rest) = b.as_chunks_mut::<FEW>();
        let mut finite = Finite::default();
        for (a, b) in a.iter_mut().zip(b) {
            for i in 0..FEW {
                (a[i], b[i]) = next(a[i], b[i]);
                finite.note(a[i]);
            }
        }
        for (a, b) in a_rest.iter_mut().zip(b_rest) {
            (*a, *b) = next(*a, *b);
            finite.note(*a);
        }
        finite.all()
    }
}

/// How many elements a chip updates before it moves its pointers.
const FEW: usize = if WRITTEN_OUT && cfg!(target_pointer_width = "32") { 4 } else { 1 };

/// Notes whether one of many values is infinite or NaN, in the way that is cheapest on the machine.
#[derive(Clone, Copy, Default)]
pub(crate) struct Finite {
    /// On a chip with an FPU: the sum of all values times zero, which is NaN if one is not finite.
    sum: f32,
    /// Elsewhere: the largest exponent, or marks of those that are not finite, which vectorises.
    marks: u32,
}

impl Finite {
    #[cfg_attr(feature = "simd", inline(always))]
    #[cfg_attr(not(feature = "simd"), inline)]
    pub(crate) fn note(&mut self, a: f32) {
        if cfg!(target_pointer_width = "64") {
            self.marks |= u32::from(!a.is_finite());
        } else if SOFT_FLOATS {
            self.marks = self.marks.max(a.to_bits() << 1);
        } else {
            self.sum += 0.0 * a;
        }
    }

    #[inline]
    pub(crate) fn all(self) -> bool {
        if cfg!(target_pointer_width = "64") {
            self.marks == 0
        } else if SOFT_FLOATS {
            self.marks < f32::INFINITY.to_bits() << 1
        } else {
            self.sum == 0.0
        }
    }
}
