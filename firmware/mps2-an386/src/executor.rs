//! Runs one task and sleeps in between.
//!
//! The task is looked at again after every interrupt that wakes it: wakers are not needed. The chip sleeps with `wfi`;
//! the emulator does not sleep with `wfe`, which executors prefer.

use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;

use crate::{clock, uart};

static WOKEN: AtomicBool = AtomicBool::new(false);

/// Has the task looked at again.
pub fn wake() {
    WOKEN.store(true, Ordering::Release);
}

/// Runs a task to its end, where it lies: it is large for the stack, and must not be there twice.
pub fn block_on<F: Future>(mut task: Pin<&mut F>) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = task.as_mut().poll(&mut context) {
            return output;
        }
        while !WOKEN.swap(false, Ordering::AcqRel) {
            cortex_m::interrupt::disable();
            // An interrupt that comes now is held, and ends the sleep at once.
            if !WOKEN.load(Ordering::Acquire) {
                cortex_m::asm::wfi();
            }
            // SAFETY: interrupts were enabled before, and no critical section is open.
            unsafe { cortex_m::interrupt::enable() };
        }
    }
}

#[derive(Clone, Copy)]
struct Number(u16);

// SAFETY: the number itself, which is the same at every call.
unsafe impl InterruptNumber for Number {
    fn number(self) -> u16 {
        self.0
    }
}

/// Lets an interrupt through.
pub fn enable(number: u16) {
    // SAFETY: no critical section relies on it; `interrupt` serves it.
    unsafe { NVIC::unmask(Number(number)) };
}

// SAFETY: unsafe is what the attribute asks of a handler for all interrupts; all is done through safe functions.
#[cortex_m_rt::exception]
unsafe fn DefaultHandler(number: i16) {
    match u16::try_from(number) {
        Ok(clock::INTERRUPT) => clock::ring(),
        Ok(number) => uart::interrupt(number),
        // The watchdog's: a reset follows.
        Err(_) => {}
    }
}

// SAFETY: only logs and resets; unsafe is what the attribute asks of a fault handler.
#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    panic!("a fault: perhaps the stack is larger than the RAM")
}

/// Says why, with the feature `log`, and reboots: what was learned is in the last checkpoint.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    lopa_node::last_words(info);
    cortex_m::peripheral::SCB::sys_reset()
}
