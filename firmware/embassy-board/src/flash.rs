//! The blob and the checkpoints, in regions of flash reserved by `memory.x`.

use core::slice;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use lopa_core::blob::{Blob, BlobError, Capacity};
use lopa_node::{Mapped, capacity};

unsafe extern "C" {
    // Set by the linker (regions.x): only their addresses have a meaning.
    static _blob_start: u8;
    static _blob_end: u8;
    static _kept_start: u8;
    static _kept_end: u8;
}

/// The baud rate without a blob.
const USUAL: u32 = 115_200;

/// The blob in flash, if it is valid and fits this many links and floats, and the baud rate of the lines.
///
/// A valid blob that does not fit still says at which rate a host asks why; without one it is the usual rate. The node
/// reports the error with its light, in its log and to a host.
pub fn blob(links: usize, floats: usize) -> (Result<Blob<'static>, BlobError>, u32) {
    let (start, end) = (&raw const _blob_start, &raw const _blob_end);
    // SAFETY: from start to end there is memory-mapped flash that nothing here writes: the linker puts nothing there, and
    // `Kept` writes only to its own region. Any bytes are valid.
    let bytes = unsafe { slice::from_raw_parts(start, end.addr() - start.addr()) };
    let blob = Blob::read(bytes);
    let baud = blob.as_ref().map_or(USUAL, Blob::baud);
    let fits = |blob: Blob<'static>| {
        blob.fits(&Capacity { links, ..capacity(floats) })?;
        Ok(blob)
    };
    // What all boards support.
    (blob.and_then(fits), baud.clamp(2_400, 1_000_000))
}

/// The region for checkpoints.
#[derive(Debug)]
pub struct Kept<F> {
    flash: F,
    /// The region's offset in the flash.
    offset: u32,
    /// Called with true before the flash changes, and with false after.
    changing: fn(bool),
}

impl<F: NorFlash> Kept<F> {
    /// The region, in flash that begins at `address`. `changing` is called with true before the flash changes and with
    /// false afterwards: to keep a cache from becoming stale, or to feed a watchdog.
    pub fn new(flash: F, address: u32, changing: fn(bool)) -> Self {
        let start = (&raw const _kept_start).addr() as u32;
        Self { flash, offset: start.wrapping_sub(address), changing }
    }

    fn change(
        &mut self,
        change: impl FnOnce(&mut F, u32) -> Result<(), F::Error>,
    ) -> Result<(), Refused> {
        (self.changing)(true);
        let changed = change(&mut self.flash, self.offset);
        (self.changing)(false);
        changed.map_err(|error| Refused(error.kind()))
    }

    /// Refuses offsets outside the region.
    fn within(&self, from: u32, to: u32) -> Result<(), Refused> {
        let inside = from <= to && to as usize <= self.capacity();
        inside.then_some(()).ok_or(Refused(NorFlashErrorKind::OutOfBounds))
    }
}

/// The flash reported an error, or the offset is out of bounds.
#[derive(Debug, Clone, Copy)]
pub struct Refused(NorFlashErrorKind);

impl NorFlashError for Refused {
    fn kind(&self) -> NorFlashErrorKind {
        self.0
    }
}

impl<F> ErrorType for Kept<F> {
    type Error = Refused;
}

impl<F: NorFlash> ReadNorFlash for Kept<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), Refused> {
        let end = u32::try_from(bytes.len()).ok().and_then(|len| at.checked_add(len));
        self.within(at, end.unwrap_or(u32::MAX))?;
        self.flash.read(self.offset + at, bytes).map_err(|error| Refused(error.kind()))
    }

    fn capacity(&self) -> usize {
        (&raw const _kept_end).addr() - (&raw const _kept_start).addr()
    }
}

impl<F: NorFlash> NorFlash for Kept<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Refused> {
        self.within(from, to)?;
        // Unit by unit: some drivers disable interrupts while they erase, and bytes that arrive meanwhile are lost.
        let unit = F::ERASE_SIZE as u32;
        (from..to).step_by(F::ERASE_SIZE).try_for_each(|at| {
            self.change(|flash, offset| flash.erase(offset + at, offset + at + unit))
        })
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), Refused> {
        let end = u32::try_from(bytes.len()).ok().and_then(|len| at.checked_add(len));
        self.within(at, end.unwrap_or(u32::MAX))?;
        self.change(|flash, offset| flash.write(offset + at, bytes))
    }
}

impl<F: NorFlash> Mapped for Kept<F> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the region is memory-mapped flash. Only `erase` and `write` change it; they borrow all of `self`, so
        // they cannot run while the slice exists.
        unsafe { slice::from_raw_parts(&raw const _kept_start, self.capacity()) }
    }
}
