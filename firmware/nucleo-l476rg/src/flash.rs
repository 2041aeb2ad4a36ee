//! The second bank of the flash, which changes while the program runs from the first.

use embassy_futures::block_on;
use embassy_stm32::flash::{Async, Error, Flash, InterruptHandler, MAX_ERASE_SIZE, WRITE_SIZE};
use embassy_stm32::interrupt::{self, InterruptExt};
use embassy_stm32::{Peri, pac, peripherals};
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// Flash that is changed with interrupts enabled, so that lines are read meanwhile. The blocking driver disables them, for
/// 22 ms per page.
pub struct SecondBank(Flash<'static, Async>);

impl SecondBank {
    pub fn new(
        flash: Peri<'static, peripherals::FLASH>,
        interrupts: impl interrupt::typelevel::Binding<interrupt::typelevel::FLASH, InterruptHandler>
        + 'static,
    ) -> Self {
        let flash = Flash::new(flash, interrupts);
        // Its handler would clear errors before they are seen, and polling needs no wake-up.
        interrupt::FLASH.disable();
        Self(flash)
    }
}

impl ErrorType for SecondBank {
    type Error = Error;
}

impl ReadNorFlash for SecondBank {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        self.0.blocking_read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        embassy_stm32::flash::FLASH_SIZE
    }
}

impl NorFlash for SecondBank {
    const WRITE_SIZE: usize = WRITE_SIZE;
    const ERASE_SIZE: usize = MAX_ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        block_on(self.0.erase(from, to))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        block_on(self.0.write(offset, bytes))
    }
}

/// Switches the data cache off before the flash changes, and on again afterwards, empty: it would be stale, and may be
/// corrupted (erratum "Data cache might be corrupted during Flash memory read-while-write operation").
pub fn cache(changing: bool) {
    pac::FLASH.acr().modify(|w| w.set_dcen(false));
    if !changing {
        pac::FLASH.acr().modify(|w| w.set_dcrst(true));
        pac::FLASH.acr().modify(|w| w.set_dcrst(false));
        pac::FLASH.acr().modify(|w| w.set_dcen(true));
    }
}

/// A word of flash was read whose write had been cut short; the checksum will detect it.
// SAFETY: only clears a flag; the attribute requires this handler to be unsafe.
#[cortex_m_rt::exception]
unsafe fn NonMaskableInt() {
    pac::FLASH.eccr().modify(|w| w.set_eccd(true));
}
