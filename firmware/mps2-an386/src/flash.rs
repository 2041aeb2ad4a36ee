//! Flash simulated by a file on the emulator's host, so that its content survives when the emulator is killed.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read,
    check_write,
};
use lopa_node::Mapped;
use semihosting::fs::{File, OpenOptions};
use semihosting::io::{Read, Seek, SeekFrom, Write};

/// In the emulator's working directory.
const NAME: &core::ffi::CStr = c"flash.bin";
const UNIT: usize = 4096;

/// Flash in a file, with a copy in memory for reads in place, as on a chip.
pub struct FileFlash {
    file: Option<File>,
    mirror: &'static mut [u8],
}

/// An error of the file, or an offset out of bounds.
#[derive(Debug, Clone, Copy)]
pub struct Refused(NorFlashErrorKind);

impl From<NorFlashErrorKind> for Refused {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self(kind)
    }
}

impl NorFlashError for Refused {
    fn kind(&self) -> NorFlashErrorKind {
        self.0
    }
}

impl FileFlash {
    /// Opens or creates the file; if neither works, every write fails.
    pub fn open(mirror: &'static mut [u8]) -> Self {
        mirror.fill(0xff);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = match options.open(NAME) {
            Ok(mut file) => {
                let mut at = 0;
                while let Some(rest @ [_, ..]) = mirror.get_mut(at..) {
                    match file.read(rest) {
                        Ok(len @ 1..) => at += len,
                        _ => break,
                    }
                }
                Some(file)
            }
            Err(_) => options.create(true).truncate(true).open(NAME).ok(),
        };
        Self { file, mirror }
    }

    fn put(&mut self, at: usize, len: usize) -> Result<(), Refused> {
        let refused = Refused(NorFlashErrorKind::Other);
        let bytes = self.mirror.get(at..at + len).ok_or(Refused(NorFlashErrorKind::OutOfBounds))?;
        let file = self.file.as_mut().ok_or(refused)?;
        file.seek(SeekFrom::Start(at as u64)).map_err(|_| refused)?;
        file.write_all(bytes).map_err(|_| refused)
    }
}

impl ErrorType for FileFlash {
    type Error = Refused;
}

impl ReadNorFlash for FileFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Refused> {
        check_read(self, offset, bytes.len())?;
        let at = offset as usize;
        bytes.copy_from_slice(&self.mirror[at..at + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.mirror.len()
    }
}

impl NorFlash for FileFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = UNIT;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Refused> {
        check_erase(self, from, to)?;
        let (from, to) = (from as usize, to as usize);
        self.mirror[from..to].fill(0xff);
        self.put(from, to - from)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Refused> {
        check_write(self, offset, bytes.len())?;
        let at = offset as usize;
        // As on a chip: a write can only clear bits.
        for (place, byte) in self.mirror[at..].iter_mut().zip(bytes) {
            *place &= byte;
        }
        self.put(at, bytes.len())
    }
}

impl Mapped for FileFlash {
    fn bytes(&self) -> &[u8] {
        self.mirror
    }
}
