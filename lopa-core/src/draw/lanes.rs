//! Several streams in step, in the lanes of a host's vectors.

use core::array;

use super::{Draws, Purpose};
use crate::widest::{self, Work};

/// Streams in step: each gives the numbers that it would give alone, in less time.
///
/// ```
/// use lopa_core::draw::{Draws, Lanes, Purpose};
/// let nodes: [Draws; 16] = core::array::from_fn(|node| Draws { seed: 7, node: node as u32 });
/// let mut together = Lanes::new(nodes, 0, Purpose::custom(1));
/// let mut sums = [[0.0; 16]];
/// together.sum_units(2, &mut sums);
/// let mut alone = nodes[5].stream(0, Purpose::custom(1));
/// assert_eq!(sums[0][5], alone.unit() + alone.unit());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Lanes<const N: usize>([[u32; N]; 4]);

impl<const N: usize> Lanes<N> {
    /// What [`Draws::stream`] gives for each of these.
    #[must_use]
    pub fn new(draws: [Draws; N], round: u64, purpose: Purpose) -> Self {
        let keys = draws.map(|draws| draws.key(round, purpose));
        Self(array::from_fn(|word| keys.map(|key| (key[word / 2] >> (32 * (word % 2))) as u32)))
    }

    /// Fills `sums` with sums of so many floats of [`unit`](super::Stream::unit), added up as they are drawn: the sums of a
    /// lane are those of its stream, one after the other.
    pub fn sum_units(&mut self, terms: usize, sums: &mut [[f32; N]]) {
        widest::run(SumUnits { lanes: self, terms, sums });
    }

    /// One step of xoshiro128++ (Blackman and Vigna).
    #[inline(always)]
    fn next(&mut self) -> [u32; N] {
        let [a, b, c, d] = &mut self.0;
        array::from_fn(|i| {
            let next = a[i].wrapping_add(d[i]).rotate_left(7).wrapping_add(a[i]);
            let shifted = b[i] << 9;
            c[i] ^= a[i];
            d[i] ^= b[i];
            b[i] ^= c[i];
            a[i] ^= d[i];
            c[i] ^= shifted;
            d[i] = d[i].rotate_left(11);
            next
        })
    }
}

struct SumUnits<'a, const N: usize> {
    lanes: &'a mut Lanes<N>,
    terms: usize,
    sums: &'a mut [[f32; N]],
}

impl<const N: usize> Work for SumUnits<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // A copy of its own, which the compiler keeps in registers.
        let mut lanes = self.lanes.clone();
        for sums in self.sums {
            *sums = [0.0; N];
            for _ in 0..self.terms {
                let next = lanes.next();
                for (sum, next) in sums.iter_mut().zip(next) {
                    *sum += super::unit(next);
                }
            }
        }
        *self.lanes = lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every lane of every width has the numbers of its stream, wherever a call ends.
    #[test]
    fn lanes_are_streams_in_step() {
        fn check<const N: usize>() {
            let draws = array::from_fn(|i| Draws { seed: 11, node: 5 + 3 * i as u32 });
            let mut lanes = Lanes::<N>::new(draws, 9, Purpose::CROSS_VECTOR);
            let mut streams = draws.map(|draws| draws.stream(9, Purpose::CROSS_VECTOR));
            for (terms, count) in [(1, 3), (12, 7), (3, 0), (0, 2), (2, 1)] {
                let mut sums = [[f32::NAN; N]; 8];
                lanes.sum_units(terms, &mut sums[..count]);
                for sums in &sums[..count] {
                    for (sum, stream) in sums.iter().zip(&mut streams) {
                        let alone =
                            (0..terms).map(|_| stream.unit()).fold(0.0, |sum, unit| sum + unit);
                        assert_eq!(sum.to_bits(), f32::to_bits(alone));
                    }
                }
                assert!(sums[count..].iter().flatten().all(|sum| sum.is_nan()));
            }
        }
        check::<1>();
        check::<3>();
        check::<16>();
    }
}
