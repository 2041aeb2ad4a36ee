//! Registers of the board's devices.

/// A device's registers, each 32 bits wide.
#[derive(Debug, Clone, Copy)]
pub struct Device(usize);

impl Device {
    /// The device at an address.
    ///
    /// # Safety
    /// There must be a device at that address, with at least `REGISTERS` registers whose reads and writes touch no memory.
    #[must_use]
    pub const unsafe fn new(address: usize) -> Self {
        Self(address)
    }

    fn register<const REGISTER: usize>(self) -> *mut u32 {
        const { assert!(REGISTER < REGISTERS) };
        (self.0 + 4 * REGISTER) as *mut u32
    }

    /// Reads a register.
    #[must_use]
    pub fn read<const REGISTER: usize>(self) -> u32 {
        // SAFETY: a register of a device, as promised to `new`.
        unsafe { self.register::<REGISTER>().read_volatile() }
    }

    /// Writes a register.
    pub fn write<const REGISTER: usize>(self, value: u32) {
        // SAFETY: a register of a device, as promised to `new`.
        unsafe { self.register::<REGISTER>().write_volatile(value) }
    }
}

/// The number of registers that every device here has.
const REGISTERS: usize = 5;
