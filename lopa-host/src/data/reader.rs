//! Files, plain or gzipped, read piece by piece: memory grows with the data, not with what a header claims.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::error::{Fault, FileError, Place};

/// The most feature values in one file (1 GiB of floats): damaged and hostile files stop here.
pub(crate) const MOST_VALUES: usize = 1 << 28;

/// An open file, decompressed on the way if it is gzipped.
pub(crate) struct Reader {
    file: PathBuf,
    bytes: Box<dyn BufRead>,
    gzip: bool,
}

impl Reader {
    /// Opens a file; its first two bytes tell whether it is gzipped.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let refuse = |error: io::Error| FileError::new(path, Place::File, plain(&error));
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

    pub(crate) fn error(&self, place: Place, fault: Fault) -> FileError {
        FileError::new(&self.file, place, fault)
    }

    /// Appends bytes up to the end, at most `most`, and returns how many.
    pub(crate) fn read_to(&mut self, out: &mut Vec<u8>, most: u64) -> Result<usize, FileError> {
        let read = (&mut self.bytes).take(most).read_to_end(out);
        read.map_err(|error| self.io(&error))
    }

    /// Appends bytes up to and including the next newline, at most `most`, and returns how many.
    pub(crate) fn read_line(&mut self, out: &mut Vec<u8>, most: u64) -> Result<usize, FileError> {
        let read = (&mut self.bytes).take(most).read_until(b'\n', out);
        read.map_err(|error| self.io(&error))
    }

    fn io(&self, error: &io::Error) -> FileError {
        let fault = match error.kind() {
            ErrorKind::UnexpectedEof if self.gzip => Fault::GzipTruncated,
            ErrorKind::InvalidInput | ErrorKind::InvalidData if self.gzip => Fault::GzipCorrupt,
            _ => plain(error),
        };
        self.error(Place::File, fault)
    }
}

fn plain(error: &io::Error) -> Fault {
    match error.kind() {
        ErrorKind::NotFound => Fault::Missing,
        kind => Fault::Read(kind),
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
    find(folder, names).ok_or_else(|| {
        let path = names.first().map_or_else(|| folder.to_path_buf(), |name| folder.join(name));
        FileError::new(&path, Place::File, Fault::Missing)
    })
}
