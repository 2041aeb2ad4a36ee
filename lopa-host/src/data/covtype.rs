//! Covertype of the UCI repository: 54 features of a piece of forest, and which of 7 kinds grows there.

use std::path::Path;

use super::csv;
use super::error::{FileError, not_a_label};
use super::reader::need;
use super::table::{Class, Table, Targets, Values};
use super::text::excerpt;

/// The features of a sample: ten measured ones, then 4 + 40 that are 0 or 1.
pub const WIDTH: usize = 54;

/// The classes, in the order of their labels from 1 on.
pub const CLASSES: [&str; 7] = [
    "Spruce/Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
];

/// `covtype.data`, plain or with `.gz`: 581,012 samples. It has no test part: hold one out with
/// [`super::Dataset::hold_out`].
///
/// A shorter file is read too: people cut it for a quick try, and damage that ends at a line looks the same.
/// [`super::fetch::check`] and the command `lopa data check covtype` tell whether it is complete.
///
/// # Errors
/// Names the file, line and column of what is wrong.
pub fn load(folder: impl AsRef<Path>) -> Result<Table, FileError> {
    read(need(folder.as_ref(), &["covtype.data"])?)
}

/// A file of that form, of any length: 54 numbers and a label from 1 to 7 per line, separated by commas. Classes are
/// numbered from 0; names and original labels are kept.
///
/// # Errors
/// Names the file, line and column of what is wrong.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("covtype.data");
/// let row = |label| format!("{}{label}\n", "0.5,".repeat(54));
/// std::fs::write(&file, row(2) + &row(5) + &row(3))?;
/// let forest = lopa_host::data::covtype::read(&file)?.pick(&["Lodgepole", "Ponderosa"])?;
/// assert_eq!(forest.labels(), Some(&[0, 1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(file: impl AsRef<Path>) -> Result<Table, FileError> {
    let mut labels = Vec::new();
    let label = |cell: &str| {
        let label = cell.parse::<u8>().ok().filter(|label| (1..=7).contains(label));
        labels.push(label.ok_or_else(|| not_a_label(excerpt(cell), "1 to 7"))? - 1);
        Ok(())
    };
    let values = csv::numbers(file.as_ref(), WIDTH + 1, WIDTH, label)?;
    let classes = (1_i16..).zip(CLASSES).map(|(label, name)| Class::new(label, name)).collect();
    Ok(Table::trusted(Values::Floats(values.into()), WIDTH, Targets::Class(labels), classes))
}
