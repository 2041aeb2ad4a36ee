//! The public data sets: where they are published, how to fetch them, and whether a folder holds the originals.
//!
//! [`known`] lists the data sets of the paper's experiments. [`fetch`] downloads one into a folder and [`check`] compares
//! the files there with their checksums. A file gets its name only once its checksum is right; until then it is a
//! `.part`, and the next attempt resumes it.
//!
//! The environment variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` are respected, and
//! `SSL_CERT_FILE` names certificates to trust instead of the built-in ones.
//!
//! ```no_run
//! use lopa_host::data::{fetch, mnist};
//! let set = fetch::named("mnist")?;
//! fetch::fetch(&set, "data/mnist".as_ref(), &mut |_| {})?;
//! let digits = mnist::load("data/mnist")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod download;
mod error;
mod known;

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

pub use error::FetchError;
pub use known::{known, named};

/// A published data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// Its name here.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The terms its owners publish it under.
    pub terms: String,
    /// The web pages that describe it.
    pub homes: Vec<String>,
    /// Its files.
    pub files: Vec<Wanted>,
}

/// A file of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Where to download it, in order of preference.
    pub urls: Vec<String>,
    /// Its size in bytes, if known.
    pub size: Option<u64>,
    /// The SHA-256 checksum in hexadecimal: of the content of a `.gz` file, so that the file may be compressed
    /// differently or not at all; of any other file, and of an archive, as it is.
    pub sha256: String,
    /// For an archive: the files to unpack, with their sizes.
    pub members: Vec<(String, u64)>,
}

/// Progress of a fetch.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file is already there.
    There(&'a Path),
    /// A server is asked for a file, starting after `from` bytes.
    Asking {
        /// The address.
        url: &'a str,
        /// How many bytes an earlier attempt left.
        from: u64,
    },
    /// More bytes have arrived.
    Bytes {
        /// How many there are now.
        have: u64,
        /// How many are expected, if known.
        all: Option<u64>,
    },
    /// A server failed; the next one is tried.
    Failed {
        /// Why.
        why: &'a str,
    },
    /// A file has been downloaded, and its checksum is right.
    Fetched(&'a Path),
    /// A file has been unpacked.
    Unpacked(&'a Path),
}

/// Whether a file is the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is.
    Right,
    /// It does not exist.
    Missing,
    /// It came from an archive that is no longer there: only its size could be checked.
    SizeRight,
    /// It is not the original: another file, cut short, or damaged.
    Wrong {
        /// Its size.
        size: u64,
    },
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::Missing => f.write_str("missing"),
            Self::SizeRight => f.write_str("right size; no checksum without its archive"),
            Self::Wrong { size } => write!(f, "wrong: {size} bytes that are not the original"),
        }
    }
}

/// Downloads all files of a data set into a folder, except those that are already there.
///
/// # Errors
/// Names the server's failure, or a file in the folder that is not the original; nothing is overwritten.
pub fn fetch(
    set: &Original,
    folder: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), FetchError> {
    fs::create_dir_all(folder).map_err(|error| FetchError::write(folder, &error))?;
    for wanted in &set.files {
        let found = wanted.find(folder)?;
        if found.1 == State::Missing && !wanted.members.is_empty() {
            // The archive may be deleted once it is unpacked.
            let unpacked = archive::states(wanted, None, folder)?;
            if unpacked.iter().all(|(_, state)| *state == State::SizeRight) {
                unpacked.iter().for_each(|(path, _)| report(Event::There(path)));
                continue;
            }
        }
        let path = match found {
            (path, State::Right) => {
                report(Event::There(&path));
                path
            }
            (path, State::Wrong { size }) => return Err(FetchError::wrong(&path, size)),
            (path, _) => {
                download::download(set, wanted, &path, report)?;
                report(Event::Fetched(&path));
                path
            }
        };
        if !wanted.members.is_empty() {
            archive::unpack(&path, wanted, folder, report)?;
        }
    }
    Ok(())
}

/// Compares the files of a data set with their checksums.
///
/// # Errors
/// If a file cannot be read.
pub fn check(set: &Original, folder: &Path) -> Result<Vec<(PathBuf, State)>, FetchError> {
    let mut states = Vec::new();
    for wanted in &set.files {
        let own = wanted.find(folder)?;
        let archive = Some(own.0.as_path()).filter(|_| own.1 == State::Right);
        let unpacked = archive::states(wanted, archive, folder)?;
        // The archive may be deleted once it is unpacked.
        if own.1 != State::Missing || unpacked.iter().all(|(_, state)| *state == State::Missing) {
            states.push(own);
        }
        states.extend(unpacked);
    }
    Ok(states)
}

impl Wanted {
    /// Whether the checksum is of what the file holds, not of the file.
    fn is_compressed(&self) -> bool {
        self.members.is_empty() && self.name.ends_with(".gz")
    }

    /// The file in a folder, decompressed or as published, and whether it is right.
    fn find(&self, folder: &Path) -> Result<(PathBuf, State), FetchError> {
        let path = folder.join(&self.name);
        let plain = self.name.strip_suffix(".gz").filter(|_| self.is_compressed());
        let plain = plain.map(|name| folder.join(name)).filter(|plain| plain.is_file());
        let path = plain.unwrap_or(path);
        let state = self.state(&path).map_err(|error| FetchError::read(&path, error))?;
        Ok((path, state))
    }

    /// Whether a file is this one.
    fn state(&self, path: &Path) -> io::Result<State> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::Missing),
            file => BufReader::new(file?),
        };
        let size = file.get_ref().metadata()?.len();
        let packed =
            self.is_compressed() && io::BufRead::fill_buf(&mut file)?.starts_with(&[0x1f, 0x8b]);
        let sum = if packed { sha256(MultiGzDecoder::new(file)) } else { sha256(file) };
        match sum {
            Ok(sum) if sum == self.sha256 => Ok(State::Right),
            Ok(_) => Ok(State::Wrong { size }),
            Err(error) if damaged(&error) => Ok(State::Wrong { size }),
            Err(error) => Err(error),
        }
    }
}

/// The SHA-256 checksum of everything a reader yields, in hexadecimal.
///
/// # Errors
/// Passes on the reader's.
pub fn sha256(mut reader: impl Read) -> io::Result<String> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => sum.update(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether an error means that compressed data is cut short or damaged, rather than that a disk failed.
fn damaged(error: &io::Error) -> bool {
    use ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | InvalidData | InvalidInput)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_the_textbook_one() {
        let sum = super::sha256(&b"abc"[..]).unwrap();
        assert_eq!(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
