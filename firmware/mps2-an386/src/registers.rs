//! Registers of the board's devices.

use embedded_hal::digital::{ErrorType, OutputPin};
use lopa_node::Watchdog;

use crate::places::{HERTZ, LIGHTS, WATCHDOG};

/// A device's registers, each 32 bits wide.
#[derive(Debug, Clone, Copy)]
pub struct Device(usize);

impl Device {
    /// The device at an address.
    ///
    /// # Safety
    /// There must be a device at that address, with at least `REGISTERS` registers whose reads and writes touch no memory.
    pub const unsafe fn new(address: usize) -> Self {
        Self(address)
    }

    fn register<const REGISTER: usize>(self) -> *mut u32 {
        const { assert!(REGISTER < REGISTERS) };
        (self.0 + 4 * REGISTER) as *mut u32
    }

    pub fn read<const REGISTER: usize>(self) -> u32 {
        // SAFETY: a register of a device, as promised to `new`.
        unsafe { self.register::<REGISTER>().read_volatile() }
    }

    pub fn write<const REGISTER: usize>(self, value: u32) {
        // SAFETY: a register of a device, as promised to `new`.
        unsafe { self.register::<REGISTER>().write_volatile(value) }
    }
}

/// The number of registers that every device here has.
const REGISTERS: usize = 5;

/// The first of the board's two lights.
#[derive(Debug)]
pub struct Led(Device);

impl Led {
    pub const fn new() -> Self {
        // SAFETY: the board's FPGA registers, the first of which are its lights.
        Self(unsafe { Device::new(LIGHTS) })
    }
}

impl ErrorType for Led {
    type Error = core::convert::Infallible;
}

impl OutputPin for Led {
    fn set_low(&mut self) -> Result<(), Self::Error> {
        self.0.write::<0>(0);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Self::Error> {
        self.0.write::<0>(1);
        Ok(())
    }
}

/// The board's watchdog: after one timeout it raises an interrupt, which is not handled; after a second one, a reset.
#[derive(Debug)]
pub struct Dog(Device);

impl Dog {
    const LOAD: usize = 0;
    const CONTROL: usize = 2;
    const CLEAR: usize = 3;
    /// One minute, because an emulator on a busy machine can stall for long; less when a test waits for the reset.
    const TICKS: u32 = if cfg!(feature = "planted") { 5 } else { 60 } * HERTZ;

    pub fn start() -> Self {
        // SAFETY: the board's watchdog.
        let device = unsafe { Device::new(WATCHDOG) };
        device.write::<{ Self::LOAD }>(Self::TICKS);
        device.write::<{ Self::CONTROL }>(0b11);
        Self(device)
    }
}

impl Watchdog for Dog {
    fn feed(&mut self) {
        // Any value clears the interrupt and restarts the count.
        self.0.write::<{ Self::CLEAR }>(1);
    }
}
