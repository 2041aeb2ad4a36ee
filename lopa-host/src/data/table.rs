//! Samples in memory: one row of features and one label each.

use std::collections::BTreeSet;
use std::sync::Arc;

use lopa_core::samples::{Features, LabelKind, Labels, Samples, SamplesError, Scale};

use super::csv::Layout;
use super::error::DataError;
use super::labels::{classes, sorted};
use super::marks::Marks;
use super::raw::{Beyond, Raw};
use super::rows::Rows;

/// Features, row after row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Pixels: 0 to 255 mean 0 to 1.
    Bytes(Rows<u8>),
    /// Anything else.
    Floats(Rows<f32>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    /// The numbers as they are in memory.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(values) => values,
            Self::Floats(values) => bytemuck::cast_slice(values),
        }
    }
}

/// Labels, one per row.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Classes, numbered as in [`Table::classes`].
    Class(Vec<u8>),
    /// Real targets.
    Real(Vec<f32>),
}

impl Targets {
    const fn len(&self) -> usize {
        match self {
            Self::Class(labels) => labels.len(),
            Self::Real(labels) => labels.len(),
        }
    }
}

/// A class: its label in the file, and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// The label in the original file.
    pub label: i16,
    /// The name.
    pub name: String,
}

impl Class {
    /// A class.
    #[must_use]
    pub fn new(label: i16, name: &str) -> Self {
        Self { label, name: name.to_owned() }
    }
}

/// A set of samples.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::{Class, Table, Targets, Values};
/// let names = ["cat", "cow", "dog"];
/// let classes = (0_i16..).zip(names).map(|(label, name)| Class::new(label, name));
/// let pixels = Values::Bytes(vec![0, 0, 255, 51, 9, 9, 102, 0].into());
/// let table = Table::new(pixels, 2, Targets::Class(vec![1, 0, 2, 0]), classes.collect())?;
/// assert_eq!(table.counts(), [2, 1, 1]);
///
/// // Cats against dogs, in the order in which they are named.
/// let two = table.pick(&["dog", "cat"])?;
/// let samples = two.samples(LabelKind::Binary)?;
/// assert_eq!((samples.len(), samples.label(0), samples.label(1)), (3, 1.0, -1.0));
/// assert_eq!(samples.row(0).dot(&[1.0, 0.0]), 1.0); // 255 is read as 1
/// # Ok::<(), lopa_host::data::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    values: Values,
    width: usize,
    targets: Targets,
    classes: Arc<[Class]>,
    names: Arc<[String]>,
    layout: Option<Arc<Layout>>,
    owners: Option<Owners>,
    /// The samples before they were scaled, if they were.
    raw: Option<Arc<Raw>>,
    /// Where images are not black.
    marks: Marks,
}

/// Which node each sample belongs to, where a file says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owners {
    /// The names of the nodes.
    pub names: Arc<[String]>,
    /// The node of every sample: its place among the names.
    pub of: Vec<u32>,
}

impl Table {
    /// Combines rows and labels.
    ///
    /// # Errors
    /// Refuses empty sets, shapes that do not fit, floats that are not finite, and classes without a name.
    pub fn new(
        values: Values,
        width: usize,
        targets: Targets,
        classes: Arc<[Class]>,
    ) -> Result<Self, DataError> {
        let table = Self::unchecked(values, width, targets, classes);
        table.samples(match table.targets {
            Targets::Class(_) => LabelKind::Class,
            Targets::Real(_) => LabelKind::Real,
        })?;
        if let Some(labels) = table.labels()
            && let Some(row) = labels.iter().position(|&l| usize::from(l) >= table.classes.len())
        {
            return Err(SamplesError::Label { row }.into());
        }
        Ok(table)
    }

    /// A table that the caller has checked.
    pub(crate) fn trusted(
        values: Values,
        width: usize,
        targets: Targets,
        classes: Arc<[Class]>,
    ) -> Self {
        debug_assert_eq!(values.len(), width * targets.len());
        Self::unchecked(values, width, targets, classes)
    }

    fn unchecked(values: Values, width: usize, targets: Targets, classes: Arc<[Class]>) -> Self {
        let names = Arc::new([]);
        Self {
            values,
            width,
            targets,
            classes,
            names,
            layout: None,
            owners: None,
            raw: None,
            marks: Marks::default(),
        }
    }

    /// The same samples, with the names of their features.
    pub(crate) fn with_names(self, names: Arc<[String]>) -> Self {
        debug_assert!(names.is_empty() || names.len() == self.width);
        Self { names, ..self }
    }

    /// The same samples, with the layout of the file they are from.
    pub(crate) fn with_layout(self, layout: Layout) -> Self {
        Self { layout: Some(Arc::new(layout)), ..self }
    }

    /// The same samples, each with the node it belongs to.
    pub(crate) fn with_owners(self, owners: Owners) -> Self {
        debug_assert_eq!(owners.of.len(), self.len());
        Self { owners: Some(owners), ..self }
    }

    /// The number of samples.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.targets.len()
    }

    /// True if there are no samples; [`Table::new`] refuses such a table.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of features of a sample.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// The names of the features; none if the file does not say.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What the columns of the file are, if the samples are from a CSV file.
    #[must_use]
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// Which node each sample belongs to, if the file says so.
    #[must_use]
    pub const fn owners(&self) -> Option<&Owners> {
        self.owners.as_ref()
    }

    /// The features as they are stored.
    #[must_use]
    pub const fn values(&self) -> &Values {
        &self.values
    }

    pub(super) const fn values_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    /// One feature of all samples, as it is stored.
    ///
    /// # Panics
    /// If there is no such feature.
    #[must_use]
    pub fn column(&self, feature: usize) -> Box<dyn Iterator<Item = f32> + '_> {
        match &self.values {
            Values::Bytes(all) => {
                Box::new(all[feature..].iter().step_by(self.width).map(|&value| value.into()))
            }
            Values::Floats(all) => Box::new(all[feature..].iter().step_by(self.width).copied()),
        }
    }

    /// Brings the features and the numbers to predict to another scale, and keeps what they were for
    /// [`Table::raw_samples`]. Scales are one for each feature and one for numbers to predict.
    ///
    /// # Errors
    /// Refuses bytes, and names a value that is beyond all floats on its new scale.
    pub(super) fn scale(&mut self, scales: &[Scale]) -> Result<(), DataError> {
        let Values::Floats(values) = &mut self.values else { return Err(already_scaled()) };
        let targets = match &mut self.targets {
            Targets::Class(_) => &mut [][..],
            Targets::Real(targets) => targets,
        };
        let values = values.to_mut();
        let raw = Raw::scale(values, targets, scales).map_err(|Beyond { row, column, raw }| {
            let what = match self.names.get(column) {
                Some(name) => format!("\"{name}\""),
                None if column < self.width => format!("feature {}", column + 1),
                None => "the number to predict".into(),
            };
            DataError::Table(format!(
                "{what} of sample {} is {raw}, too far from the training samples to be standardised: remove it",
                row + 1
            ))
        })?;
        self.raw = Some(Arc::new(raw));
        Ok(())
    }

    /// The labels as they are stored.
    #[must_use]
    pub const fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The class of every sample, if labels are classes.
    #[must_use]
    pub fn labels(&self) -> Option<&[u8]> {
        match &self.targets {
            Targets::Class(labels) => Some(labels),
            Targets::Real(_) => None,
        }
    }

    /// The class of every sample, or an error if labels are real targets.
    pub(super) fn need_labels(&self) -> Result<&[u8], DataError> {
        let what = "labels are real targets, but classes are needed; only the partition `iid` works without classes";
        self.labels().ok_or_else(|| DataError::Table(what.into()))
    }

    /// The classes; none if labels are real targets.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// How many samples each class has; none if labels are real targets.
    #[must_use]
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &label in self.labels().unwrap_or_default() {
            counts[usize::from(label)] += 1;
        }
        counts
    }

    /// The samples as a problem reads them, where they lie. Bytes are scaled by 1/255.
    ///
    /// # Errors
    /// Refuses labels of another kind, and `Binary` with more than two classes.
    pub fn samples(&self, kind: LabelKind) -> Result<Samples<'_>, DataError> {
        let labels = self.labels_of(kind)?;
        Ok(match &self.values {
            Values::Bytes(values) => self.marks.add_to(
                Samples::new(Features::U8(values), self.width, labels)?.scaled(1.0 / 255.0, 0.0)?,
            )?,
            Values::Floats(values) => Samples::new(Features::F32(values), self.width, labels)?,
        })
    }

    /// The same samples with the same bits, as a chip reads them: if they were standardised, the numbers that were in the
    /// file, as bytes if all features are whole and small enough, with the scales to apply.
    ///
    /// # Errors
    /// As [`Table::samples`].
    pub fn raw_samples(&self, kind: LabelKind) -> Result<Samples<'_>, DataError> {
        let Some(raw) = &self.raw else { return self.samples(kind) };
        let labels = match self.labels_of(kind)? {
            Labels::Real(_) => Labels::Real(&raw.targets),
            classes => classes,
        };
        Ok(Samples::new(raw.features(), self.width, labels)?.standardised(&raw.scales)?)
    }

    fn labels_of(&self, kind: LabelKind) -> Result<Labels<'_>, DataError> {
        if kind == LabelKind::Binary && self.classes.len() > 2 {
            return Err(DataError::not_two(&self.classes));
        }
        Ok(match (kind, &self.targets) {
            (LabelKind::Real, Targets::Real(targets)) => Labels::Real(targets),
            (LabelKind::Real, Targets::Class(_)) => {
                let what = "labels are classes, but real targets are needed";
                return Err(DataError::Table(what.into()));
            }
            (LabelKind::Class, _) => Labels::Class(self.need_labels()?),
            (LabelKind::Binary, _) => Labels::Binary(self.need_labels()?),
        })
    }

    /// Only the samples of the named classes, which are numbered in the order of the names: of two, the first is the
    /// negative one (0) and the second the positive one (1).
    ///
    /// A class is named by its name in upper or lower case ("lodgepole pine"), a part of it that no other class has
    /// ("Lodgepole"), or its label in the original file ("2").
    ///
    /// # Errors
    /// Refuses names that fit no class or several, a class named twice, and a class without samples.
    pub fn pick(&self, names: &[&str]) -> Result<Self, DataError> {
        let labels = self.need_labels()?;
        let mut number = vec![None; self.classes.len()];
        let mut picked = Vec::with_capacity(names.len());
        for (new, name) in names.iter().enumerate() {
            let old = find(&self.classes, name)?;
            if number[old].replace(new as u8).is_some() {
                return Err(DataError::Table(format!("class \"{name}\" is named twice")));
            }
            let class = self.classes[old].clone();
            if !labels.iter().any(|&label| usize::from(label) == old) {
                let what = format!("class \"{}\" has no samples in this data", class.name);
                return Err(DataError::Table(what));
            }
            picked.push(class);
        }
        if picked.is_empty() {
            return Err(SamplesError::Empty.into());
        }
        let (mut rows, mut renumbered) = (Vec::new(), Vec::new());
        for (row, &label) in (0..).zip(labels) {
            if let Some(new) = number[usize::from(label)] {
                rows.push(row);
                renumbered.push(new);
            }
        }
        let targets = Targets::Class(renumbered);
        Ok(Self { targets, classes: picked.into(), ..self.gather(&rows) })
    }

    /// A table of some of the rows, in the given order.
    ///
    /// # Panics
    /// If a row is beyond the end.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        let width = self.width;
        let values = match &self.values {
            Values::Bytes(values) => Values::Bytes(copy_rows(values, rows, width).into()),
            Values::Floats(values) => Values::Floats(copy_rows(values, rows, width).into()),
        };
        let targets = match &self.targets {
            Targets::Class(labels) => Targets::Class(copy_rows(labels, rows, 1)),
            Targets::Real(labels) => Targets::Real(copy_rows(labels, rows, 1)),
        };
        let owners = self.owners.as_ref().map(|owners| Owners {
            names: Arc::clone(&owners.names),
            of: copy_rows(&owners.of, rows, 1),
        });
        let (classes, names) = (Arc::clone(&self.classes), Arc::clone(&self.names));
        let raw = self.raw.as_ref().map(|raw| Arc::new(raw.gather(rows, width)));
        let layout = self.layout.clone();
        let marks = Marks::default();
        Self { values, width, targets, classes, names, layout, owners, raw, marks }
    }

    /// The samples of several tables, one after the other. They have the same features and classes.
    ///
    /// # Errors
    /// Refuses no tables, and tables of different kinds.
    pub(crate) fn joined(tables: &[&Self]) -> Result<Self, DataError> {
        let (first, others) = tables.split_first().ok_or(SamplesError::Empty)?;
        let mut all = Self { owners: None, raw: None, ..Self::clone(first) };
        for other in others {
            same_width(all.width, other.width)?;
            match (&mut all.values, &other.values) {
                (Values::Bytes(all), Values::Bytes(own)) => all.to_mut().extend_from_slice(own),
                (Values::Floats(all), Values::Floats(own)) => all.to_mut().extend_from_slice(own),
                _ => return Err(DataError::Table("bytes and floats cannot be mixed".into())),
            }
            match (&mut all.targets, &other.targets) {
                (Targets::Class(all), Targets::Class(own)) => all.extend_from_slice(own),
                (Targets::Real(all), Targets::Real(own)) => all.extend_from_slice(own),
                _ => return Err(DataError::Table("classes and numbers cannot be mixed".into())),
            }
        }
        Ok(all)
    }

    /// Adds all samples to a checksum.
    pub(crate) fn digest(&self, digest: &mut crc32fast::Hasher) {
        digest.update(&(self.len() as u64).to_le_bytes());
        match &self.values {
            Values::Bytes(bytes) => digest.update(bytes),
            Values::Floats(floats) => digest_floats(digest, floats),
        }
        match &self.targets {
            Targets::Class(labels) => digest.update(labels),
            Targets::Real(labels) => digest_floats(digest, labels),
        }
    }

    /// Gives all samples one more feature, which is 1: what a linear model predicts when all others are zero.
    pub(crate) fn add_intercept(&mut self) {
        match &mut self.values {
            Values::Bytes(values) => *values = widen(values, self.width, u8::MAX).into(),
            Values::Floats(values) => *values = widen(values, self.width, 1.0).into(),
        }
        self.raw = self.raw.as_ref().map(|raw| Arc::new(raw.with_intercept(self.width)));
        let own = (!self.names.is_empty()).then(|| "intercept".to_owned());
        self.names = self.names.iter().cloned().chain(own).collect();
        self.width += 1;
        self.marks = Marks::default();
    }

    /// Gives tables that belong together the classes of all of them, found by name.
    ///
    /// # Errors
    /// Refuses more classes than a label can name.
    pub(crate) fn unite<'a>(
        tables: impl IntoIterator<Item = &'a mut Self>,
    ) -> Result<(), DataError> {
        let mut tables: Vec<&mut Self> = tables.into_iter().collect();
        let Some(first) = tables.first().map(|table| Arc::clone(&table.classes)) else {
            return Ok(());
        };
        if tables.iter().all(|table| table.classes == first) {
            return Ok(());
        }
        let names =
            tables.iter().flat_map(|table| table.classes.iter().map(|class| class.name.clone()));
        let names: BTreeSet<String> = names.collect();
        let names = sorted(names.into_iter().collect());
        if names.len() > 1 + usize::from(u8::MAX) {
            let what = format!("the files name {} classes together: 256 is the limit", names.len());
            return Err(DataError::Table(what));
        }
        let all = classes(&names);
        for table in &mut tables {
            let place =
                |class: &Class| names.iter().position(|name| *name == class.name).unwrap_or(0);
            let places: Vec<u8> = table.classes.iter().map(|class| place(class) as u8).collect();
            if let Targets::Class(labels) = &mut table.targets {
                labels.iter_mut().for_each(|label| *label = places[usize::from(*label)]);
            }
            table.classes = Arc::clone(&all);
        }
        Ok(())
    }
}

pub(super) fn already_scaled() -> DataError {
    DataError::Table("images are scaled by 1/255: there is nothing to standardise".into())
}

/// Adds floats to a checksum, many at a time: a checksum of four bytes alone takes about as long as one of a hundred.
fn digest_floats(digest: &mut crc32fast::Hasher, floats: &[f32]) {
    let mut bytes = [0; 1024];
    for floats in floats.chunks(bytes.len() / size_of::<f32>()) {
        let (chunks, _) = bytes.as_chunks_mut();
        chunks.iter_mut().zip(floats).for_each(|(bytes, float)| *bytes = float.to_le_bytes());
        digest.update(&bytes[..size_of_val(floats)]);
    }
}

/// Some rows of a matrix, in the given order.
pub(super) fn copy_rows<T: Copy>(from: &[T], rows: &[u32], width: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.len() * width);
    for &row in rows {
        let at = row as usize * width;
        out.extend_from_slice(&from[at..at + width]);
    }
    out
}

/// A matrix with another column at its end.
pub(super) fn widen<T: Copy>(values: &[T], width: usize, last: T) -> Vec<T> {
    values.chunks_exact(width).flat_map(|row| row.iter().copied().chain([last])).collect()
}

/// The class that a name means.
fn find(classes: &[Class], name: &str) -> Result<usize, DataError> {
    let wanted = name.trim().to_lowercase();
    let exact = |class: &Class| class.name.to_lowercase() == wanted;
    let label = |class: &Class| class.label.to_string() == wanted;
    let part = |class: &Class| !wanted.is_empty() && class.name.to_lowercase().contains(&wanted);
    let tests: [&dyn Fn(&Class) -> bool; 3] = [&exact, &label, &part];
    for test in tests {
        let mut fitting = classes.iter().enumerate().filter(|(_, class)| test(class));
        if let (Some((at, _)), None) = (fitting.next(), fitting.next()) {
            return Ok(at);
        }
    }
    let known: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    let what = format!("\"{name}\" is not one of the classes: {}", known.join(", "));
    Err(DataError::Table(what))
}

/// Refuses tables of different widths.
pub(super) fn same_width(expected: usize, found: usize) -> Result<(), DataError> {
    if expected == found {
        return Ok(());
    }
    Err(DataError::Table(format!(
        "samples have {found} features where others have {expected}: all parts need the same number"
    )))
}
