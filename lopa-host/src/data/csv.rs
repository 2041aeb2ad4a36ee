//! CSV files, as spreadsheets and data frames write them: one sample per row.
//!
//! Cells are separated by commas, semicolons or tabs, whichever the first line has most of, and may be quoted. The
//! first row is a header if no cell of it is a number. [`Columns`] says which column is the label, which one names the
//! node, and which ones to ignore; all others are features.

use std::path::Path;
use std::sync::Arc;

use ::csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};
use lopa_core::samples::LabelKind;
use serde::{Deserialize, Serialize};

use super::error::{EMPTY, FileError, NO_FEATURES, Place, too_large};
use super::labels::{Labels, sorted};
use super::reader::{MOST_VALUES, Reader};
use super::table::{Owners, Table, Values};
use super::text::{excerpt, is_missing, number};
use crate::words;

/// What the columns of a file are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// Whether the first row names the columns; if not given, it does if no cell of it is a number.
    pub header: Option<bool>,
    /// The label; if not given, the last column of a file with a header, and the first of one without.
    pub label: Option<Column>,
    /// The column that tells which node a sample belongs to.
    pub node: Option<Column>,
    /// Columns to leave out.
    pub ignore: Vec<Column>,
}

/// A column, by its name or its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a column must be a name, or a number counted from 1")]
pub enum Column {
    /// Counted from 1.
    Number(usize),
    /// As in the header.
    Name(String),
}

/// Reads a file. `labels` says what the labels are: classes with any name, of which a two-class problem takes two, or
/// numbers.
///
/// # Errors
/// Names the file, line and column of what is wrong.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::csv::{Column, Columns, read};
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("patients.csv");
/// std::fs::write(&file, "age,pulse,clinic,state\n61,80,north,ill\n34,65,south,healthy\n")?;
/// let columns = Columns { node: Some(Column::Name("clinic".into())), ..Columns::default() };
/// let table = read(&file, &columns, LabelKind::Binary)?;
/// assert_eq!((table.len(), table.names().join(" ")), (2, "age pulse".into()));
/// assert_eq!(table.classes()[1].name, "ill");
/// assert_eq!(table.samples(LabelKind::Binary)?.label(0), 1.0);
///
/// std::fs::write(&file, "age,pulse,state\n61,high,ill\n")?;
/// let error = read(&file, &Columns::default(), LabelKind::Binary).unwrap_err();
/// assert!(error.to_string().contains("line 2, column 2: pulse = \"high\" is not a number"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    file: impl AsRef<Path>,
    columns: &Columns,
    labels: LabelKind,
) -> Result<Table, FileError> {
    let mut rows = Rows::open(file.as_ref())?;
    let table = table(&mut rows, columns, Labels::new(labels));
    table.map_err(|error| rows.blame(error))
}

/// The column of labels: by name, or by number if it has no name, or one that another column has too.
///
/// # Errors
/// As [`read`], as far as the first row tells.
pub fn label(file: impl AsRef<Path>, columns: &Columns) -> Result<Column, FileError> {
    let mut rows = Rows::open(file.as_ref())?;
    let layout = match rows.advance() {
        Ok(true) => Layout::new(&rows, columns),
        Ok(false) => Err(rows.file(EMPTY)),
        Err(error) => Err(error),
    };
    let layout = layout.map_err(|error| rows.blame(error))?;
    let name = layout.header.as_ref().map(|names| &names[layout.label]);
    let count = |name: &&String| layout.header.iter().flatten().filter(|own| own == name).count();
    Ok(match name.filter(|name| count(name) == 1) {
        Some(name) => Column::Name(name.clone()),
        None => Column::Number(layout.label + 1),
    })
}

fn table(rows: &mut Rows, columns: &Columns, mut labels: Labels) -> Result<Table, FileError> {
    if !rows.advance()? {
        return Err(rows.file(EMPTY));
    }
    let layout = Layout::new(rows, columns)?;
    let (mut values, mut owners) = (Vec::new(), Vec::new());
    let mut more = layout.header.is_none() || rows.advance()?;
    while more {
        rows.check(layout.columns, values.len())?;
        let missing = |column| {
            let what =
                format!("{}is missing: fill it in or leave the sample out", layout.named(column));
            rows.cell(column, what)
        };
        for &column in &layout.features {
            let cell = rows.text(column);
            if is_missing(cell) {
                return Err(missing(column));
            }
            values.push(number(cell).map_err(|what| layout.refuse(rows, column, &what))?);
        }
        let label = labels.push(rows.text(layout.label));
        label.map_err(|what| rows.cell(layout.label, what))?;
        if let Some(column) = layout.node {
            let owner = rows.text(column);
            if is_missing(owner) {
                return Err(missing(column));
            }
            owners.push(owner.to_owned());
        }
        more = rows.advance()?;
    }
    if labels.len() == 0 {
        return Err(rows.file(EMPTY));
    }
    let (targets, classes) = labels.finish();
    let (names, node) = (layout.names(), layout.node);
    let table =
        Table::trusted(Values::Floats(values.into()), layout.features.len(), targets, classes);
    let table = table.with_names(names).with_layout(layout);
    Ok(if node.is_some() { table.with_owners(Owners::new(&owners)) } else { table })
}

/// The numbers of a file without a header, row after row; `label` gets the cells of the column `at`.
pub(super) fn numbers(
    file: &Path,
    columns: usize,
    at: usize,
    label: impl FnMut(&str) -> Result<(), String>,
) -> Result<Vec<f32>, FileError> {
    let mut rows = Rows::open(file)?;
    let values = rows.numbers(columns, at, label);
    values.map_err(|error| rows.blame(error))
}

/// The rows of a file that are not blank, one at a time.
pub(super) struct Rows {
    reader: ::csv::Reader<Reader>,
    record: StringRecord,
}

impl Rows {
    /// All numbers; `label` gets the cells of the column `at`.
    fn numbers(
        &mut self,
        columns: usize,
        at: usize,
        mut label: impl FnMut(&str) -> Result<(), String>,
    ) -> Result<Vec<f32>, FileError> {
        let mut values = Vec::new();
        while self.advance()? {
            self.check(columns, values.len())?;
            for (column, cell) in self.record.iter().enumerate() {
                let read = match column == at {
                    true => label(cell),
                    false => number(cell).map(|value| values.push(value)),
                };
                read.map_err(|what| self.cell(column, what))?;
            }
        }
        if values.is_empty() { Err(self.file(EMPTY)) } else { Ok(values) }
    }

    pub(super) fn open(file: &Path) -> Result<Self, FileError> {
        let mut reader = Reader::open(file)?;
        let separator = separator(reader.first_line()?);
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).trim(Trim::All).delimiter(separator);
        Ok(Self { reader: builder.from_reader(reader), record: StringRecord::new() })
    }

    /// Goes to the next row that is not blank; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, FileError> {
        loop {
            self.reader.get_mut().allow_line();
            match self.reader.read_record(&mut self.record) {
                Ok(false) => return Ok(false),
                Ok(true) if self.record.iter().all(str::is_empty) => {}
                Ok(true) => return Ok(true),
                Err(error) => return Err(self.refused(&error)),
            }
        }
    }

    fn refused(&self, error: &::csv::Error) -> FileError {
        let reader = self.reader.get_ref();
        match error.kind() {
            ErrorKind::Io(error) => reader.io(error),
            ErrorKind::Utf8 { pos, .. } => {
                let line = pos.as_ref().map_or(0, ::csv::Position::line);
                reader.error(Place::Line(line), "is not text in UTF-8: expected lines of numbers")
            }
            _ => reader.error(Place::File, error.to_string()),
        }
    }

    pub(super) fn text(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    /// Refuses a row with another number of cells, and more values than there may be.
    pub(super) fn check(&self, columns: usize, values: usize) -> Result<(), FileError> {
        let found = self.record.len();
        if found != columns {
            let row = format!("{found} cells where the first row has {columns}");
            return Err(self.row(row + ": every row needs the same number"));
        }
        if values > MOST_VALUES.saturating_sub(columns) {
            return Err(self.row(too_large("the number of values", MOST_VALUES)));
        }
        Ok(())
    }

    pub(super) fn file(&self, what: impl Into<String>) -> FileError {
        self.reader.get_ref().error(Place::File, what)
    }

    /// As [`Reader::blame`].
    pub(super) fn blame(&mut self, found: FileError) -> FileError {
        self.reader.get_mut().blame(found)
    }

    /// The cells of the row.
    pub(super) fn cells(&self) -> Vec<String> {
        self.record.iter().map(str::to_owned).collect()
    }

    /// The line of the row: where the reader is, less the newline it went over. The row's own position is that of the
    /// blank lines in front of it.
    fn line(&self) -> u64 {
        self.reader.position().line() - 1
    }

    pub(super) fn row(&self, what: impl Into<String>) -> FileError {
        self.reader.get_ref().error(Place::Line(self.line()), what)
    }

    /// An error in a column, counted from 0 here and from 1 in the error.
    pub(super) fn cell(&self, column: usize, what: impl Into<String>) -> FileError {
        self.reader.get_ref().error(Place::Cell(self.line(), column + 1), what)
    }
}

/// What separates cells: whichever of the usual characters a line has most of, a comma if none.
fn separator(line: &[u8]) -> u8 {
    // Not those inside quotes: every other part between quotes is inside.
    let outside = || line.split(|&byte| byte == b'"').step_by(2).flatten();
    let count = |separator: &u8| outside().filter(|&byte| byte == separator).count();
    // Of equals, the last is the largest.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// What each column of a file is. Columns are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The names of all columns, if the file says them.
    pub header: Option<Vec<String>>,
    /// How many there are.
    pub columns: usize,
    /// The label.
    pub label: usize,
    /// The column that tells which node a sample belongs to.
    pub node: Option<usize>,
    /// The features, in order.
    pub features: Vec<usize>,
}

impl Layout {
    /// A file without a header: the label, then the features.
    #[must_use]
    pub fn label_first(features: usize) -> Self {
        let all = (1..=features).collect();
        Self { header: None, columns: features + 1, label: 0, node: None, features: all }
    }

    /// From the first row, which may be a header.
    fn new(rows: &Rows, wanted: &Columns) -> Result<Self, FileError> {
        let columns = rows.record.len();
        let header = match wanted.header {
            Some(header) => header,
            None => is_header(rows)?,
        };
        let names = rows.cells();
        let find = |column: &Column, key: &str| {
            match column {
            Column::Number(number) if (1..=columns).contains(number) => Ok(number - 1),
            Column::Number(number) => Err(rows.file(format!(
                "data.{key} = {number}, but the file has columns 1 to {columns}"
            ))),
            Column::Name(name) if !header => Err(rows.file(format!(
                "data.{key} = \"{name}\" needs a header, but the first row is a sample: give the column's number, \
                 counted from 1"
            ))),
            Column::Name(name) => by_name(&names, name).map_err(|what| rows.file(format!("data.{key}: {what}"))),
        }
        };
        let node = wanted.node.as_ref().map(|column| find(column, "node")).transpose()?;
        let ignored = wanted.ignore.iter().map(|column| find(column, "ignore"));
        let ignored: Vec<usize> = ignored.collect::<Result<_, _>>()?;
        let free = |column: &usize| Some(*column) != node && !ignored.contains(column);
        let label = match &wanted.label {
            Some(column) => find(column, "label")?,
            None if header => (0..columns).rfind(free).unwrap_or(0),
            None => (0..columns).find(free).unwrap_or(0),
        };
        if !free(&label) {
            let what =
                format!("column {} is the label, so it cannot be the node or ignored", label + 1);
            return Err(rows.file(what));
        }
        let features: Vec<usize> = (0..columns).filter(free).filter(|&c| c != label).collect();
        if features.is_empty() {
            return Err(rows.row(NO_FEATURES));
        }
        let unnamed = features.iter().find(|&&column| header && names[column].is_empty());
        if let Some(column) = unnamed {
            let number = column + 1;
            return Err(rows.cell(
                *column,
                format!(
                    "the column has no name: if it counts rows, as data frames do, leave it out with ignore = [{number}]"
                ),
            ));
        }
        Ok(Self { header: header.then_some(names), columns, label, node, features })
    }

    /// The names of the features; none without a header.
    fn names(&self) -> Arc<[String]> {
        let names = self.header.as_ref();
        names
            .map_or(Arc::new([]), |names| self.features.iter().map(|&c| names[c].clone()).collect())
    }

    /// A column's name and a blank, if it has one.
    fn named(&self, column: usize) -> String {
        self.header.as_ref().map_or_else(String::new, |names| format!("{} ", names[column]))
    }

    /// A cell that should be a number, and is not.
    fn refuse(&self, rows: &Rows, column: usize, what: &str) -> FileError {
        let cell = rows.text(column);
        let word = cell.chars().any(char::is_alphabetic) && cell.parse::<f32>().is_err();
        let Some(names) = self.header.as_ref().filter(|_| word) else {
            return rows.cell(column, what);
        };
        let (name, cell) = (&names[column], excerpt(cell));
        rows.cell(
            column,
            format!(
                "{name} = \"{cell}\" is not a number: put numbers in place of words, or leave the column out with \
                 ignore = [\"{name}\"]"
            ),
        )
    }
}

/// Whether the first row names columns: no cell of it is a number, or it would be a sample.
pub(super) fn is_header(rows: &Rows) -> Result<bool, FileError> {
    let value = |cell: &str| cell.parse::<f32>().ok();
    let numbers: Vec<(usize, f32)> =
        rows.record.iter().enumerate().filter_map(|(at, cell)| Some((at, value(cell)?))).collect();
    // Columns without names are counted by data frames, from 0 or after an index.
    let counted = |first: f32| numbers.iter().all(|&(at, number)| number == at as f32 + first);
    if numbers.len() > 2 && (counted(0.0) || counted(1.0) || counted(-1.0)) {
        let what = "could be a header or a sample: say which with header = true or header = false";
        return Err(rows.row(what));
    }
    Ok(numbers.is_empty())
}

/// The place of a name among columns.
pub(super) fn by_name(names: &[String], name: &str) -> Result<usize, String> {
    let mut found = names.iter().enumerate().filter(|(_, other)| *other == name);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some(_), Some(_)) => {
            Err(format!("two columns are called \"{name}\": give the number, counted from 1"))
        }
        (None, _) => {
            let near = words::nearest(name, names.iter().map(String::as_str));
            let hint = match near {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("the columns are {}", excerpt_list(names)),
            };
            Err(format!("no column is called \"{name}\": {hint}"))
        }
    }
}

/// The first of many names.
fn excerpt_list(names: &[String]) -> String {
    let some: Vec<String> =
        names.iter().take(12).map(|name| format!("\"{}\"", excerpt(name))).collect();
    let more = if names.len() > 12 { ", …" } else { "" };
    some.join(", ") + more
}

impl Owners {
    /// Nodes in the order of their names: by value if all are numbers, otherwise as text.
    fn new(rows: &[String]) -> Self {
        let mut names: Vec<String> = rows.to_vec();
        names.sort();
        names.dedup();
        let names = sorted(names);
        let place: std::collections::HashMap<&str, u32> =
            names.iter().map(String::as_str).zip(0..).collect();
        let of = rows.iter().map(|name| place[name.as_str()]).collect();
        Self { names: names.into(), of }
    }
}
