//! A node in a main loop, without an executor: it sleeps until an interrupt, and looks whether there is anything to do.
//!
//! A tick wakes the loop every millisecond, as in most firmware of this kind. That is why an interrupt that comes just before
//! the loop falls asleep is not lost, but only late.
#![no_std]
#![no_main]

#[cfg(not(board))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(board)]
mod program {
    use core::sync::atomic::{AtomicBool, Ordering};

    use cortex_m::Peripherals;
    use cortex_m::peripheral::NVIC;
    use cortex_m::peripheral::syst::SystClkSource;
    use cortex_m_rt::{entry, exception};
    use examples::board::{Serial, blob, station};
    use examples::device::{Interrupt, interrupt};
    use examples::station::{Memory, Next};
    use mps2::places::HERTZ;
    use mps2::{clock, uart};

    const UARTS: [Interrupt; 6] = [
        Interrupt::UART0RX,
        Interrupt::UART0TX,
        Interrupt::UART1RX,
        Interrupt::UART1TX,
        Interrupt::UART2RX,
        Interrupt::UART2TX,
    ];

    /// Whether a frame has arrived, or a line has room again.
    static LOOK: AtomicBool = AtomicBool::new(false);

    #[entry]
    fn main() -> ! {
        static mut MEMORY: Memory = Memory::new();
        let (blob, problem) = blob();
        let mut lines = Serial::start(blob.baud());
        let mut core = Peripherals::take().expect("taken once");
        core.SYST.set_clock_source(SystClkSource::Core);
        core.SYST.set_reload(HERTZ / 1_000 - 1);
        core.SYST.clear_current();
        core.SYST.enable_counter();
        core.SYST.enable_interrupt();
        for uart in UARTS {
            // SAFETY: no critical section relies on it being masked.
            unsafe { NVIC::unmask(uart) };
        }
        let mut node = station(&blob, problem, MEMORY);
        loop {
            match node.turn(&mut lines, clock::now()) {
                Next::Compute => node.compute(),
                Next::Wait(until) => {
                    while !LOOK.load(Ordering::Acquire) && clock::now() < until {
                        clock::sleep();
                    }
                    LOOK.store(false, Ordering::Release);
                }
            }
            // Whatever else the firmware does comes here.
        }
    }

    /// Wakes the loop.
    #[exception]
    fn SysTick() {}

    /// Moves bytes between a UART and its buffer.
    fn serve(uart: Interrupt) {
        if uart::interrupt(uart as u16) {
            LOOK.store(true, Ordering::Release);
        }
    }

    #[cortex_m_rt::interrupt]
    fn UART0RX() {
        serve(Interrupt::UART0RX);
    }
    #[cortex_m_rt::interrupt]
    fn UART0TX() {
        serve(Interrupt::UART0TX);
    }
    #[cortex_m_rt::interrupt]
    fn UART1RX() {
        serve(Interrupt::UART1RX);
    }
    #[cortex_m_rt::interrupt]
    fn UART1TX() {
        serve(Interrupt::UART1TX);
    }
    #[cortex_m_rt::interrupt]
    fn UART2RX() {
        serve(Interrupt::UART2RX);
    }
    #[cortex_m_rt::interrupt]
    fn UART2TX() {
        serve(Interrupt::UART2TX);
    }
}
