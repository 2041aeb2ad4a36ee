//! Files, plain or gzipped, read as they come: never more memory than there is data.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::error::{Fault, FileError, Place};

/// The most feature values one file may hold (1 GiB of floats): a damaged or hostile file ends here.
pub(crate) const MOST_VALUES: usize = 1 << 28;

/// A file that is open, and unpacked on the way if it is gzipped.
pub(crate) struct Source {
    file: PathBuf,
    reader: Reader,
}

enum Reader {
    Plain(BufReader<File>),
    Gzip(Box<BufReader<MultiGzDecoder<BufReader<File>>>>),
}

impl Source {
    /// Opens a file; whether it is gzipped is told by its first two bytes.
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
        let reader = if gzip {
            Reader::Gzip(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file))))
        } else {
            Reader::Plain(file)
        };
        Ok(Self { file: path.to_path_buf(), reader })
    }

    pub(crate) fn error(&self, place: Place, fault: Fault) -> FileError {
        FileError::new(&self.file, place, fault)
    }

    /// Bytes up to the end or `most` of them, appended; how many came.
    pub(crate) fn read_to(&mut self, out: &mut Vec<u8>, most: u64) -> Result<usize, FileError> {
        let read = self.buffered().take(most).read_to_end(out);
        read.map_err(|error| self.io(&error))
    }

    /// Bytes up to and with the next newline, or the end, or `most` of them, appended; how many came.
    pub(crate) fn read_line(&mut self, out: &mut Vec<u8>, most: u64) -> Result<usize, FileError> {
        let read = self.buffered().take(most).read_until(b'\n', out);
        read.map_err(|error| self.io(&error))
    }

    fn buffered(&mut self) -> &mut dyn BufRead {
        match &mut self.reader {
            Reader::Plain(reader) => reader,
            Reader::Gzip(reader) => reader,
        }
    }

    fn io(&self, error: &io::Error) -> FileError {
        let fault = match (&self.reader, error.kind()) {
            (Reader::Gzip(_), ErrorKind::UnexpectedEof) => Fault::GzipTruncated,
            (Reader::Gzip(_), ErrorKind::InvalidInput | ErrorKind::InvalidData) => {
                Fault::GzipCorrupt
            }
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

/// The first of the names that is in the folder, as it is or with `.gz`.
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
