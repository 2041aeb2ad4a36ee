//! The sparse text form of LIBSVM: a label, then `index:value` for the features that are not zero.
//!
//! Indices count from 1 and ascend. What follows a `#` is a remark.

use std::path::Path;

use lopa_core::samples::LabelKind;

use super::error::{Fault, FileError, Place};
use super::source::MOST_VALUES;
use super::table::{Table, Values};
use super::text::{Column, Lines, excerpt, number};

/// Reads a file. `labels` says what the labels are, as in [`super::csv::read`]; `width` how many features a
/// sample has, where the file does not show it (the last ones may be zero in every sample of a test file).
///
/// # Errors
/// Names the file, line and column of what is wrong.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::{Values, libsvm};
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("train.svm");
/// std::fs::write(&file, "+1 1:0.5 3:2\n-1 2:7  # a remark\n")?;
/// let table = libsvm::read(&file, LabelKind::Binary, None)?;
/// assert_eq!(table.values(), &Values::Floats(vec![0.5, 0.0, 2.0, 0.0, 7.0, 0.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(
    file: impl AsRef<Path>,
    labels: LabelKind,
    width: Option<usize>,
) -> Result<Table, FileError> {
    let mut lines = Lines::open(file.as_ref())?;
    let mut labels = Column::new(labels);
    // (row, index, value): dense only once the width is known.
    let mut entries: Vec<(u32, u32, f32)> = Vec::new();
    let mut seen = 0;
    while lines.advance()? {
        let text = lines.text()?;
        let text = text.split('#').next().unwrap_or_default();
        let mut cells = text.split_ascii_whitespace().enumerate();
        let Some((_, label)) = cells.next() else { continue };
        labels.push(label).map_err(|fault| lines.cell(0, fault))?;
        let (row, mut before) = (labels.len() - 1, 0);
        if row >= MOST_VALUES {
            let what = "the number of samples";
            return Err(lines.line(Fault::TooLarge { what, limit: MOST_VALUES }));
        }
        for (column, cell) in cells {
            let entry = pair(cell).and_then(|(index, value)| match index {
                _ if index <= before => Err(Fault::Order { index, before }),
                _ if width.is_some_and(|width| index as usize > width) => Err(Fault::Width {
                    expected: width.unwrap_or(0),
                    found: index as usize,
                    of: "the width asked for".into(),
                }),
                _ => Ok((index, value)),
            });
            let (index, value) = entry.map_err(|fault| lines.cell(column, fault))?;
            entries.push((row as u32, index - 1, value));
            before = index;
        }
        seen = seen.max(before);
        if entries.len() > MOST_VALUES {
            let what = "the number of values";
            return Err(lines.line(Fault::TooLarge { what, limit: MOST_VALUES }));
        }
    }
    if labels.len() == 0 {
        return Err(lines.file(Fault::Empty));
    }
    let width = width.unwrap_or(seen as usize);
    if width == 0 {
        return Err(lines.file(Fault::NoFeatures));
    }
    let size = labels.len().checked_mul(width).filter(|&size| size <= MOST_VALUES);
    let Some(size) = size else {
        let fault = Fault::TooLarge { what: "samples times features", limit: MOST_VALUES };
        return Err(FileError::new(file.as_ref(), Place::File, fault));
    };
    let mut values = vec![0.0; size];
    for (row, index, value) in entries {
        values[row as usize * width + index as usize] = value;
    }
    let (targets, classes) = labels.finish();
    Ok(Table::trusted(Values::Floats(values), width, targets, classes))
}

/// An index from 1 on, and its value.
fn pair(cell: &str) -> Result<(u32, f32), Fault> {
    let (index, value) = cell.split_once(':').ok_or_else(|| Fault::Pair(excerpt(cell)))?;
    match index.parse::<u32>() {
        Ok(index) if index > 0 => Ok((index, number(value)?)),
        _ => Err(Fault::Index(excerpt(index))),
    }
}
