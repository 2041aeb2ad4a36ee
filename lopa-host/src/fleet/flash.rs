//! Boards flashed with probe-rs: the command lines, and running them.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::image::missing;
use crate::chips::Board;

/// The flasher.
pub const PROBE_RS: &str = "probe-rs";

/// Why a board was not flashed.
#[derive(Debug, thiserror::Error)]
pub enum FlashError {
    /// The board cannot be flashed.
    #[error("{0} is only emulated, so there is nothing to flash: use lopa fleet FILE --emulate")]
    Emulated(&'static str),
    /// The flasher is missing.
    #[error("{PROBE_RS} is missing: cargo install probe-rs-tools --locked")]
    Missing,
    /// The flasher does not start.
    #[error("{PROBE_RS} does not start: {0}")]
    Start(#[source] std::io::Error),
    /// A command failed.
    #[error("failed: {0}")]
    Failed(String),
}

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line(Vec<String>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |word: &String| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+".contains(c);
            if !word.is_empty() && word.chars().all(plain) {
                return word.clone();
            }
            format!("'{}'", word.replace('\'', "'\\''"))
        };
        let words: Vec<String> = self.0.iter().map(quoted).collect();
        f.write_str(&words.join(" "))
    }
}

impl Line {
    /// Runs it, its words on this terminal.
    ///
    /// # Errors
    /// If it does not start, or fails.
    pub fn run(&self) -> Result<(), FlashError> {
        let [name, words @ ..] = &self.0[..] else { return Ok(()) };
        let status = Command::new(name).args(words).stdin(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(FlashError::Failed(self.to_string())),
            Err(error) if missing(&error) => Err(FlashError::Missing),
            Err(error) => Err(FlashError::Start(error)),
        }
    }
}

/// What flashes one board: its program, its blob, and a reset. Without a `probe` the only one plugged in is taken.
///
/// # Errors
/// Refuses a board that is only emulated.
pub fn lines(
    board: &Board,
    image: &Path,
    blob: &Path,
    probe: Option<&str>,
) -> Result<[Line; 3], FlashError> {
    let chip = board.chip.ok_or(FlashError::Emulated(board.name))?;
    let line = |command: &str, rest: &[String]| {
        let mut words = vec![PROBE_RS.to_owned(), command.into(), "--chip".into(), chip.into()];
        words.extend(probe.into_iter().flat_map(|probe| ["--probe".into(), probe.into()]));
        words.extend_from_slice(rest);
        Line(words)
    };
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let address = format!("{:#010x}", board.blob.address);
    let raw =
        ["--binary-format".into(), "bin".into(), "--base-address".into(), address, path(blob)];
    Ok([line("download", &[path(image)]), line("download", &raw), line("reset", &[])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chips::{EMULATED, Region};

    #[test]
    fn the_program_the_blob_and_a_reset_in_this_order() {
        let board = Board {
            name: "a-board",
            chip: Some("aChip"),
            blob: Region { address: 0x8_0000, len: 0x1000 },
            ..EMULATED
        };
        let (image, blob) = (Path::new("target/a-board"), Path::new("my blobs/node-3.blob"));
        let lines = lines(&board, image, blob, Some("1366:1015:000123")).unwrap();
        let said = lines.map(|line| line.to_string());
        assert_eq!(
            said,
            [
                "probe-rs download --chip aChip --probe 1366:1015:000123 target/a-board",
                "probe-rs download --chip aChip --probe 1366:1015:000123 --binary-format bin \
                 --base-address 0x00080000 'my blobs/node-3.blob'",
                "probe-rs reset --chip aChip --probe 1366:1015:000123",
            ]
        );
    }

    #[test]
    fn an_emulated_board_is_not_flashed_and_a_failure_is_told() {
        let nothing = Path::new("");
        assert!(matches!(lines(&EMULATED, nothing, nothing, None), Err(FlashError::Emulated(_))));
        let line = |words: &[&str]| Line(words.iter().map(|word| (*word).to_owned()).collect());
        assert!(line(&["true"]).run().is_ok());
        let error = line(&["false", "it's"]).run().unwrap_err().to_string();
        assert_eq!(error, "failed: false 'it'\\''s'");
        assert!(matches!(line(&["no-such-command-anywhere"]).run(), Err(FlashError::Missing)));
    }
}
