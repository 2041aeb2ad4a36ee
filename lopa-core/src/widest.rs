//! Runs code with the widest vectors of the machine: the same operations in the same order, and so the same bits.
//!
//! With the feature `simd`, [`run`] detects what the processor supports and runs a copy of the work compiled for it.
//! Without it, as on a chip, the work simply runs.

#[cfg(feature = "simd")]
use core::sync::atomic::{AtomicU32, Ordering};

/// Something to compute. A type instead of a closure, because a closure is not always inlined, and code that is not
/// inlined is compiled for the oldest processor. For the same reason [`Work::run`] and the loops it calls are
/// `inline(always)`.
pub(crate) trait Work {
    type Output;
    fn run(self) -> Self::Output;

    /// The same on a processor with vectors of 512 bits, which has registers for twice as many of them.
    #[cfg(feature = "simd")]
    #[inline(always)]
    fn run_with_many_registers(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run()
    }
}

/// Runs `work` with the widest vectors of the processor.
#[inline(always)]
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(feature = "simd")]
    return processor().dispatch(Widest(work));
    #[cfg(not(feature = "simd"))]
    work.run()
}

/// How many elements are worth detecting the processor.
#[cfg(feature = "simd")]
pub(crate) const LONG: usize = 128;

/// [`run`] for vectors of `len` elements: short ones are done before the processor would be detected.
#[cfg(feature = "simd")]
#[inline(always)]
pub(crate) fn run_long<W: Work>(len: usize, work: W) -> W::Output {
    if len >= LONG { run(work) } else { work.run() }
}

/// [`run`] for work that names vectors itself, where a compiler would choose others.
#[cfg(feature = "simd")]
pub(crate) fn run_with<W: WithSimd>(work: W) -> W::Output {
    processor().dispatch(work)
}

/// Whether [`fetch`] does anything: elsewhere there is no safe way.
#[cfg(feature = "simd")]
pub(crate) const FETCHES: bool = cfg!(target_arch = "x86_64");

/// Asks for the memory at an address, without waiting for it. Any address is allowed.
#[cfg(feature = "simd")]
#[inline(always)]
pub(crate) fn fetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    if let Some(sse) = pulp::core_arch::x86::Sse::try_new() {
        sse._mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The most bits that a vector may have.
#[cfg(feature = "simd")]
static MOST_BITS: AtomicU32 = AtomicU32::new(u32::MAX);

/// Uses vectors of at most so many bits from now on, in all threads, and returns how many bits are used then; a test thus
/// computes as an older processor would. Everything has the same bits with every limit.
#[cfg(feature = "simd")]
pub fn limit_vectors(most_bits: u32) -> usize {
    struct Bits;
    impl WithSimd for Bits {
        type Output = usize;
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES * 32
        }
    }
    MOST_BITS.store(most_bits, Ordering::Relaxed);
    processor().dispatch(Bits)
}

#[cfg(feature = "simd")]
#[inline(always)]
pub(crate) fn processor() -> pulp::Arch {
    match MOST_BITS.load(Ordering::Relaxed) {
        512.. => pulp::Arch::new(),
        #[cfg(target_arch = "x86_64")]
        256.. => pulp::x86::V3::try_new().map_or(pulp::Arch::Scalar, pulp::Arch::V3),
        _ => pulp::Arch::Scalar,
    }
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
        if S::F32_LANES * 32 == 512 { self.0.run_with_many_registers() } else { self.0.run() }
    }
}
