//! A network's key: made, kept in a file that only its owner can read, and never printed.
//!
//! A key file is text: lines that begin with `#` are comments, and one line has the key as 64 hexadecimal digits.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use lopa_core::wire::{KEY_BYTES, Seal};

use crate::files;

/// What a key file begins with.
const COMMENT: &str = "# The key of a LoPA network. Anyone who has it can read and forge its frames: keep it secret.\n";
/// No key file is longer.
const LONGEST: u64 = 4_096;

/// A network's key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Why there is no key, and what to do. No message has a part of a key in it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

impl Key {
    /// A new key, of the operating system's random numbers.
    ///
    /// # Errors
    /// If it has none.
    pub fn random() -> Result<Self, KeyError> {
        let mut key = [0; KEY_BYTES];
        match getrandom::fill(&mut key) {
            Ok(()) => Ok(Self(key)),
            Err(error) => Err(KeyError(format!(
                "cannot get random numbers from the operating system: {error}"
            ))),
        }
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// Refuses one that others can read, and says what to do; names the line that is not a key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let name = path.display();
        let unread = |error: io::Error| {
            KeyError(format!("cannot read the key {name}: {error}; make one with: lopa key {name}"))
        };
        let file = File::open(path).map_err(unread)?;
        // Of the open file: what is checked is what is read.
        if let Some(mode) = open_to_others(&file).map_err(unread)? {
            return Err(KeyError(format!(
                "the key {name} is open to others (mode {mode:03o}): run chmod 600 {name}, and make a new key if others \
                 may have read it"
            )));
        }
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map_err(unread)?;
        // Bytes that are not text are reported with their line, like any other mistake.
        let key = Self::parse(&String::from_utf8_lossy(&bytes));
        key.map_err(|(line, what)| KeyError(format!("{name}:{line}: {what}")))
    }

    /// Writes a new file that only its owner can read.
    ///
    /// # Errors
    /// Refuses to replace a file.
    pub fn write_new(&self, path: &Path) -> Result<(), KeyError> {
        let mut text = String::from(COMMENT);
        text.extend(self.0.iter().map(|byte| format!("{byte:02x}")));
        text.push('\n');
        files::create_private(path, text.as_bytes()).map_err(|error| {
            let name = path.display();
            KeyError(match error.kind() {
                io::ErrorKind::AlreadyExists => format!(
                    "{name} exists already: choose another name, or remove it if no board uses that key any more"
                ),
                _ => format!("cannot write {name}: {error}"),
            })
        })
    }

    /// How frames are sealed with it.
    #[must_use]
    pub const fn seal(&self) -> Seal {
        Seal::keyed(self.0)
    }

    fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut found = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if found.is_some() {
                return Err((number, "there is a second key: a network has one"));
            }
            let key = digits(line).ok_or((number, "a key must be 64 hexadecimal digits"))?;
            found = Some(Self(key));
        }
        let end = text.lines().count() + 1;
        found.ok_or((end, "the key is missing: 64 hexadecimal digits on a line of their own"))
    }
}

fn digits(line: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    if line.len() != 2 * KEY_BYTES || !line.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(line.get(at..at + 2)?, 16).ok()?;
    }
    Some(key)
}

/// The permissions of a file that others than its owner can read or change.
#[cfg(unix)]
fn open_to_others(file: &File) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

/// Elsewhere it is not known.
#[cfg(not(unix))]
fn open_to_others(_: &File) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_line_of_digits_between_comments() {
        let hex = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
        let key = Key::parse(&format!("# a comment\n\n  {hex}\n# and another\n")).unwrap();
        assert_eq!(key.0[..3], [0, 0x11, 0x22]);
        assert_eq!(key.0[16..], key.0[..16]);
        for (text, line, said) in [
            ("", 1, "missing"),
            ("# nothing\n", 2, "missing"),
            (&hex[1..], 1, "64 hexadecimal digits"),
            (&hex.replace('a', "g"), 1, "64 hexadecimal digits"),
            (&"é".repeat(32), 1, "64 hexadecimal digits"),
            (&format!("{hex}\n{hex}"), 2, "second key"),
        ] {
            let (at, what) = Key::parse(text).unwrap_err();
            assert!(at == line && what.contains(said), "{text:?}: {at}: {what}");
        }
    }

    #[test]
    fn keys_differ_and_print_nothing() {
        let (a, b) = (Key::random().unwrap(), Key::random().unwrap());
        assert!(a != b);
        assert_eq!(format!("{a:?} {a:#?} {:?}", a.seal()), "Key Key Seal");
    }
}
