//! Files, plain or gzipped, read piece by piece: memory grows with the data, not with what a header claims.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::error::{FileError, Place};

/// The most feature values in one file (1 GiB of floats): damaged and hostile files stop here.
pub(crate) const MOST_VALUES: usize = 1 << 28;

const MISSING: &str = "there is no such file, plain or with .gz: check the folder and the name";

/// An open file, decompressed on the way if it is gzipped.
pub(crate) struct Reader {
    file: PathBuf,
    bytes: Box<dyn BufRead>,
    gzip: bool,
}

impl Reader {
    /// Opens a file; its first two bytes tell whether it is gzipped.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let refuse = |error: io::Error| FileError::new(path, Place::File, why(&error, false));
        let mut file = BufReader::new(File::open(path).map_err(refuse)?);
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
        Ok(Self { file: path.to_path_buf(), bytes, gzip })
    }

    pub(crate) fn error(&self, place: Place, what: impl Into<String>) -> FileError {
        FileError::new(&self.file, place, what)
    }

    /// Appends bytes up to the end, at most `most`, and returns how many.
    pub(crate) fn read_to(&mut self, out: &mut Vec<u8>, most: usize) -> Result<usize, FileError> {
        let read = (&mut self.bytes).take(most as u64).read_to_end(out);
        read.map_err(|error| self.error(Place::File, why(&error, self.gzip)))
    }

    /// Appends bytes up to and including the next newline, at most `most`, and returns how many.
    pub(crate) fn read_line(&mut self, out: &mut Vec<u8>, most: usize) -> Result<usize, FileError> {
        let read = (&mut self.bytes).take(most as u64).read_until(b'\n', out);
        read.map_err(|error| self.error(Place::File, why(&error, self.gzip)))
    }
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
        kind => format!("cannot be read: {kind}"),
    }
}

/// The first of the names that exists in the folder, plain or with `.gz`.
pub(crate) fn find(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names
        .iter()
        .flat_map(|name| [folder.join(name), folder.join(format!("{name}.gz"))])
        .find(|path| path.is_file())
}

/// As [`find`], or an error that names the first of the names.
pub(crate) fn need(folder: &Path, names: &[&str]) -> Result<PathBuf, FileError> {
    let missing = || FileError::new(&folder.join(names[0]), Place::File, MISSING);
    find(folder, names).ok_or_else(missing)
}
