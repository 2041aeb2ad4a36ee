//! Which parts of a row have anything but zeros.

use super::{Features, Samples, SamplesError, Scaling};
use crate::vector::LANES;

/// The bits of a word of marks.
pub(super) const BITS: usize = u64::BITS as usize;

impl<'a> Samples<'a> {
    /// How many words of marks [`Samples::mark`] writes for `rows` rows of `width` features.
    #[must_use]
    pub const fn marks(rows: usize, width: usize) -> usize {
        rows * words(width)
    }

    /// Writes marks: a bit for each sixteen features of a row, set if one of them is not zero.
    ///
    /// `marks` is memory of [`Samples::marks`]`(rows, width)` words.
    pub fn mark(&self, marks: &mut [u64]) {
        for (row, marks) in marks.chunks_exact_mut(words(self.width)).enumerate() {
            for (at, word) in marks.iter_mut().enumerate() {
                *word = self.word(row, at);
            }
        }
    }

    /// The marks of the chunks from `64 * at` on.
    fn word(&self, row: usize, at: usize) -> u64 {
        match self.row(row).raw {
            Features::U8(raw) => word(raw, at),
            Features::I8(raw) => word(raw, at),
            Features::F32(raw) => word(raw, at),
        }
    }

    /// Uses marks as [`Samples::mark`] writes them, so that a host reads and computes only what is not zero. Changes no bit
    /// of any result; pays for images, most of which is background.
    ///
    /// Samples of floats, and those with an offset, stay as they are. Reads everything once, to refuse marks of others.
    ///
    /// # Errors
    /// Refuses marks that are not those of these samples.
    ///
    /// ```
    /// use lopa_core::samples::{Features, Labels, Samples};
    /// let mut images = [0; 2 * 784];
    /// images[100] = 255;
    /// let samples = Samples::new(Features::U8(&images), 784, Labels::Binary(&[0, 1]))?;
    /// let mut marks = [0; Samples::marks(2, 784)];
    /// samples.mark(&mut marks);
    /// let marked = samples.marked(&marks)?;
    /// assert_eq!(marked.row(0).dot(&[0.5; 784]), samples.row(0).dot(&[0.5; 784]));
    /// # Ok::<(), lopa_core::samples::SamplesError>(())
    /// ```
    pub fn marked(mut self, marks: &'a [u64]) -> Result<Self, SamplesError> {
        let needed = Self::marks(self.len(), self.width);
        if marks.len() != needed {
            return Err(SamplesError::Marks);
        }
        let zero_is_zero = matches!(self.scaling, Scaling::Common { offset: 0.0, .. });
        if !zero_is_zero || matches!(self.features, Features::F32(_)) {
            return Ok(self);
        }
        let of_row = |(row, marks): (usize, &[u64])| {
            marks.iter().enumerate().all(|(at, &word)| self.word(row, at) == word)
        };
        if !marks.chunks_exact(words(self.width)).enumerate().all(of_row) {
            return Err(SamplesError::Marks);
        }
        self.remember(marks);
        Ok(self)
    }

    // Chips read row by row, and have no use for marks: there they take no memory.
    const fn remember(&mut self, marks: &'a [u64]) {
        #[cfg(feature = "simd")]
        {
            self.filled = marks;
        }
        let _ = marks;
    }

    /// Leaves marks and lists out again, for samples that are read in another way.
    pub(super) const fn forget_marks(&mut self) {
        self.remember(&[]);
        #[cfg(feature = "simd")]
        self.forget_lists();
    }

    /// Which chunks of a row are marked; `None` if samples have no marks.
    #[cfg(feature = "simd")]
    #[inline]
    pub(crate) fn filled(&self, index: usize) -> Option<&'a [u64]> {
        let words = words(self.width);
        let from = index.wrapping_mul(words);
        self.filled.get(from..from.wrapping_add(words))
    }
}

/// The words of marks of one row.
const fn words(width: usize) -> usize {
    width.div_ceil(LANES).div_ceil(BITS)
}

/// Marks the chunks of a row that have anything but zeros, from chunk `64 * at` on.
fn word<T: Copy + Default + PartialEq>(row: &[T], at: usize) -> u64 {
    let from = at.saturating_mul(BITS * LANES);
    let chunks = row.get(from..).unwrap_or(&[]).chunks(LANES).take(BITS);
    chunks.enumerate().fold(0, |word, (i, chunk)| {
        // Without an early end, which would not vectorise.
        let filled = chunk.iter().fold(false, |filled, a| filled | (*a != T::default()));
        word | u64::from(filled) << i
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Labels;

    #[test]
    fn marks_are_where_something_is_and_those_of_others_are_refused() {
        const WIDTH: usize = 1_100;
        let mut bytes = [0_u8; 2 * WIDTH];
        (bytes[15], bytes[16], bytes[1_099], bytes[WIDTH + 1_024]) = (1, 1, 1, 1);
        let labels = Labels::Class(&[0, 0]);
        let samples = Samples::new(Features::U8(&bytes), WIDTH, labels).unwrap();
        let mut marks = [7; Samples::marks(2, WIDTH)];
        samples.mark(&mut marks);
        assert_eq!(marks, [0b11, 0b10000, 0, 0b1]);
        assert!(samples.marked(&marks).is_ok());
        assert_eq!(samples.marked(&marks[1..]), Err(SamplesError::Marks));
        for bit in [0, 2] {
            let mut other = marks;
            other[0] ^= 1 << bit;
            assert_eq!(samples.marked(&other), Err(SamplesError::Marks));
        }
        // Where zero is not zero, marks would leave out what counts.
        let shifted = samples.scaled(1.0, 3.0).unwrap();
        assert_eq!(shifted.marked(&marks), Ok(shifted));
    }
}
