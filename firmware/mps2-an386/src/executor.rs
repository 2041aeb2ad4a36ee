//! Runs one task and sleeps in between.
//!
//! The task is polled again after every interrupt that wakes it, so wakers are not needed. The chip sleeps with `wfi`,
//! because the emulator does not sleep with `wfe`, which executors usually use.

use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};

use mps2::{clock, places, uart};

static WOKEN: AtomicBool = AtomicBool::new(false);

/// Has the task polled again.
fn wake() {
    WOKEN.store(true, Ordering::Release);
}

/// Runs a task to its end, in place: a copy would be too large for the stack.
pub fn block_on<F: Future>(mut task: Pin<&mut F>) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = task.as_mut().poll(&mut context) {
            return output;
        }
        loop {
            cortex_m::interrupt::disable();
            let woken = WOKEN.load(Ordering::Acquire);
            // An interrupt that arrives now stays pending and ends the sleep at once.
            if woken {
                WOKEN.store(false, Ordering::Release);
            } else {
                cortex_m::asm::wfi();
            }
            // SAFETY: interrupts were enabled before, and no critical section is open.
            unsafe { cortex_m::interrupt::enable() };
            if woken {
                break;
            }
        }
    }
}

// SAFETY: the attribute requires this handler to be unsafe; it only calls safe functions.
#[cortex_m_rt::exception]
unsafe fn DefaultHandler(number: i16) {
    match u16::try_from(number) {
        Ok(places::ALARM) => {
            clock::ring();
            wake();
        }
        Ok(number) => {
            if uart::interrupt(number) {
                wake();
            }
        }
        // The watchdog's interrupt: a reset follows.
        Err(_) => {}
    }
}

// SAFETY: only logs and resets; the attribute requires fault handlers to be unsafe.
#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    panic!("fault: the stack may have overflowed")
}

/// Logs the panic, with the feature `log`, and reboots; the node continues from its last checkpoint.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    lopa_node::last_words(info);
    cortex_m::peripheral::SCB::sys_reset()
}
