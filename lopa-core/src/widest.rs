//! Runs code with the widest vectors of the machine: the same operations in the same order, and so the same bits.
//!
//! With the feature `simd`, [`run`] detects what the processor supports and runs a copy of the work compiled for it.
//! Without it, as on a chip, the work simply runs.

/// Something to compute. A type instead of a closure, because a closure is not always inlined, and code that is not
/// inlined is compiled for the oldest processor. For the same reason [`Work::run`] and the loops it calls are
/// `inline(always)`.
pub(crate) trait Work {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs `work` with the widest vectors of the processor.
#[inline(always)]
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(feature = "simd")]
    return pulp::Arch::new().dispatch(Widest(work));
    #[cfg(not(feature = "simd"))]
    work.run()
}

/// [`run`] for vectors of `len` elements: short ones are done before the processor would be detected.
#[cfg(feature = "simd")]
#[inline(always)]
pub(crate) fn run_long<W: Work>(len: usize, work: W) -> W::Output {
    const LONG: usize = 128;
    if len >= LONG { run(work) } else { work.run() }
}

/// [`run`] for work that names vectors itself, where a compiler would choose others.
#[cfg(feature = "simd")]
pub(crate) fn run_with<W: WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}

#[cfg(feature = "simd")]
pub(crate) use pulp::{Simd, WithSimd};

#[cfg(feature = "simd")]
struct Widest<W>(W);

#[cfg(feature = "simd")]
impl<W: Work> WithSimd for Widest<W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> W::Output {
        self.0.run()
    }
}
