//! What of each row is not zero, in the order in which a host multiplies it.

use std::hash::{DefaultHasher, Hasher};
use std::vec;
use std::vec::Vec;

use super::{Features, Samples, SamplesError, Scaling};
use crate::vector::LANES;
use crate::vector::sparse::{self, CHUNKS, GROUPS, Place, SUMS, Values};

/// The most features of a listed row.
const MOST: usize = LANES * CHUNKS;

/// The features of samples that are not zero, in few bytes: see [`Samples::listed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lists {
    /// Where each row begins, and where the last one ends.
    starts: Vec<u32>,
    /// For each row how long its groups are, then the groups. In a group there is one feature for each partial sum after the
    /// other; where one has fewer, zeros take their places. Each has its chunk in the upper half, its raw value in the lower.
    entries: Vec<u16>,
    /// Of the bytes that are listed.
    digest: u64,
}

impl Lists {
    /// How many features are listed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if no sample is listed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// A row.
    #[inline(always)]
    fn row(&self, index: usize) -> Option<&[u16]> {
        let [from, to] = *self.starts.get(index..)?.first_chunk()?;
        self.entries.get(from as usize..to as usize)
    }

    fn new(raw: &[u8], width: usize) -> Self {
        let mut lists = Self { starts: vec![0], entries: Vec::new(), digest: digest(raw) };
        let mut groups = [const { [const { Vec::new() }; SUMS] }; GROUPS];
        for row in raw.chunks_exact(width) {
            groups.as_flattened_mut().iter_mut().for_each(Vec::clear);
            for (chunk, values) in row.chunks(LANES).enumerate() {
                if values.iter().fold(0, |any, &value| any | value) == 0 {
                    continue;
                }
                for (lane, &value) in values.iter().enumerate().filter(|(_, value)| **value != 0) {
                    let Place { group, sum } = Place::of(lane);
                    groups[group][sum].push((chunk << u8::BITS) as u16 | u16::from(value));
                }
            }
            lists.push(&groups);
        }
        lists
    }

    fn push(&mut self, groups: &[[Vec<u16>; SUMS]; GROUPS]) {
        let longest = |sums: &[Vec<u16>; SUMS]| sums.iter().map(Vec::len).max().unwrap_or(0);
        self.entries.extend(groups.iter().map(|sums| (SUMS * longest(sums)) as u16));
        for sums in groups {
            for i in 0..longest(sums) {
                self.entries.extend(sums.iter().map(|sum| sum.get(i).copied().unwrap_or(0)));
            }
        }
        self.starts.push(self.entries.len() as u32);
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Lists {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Lists({} features)", self.len());
    }
}

impl<'a> Samples<'a> {
    /// Lists the features that are not zero, for [`Samples::listed`]; `None` for samples that cannot be listed: floats, those
    /// with an offset, and those with more than 4096 features.
    #[must_use]
    pub fn lists(&self) -> Option<Lists> {
        Some(Lists::new(self.listable()?, self.width))
    }

    /// The bytes of samples that can be listed.
    fn listable(&self) -> Option<&'a [u8]> {
        let Scaling::Common { offset: 0.0, .. } = self.scaling else { return None };
        let raw = match self.features {
            Features::U8(raw) => raw,
            Features::I8(raw) => bytemuck::cast_slice(raw),
            Features::F32(_) => return None,
        };
        // A group may have one feature and zeros for all other sums; where a row begins is told in 32 bits.
        let fits = raw.len().checked_mul(SUMS).is_some_and(|len| len < 1 << 31);
        (self.width <= MOST && fits).then_some(raw)
    }

    /// Uses lists as [`Samples::lists`] makes them, so that a host reads and computes only what is not zero where a problem
    /// multiplies every sample with many vectors. Changes no bit of any result; pays if most features are zero.
    ///
    /// Reads everything once, to refuse lists of others.
    ///
    /// # Errors
    /// Refuses lists that are not those of these samples.
    ///
    /// ```
    /// use lopa_core::samples::{Features, Labels, Samples, SamplesError};
    /// let (mut images, labels) = ([0; 2 * 784], Labels::Class(&[0, 1]));
    /// let black = Samples::new(Features::U8(&images), 784, labels)?.lists();
    /// images[100] = 255;
    /// let samples = Samples::new(Features::U8(&images), 784, labels)?;
    /// let lists = samples.lists();
    /// assert!(samples.listed(lists.as_ref().unwrap()).is_ok());
    /// assert_eq!(samples.listed(black.as_ref().unwrap()), Err(SamplesError::Marks));
    /// # Ok::<(), SamplesError>(())
    /// ```
    pub fn listed(mut self, lists: &'a Lists) -> Result<Self, SamplesError> {
        // Lists never change: those of the same bytes, in as many rows, are right.
        let own = |raw| lists.starts.len() == self.len() + 1 && lists.digest == digest(raw);
        if !self.listable().is_some_and(own) {
            return Err(SamplesError::Marks);
        }
        self.lists = Some(lists);
        Ok(self)
    }

    pub(super) const fn forget_lists(&mut self) {
        self.lists = None;
    }

    /// Whether samples have lists.
    pub(crate) const fn are_listed(&self) -> bool {
        self.lists.is_some()
    }

    /// The lists of some samples; `None` if samples have no lists.
    #[inline(always)]
    pub(crate) fn lists_of(&self, chosen: &[usize]) -> Option<sparse::Lists<'a>> {
        self.lists?;
        let signed = matches!(self.features, Features::I8(_));
        let mut lists = sparse::Lists::new(if signed { &SIGNED } else { &UNSIGNED });
        chosen.iter().for_each(|&index| lists.push(self.list(index).unwrap_or_default()));
        Some(lists)
    }

    /// A sample's list, if samples have lists.
    #[inline(always)]
    pub(super) fn list(&self, index: usize) -> Option<&'a [u16]> {
        self.lists?.row(index)
    }
}

static UNSIGNED: Values = values(false);
static SIGNED: Values = values(true);

const fn values(signed: bool) -> Values {
    let (mut values, mut i) = ([0.0; 256], 0);
    while i < values.len() {
        values[i] = if signed { i as u8 as i8 as f32 } else { i as f32 };
        i += 1;
    }
    values
}

fn digest(raw: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(raw);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Labels;

    #[test]
    fn lists_of_other_samples_are_refused() {
        const WIDTH: usize = 40;
        let mut bytes = [0; 3 * WIDTH];
        (bytes[3], bytes[19], bytes[7], bytes[39], bytes[WIDTH + 17]) = (1, 2, 255, 4, 5);
        fn of(bytes: &[u8]) -> Samples<'_> {
            Samples::new(Features::U8(bytes), WIDTH, Labels::Class(&[0, 0, 0])).unwrap()
        }
        let samples = of(&bytes);
        let lists = samples.lists().unwrap();
        assert!(samples.listed(&lists).is_ok());
        // Group 3: features 3 and 19 for the first sum, 7 and 39 for the second.
        let first = [0, 0, 0, 8, 1, 255, 0, 0, 0x102, 0x204, 0, 0];
        assert_eq!(lists.entries[..12], first);
        assert_eq!(lists.starts, [0, 12, 20, 24]);
        for at in 0..bytes.len() {
            let mut other = bytes;
            other[at] ^= 6;
            assert_eq!(of(&other).listed(&lists).err(), Some(SamplesError::Marks), "{at}");
        }
        let wider = Samples::new(Features::U8(&bytes), 3 * WIDTH, Labels::Class(&[0])).unwrap();
        assert_eq!(wider.listed(&lists), Err(SamplesError::Marks));
        // Where zero is not zero, lists would leave out what counts.
        assert_eq!(samples.scaled(1.0, 3.0).unwrap().lists(), None);
        assert_eq!(
            samples.scaled(1.0, 3.0).unwrap().listed(&lists).err(),
            Some(SamplesError::Marks)
        );
    }
}
