//! Interrupts by number, for programs without a list of their names.

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;

#[derive(Clone, Copy)]
struct Number(u16);

// SAFETY: returns the number itself, the same at every call.
unsafe impl InterruptNumber for Number {
    fn number(self) -> u16 {
        self.0
    }
}

/// Enables an interrupt.
pub fn enable(number: u16) {
    // SAFETY: no critical section relies on it being masked, and the program handles it.
    unsafe { NVIC::unmask(Number(number)) };
}
