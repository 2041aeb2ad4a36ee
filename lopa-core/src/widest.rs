//! The widest vectors of the machine at hand: the same operations in the same order, and so the same bits.
//!
//! With the feature `simd`, [`run`] finds out what the processor has and runs a copy of the work compiled for it.
//! Without, as on a chip, it just runs the work.

/// Something to compute. A value instead of a closure: a closure is not always inlined, and what is not inlined is
/// compiled for the oldest processor. For the same reason [`Work::run`] and the loops it calls are `inline(always)`.
pub(crate) trait Work {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs `work` in the widest vectors there are.
#[inline(always)]
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(feature = "simd")]
    return pulp::Arch::new().dispatch(Widest(work));
    #[cfg(not(feature = "simd"))]
    work.run()
}

/// [`run`] for vectors of `len`: short ones are done before the processor is asked.
#[cfg(feature = "simd")]
#[inline(always)]
pub(crate) fn run_long<W: Work>(len: usize, work: W) -> W::Output {
    const LONG: usize = 128;
    if len >= LONG { run(work) } else { work.run() }
}

#[cfg(feature = "simd")]
struct Widest<W>(W);

#[cfg(feature = "simd")]
impl<W: Work> pulp::WithSimd for Widest<W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> W::Output {
        self.0.run()
    }
}
