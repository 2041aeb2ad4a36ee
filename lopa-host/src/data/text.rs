//! Lines of text, and the numbers in them.

use std::path::Path;

use super::error::{FileError, Place, too_large};
use super::reader::{LONGEST_LINE, Reader};

/// The lines of a text file that are not blank, one at a time.
pub(crate) struct Lines {
    reader: Reader,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        Ok(Self { reader: Reader::open(path)?, buffer: Vec::new(), number: 0 })
    }

    /// The number of the line that [`Lines::advance`] went to, counted from 1.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Goes to the next line that is not blank; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, FileError> {
        loop {
            self.buffer.clear();
            self.number += 1;
            let read = self.reader.read_line(&mut self.buffer, LONGEST_LINE + 1)?;
            if read == 0 {
                return Ok(false);
            }
            if read > LONGEST_LINE {
                return Err(self.line(too_large("a line", LONGEST_LINE)));
            }
            if self.number == 1 && self.buffer.starts_with("\u{feff}".as_bytes()) {
                self.buffer.drain(..3);
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The line, without white space at its ends.
    pub(crate) fn text(&self) -> Result<&str, FileError> {
        let text = str::from_utf8(self.buffer.trim_ascii());
        text.map_err(|_| self.line("is not text: expected lines of numbers"))
    }

    /// As [`Reader::blame`].
    pub(crate) fn blame(&mut self, found: FileError) -> FileError {
        self.reader.blame(found)
    }

    pub(crate) fn at(&self, place: Place, what: impl Into<String>) -> FileError {
        self.reader.error(place, what)
    }

    pub(crate) fn file(&self, what: impl Into<String>) -> FileError {
        self.at(Place::File, what)
    }

    pub(crate) fn line(&self, what: impl Into<String>) -> FileError {
        self.at(Place::Line(self.number), what)
    }

    /// An error in a column, counted from 0 here and from 1 in the error.
    pub(crate) fn cell(&self, column: usize, what: impl Into<String>) -> FileError {
        self.at(Place::Cell(self.number, column + 1), what)
    }
}

/// A finite number.
pub(crate) fn number(cell: &str) -> Result<f32, String> {
    // Most numbers in most files are short and whole, and exact as floats.
    if (1..=7).contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_digit()) {
        let digit = |whole: u32, byte: u8| 10 * whole + u32::from(byte - b'0');
        return Ok(cell.bytes().fold(0, digit) as f32);
    }
    match cell.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!(
            "{} is not finite as a 32-bit float: leave the sample out or fill in a number",
            excerpt(cell)
        )),
        Err(_) => {
            Err(format!("\"{}\" is not a number: decimals are written with a point", excerpt(cell)))
        }
    }
}

/// As much of a cell as fits in an error message.
pub(crate) fn excerpt(cell: &str) -> String {
    let mut text: String = cell.chars().take(24).collect();
    if text.len() < cell.len() {
        text.push('…');
    }
    text
}

/// Whether a cell says that there is no value, as people and programs write it.
pub(crate) fn is_missing(cell: &str) -> bool {
    const MARKS: [&str; 9] = ["", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-"];
    MARKS.iter().any(|mark| cell.eq_ignore_ascii_case(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_read_as_all_others() {
        for text in ["0", "7", "007", "254", "9999999", "99999999", "16777217", "1e3", "-4", "+4"] {
            assert_eq!(number(text), Ok(text.parse().unwrap()));
        }
        for text in ["", "-", "1 2", "0x1", "\u{661}"] {
            assert!(number(text).unwrap_err().contains("is not a number"), "{text}");
        }
    }

    #[test]
    fn an_excerpt_is_short_and_whole_characters() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt(&"ä".repeat(30)), "ä".repeat(24) + "…");
    }
}
