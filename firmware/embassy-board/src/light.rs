//! A light that is on when its pin is low.

use embedded_hal::digital::{ErrorType, OutputPin};

/// The pin of a light that is wired to the supply.
#[derive(Debug)]
pub struct LowIsOn<P>(pub P);

impl<P: ErrorType> ErrorType for LowIsOn<P> {
    type Error = P::Error;
}

impl<P: OutputPin> OutputPin for LowIsOn<P> {
    fn set_low(&mut self) -> Result<(), P::Error> {
        self.0.set_high()
    }

    fn set_high(&mut self) -> Result<(), P::Error> {
        self.0.set_low()
    }
}
