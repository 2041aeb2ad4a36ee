//! Files that are replaced whole, and together.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file could not be written.
#[derive(Debug)]
pub(crate) struct WriteError {
    path: PathBuf,
    error: io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.error)
    }
}

/// Writes each file beside its place and moves all there once all are whole: if one cannot be written, what was there
/// before is still there.
pub(crate) fn put_all(files: &[(PathBuf, String)]) -> Result<(), WriteError> {
    let result = files.iter().try_for_each(|(path, text)| {
        if path.is_dir() {
            return Err(WriteError {
                path: path.clone(),
                error: io::ErrorKind::IsADirectory.into(),
            });
        }
        write(&beside(path), text).map_err(|error| WriteError { path: path.clone(), error })
    });
    if result.is_err() {
        // Those that were not begun are not there.
        files.iter().for_each(|(path, _)| drop(fs::remove_file(beside(path))));
    }
    result?;
    files.iter().try_for_each(|(path, _)| {
        fs::rename(beside(path), path).map_err(|error| WriteError { path: path.clone(), error })
    })
}

/// Writes a text to standard output. Whoever reads it may stop early, as `head` does.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
