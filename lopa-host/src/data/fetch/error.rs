//! Why a data set did not come.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why a data set did not come.
#[derive(Debug)]
pub enum FetchError {
    /// There is no such data set.
    Name {
        /// What was asked for.
        name: String,
        /// A name that looks like it.
        nearest: Option<String>,
        /// All there are.
        all: Vec<String>,
    },
    /// A file cannot be written.
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file cannot be read.
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No server gave the file.
    Servers(Box<Servers>),
    /// An archive does not hold what it should.
    Archive {
        /// The archive.
        path: PathBuf,
        /// The file it should hold.
        member: String,
    },
}

/// What each server did, and how to go on by hand.
#[derive(Debug)]
pub struct Servers {
    /// The file.
    pub file: String,
    /// What each server did.
    pub tried: Vec<(String, Trouble)>,
    /// What has come, and is kept for the next try.
    pub part: Option<PathBuf>,
    /// The folder that the file belongs to.
    pub folder: PathBuf,
    /// The data set.
    pub set: String,
    /// Where people find it.
    pub homes: Vec<String>,
}

/// Why a server did not give a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such host, or no network.
    Host,
    /// The host does not answer.
    Connect(String),
    /// Nothing came for a long time.
    Timeout,
    /// It answered with another status than success.
    Status(u16),
    /// The connection ended too early, again and again.
    Cut {
        /// How many bytes are here.
        have: u64,
        /// Of how many, as far as known.
        all: Option<u64>,
    },
    /// It sends more than the file can hold.
    Long {
        /// The bytes after which nobody listened.
        limit: u64,
    },
    /// What came has another checksum.
    Checksum {
        /// Its length.
        size: u64,
        /// Whether it looks like a web page.
        page: bool,
    },
    /// The connection is not safe.
    Tls(String),
    /// Something else.
    Other(String),
}

impl FetchError {
    pub(super) fn read(path: &Path, error: io::Error) -> Self {
        Self::Read { path: path.into(), error }
    }

    pub(super) fn write(path: &Path, error: io::Error) -> Self {
        Self::Write { path: path.into(), error }
    }

    /// Whether what was asked for, or the disk, is at fault, not the way to the servers.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        !matches!(self, Self::Servers(_))
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, nearest: Some(nearest), .. } => {
                write!(f, "there is no data set `{name}`: did you mean `{nearest}`?")
            }
            Self::Name { name, nearest: None, all } => {
                write!(f, "there is no data set `{name}`: choose one of {}", all.join(", "))
            }
            Self::Write { path, error } if error.kind() == ErrorKind::StorageFull => write!(
                f,
                "the disk is full, {} cannot be written: make room and try again, what has come is kept",
                path.display()
            ),
            Self::Write { path, error } => write!(f, "cannot write {}: {error}", path.display()),
            Self::Read { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            Self::Servers(servers) => servers.fmt(f),
            Self::Archive { path, member } => write!(
                f,
                "{} holds no whole {member}: remove the archive and fetch it again",
                path.display()
            ),
        }
    }
}

impl std::error::Error for FetchError {}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (folder, set) = (self.folder.display(), &self.set);
        writeln!(f, "{} could not be fetched:", self.file)?;
        for (url, trouble) in &self.tried {
            writeln!(f, "  {url}: {trouble}")?;
        }
        if let Some(part) = &self.part {
            writeln!(f, "what has come is in {}: the next try goes on from there", part.display())?;
        }
        writeln!(f, "or get it by hand and put it into {folder} under that name; it is found at")?;
        for home in &self.homes {
            writeln!(f, "  {home}")?;
        }
        write!(f, "`lopa data check {set} --dir {folder}` then says whether it is the right one")
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => write!(f, "there is no such host, or no network"),
            Self::Connect(why) => write!(f, "no connection: {why}"),
            Self::Timeout => write!(f, "no answer for too long"),
            Self::Status(404) => write!(f, "status 404: the file is not there any more"),
            Self::Status(status) => write!(f, "the server answers with status {status}"),
            Self::Cut { have, all: Some(all) } => {
                write!(f, "the connection ended after {have} bytes of {all}")
            }
            Self::Cut { have, all: None } => write!(f, "the connection ended after {have} bytes"),
            Self::Long { limit } => {
                write!(f, "sends more than {limit} bytes, which the file cannot have")
            }
            Self::Checksum { page: true, .. } => write!(f, "sends a web page, not the file"),
            Self::Checksum { size, page: false } => {
                write!(f, "sends {size} bytes with a wrong checksum: they were thrown away")
            }
            Self::Tls(why) => write!(f, "the connection is not safe: {why}"),
            Self::Other(why) => f.write_str(why),
        }
    }
}
