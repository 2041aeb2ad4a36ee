//! The flash of a node that is a process: a folder with the number of its last boot, and its last checkpoint.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;

use lopa_core::codec::Words;

use crate::files::{self, Held, WriteError};

/// Why a node's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// It cannot be made or read.
    #[error("cannot use {}: {error}", path.display())]
    Folder {
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Another process uses it.
    #[error("{} is in use: another process runs this node", .0.display())]
    Used(PathBuf),
    /// The number of the last boot cannot be read.
    #[error("{} is not a number: if the node may start from scratch, in a fleet that does too, remove the folder", .0.display())]
    Boots(PathBuf),
    /// It cannot be written to.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A node's folder.
#[derive(Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    /// What the network agrees on: checkpoints of another are not restored.
    network: u64,
    /// Locked as long as this is there.
    _lock: Held,
}

impl Kept {
    /// Takes a folder, which is made if it is not there.
    pub(super) fn open(folder: PathBuf) -> Result<Self, KeptError> {
        let path = folder.join("lock");
        let made = fs::create_dir_all(&folder).and_then(|()| File::create(&path));
        let lock = made.map_err(|error| KeptError::Folder { path: folder.clone(), error })?;
        let lock = Held(lock);
        match lock.0.try_lock() {
            Ok(()) => Ok(Self { folder, network: 0, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(KeptError::Used(folder)),
            Err(TryLockError::Error(error)) => Err(KeptError::Folder { path, error }),
        }
    }

    /// Counts a boot: 1 for the first.
    pub(super) fn boot(&mut self) -> Result<u32, KeptError> {
        let path = self.folder.join("boots");
        let last: u32 = match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map_err(|_| KeptError::Boots(path.clone()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(KeptError::Folder { path, error }),
        };
        let boot = last.checked_add(1).ok_or_else(|| KeptError::Boots(path.clone()))?;
        files::put(&path, format!("{boot}\n").as_bytes())?;
        Ok(boot)
    }

    /// The last checkpoint, if it is of this network.
    pub(super) fn checkpoint(&mut self, network: u64) -> Option<Vec<u8>> {
        self.network = network;
        let bytes = fs::read(self.folder.join("checkpoint")).ok()?;
        let (own, checkpoint) = bytes.split_first_chunk::<8>()?;
        (u64::from_le_bytes(*own) == network).then(|| checkpoint.to_vec())
    }

    /// Replaces the checkpoint.
    pub(super) fn save(&self, words: Words<'_>) -> Result<(), WriteError> {
        let mut bytes = self.network.to_le_bytes().to_vec();
        words.for_each(|word| bytes.extend(word.to_le_bytes()));
        files::put(&self.folder.join("checkpoint"), &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boots_are_counted_and_a_folder_has_one_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node-3");
        let mut kept = Kept::open(path.clone()).unwrap();
        assert!(Kept::open(path.clone()).unwrap_err().to_string().contains("another process"));
        assert_eq!((kept.boot().unwrap(), kept.boot().unwrap()), (1, 2));
        drop(kept);
        let mut kept = Kept::open(path.clone()).unwrap();
        assert_eq!(kept.boot().unwrap(), 3);
        assert_eq!(kept.checkpoint(7), None);
        // A count that cannot be read must not begin anew: an old session would seem new.
        fs::write(path.join("boots"), "three").unwrap();
        assert!(kept.boot().unwrap_err().to_string().contains("boots is not a number"));
    }
}
