//! CSV files: every table we write is made of these lines and cells.

use std::fmt::Display;

/// A line: cells with commas between them.
///
/// ```
/// use lopa_host::csv::{line, maybe, quoted};
/// let cells = [quoted("a \"b\", c"), maybe(Some(0.5)), maybe(None::<f64>)];
/// assert_eq!(line(cells), "\"a \"\"b\"\", c\",0.5,\n");
/// ```
pub fn line(cells: impl IntoIterator<Item = impl Display>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
    cells.join(",") + "\n"
}

/// A cell with a text that may hold anything, such as the name of a file.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A cell with a value that may be missing: then it is empty.
#[must_use]
pub fn maybe(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
