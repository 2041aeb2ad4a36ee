//! Files that are replaced whole, and together.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {error}", path.display())]
pub struct WriteError {
    /// Which one.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub error: io::Error,
}

/// An open file whose lock ends when this is dropped. Otherwise a program that is just being started, which has a copy of all open
/// files for a moment, would hold it for that moment longer.
#[derive(Debug)]
pub(crate) struct Held(pub(crate) File);

impl Drop for Held {
    fn drop(&mut self) {
        // Where a file system has no locks, there is none to let go of.
        let _ = self.0.unlock();
    }
}

/// Writes a file beside its place and moves it there when it is whole.
///
/// # Errors
/// Says why not; what was there before is still there.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    put_all(&[(path.to_path_buf(), bytes)])
}

/// Writes each file beside its place and moves all there once all are whole: if one cannot be written, what was there
/// before is still there.
///
/// # Errors
/// Names the one that could not be written.
pub fn put_all<B: AsRef<[u8]>>(files: &[(PathBuf, B)]) -> Result<(), WriteError> {
    put_all_as(files, Access::Usual)
}

/// Who can read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// As for any new file.
    Usual,
    /// Its owner only, where the system knows owners.
    Private,
}

/// As [`put_all`], with these permissions.
///
/// # Errors
/// As [`put_all`].
pub fn put_all_as<B: AsRef<[u8]>>(
    files: &[(PathBuf, B)],
    access: Access,
) -> Result<(), WriteError> {
    stage(files, access)?;
    place(files)
}

/// Writes each file beside its place; if one cannot be written, none is left there.
pub(crate) fn stage<B: AsRef<[u8]>>(
    files: &[(PathBuf, B)],
    access: Access,
) -> Result<(), WriteError> {
    let written = files.iter().try_for_each(|(path, bytes)| {
        if path.is_dir() {
            return Err(wrong(path, io::ErrorKind::IsADirectory.into()));
        }
        write(&beside(path), bytes.as_ref(), access).map_err(|error| wrong(path, error))
    });
    // Not file by file: a disk is much faster if it may store many at a time.
    let result = written.and_then(|()| {
        files
            .iter()
            .try_for_each(|(path, _)| sync(&beside(path)).map_err(|error| wrong(path, error)))
    });
    if result.is_err() {
        unstage(files);
    }
    result
}

/// Removes what was written beside its place. Those that were not begun are not there.
pub(crate) fn unstage<B>(files: &[(PathBuf, B)]) {
    files.iter().for_each(|(path, _)| drop(fs::remove_file(beside(path))));
}

/// Moves to its place each file that was written beside it.
pub(crate) fn place<B>(files: &[(PathBuf, B)]) -> Result<(), WriteError> {
    files.iter().try_for_each(|(path, _)| {
        fs::rename(beside(path), path).map_err(|error| wrong(path, error))
    })
}

fn wrong(path: &Path, error: io::Error) -> WriteError {
    WriteError { path: path.into(), error }
}

/// Where a file is written until it is whole: its path with `.part` appended.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn write(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    if access == Access::Private {
        // A file that is there keeps its permissions.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return create_private(path, bytes),
        }
    }
    File::create(path)?.write_all(bytes)
}

/// Waits until a file is on the disk.
fn sync(path: &Path) -> io::Result<()> {
    // Some systems do this only for files that could be written to.
    OpenOptions::new().write(true).open(path)?.sync_all()
}

/// Writes a new file that only its owner can read, where the system knows owners.
pub(crate) fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_even_if_a_copy_of_the_file_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Held(File::create(dir.path().join("lock")).unwrap());
        let held = open();
        held.0.try_lock().unwrap();
        assert!(open().0.try_lock().is_err());
        // As a program has while it is started by another thread.
        let copy = held.0.try_clone().unwrap();
        drop(held);
        open().0.try_lock().unwrap();
        drop(copy);
    }
}
