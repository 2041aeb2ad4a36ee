//! Why a data set could not be fetched.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why a data set could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The request, a file or the disk is at fault.
    #[error("{0}")]
    Local(String),
    /// Every server failed.
    #[error("{0}")]
    Servers(String),
}

impl FetchError {
    pub(super) fn read(path: &Path, error: impl Display) -> Self {
        Self::Local(format!("cannot read {}: {error}", path.display()))
    }

    pub(super) fn write(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        Self::Local(match error.kind() {
            io::ErrorKind::StorageFull => format!(
                "the disk is full, {path} cannot be written: make room and fetch again, what arrived is kept"
            ),
            _ => format!("cannot write {path}: {error}"),
        })
    }

    /// A file with this name is there, but it is not the original.
    pub(super) fn wrong(path: &Path, size: u64) -> Self {
        Self::Local(format!(
            "{} is not the original: it has {size} bytes with a wrong checksum; move it away and fetch again",
            path.display()
        ))
    }

    /// Whether the request or the disk is at fault, and not the way to the servers.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }
}
