//! What neighbours know of a vector, and how far they are from it: integers, so that nothing is lost.

use super::{BLOCK, Block, Grid};

/// The weight of a link as a multiple of 1/256.
///
/// ```
/// use lopa_core::codec::Share;
/// assert_eq!(Share::of(0.25).map(Share::weight), Some(0.25));
/// assert_eq!(Share::of(1.0 / 3.0), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Share(u8);

impl Share {
    /// A weight that is a multiple of 1/256, above zero and below one; `None` for any other.
    #[must_use]
    pub fn of(weight: f32) -> Option<Self> {
        // The conversion cuts what lies beyond 0 and 255, and then the weight is another one.
        let share = Self((weight * 256.0) as u8);
        (share.0 > 0 && share.weight() == weight).then_some(share)
    }

    /// The weight.
    #[must_use]
    pub fn weight(self) -> f32 {
        f32::from(self.0) / 256.0
    }
}

/// What the neighbours of a block send in a round: Σ_j k_ij q_j, and Σ_j k_ij. The order of the neighbours does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pull {
    sums: [i64; BLOCK],
    shares: i64,
    /// In a round that opens an epoch neighbours send values, which are numbers on this grid.
    opening: Option<Grid>,
}

impl Pull {
    /// That of no neighbour, in a round of changes.
    pub const NONE: Self = Self::new(None);

    /// That of no neighbour.
    pub(super) const fn new(opening: Option<Grid>) -> Self {
        Self { sums: [0; BLOCK], shares: 0, opening }
    }

    /// Adds one neighbour: its changes, in units.
    pub fn add(&mut self, share: Share, changes: &[i32]) {
        self.add_each(share, changes.iter().copied());
    }

    /// Adds one neighbour: a block of changes as it was received.
    pub(crate) fn receive(&mut self, share: Share, block: &Block) {
        self.add_each(share, block.each());
    }

    /// Adds one neighbour in a round that opens an epoch: values as they were received. In other rounds, it adds nothing.
    pub(crate) fn receive_values(&mut self, share: Share, values: &[f32]) {
        if let Some(grid) = self.opening {
            self.add_each(share, values.iter().map(|&value| grid.number(value)));
        }
    }

    fn add_each(&mut self, share: Share, changes: impl Iterator<Item = i32>) {
        for (sum, change) in self.sums.iter_mut().zip(changes) {
            // 2^16 neighbours at the ends of an i32 stay below 2^55.
            *sum = sum.wrapping_add(i64::from(share.0) * i64::from(change));
        }
        self.shares = self.shares.wrapping_add(i64::from(share.0));
    }
}

/// A gap left its range: two neighbours are too far apart for the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OutOfRange;

impl core::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("neighbours are too far apart for the unit of the codec: try a coarser one")
    }
}

impl core::error::Error for OutOfRange {}

/// The integers of a block of a vector.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ledger<'a> {
    /// What neighbours know of it, in units.
    pub known: &'a mut [i32],
    /// Σ_j k_ij (x̂_j - x̂), in units of 1/256.
    pub gap: &'a mut [i32],
}

impl Ledger<'_> {
    /// Adds the changes of a round: the node's own to what is known, and Σ_j k_ij (q_j - q) to the gap.
    ///
    /// # Errors
    /// If a gap would leave its range, nothing changes.
    pub fn settle(&mut self, own: &[i32; BLOCK], pull: &Pull) -> Result<(), OutOfRange> {
        let sum = |gap: i32, (sum, own): (&i64, &i32)| {
            // No term is beyond 2^55.
            let pull = sum.wrapping_sub(pull.shares.wrapping_mul((*own).into()));
            i32::try_from(pull.wrapping_add(gap.into())).ok()
        };
        let round = || pull.sums.iter().zip(own);
        if !self.gap.iter().zip(round()).all(|(&gap, of)| sum(gap, of).is_some()) {
            return Err(OutOfRange);
        }
        for (gap, of) in self.gap.iter_mut().zip(round()) {
            *gap = sum(*gap, of).unwrap_or(*gap);
        }
        for (known, own) in self.known.iter_mut().zip(own) {
            *known = known.wrapping_add(*own);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Bits;
    use super::*;
    use crate::draw::{Draws, Purpose};

    #[test]
    fn shares_are_multiples_of_a_256th_below_one() {
        for k in 1..=255_u8 {
            let weight = f32::from(k) / 256.0;
            assert_eq!(Share::of(weight).map(Share::weight), Some(weight));
            assert_eq!(Share::of(weight + 1.0e-4), None);
            assert_eq!(Share::of(-weight), None);
        }
        for weight in [0.0, 1.0, 2.0, 1.0 / 3.0, 1.0e-9, f32::NAN, f32::INFINITY, 1.0 / 512.0] {
            assert_eq!(Share::of(weight), None, "{weight}");
        }
    }

    /// Random graphs, random values with jumps: every gap is what its definition says, and the gaps of all nodes sum to zero.
    #[test]
    fn gaps_are_exact_and_sum_to_zero_whatever_happens() {
        for seed in 0..40 {
            let mut stream = Draws { seed, node: 0 }.stream(0, Purpose::INNER_GRADIENT);
            let mut below = |bound: u32| stream.below(bound.try_into().unwrap());
            let nodes = 2 + below(7) as usize;
            let bits = [Bits::Eight, Bits::Four, Bits::Three][below(3) as usize];
            let most = 255 / (nodes as u32 - 1);
            // Each link in both directions.
            let pairs = (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j)));
            let mut links = Vec::new();
            for (i, j) in pairs {
                let share = Share::of((1 + below(most)) as f32 / 256.0).unwrap();
                if below(3) > 0 {
                    links.extend([(i, j, share), (j, i, share)]);
                }
            }
            let grid = Grid::new(-22);
            let (mut known, mut gaps) = (vec![[0; BLOCK]; nodes], vec![[0; BLOCK]; nodes]);
            for _ in 0..300 {
                let scale = libm::exp2f(stream.below(20.try_into().unwrap()) as f32 - 20.0);
                let changes: Vec<[i32; BLOCK]> = known
                    .iter()
                    .map(|known| {
                        let x: [f32; BLOCK] =
                            core::array::from_fn(|_| scale * stream.signed_unit());
                        Block::quantise(bits, grid, &x, known).changes()
                    })
                    .collect();
                for i in 0..nodes {
                    let mut pull = Pull::NONE;
                    for &(_, j, share) in links.iter().rev().filter(|link| link.0 == i) {
                        pull.add(share, &changes[j]);
                    }
                    let mut ledger = Ledger { known: &mut known[i], gap: &mut gaps[i] };
                    ledger.settle(&changes[i], &pull).unwrap();
                }
            }
            assert_eq!(gaps.iter().flatten().all(|&gap| gap == 0), links.is_empty(), "{seed}");
            for e in 0..BLOCK {
                assert_eq!(gaps.iter().map(|gap| i64::from(gap[e])).sum::<i64>(), 0, "{seed}");
                for (i, gap) in gaps.iter().enumerate() {
                    let terms = links.iter().filter(|link| link.0 == i).map(|&(i, j, share)| {
                        i64::from(share.0) * (i64::from(known[j][e]) - i64::from(known[i][e]))
                    });
                    assert_eq!(i64::from(gap[e]), terms.sum::<i64>(), "{seed}");
                }
            }
        }
    }

    #[test]
    fn a_gap_that_would_overflow_changes_nothing() {
        let share = Share::of(255.0 / 256.0).unwrap();
        let (mut known, mut gap) = ([3; BLOCK], [-5; BLOCK]);
        let (mut theirs, own) = ([1; BLOCK], [2; BLOCK]);
        // 255 (q - 2) - 5 is just too large, and just fits.
        let edge = (i32::MAX - 250) / 255 + 2;
        for (change, fits) in [(edge + 2, false), (edge, true)] {
            theirs[31] = change;
            let mut pull = Pull::NONE;
            pull.add(share, &theirs);
            let settled = Ledger { known: &mut known, gap: &mut gap }.settle(&own, &pull);
            assert_eq!(settled.is_ok(), fits, "{change}");
            assert_eq!(known, [if fits { 5 } else { 3 }; BLOCK]);
            assert_eq!(gap[0], if fits { -260 } else { -5 });
        }
        let mut pull = Pull::NONE;
        for _ in 0..1_000 {
            pull.add(share, &[i32::MIN; BLOCK]);
        }
        let mut ledger = Ledger { known: &mut known, gap: &mut gap };
        assert_eq!(ledger.settle(&[i32::MAX; BLOCK], &pull), Err(OutOfRange));
    }
}
