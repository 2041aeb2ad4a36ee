//! The status light: a person with a board in hand sees how it fares.

use embedded_hal::digital::{OutputPin, PinState};
use lopa_core::exchange::{Micros, Step};

/// What the light shows.
///
/// | light | |
/// |---|---|
/// | changes with every round | it learns |
/// | short flash every two seconds | it waits for a neighbour, or a host said stop |
/// | on | all rounds are done |
/// | five times a second | it diverged, or its blob was refused |
pub struct Light<P> {
    pin: P,
}

impl<P: OutputPin> Light<P> {
    pub const fn new(pin: P) -> Self {
        Self { pin }
    }

    pub fn show(&mut self, step: Step, round: u64, moved: bool, now: Micros) {
        let on = match step {
            Step::Compute => round & 1 == 1,
            Step::Wait if moved => round & 1 == 1,
            Step::Wait | Step::Paused => now % 2_000_000 < 1_000_000,
            Step::Finished => true,
            Step::Diverged(_) | Step::Mismatch => return self.alarm(now),
        };
        self.set(on);
    }

    /// Something is wrong, and stays wrong.
    pub fn alarm(&mut self, now: Micros) {
        self.set(now % 200_000 < 100_000);
    }

    fn set(&mut self, on: bool) {
        // A light that does not work keeps nobody from learning.
        let _ = self.pin.set_state(PinState::from(on));
    }
}
