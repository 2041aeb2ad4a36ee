//! The public originals: which there are, how they come here, and whether what is here is one.
//!
//! [`known`] lists the data sets of the paper's experiments. [`fetch`] brings one into a folder, [`check`] compares
//! what lies there with the published checksums. A file gets its name only once its checksum is right; until then it
//! is a `.part`, and the next try goes on from there.
//!
//! Of the environment, `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` are heeded, and `SSL_CERT_FILE`: the
//! certificates to trust in place of the built-in ones.
//!
//! ```no_run
//! use lopa_host::data::{fetch, mnist};
//! let set = fetch::named("mnist")?;
//! fetch::fetch(&set, "data/mnist".as_ref(), &mut |_| {})?;
//! let digits = mnist::load("data/mnist")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod download;
mod error;
mod known;
mod sums;
mod unpack;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use error::{FetchError, Servers, Trouble};
pub use known::{known, named};
pub use sums::Sums;

/// A data set that its owners publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// Its name here.
    pub name: String,
    /// What it is.
    pub title: String,
    /// On which terms its owners publish it.
    pub terms: String,
    /// Where people find it, and where else.
    pub homes: Vec<String>,
    /// Its files.
    pub files: Vec<Wanted>,
}

/// A file of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Where it is, the best place first.
    pub urls: Vec<String>,
    /// Its length, where it is known.
    pub size: Option<u64>,
    /// Its checksums.
    pub sums: Sums,
    /// Those of what a gzipped file holds. With these right, it may be packed in another way, or not at all.
    pub content: Option<Sums>,
    /// The lines of what it holds, for a text: what a cut file lacks can then be said.
    pub lines: Option<u64>,
    /// The files to unpack, if it is an archive: name and length.
    pub members: Vec<(String, u64)>,
}

/// What is going on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The file is there already, and right.
    There(&'a Path),
    /// A file that had the name was another one, and has got another name.
    Aside {
        /// The name it had.
        from: &'a Path,
        /// The name it has now.
        to: &'a Path,
    },
    /// A server is asked for a file.
    Asking {
        /// The address.
        url: &'a str,
        /// How many bytes are here already.
        from: u64,
    },
    /// More has come.
    Bytes {
        /// How many bytes are here.
        have: u64,
        /// Of how many, as far as known.
        all: Option<u64>,
    },
    /// A server did not give the file; the next one is asked.
    Failed {
        /// The address.
        url: &'a str,
        /// Why.
        trouble: &'a Trouble,
    },
    /// The file has come, and is right.
    Fetched(&'a Path),
    /// The file was unpacked.
    Unpacked(&'a Path),
}

/// Whether a file is the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is.
    Right,
    /// There is none.
    Missing,
    /// Its length is right; there is no published checksum, and the archive it comes from is not beside it.
    Unproven,
    /// It is another one, cut or damaged.
    Wrong(Wrong),
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Its length.
    pub size: u64,
    /// The length it should have, where it is known and another.
    pub expected: Option<u64>,
    /// The lines it has and should have, for a text that has another number.
    pub lines: Option<(u64, u64)>,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Right => write!(f, "right"),
            Self::Missing => write!(f, "missing"),
            Self::Unproven => {
                write!(f, "length right, checksum unproven: its archive is not beside it")
            }
            Self::Wrong(Wrong { lines: Some((found, expected)), .. }) => {
                write!(f, "wrong: {found} lines of {expected}")
            }
            Self::Wrong(Wrong { size, expected: Some(expected), .. }) => {
                write!(f, "wrong: {size} bytes, not {expected}")
            }
            Self::Wrong(Wrong { size, .. }) => {
                write!(f, "wrong: {size} bytes with another checksum")
            }
        }
    }
}

/// Brings all files of a data set into a folder. What is there and right is not fetched again; what is there and
/// wrong gets the ending `.wrong`.
///
/// # Errors
/// Says what each server did, and how to get the file by hand.
pub fn fetch(
    set: &Original,
    folder: &Path,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), FetchError> {
    let refuse = |error| FetchError::Write { path: folder.to_path_buf(), error };
    fs::create_dir_all(folder).map_err(refuse)?;
    for wanted in &set.files {
        let mut there = None;
        for path in wanted.places(folder) {
            match wanted.state(&path).map_err(|error| FetchError::read(&path, error))? {
                State::Right => there = Some(path),
                State::Missing | State::Unproven => continue,
                State::Wrong(_) => {
                    aside(&path, report)?;
                    continue;
                }
            }
            break;
        }
        let path = match there {
            Some(path) => {
                report(Event::There(&path));
                path
            }
            None => {
                let path = download::download(set, wanted, folder, report)?;
                report(Event::Fetched(&path));
                path
            }
        };
        if !wanted.members.is_empty() {
            unpack::unpack(&path, &wanted.members, folder, report)?;
        }
    }
    Ok(())
}

/// Compares the files of a data set with the published checksums.
///
/// # Errors
/// Only if a file that is there cannot be read.
pub fn check(set: &Original, folder: &Path) -> Result<Vec<(PathBuf, State)>, FetchError> {
    let mut states = Vec::new();
    for wanted in &set.files {
        let places = wanted.places(folder);
        // The one a loader reads first.
        let path = places.iter().find(|path| path.is_file()).unwrap_or(&places[places.len() - 1]);
        let state = wanted.state(path).map_err(|error| FetchError::read(path, error))?;
        let whole = state == State::Right;
        let beside = state == State::Missing && !wanted.members.is_empty();
        // An archive need not stay.
        if !beside || wanted.members.iter().all(|(name, _)| !folder.join(name).exists()) {
            states.push((path.clone(), state));
        }
        states.extend(unpack::states(whole.then_some(path), &wanted.members, folder)?);
    }
    Ok(states)
}

impl Wanted {
    /// Where the file may be: unpacked, if its content is known, and as it is published.
    fn places(&self, folder: &Path) -> Vec<PathBuf> {
        let plain = self.content.as_ref().and_then(|_| self.name.strip_suffix(".gz"));
        plain.into_iter().chain([self.name.as_str()]).map(|name| folder.join(name)).collect()
    }

    /// Whether a file is this one.
    fn state(&self, path: &Path) -> io::Result<State> {
        let file = match fs::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Missing),
            file => file?,
        };
        let found = sums::Counted::of(file)?;
        if self.sums.agree(&found.sums) {
            return Ok(State::Right);
        }
        let mut lines = None;
        if let Some(content) = &self.content {
            let inside = if found.gzip { sums::Counted::unpacked(path) } else { Ok(found.clone()) };
            match inside {
                Ok(inside) if content.agree(&inside.sums) => return Ok(State::Right),
                Ok(inside) => {
                    lines =
                        self.lines.filter(|&all| all != inside.lines).map(|l| (inside.lines, l));
                }
                // Damaged gzip is wrong, a disk that cannot be read an error.
                Err(error) if sums::damaged(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let packed = found.gzip || !self.name.ends_with(".gz");
        let expected = self.size.filter(|&size| packed && size != found.size);
        Ok(State::Wrong(Wrong { size: found.size, expected, lines }))
    }
}

/// Gives a file that is not what its name says another name.
fn aside(path: &Path, report: &mut dyn FnMut(Event<'_>)) -> Result<(), FetchError> {
    let free = |number: u32| {
        let ending = if number == 1 { ".wrong".into() } else { format!(".wrong{number}") };
        let to = with_ending(path, &ending);
        (!to.exists()).then_some(to)
    };
    let to = (1..).find_map(free).unwrap_or_else(|| with_ending(path, ".wrong"));
    fs::rename(path, &to).map_err(|error| FetchError::Write { path: path.into(), error })?;
    report(Event::Aside { from: path, to: &to });
    Ok(())
}

/// A path with something behind its name.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
