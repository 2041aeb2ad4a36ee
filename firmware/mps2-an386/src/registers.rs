//! The board's light and its watchdog.

use embedded_hal::digital::{ErrorType, OutputPin};
use lopa_node::Watchdog;
use mps2::Device;
use mps2::places::{HERTZ, LIGHTS, WATCHDOG};

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
