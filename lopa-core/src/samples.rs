//! Labelled samples, read in place: rows of bytes or floats in flash, never copied.
//!
//! A feature's value is `scale * (raw - offset)`, the usual quantisation of images and sensors: pixels have
//! `scale = 1/255, offset = 0`, a signed sensor reading `scale = full_range / 128`. With [`Samples::standardised`] every
//! feature has an offset and a factor of its own, so that raw readings in different units can be learned from as they are.

mod arithmetic;
mod block;
mod each;
mod filled;
#[cfg(feature = "simd")]
mod lists;
#[cfg(feature = "simd")]
mod many;
mod row;
#[cfg(feature = "simd")]
mod short;

pub(crate) use block::{BLOCK, Block, Room};
#[cfg(feature = "simd")]
pub use lists::Lists;
#[cfg(all(feature = "simd", feature = "integer"))]
pub(crate) use many::fetch;
pub use row::Row;

pub use arithmetic::Arithmetic;
#[cfg(feature = "integer")]
pub(crate) use arithmetic::LARGEST_OFFSET;

use bytemuck::{Pod, Zeroable};

use crate::vector::Number;

/// The features of a set of samples, row after row.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Features<'a> {
    /// Unsigned bytes, such as pixels.
    U8(&'a [u8]),
    /// Signed bytes, such as quantised sensor readings.
    I8(&'a [i8]),
    /// Floats.
    F32(&'a [f32]),
}

impl<'a> Features<'a> {
    /// The number of values, over all rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::U8(raw) => raw.len(),
            Self::I8(raw) => raw.len(),
            Self::F32(raw) => raw.len(),
        }
    }

    /// True if there are no values.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn cut(self, from: usize, to: usize) -> Option<Self> {
        Some(match self {
            Self::U8(raw) => Self::U8(raw.get(from..to)?),
            Self::I8(raw) => Self::I8(raw.get(from..to)?),
            Self::F32(raw) => Self::F32(raw.get(from..to)?),
        })
    }
}

/// The labels of a set of samples, one each.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Labels<'a> {
    /// Two classes, stored as 0 and 1, used as -1 and +1.
    Binary(&'a [u8]),
    /// Classes counted from 0.
    Class(&'a [u8]),
    /// Real targets.
    Real(&'a [f32]),
}

impl Labels<'_> {
    /// The number of labels.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Binary(labels) | Self::Class(labels) => labels.len(),
            Self::Real(labels) => labels.len(),
        }
    }

    /// True if there are no labels.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kind of these labels.
    #[must_use]
    pub const fn kind(&self) -> LabelKind {
        match self {
            Self::Binary(_) => LabelKind::Binary,
            Self::Class(_) => LabelKind::Class,
            Self::Real(_) => LabelKind::Real,
        }
    }
}

/// The kinds of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
pub enum LabelKind {
    /// Two classes.
    Binary,
    /// Classes counted from 0.
    Class,
    /// Real targets.
    Real,
}

/// Why a set of samples was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[derive(serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum SamplesError {
    /// There are no samples, or samples have no features.
    Empty,
    /// More samples than a draw can distinguish (2^32 - 1).
    TooMany,
    /// There are not `width` features for each label.
    Ragged {
        /// How many feature values there are.
        features: usize,
        /// How many labels there are.
        labels: usize,
        /// How many features a row has.
        width: usize,
    },
    /// A label is not one of those allowed, or is not finite as stored or once it is scaled.
    Label {
        /// Its row.
        row: usize,
    },
    /// A feature is infinite or NaN, as stored or once it is scaled.
    Feature {
        /// Its row.
        row: usize,
    },
    /// The scale is zero or not finite, the offset is not finite, or there is not one of each for every feature.
    Scaling,
    /// Marks are not those of the samples.
    Marks,
    /// Integer arithmetic was chosen for samples that are floats.
    NotBytes,
    /// Integer arithmetic was chosen for features with an offset beyond ±1024.
    Offset,
    /// Integer arithmetic was chosen in a build without the feature `integer`.
    NoIntegers,
}

impl core::fmt::Display for SamplesError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Empty => write!(f, "no samples: at least one row with one feature is needed"),
            Self::TooMany => write!(f, "too many samples: at most 2^32 - 1 fit a node"),
            Self::Ragged { features, labels, width } => write!(
                f,
                "{features} feature values do not make {labels} rows of {width}: one row per label is needed"
            ),
            Self::Label { row } => write!(f, "the label of row {row} is out of range"),
            Self::Feature { row } => write!(f, "row {row} has a feature that is infinite or NaN"),
            Self::Scaling => write!(
                f,
                "scale must be finite and not zero, offset must be finite; if features have their own, one of each is \
                 needed for every feature"
            ),
            Self::Marks => write!(f, "these are marks of other samples: write them with `mark`"),
            Self::NotBytes => write!(
                f,
                "integer arithmetic needs features that are whole numbers from 0 to 255 or from -128 to 127, stored as \
                 bytes: store them so, or use float arithmetic"
            ),
            Self::Offset => write!(
                f,
                "integer arithmetic needs offsets of features between -1024 and 1024: use other offsets, or float arithmetic"
            ),
            Self::NoIntegers => write!(
                f,
                "integer arithmetic was chosen, but this build does not have it: build it with the feature integer"
            ),
        }
    }
}

impl core::error::Error for SamplesError {}

/// How raw features become values.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Scaling<'a> {
    /// `scale * (raw - offset)`, the same for all features: see [`Samples::scaled`].
    Common {
        /// The factor.
        scale: f32,
        /// What is subtracted first.
        offset: f32,
    },
    /// One scale for each feature, and one after them for real targets: see [`Samples::standardised`].
    Each(&'a [Scale]),
}

/// Reads a raw number without its scale. A function, so that loops over it exist only once.
#[inline(always)]
fn minus<T: Into<f32>>(offset: f32) -> impl Fn(T) -> f32 {
    #[inline(always)]
    move |raw| (Number(raw.into()) - offset).0
}

/// The offset and the factor of one number: its value is `(raw - offset) * factor`, rounded after each operation.
///
/// ```
/// use lopa_core::samples::Scale;
/// let celsius = Scale { offset: 21.5, factor: 0.5 };
/// assert_eq!(celsius.value(18.5), -1.5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(C)]
pub struct Scale {
    /// What is subtracted first.
    pub offset: f32,
    /// What the difference is multiplied by.
    pub factor: f32,
}

impl Scale {
    /// Changes nothing: not even the sign of a zero.
    pub const NONE: Self = Self { offset: 0.0, factor: 1.0 };

    /// The value of a raw number.
    #[inline]
    #[must_use]
    pub const fn value(self, raw: f32) -> f32 {
        (raw - self.offset) * self.factor
    }
}

/// A set of labelled samples.
///
/// ```
/// use lopa_core::samples::{Features, Labels, Samples};
/// // Two samples of three pixels, labelled 0 and 1.
/// let samples = Samples::new(Features::U8(&[0, 128, 255, 9, 9, 9]), 3, Labels::Binary(&[0, 1]))?
///     .scaled(1.0 / 255.0, 0.0)?;
/// assert_eq!(samples.label(1), 1.0);
/// assert_eq!(samples.row(0).dot(&[0.0, 0.0, 2.0]), 2.0);
/// # Ok::<(), lopa_core::samples::SamplesError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Samples<'a> {
    features: Features<'a>,
    labels: Labels<'a>,
    width: usize,
    scaling: Scaling<'a>,
    /// Marks of chunks with anything but zeros: see [`Samples::marked`]; empty if there are none.
    #[cfg(feature = "simd")]
    filled: &'a [u64],
    /// Lists of what is not zero: see [`Samples::listed`].
    #[cfg(feature = "simd")]
    lists: Option<&'a Lists>,
    arithmetic: Arithmetic,
}

impl<'a> Samples<'a> {
    /// Takes `labels.len()` rows of `width` features. Reads everything once, to refuse bad values.
    ///
    /// # Errors
    /// Refuses empty sets, features that do not fit the labels, labels out of range, and floats that are not finite.
    pub fn new(
        features: Features<'a>,
        width: usize,
        labels: Labels<'a>,
    ) -> Result<Self, SamplesError> {
        let rows = labels.len();
        if rows == 0 || width == 0 {
            return Err(SamplesError::Empty);
        }
        if u32::try_from(rows).is_err() {
            return Err(SamplesError::TooMany);
        }
        if rows.checked_mul(width) != Some(features.len()) {
            return Err(SamplesError::Ragged { features: features.len(), labels: rows, width });
        }
        let bad_label = match labels {
            Labels::Binary(labels) => labels.iter().position(|&label| label > 1),
            Labels::Class(_) => None,
            Labels::Real(labels) => labels.iter().position(|label| !label.is_finite()),
        };
        if let Some(row) = bad_label {
            return Err(SamplesError::Label { row });
        }
        if let Features::F32(raw) = features
            && let Some(at) = raw.iter().position(|value| !value.is_finite())
        {
            return Err(SamplesError::Feature { row: at.checked_div(width).unwrap_or(0) });
        }
        let scaling = Scaling::Common { scale: 1.0, offset: 0.0 };
        let arithmetic = Arithmetic::Float;
        Ok(Self {
            features,
            labels,
            width,
            scaling,
            #[cfg(feature = "simd")]
            filled: &[],
            #[cfg(feature = "simd")]
            lists: None,
            arithmetic,
        })
    }

    /// Makes a feature's value `scale * (raw - offset)`.
    ///
    /// # Errors
    /// Refuses a scale of zero and numbers that are not finite.
    pub fn scaled(mut self, scale: f32, offset: f32) -> Result<Self, SamplesError> {
        if !scale.is_finite() || scale == 0.0 || !offset.is_finite() {
            return Err(SamplesError::Scaling);
        }
        self.scaling = Scaling::Common { scale, offset };
        self.forget_marks();
        Ok(self)
    }

    /// Gives every feature a scale of its own, and real targets the last of the `scales`, of which there is one more than
    /// there are features.
    ///
    /// Everything that is computed has the bits of the same values stored as floats. A feature with the factor 0, such as
    /// one that never changes, is ignored. Reads everything once more, to refuse values that are not finite.
    ///
    /// # Errors
    /// Refuses another number of scales, and values that are not finite.
    ///
    /// ```
    /// use lopa_core::samples::{Features, Labels, Samples, Scale};
    /// // Two readings of temperature and pressure, as the sensors deliver them, and the number to predict.
    /// let readings = Samples::new(Features::U8(&[20, 90, 24, 210]), 2, Labels::Real(&[7.0, 9.0]))?;
    /// let scales = [(22.0, 0.5), (150.0, 0.0625), (8.0, 1.0)];
    /// let scales = scales.map(|(offset, factor)| Scale { offset, factor });
    /// let readings = readings.standardised(&scales)?;
    /// assert_eq!(readings.row(1).dot(&[1.0, 2.0]), 1.0 + 2.0 * 3.75);
    /// assert_eq!(readings.label(0), -1.0);
    /// # Ok::<(), lopa_core::samples::SamplesError>(())
    /// ```
    pub fn standardised(mut self, scales: &'a [Scale]) -> Result<Self, SamplesError> {
        if scales.len().checked_sub(1) != Some(self.width) {
            return Err(SamplesError::Scaling);
        }
        self.scaling = Scaling::Each(scales);
        self.forget_marks();
        if let Some(row) = (0..self.len()).find(|row| !self.label(*row).is_finite()) {
            return Err(SamplesError::Label { row });
        }
        for (at, scale) in scales.iter().take(self.width).cycle().enumerate() {
            match self.features.value(at, scale) {
                Some(value) if value.is_finite() => {}
                None => break,
                _ => {
                    let row = at.checked_div(self.width).unwrap_or(0);
                    return Err(SamplesError::Feature { row });
                }
            }
        }
        Ok(self)
    }

    /// The number of samples.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.labels.len()
    }

    /// True if there are no samples; [`Samples::new`] refuses such a set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The number of features of a sample.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// The features as they are stored, row after row.
    #[must_use]
    pub const fn features(&self) -> Features<'a> {
        self.features
    }

    /// How they become values.
    #[must_use]
    pub const fn scaling(&self) -> Scaling<'a> {
        self.scaling
    }

    /// The labels.
    #[must_use]
    pub const fn labels(&self) -> Labels<'a> {
        self.labels
    }

    /// The first row whose class is not below `classes`.
    #[must_use]
    pub fn class_beyond(&self, classes: usize) -> Option<usize> {
        match self.labels {
            Labels::Class(labels) => labels.iter().position(|&label| usize::from(label) >= classes),
            Labels::Binary(_) | Labels::Real(_) => None,
        }
    }

    /// The features of sample `index`; an empty row beyond the end.
    #[inline]
    #[must_use]
    pub fn row(&self, index: usize) -> Row<'a> {
        let from = index.wrapping_mul(self.width);
        let raw = self.features.cut(from, from.wrapping_add(self.width));
        self.reading(raw.unwrap_or(Features::U8(&[])))
    }

    /// The features of a fresh reading, scaled like these samples, for a prediction.
    #[inline]
    #[must_use]
    pub const fn reading(&self, raw: Features<'a>) -> Row<'a> {
        Row { raw, scaling: self.scaling }
    }

    /// The label of sample `index` as a number: -1 or +1, the class, or the target; 0 beyond the end.
    #[inline]
    #[must_use]
    pub fn label(&self, index: usize) -> f32 {
        match self.labels {
            Labels::Binary(labels) => {
                labels.get(index).map_or(0.0, |&label| if label == 0 { -1.0 } else { 1.0 })
            }
            Labels::Class(labels) => labels.get(index).map_or(0.0, |&label| f32::from(label)),
            Labels::Real(labels) => {
                let raw = labels.get(index).copied().unwrap_or(0.0);
                match self.scaling {
                    Scaling::Each([.., target]) => target.value(raw),
                    _ => raw,
                }
            }
        }
    }

    /// The class of sample `index`; 0 beyond the end, and if the labels are not classes.
    #[inline]
    #[must_use]
    pub fn class(&self, index: usize) -> usize {
        match self.labels {
            Labels::Binary(labels) | Labels::Class(labels) => {
                labels.get(index).map_or(0, |&label| usize::from(label))
            }
            Labels::Real(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_encodings_read_the_same_values() {
        let bytes = [0_u8, 1, 100, 7, 50, 127, 3, 3];
        let signed = bytes.map(|b| b as i8);
        let floats = bytes.map(f32::from);
        let weights = [0.5, -1.5, 2.25, 0.125];
        let labels = Labels::Class(&[4, 0]);
        let sets = [Features::U8(&bytes), Features::I8(&signed), Features::F32(&floats)]
            .map(|f| Samples::new(f, 4, labels).unwrap().scaled(0.1, 3.0).unwrap());
        for set in sets {
            for index in 0..2 {
                assert_eq!(set.row(index).dot(&weights), sets[0].row(index).dot(&weights));
                let (mut out, mut want) = ([1.0; 4], [1.0_f32; 4]);
                set.row(index).add_scaled(2.0, &mut out);
                for (want, raw) in want.iter_mut().zip(&bytes[4 * index..]) {
                    *want += (2.0 * 0.1) * (f32::from(*raw) - 3.0);
                }
                assert_eq!(out, want);
            }
            assert_eq!((set.label(0), set.class(0), set.len(), set.width()), (4.0, 4, 2, 4));
        }
    }

    #[test]
    fn products_with_many_vectors_have_the_bits_of_single_ones() {
        const WIDTH: usize = 37;
        let bytes: [u8; WIDTH] = core::array::from_fn(|i| (i * 89 % 251) as u8);
        let floats = bytes.map(|b| f32::from(b) * 0.31 - 9.7);
        let weights: [f32; 11 * WIDTH] = core::array::from_fn(|i| i as f32 * 0.011 - 1.7);
        for features in [Features::U8(&bytes), Features::F32(&floats)] {
            let set = Samples::new(features, WIDTH, Labels::Class(&[0])).unwrap();
            for row in [0.0, 3.5].map(|offset| set.scaled(0.1, offset).unwrap().row(0)) {
                for count in 0..=11 {
                    let mut out = [f32::NAN; 11];
                    row.dot_each(weights.chunks_exact(WIDTH), &mut out[..count]);
                    for (out, weights) in out[..count].iter().zip(weights.chunks_exact(WIDTH)) {
                        assert_eq!(out.to_bits(), row.dot(weights).to_bits(), "{count}");
                    }
                    assert!(out[count..].iter().all(|out| out.is_nan()));
                }
            }
        }
    }

    #[test]
    fn bad_sets_are_refused_by_name() {
        let bytes = Features::U8(&[0; 6]);
        let new = Samples::new;
        assert_eq!(new(bytes, 3, Labels::Class(&[])), Err(SamplesError::Empty));
        assert_eq!(new(bytes, 0, Labels::Class(&[0])), Err(SamplesError::Empty));
        assert_eq!(
            new(bytes, 4, Labels::Class(&[0, 1])),
            Err(SamplesError::Ragged { features: 6, labels: 2, width: 4 })
        );
        assert_eq!(new(bytes, 3, Labels::Binary(&[1, 2])), Err(SamplesError::Label { row: 1 }));
        assert_eq!(new(bytes, 6, Labels::Real(&[f32::NAN])), Err(SamplesError::Label { row: 0 }));
        let floats = Features::F32(&[0.0, 0.0, f32::INFINITY, 0.0]);
        assert_eq!(new(floats, 2, Labels::Class(&[0, 0])), Err(SamplesError::Feature { row: 1 }));
        let good = new(bytes, 3, Labels::Class(&[0, 9])).unwrap();
        assert_eq!(good.scaled(0.0, 0.0), Err(SamplesError::Scaling));
        assert_eq!(good.scaled(1.0, f32::NAN), Err(SamplesError::Scaling));
        assert_eq!((good.class_beyond(10), good.class_beyond(9)), (None, Some(1)));
    }

    #[test]
    fn rows_beyond_the_end_are_empty() {
        let set = Samples::new(Features::U8(&[9; 4]), 2, Labels::Binary(&[1, 1])).unwrap();
        assert_eq!(set.row(2).dot(&[1.0, 1.0]), 0.0);
        assert_eq!(set.row(usize::MAX).dot(&[1.0, 1.0]), 0.0);
        assert_eq!((set.label(2), set.class(2)), (0.0, 0));
    }
}
