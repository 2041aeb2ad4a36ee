//! Why a data set could not be fetched.

use std::io;
use std::path::{Path, PathBuf};

/// Why a data set could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There is no such data set.
    #[error("there is no data set `{name}`: {hint}")]
    Name {
        /// The name.
        name: String,
        /// A similar name, or all names.
        hint: String,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The disk is full.
    #[error(
        "the disk is full, {} cannot be written: make room and fetch again, what arrived is kept",
        path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file with this name is there, but it is not the original.
    #[error(
        "{} is not the original: it has {size} bytes with a wrong checksum; move it away and fetch again",
        path.display()
    )]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// An archive lacks a file.
    #[error("{} does not contain {}: delete the archive and fetch again", path.display(), member.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Where the file should have gone.
        member: PathBuf,
    },
    /// Every server failed.
    #[error("{0}")]
    Servers(String),
}

impl FetchError {
    pub(super) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }

    pub(super) fn write(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull => Self::Full { path: path.into() },
            _ => Self::Write { path: path.into(), source },
        }
    }

    /// Whether the request or the disk is at fault, and not the way to the servers.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        !matches!(self, Self::Servers(_))
    }
}
