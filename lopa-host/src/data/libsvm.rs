//! The sparse text form of LIBSVM: a label, then `index:value` for the features that are not zero.
//!
//! Indices count from 1 and ascend. Text after a `#` is a comment.

use std::path::Path;

use lopa_core::samples::LabelKind;

use super::error::{EMPTY, FileError, NO_FEATURES, Place, other_width, too_large};
use super::labels::Labels;
use super::reader::MOST_VALUES;
use super::table::{Table, Values};
use super::text::{Lines, excerpt, number};

/// Zeros that a file may always imply: a table of this size costs nothing.
const FREE_VALUES: usize = 1 << 20;
/// The most table values per pair in the file. Sparse sets that fit in memory have a tenth of that.
const MOST_VALUES_A_PAIR: usize = 1 << 10;

/// Reads a file. `labels` says what the labels are, as in [`super::csv::read`]; `width` how many
/// features a sample has, if the file does not show it (the last ones may be zero in every sample of a test file).
///
/// Tables are dense. One stray index must not fill the memory with zeros: without a `width`, a table of more than a million
/// values may have at most a thousand values per pair in the file.
///
/// # Errors
/// Names the file, line and column of what is wrong.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::{Values, libsvm};
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("train.svm");
/// std::fs::write(&file, "+1 1:0.5 3:2\n-1 2:7  # a comment\n")?;
/// let table = libsvm::read(&file, LabelKind::Binary, None)?;
/// assert_eq!(table.values(), &Values::Floats(vec![0.5, 0.0, 2.0, 0.0, 7.0, 0.0].into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    file: impl AsRef<Path>,
    labels: LabelKind,
    width: Option<usize>,
) -> Result<Table, FileError> {
    let mut lines = Lines::open(file.as_ref())?;
    let table = table(&mut lines, Labels::new(labels), width);
    table.map_err(|error| lines.blame(error))
}

fn table(lines: &mut Lines, mut labels: Labels, width: Option<usize>) -> Result<Table, FileError> {
    // (row, index, value): dense only once the width is known.
    let mut entries: Vec<(u32, u32, f32)> = Vec::new();
    // The widest sample, and its line.
    let (mut seen, mut widest) = (0, 0);
    while lines.advance()? {
        let text = lines.text()?;
        let text = text.split('#').next().unwrap_or_default();
        let mut cells = text.split_ascii_whitespace().enumerate();
        let Some((_, label)) = cells.next() else { continue };
        labels.push(label).map_err(|fault| lines.cell(0, fault))?;
        let (row, mut before) = (labels.len() - 1, 0);
        if row >= MOST_VALUES {
            return Err(lines.line(too_large("the number of samples", MOST_VALUES)));
        }
        for (column, cell) in cells {
            let refuse = |what| lines.cell(column, what);
            let (index, value) = pair(cell).map_err(refuse)?;
            if index <= before {
                return Err(refuse(format!(
                    "index {index} comes after {before}: indices must ascend in a line"
                )));
            }
            let found = index as usize;
            if let Some(width) = width.filter(|&width| found > width) {
                return Err(refuse(other_width(found, "the training file", width)));
            }
            entries.push((row as u32, index - 1, value));
            before = index;
        }
        if before > seen {
            (seen, widest) = (before, lines.number());
        }
        if entries.len() > MOST_VALUES {
            return Err(lines.line(too_large("the number of values", MOST_VALUES)));
        }
    }
    if labels.len() == 0 {
        return Err(lines.file(EMPTY));
    }
    let limit = match width {
        Some(_) => MOST_VALUES,
        None => entries.len().saturating_mul(MOST_VALUES_A_PAIR).max(FREE_VALUES),
    };
    let width = width.unwrap_or(seen as usize);
    if width == 0 {
        return Err(lines.file(NO_FEATURES));
    }
    let size = labels.len().checked_mul(width).filter(|&size| size <= MOST_VALUES);
    let size = size.ok_or_else(|| lines.file(too_large("samples times features", MOST_VALUES)))?;
    if size > limit {
        let what = too_large("the number of zeros that this index implies", limit);
        return Err(lines.at(Place::Line(widest), what));
    }
    let mut values = vec![0.0; size];
    for (row, index, value) in entries {
        values[row as usize * width + index as usize] = value;
    }
    let (targets, classes) = labels.finish();
    Ok(Table::trusted(Values::Floats(values.into()), width, targets, classes))
}

/// An index from 1 on, and its value.
fn pair(cell: &str) -> Result<(u32, f32), String> {
    let (index, value) = cell
        .split_once(':')
        .ok_or_else(|| format!("\"{}\" is not index:value, such as 3:0.5", excerpt(cell)))?;
    match index.parse::<u32>() {
        Ok(index) if index > 0 => Ok((index, number(value)?)),
        _ => Err(format!(
            "\"{}\" is not a feature index: indices are whole numbers, counted from 1",
            excerpt(index)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, width: Option<usize>) -> Result<Table, FileError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.svm");
        std::fs::write(&file, text).unwrap();
        read(file, LabelKind::Binary, width)
    }

    #[test]
    fn a_stray_index_does_not_fill_the_memory() {
        let stray = |index| read_text(&format!("1 1:1\n0 2:1 {index}:1\n1 3:1\n"), None);
        let error = stray(2_000_000).unwrap_err();
        assert_eq!(error.place, Place::Line(2));
        assert!(error.what.contains("zeros that this index implies is larger than 1048576"));
        let error = stray((1 << 28) - 1).unwrap_err();
        assert!(error.what.contains("is larger than"), "{error}");
        let error = read_text(&format!("1 {}:1", 1 << 28), None).unwrap_err();
        assert!(matches!(error.place, Place::Line(1)), "{error}");
    }

    #[test]
    fn sparse_files_are_read_and_a_given_width_is_not_limited() {
        // A wide sample of few pairs, as texts have, costs a few megabytes.
        let table = read_text("1 5:1 999999:1\n", None).unwrap();
        assert_eq!((table.len(), table.width()), (1, 999_999));
        let table = read_text("1 5:1\n", Some(3_000_000)).unwrap();
        assert_eq!(table.width(), 3_000_000);
        // A density of one in 500 is a sparse set, not a mistake.
        let row = (1..=3_000).map(|i| format!(" {}:1", 500 * i)).collect::<String>();
        assert_eq!(read_text(&format!("1{row}\n"), None).unwrap().width(), 1_500_000);
    }
}
