//! Random draws that depend on (seed, node, round, purpose) alone.
//!
//! No state is kept from one round to the next, so any draw of any node can be recomputed later, on another machine,
//! without replaying the run.

#[cfg(feature = "simd")]
mod lanes;

use core::convert::Infallible;
use core::num::NonZeroU32;

use rand_core::{Rng, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro128PlusPlus;

#[cfg(feature = "simd")]
pub use lanes::Lanes;

/// What a draw is for. Different purposes give independent streams.
///
/// The first five are the paper's: ξ₁, ξ₂, ξ₃ for the inner level, ς₁ and ς₂ for the outer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Purpose(u32);

impl Purpose {
    /// ξ₁: the inner gradient.
    pub const INNER_GRADIENT: Self = Self(1);
    /// ξ₂: the inner Hessian-vector product.
    pub const HESSIAN_VECTOR: Self = Self(2);
    /// ξ₃: the cross Jacobian-vector product.
    pub const CROSS_VECTOR: Self = Self(3);
    /// ς₁: the outer gradient in the inner variable.
    pub const OUTER_GRADIENT_INNER: Self = Self(4);
    /// ς₂: the outer gradient in the outer variable.
    pub const OUTER_GRADIENT_OUTER: Self = Self(5);

    /// A purpose of your own; with a `code` below 2^24 it differs from all the purposes named here.
    #[must_use]
    pub const fn custom(code: u32) -> Self {
        Self((code << 8) | 0xff)
    }

    /// The `n`-th repetition of a named purpose in one round, for algorithms with inner loops.
    #[must_use]
    pub const fn repeat(self, n: u32) -> Self {
        Self((self.0 & 0xff) | (n << 8))
    }
}

/// The source of a node's draws.
///
/// ```
/// use lopa_core::draw::{Draws, Purpose};
/// let draws = Draws { seed: 7, node: 3 };
/// let a = draws.stream(1_000, Purpose::INNER_GRADIENT).next();
/// let b = draws.stream(1_000, Purpose::INNER_GRADIENT).next();
/// assert_eq!(a, b);
/// assert_ne!(a, draws.stream(1_001, Purpose::INNER_GRADIENT).next());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Draws {
    /// The network's seed, the same on all nodes.
    pub seed: u64,
    /// This node's number.
    pub node: u32,
}

impl Draws {
    /// The stream of random numbers for one purpose in one round.
    #[must_use]
    pub fn stream(self, round: u64, purpose: Purpose) -> Stream {
        let [low, high] = self.key(round, purpose);
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&low.to_le_bytes());
        seed[8..].copy_from_slice(&high.to_le_bytes());
        Stream(Xoshiro128PlusPlus::from_seed(seed))
    }

    /// What a stream begins from: never zero in both halves, which the generator would replace.
    fn key(self, round: u64, purpose: Purpose) -> [u64; 2] {
        let who = (u64::from(self.node) << 32) | u64::from(purpose.0);
        let key = scramble(scramble(scramble(self.seed) ^ who) ^ round);
        [key, scramble(key)]
    }
}

/// One step of `SplitMix64`: a bijection of 64 bits in which every input bit changes half of the output bits.
fn scramble(a: u64) -> u64 {
    let a = a.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let a = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let a = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    a ^ (a >> 31)
}

#[inline(always)]
fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// A stream of random numbers; also a generator for the crates that build on [`rand_core`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream(Xoshiro128PlusPlus);

impl Stream {
    /// The next 32 bits.
    #[allow(clippy::should_implement_trait, reason = "an endless stream is not worth an Option")]
    #[inline]
    pub fn next(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A whole number below `bound`, all equally likely (Lemire's method).
    #[inline]
    pub fn below(&mut self, bound: NonZeroU32) -> u32 {
        loop {
            let wide = u64::from(self.next()) * u64::from(bound.get());
            let (whole, rest) = ((wide >> 32) as u32, wide as u32);
            // The division runs only when rejection is possible at all: once in 2^32 / bound draws.
            if rest >= bound.get() || rest >= bound.get().wrapping_neg() % bound {
                return whole;
            }
        }
    }

    /// A float in [0, 1), a multiple of 2^-24.
    #[inline]
    pub fn unit(&mut self) -> f32 {
        unit(self.next())
    }

    /// A float in [-1, 1), a multiple of 2^-23.
    #[inline]
    pub fn signed_unit(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Stream {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Stream");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: Draws = Draws { seed: 42, node: 3 };

    #[test]
    fn the_first_draws_are_pinned() {
        let mut stream = DRAWS.stream(17, Purpose::HESSIAN_VECTOR);
        // From a Python implementation of SplitMix64 and xoshiro128++.
        let pinned = [3_033_208_800, 1_168_086_900, 3_598_885_385];
        assert_eq!([stream.next(), stream.next(), stream.next()], pinned);
    }

    #[test]
    fn every_part_of_the_key_matters() {
        let base = DRAWS.stream(17, Purpose::HESSIAN_VECTOR).next();
        for other in [
            Draws { seed: 43, ..DRAWS }.stream(17, Purpose::HESSIAN_VECTOR),
            Draws { node: 4, ..DRAWS }.stream(17, Purpose::HESSIAN_VECTOR),
            DRAWS.stream(18, Purpose::HESSIAN_VECTOR),
            DRAWS.stream(17, Purpose::INNER_GRADIENT),
            DRAWS.stream(17, Purpose::HESSIAN_VECTOR.repeat(1)),
            DRAWS.stream(17, Purpose::custom(2)),
        ] {
            assert_ne!(base, other.clone().next());
        }
    }

    #[test]
    fn neighbouring_keys_do_not_correlate() {
        // Chi-squared over 16 cells of the first draw, along rounds, nodes and purposes.
        let along: [fn(u32) -> Stream; 3] = [
            |i| DRAWS.stream(u64::from(i), Purpose::INNER_GRADIENT),
            |i| Draws { node: i, ..DRAWS }.stream(0, Purpose::INNER_GRADIENT),
            |i| DRAWS.stream(0, Purpose::custom(i)),
        ];
        for stream in along {
            let mut cells = [0_u32; 16];
            for i in 0..16_000 {
                cells[stream(i).below(NonZeroU32::new(16).unwrap()) as usize] += 1;
            }
            let off = cells.map(|c| f64::from(c) - 1000.0);
            let chi = off.iter().map(|off| off * off / 1000.0).sum::<f64>();
            assert!(chi < 37.7, "{chi}"); // 0.1 % of the time with 15 degrees of freedom
        }
    }

    #[test]
    fn below_reaches_every_number_and_no_other() {
        let mut stream = DRAWS.stream(0, Purpose::custom(0));
        for bound in [1, 2, 3, 7, 100] {
            let mut seen = [false; 100];
            for _ in 0..5_000 {
                seen[stream.below(NonZeroU32::new(bound).unwrap()) as usize] = true;
            }
            assert!(seen.iter().enumerate().all(|(i, &s)| s == (i < bound as usize)));
        }
        // Where plain multiplication would favour half of the numbers, rejection keeps them even.
        let bound = NonZeroU32::new(3 << 30).unwrap();
        let low = (0..30_000).filter(|_| stream.below(bound).is_multiple_of(3)).count();
        assert!((9_700..10_300).contains(&low), "{low}");
    }

    #[test]
    fn unit_stays_below_one() {
        let mut stream = DRAWS.stream(5, Purpose::custom(9));
        let mut sum = 0.0;
        for _ in 0..100_000 {
            let u = stream.unit();
            assert!((0.0..1.0).contains(&u));
            sum += f64::from(u);
        }
        assert!((sum / 1.0e5 - 0.5).abs() < 0.005);
    }
}
