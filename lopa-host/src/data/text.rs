//! Lines of numbers, and the labels among them.

use std::path::Path;
use std::sync::Arc;

use lopa_core::samples::LabelKind;

use super::error::{Fault, FileError, Place};
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
            let read = self.reader.read_line(&mut self.buffer, LONGEST_LINE as u64 + 1)?;
            if read == 0 {
                return Ok(false);
            }
            if read > LONGEST_LINE {
                return Err(self.line(Fault::TooLarge { what: "a line", limit: LONGEST_LINE }));
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
        str::from_utf8(self.buffer.trim_ascii()).map_err(|_| self.line(Fault::Text))
    }

    pub(crate) fn file(&self, fault: Fault) -> FileError {
        self.reader.error(Place::File, fault)
    }

    pub(crate) fn line(&self, fault: Fault) -> FileError {
        self.reader.error(Place::Line(self.number), fault)
    }

    /// An error in a column, counted from 0 here and from 1 in the error.
    pub(crate) fn cell(&self, column: usize, fault: Fault) -> FileError {
        self.reader.error(Place::Cell { line: self.number, column: column + 1 }, fault)
    }
}

/// A cell without the white space and the quotes around it.
pub(crate) fn bare(cell: &str) -> &str {
    let cell = cell.trim_ascii();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim_ascii)
}

/// A finite number.
pub(crate) fn number(cell: &str) -> Result<f32, Fault> {
    // Most numbers in most files are short and whole, and exact as floats.
    if (1..=7).contains(&cell.len()) && cell.bytes().all(|byte| byte.is_ascii_digit()) {
        let digit = |whole: u32, byte: u8| 10 * whole + u32::from(byte - b'0');
        return Ok(cell.bytes().fold(0, digit) as f32);
    }
    match cell.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(Fault::NotFinite(excerpt(cell))),
        Err(_) => Err(Fault::Number(excerpt(cell))),
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
    classes: Vec<u8>,
    targets: Vec<f32>,
    zero: bool,
    minus: bool,
}

impl Column {
    pub(crate) const fn new(kind: LabelKind) -> Self {
        Self { kind, classes: Vec::new(), targets: Vec::new(), zero: false, minus: false }
    }

    pub(crate) const fn len(&self) -> usize {
        match self.kind {
            LabelKind::Binary | LabelKind::Class => self.classes.len(),
            LabelKind::Real => self.targets.len(),
        }
    }

    pub(crate) fn push(&mut self, cell: &str) -> Result<(), Fault> {
        let value = number(cell)?;
        let refuse = |allowed| Err(Fault::Label { found: excerpt(cell), allowed });
        match self.kind {
            LabelKind::Real => self.targets.push(value),
            LabelKind::Binary if value == 0.0 => {
                self.zero = true;
                self.classes.push(0);
            }
            LabelKind::Binary if value == -1.0 => {
                self.minus = true;
                self.classes.push(0);
            }
            LabelKind::Binary if value == 1.0 => self.classes.push(1),
            LabelKind::Binary => return refuse("0 and 1, or -1 and +1, for two classes"),
            LabelKind::Class => match whole(value) {
                Some(class) => self.classes.push(class),
                None => return refuse("a class, a whole number from 0 to 255"),
            },
        }
        if self.zero && self.minus { Err(Fault::ThreeClasses) } else { Ok(()) }
    }

    /// The labels, and the classes they name.
    pub(crate) fn finish(self) -> (Targets, Arc<[Class]>) {
        match self.kind {
            LabelKind::Real => (Targets::Real(self.targets), Arc::new([])),
            LabelKind::Binary => {
                let classes = [Class::new(-1, "-1"), Class::new(1, "+1")];
                (Targets::Class(self.classes), Arc::new(classes))
            }
            LabelKind::Class => {
                let last = self.classes.iter().copied().max().unwrap_or(0);
                (Targets::Class(self.classes), numbered(last))
            }
        }
    }
}

/// Classes without a name of their own, from 0 to `last`.
pub(crate) fn numbered(last: u8) -> Arc<[Class]> {
    (0..=last).map(|label| Class::new(i16::from(label), &label.to_string())).collect()
}

/// The whole number from 0 to 255 that a float is.
fn whole(value: f32) -> Option<u8> {
    let class = value as u8;
    (f32::from(class) == value).then_some(class)
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
            assert_eq!(number(text), Err(Fault::Number(text.to_owned())));
        }
    }

    #[test]
    fn an_excerpt_is_short_and_whole_characters() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt(&"ä".repeat(30)), "ä".repeat(24) + "…");
    }
}
