//! Lines of numbers, and the labels among them.

use std::path::Path;
use std::sync::Arc;

use lopa_core::samples::LabelKind;

use super::error::{FileError, Place, not_a_label, too_large};
use super::reader::Reader;
use super::table::{Class, Targets};

/// The longest line: a million features of sixteen characters.
const LONGEST_LINE: usize = 1 << 24;

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

    pub(crate) fn file(&self, what: impl Into<String>) -> FileError {
        self.reader.error(Place::File, what)
    }

    pub(crate) fn line(&self, what: impl Into<String>) -> FileError {
        self.reader.error(Place::Line(self.number), what)
    }

    /// An error in a column, counted from 0 here and from 1 in the error.
    pub(crate) fn cell(&self, column: usize, what: impl Into<String>) -> FileError {
        self.reader.error(Place::Cell(self.number, column + 1), what)
    }
}

/// A cell without the white space and the quotes around it.
pub(crate) fn bare(cell: &str) -> &str {
    let cell = cell.trim_ascii();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim_ascii)
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

/// Labels as they are read, checked against their kind.
pub(crate) struct Column {
    kind: LabelKind,
    values: Vec<f32>,
    /// How the negative one of two classes is written: 0 or -1.
    negative: Option<f32>,
}

impl Column {
    pub(crate) const fn new(kind: LabelKind) -> Self {
        Self { kind, values: Vec::new(), negative: None }
    }

    pub(crate) const fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn push(&mut self, cell: &str) -> Result<(), String> {
        let value = number(cell)?;
        let refuse = |allowed| Err(not_a_label(excerpt(cell), allowed));
        match self.kind {
            LabelKind::Binary if ![-1.0, 0.0, 1.0].contains(&value) => {
                return refuse("0 and 1, or -1 and +1, for two classes");
            }
            LabelKind::Class if f32::from(value as u8) != value => {
                return refuse("a class, a whole number from 0 to 255");
            }
            _ => self.values.push(value),
        }
        let negative = self.kind == LabelKind::Binary && value != 1.0;
        if negative && *self.negative.get_or_insert(value) != value {
            let how = "two classes are written either 0 and 1, or -1 and +1";
            return Err(format!("labels 0 and -1 both occur: {how}"));
        }
        Ok(())
    }

    /// The labels, and the classes they name.
    pub(crate) fn finish(self) -> (Targets, Arc<[Class]>) {
        let as_classes = |class: fn(f32) -> u8| self.values.iter().copied().map(class).collect();
        match self.kind {
            LabelKind::Binary => {
                let classes = [Class::new(-1, "-1"), Class::new(1, "+1")];
                (Targets::Class(as_classes(|value| u8::from(value > 0.0))), Arc::new(classes))
            }
            LabelKind::Class => {
                let classes: Vec<u8> = as_classes(|value| value as u8);
                let last = classes.iter().copied().max().unwrap_or(0);
                (Targets::Class(classes), numbered(last))
            }
            LabelKind::Real => (Targets::Real(self.values), Arc::new([])),
        }
    }
}

/// Classes without a name of their own, from 0 to `last`.
pub(crate) fn numbered(last: u8) -> Arc<[Class]> {
    (0..=last).map(|label| Class::new(i16::from(label), &label.to_string())).collect()
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
