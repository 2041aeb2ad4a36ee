//! Files, plain or gzipped, read piece by piece: memory grows with the data, not with what a header claims.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::error::{FileError, Place, too_large};

/// The most feature values in one file (1 GiB of floats): damaged and hostile files stop here.
pub(crate) const MOST_VALUES: usize = 1 << 28;

/// The longest line: a million features of sixteen characters.
pub(crate) const LONGEST_LINE: usize = 1 << 24;

const MISSING: &str = "there is no such file, plain or with .gz: check the folder and the name";

/// An open file, decompressed on the way if it is gzipped.
pub(crate) struct Reader {
    file: PathBuf,
    bytes: Box<dyn BufRead>,
    gzip: bool,
    /// How many more bytes a reader of lines may have.
    left: usize,
    /// The last byte it got.
    last: u8,
}

impl Reader {
    /// Opens a file, or one with `.gz` at the end of its name; the first two bytes tell whether it is gzipped.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let refuse = |error: io::Error| FileError::new(path, Place::File, why(&error, false));
        let file = File::open(path).or_else(|error| match error.kind() {
            ErrorKind::NotFound => File::open(with_gz(path)).map_err(|_| error),
            _ => Err(error),
        });
        let mut file = BufReader::new(file.map_err(refuse)?);
        let mut magic = [0; 2];
        let gzip = match file.read_exact(&mut magic) {
            Ok(()) => magic == [0x1f, 0x8b],
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(refuse(error)),
        };
        file.rewind().map_err(refuse)?;
        let bytes: Box<dyn BufRead> = match gzip {
            true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file))),
            false => Box::new(file),
        };
        Ok(Self { file: path.to_path_buf(), bytes, gzip, left: LONGEST_LINE, last: b'\n' })
    }

    /// What is at hand of the first line, without the mark that some programs put in front of UTF-8.
    pub(crate) fn first_line(&mut self) -> Result<&[u8], FileError> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let refuse =
            |error: io::Error| FileError::new(&self.file, Place::File, why(&error, self.gzip));
        if self.bytes.fill_buf().map_err(refuse)?.starts_with(MARK) {
            self.bytes.consume(MARK.len());
        }
        let start = self.bytes.fill_buf().map_err(refuse)?;
        Ok(start.split(|&byte| byte == b'\n').next().unwrap_or_default())
    }

    /// Allows for another line.
    pub(crate) fn allow_line(&mut self) {
        self.left = LONGEST_LINE;
    }

    /// Says what an error of this file means.
    pub(crate) fn io(&self, error: &io::Error) -> FileError {
        self.error(Place::File, why(error, self.gzip))
    }

    pub(crate) fn error(&self, place: Place, what: impl Into<String>) -> FileError {
        FileError::new(&self.file, place, what)
    }

    /// Why a file was refused: what was found in it, unless that comes from damaged gzip data.
    pub(crate) fn blame(&mut self, found: FileError) -> FileError {
        // Damage shows only at the end of the data, in its checksum.
        let most = (MOST_VALUES * size_of::<f32>()) as u64;
        let rest = io::copy(&mut (&mut self.bytes).take(most), &mut io::sink());
        rest.map_or_else(|error| self.io(&error), |_| found)
    }

    /// Appends bytes up to the end, at most `most`, and returns how many.
    pub(crate) fn read_to(&mut self, out: &mut Vec<u8>, most: usize) -> Result<usize, FileError> {
        let read = (&mut self.bytes).take(most as u64).read_to_end(out);
        read.map_err(|error| self.io(&error))
    }

    /// Appends bytes up to and including the next newline, at most `most`, and returns how many.
    pub(crate) fn read_line(&mut self, out: &mut Vec<u8>, most: usize) -> Result<usize, FileError> {
        let read = (&mut self.bytes).take(most as u64).read_until(b'\n', out);
        read.map_err(|error| self.io(&error))
    }
}

/// Bytes of lines: each ends with a newline, the last one too, and none is longer than a line may be.
impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let most = out.len().min(self.left);
        let mut read = self.bytes.read(&mut out[..most])?;
        if read == 0 && most > 0 && self.last != b'\n' {
            (out[0], read) = (b'\n', 1);
        }
        self.last = out[..read].last().copied().unwrap_or(self.last);
        self.left -= read;
        Ok(read)
    }
}

fn with_gz(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

/// Why a file cannot be read, in words that say what to do.
fn why(error: &io::Error, gzip: bool) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof if gzip => {
            "the gzip data ends too early: the file is incomplete, get it again".into()
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidData if gzip => {
            "the gzip data is damaged: get the file again".into()
        }
        ErrorKind::NotFound => MISSING.into(),
        ErrorKind::FileTooLarge => too_large("a line", LONGEST_LINE),
        kind => format!("cannot be read: {kind}"),
    }
}

/// The first of the names that exists in the folder, plain or with `.gz`.
pub(crate) fn find(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names
        .iter()
        .flat_map(|name| [folder.join(name), with_gz(&folder.join(name))])
        .find(|path| path.is_file())
}

/// As [`find`], or an error that names the first of the names.
pub(crate) fn need(folder: &Path, names: &[&str]) -> Result<PathBuf, FileError> {
    let missing = || FileError::new(&folder.join(names[0]), Place::File, MISSING);
    find(folder, names).ok_or_else(missing)
}
