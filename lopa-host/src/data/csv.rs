//! Numbers separated by commas: one sample per row, the label first.
//!
//! If no cell of the first row is a number, it is a header and skipped. So are blank lines; white space and quotes around
//! a number are allowed.

use std::path::Path;

use lopa_core::samples::LabelKind;

use super::error::{EMPTY, FileError, NO_FEATURES, too_large};
use super::reader::MOST_VALUES;
use super::table::{Table, Values};
use super::text::{Column, Lines, bare, number};

/// Reads a file. `labels` says what the first column is: two classes (0 and 1, or -1 and +1), classes (0 to
/// 255), or real targets.
///
/// # Errors
/// Names the file, line and column of what is wrong.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("train.csv");
/// std::fs::write(&file, "label,height,width\n-1,0.5,2\n+1,0.25,1e3\n")?;
/// let table = lopa_host::data::csv::read(&file, LabelKind::Binary)?;
/// assert_eq!((table.len(), table.width()), (2, 2));
/// assert_eq!(table.samples(LabelKind::Binary)?.label(0), -1.0);
///
/// std::fs::write(&file, "1,0.5\n0,nan\n")?;
/// let error = lopa_host::data::csv::read(&file, LabelKind::Binary).unwrap_err();
/// assert!(error.to_string().contains("line 2, column 2: nan is not finite"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(file: impl AsRef<Path>, labels: LabelKind) -> Result<Table, FileError> {
    let mut labels = Column::new(labels);
    let values = numbers(file.as_ref(), None, 0, |cell| labels.push(cell))?;
    let width = values.len() / labels.len();
    let (targets, classes) = labels.finish();
    Ok(Table::trusted(Values::Floats(values), width, targets, classes))
}

/// The features of a file, row after row; `label` gets the cells of the column `at`. With a number of `columns` the file
/// has no header.
pub(super) fn numbers(
    file: &Path,
    mut columns: Option<usize>,
    at: usize,
    mut label: impl FnMut(&str) -> Result<(), String>,
) -> Result<Vec<f32>, FileError> {
    let mut lines = Lines::open(file)?;
    let (mut values, mut maybe_header) = (Vec::new(), columns.is_none());
    while lines.advance()? {
        let text = lines.text()?;
        let found = text.split(',').count();
        let expected = *columns.get_or_insert(found);
        if found != expected {
            let row = format!("{found} cells where the first row has {expected}");
            return Err(lines.line(row + ": every row needs the same number"));
        }
        if expected < 2 {
            return Err(lines.line(NO_FEATURES));
        }
        if std::mem::take(&mut maybe_header) && is_header(text) {
            continue;
        }
        if values.len() > MOST_VALUES.saturating_sub(expected) {
            return Err(lines.line(too_large("the number of values", MOST_VALUES)));
        }
        for (column, cell) in text.split(',').map(bare).enumerate() {
            let read = match column == at {
                true => label(cell),
                false => number(cell).map(|value| values.push(value)),
            };
            read.map_err(|what| lines.cell(column, what))?;
        }
    }
    if values.is_empty() { Err(lines.file(EMPTY)) } else { Ok(values) }
}

/// No cell is a number, and at least one is not blank.
fn is_header(text: &str) -> bool {
    text.split(',').map(bare).all(|cell| cell.parse::<f32>().is_err())
        && text.split(',').any(|cell| !bare(cell).is_empty())
}
