//! A node in an RTIC app: hardware tasks move bytes, and a software task of the lowest priority learns.
#![no_std]
#![no_main]
#![allow(missing_docs, reason = "RTIC makes public items without docs")]

#[cfg(not(board))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(board)]
#[rtic::app(device = examples::device, peripherals = false, dispatchers = [SOFTWARE0])]
mod app {
    use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
    use embassy_sync::signal::Signal;
    use examples::board::{Serial, blob, station};
    use examples::device::Interrupt;
    use examples::station::{Memory, Next, Station};
    use lopa_core::problems::Logistic;
    use mps2::{clock, uart};

    /// There is something to do for the learning task. Embassy's signals work with every executor.
    static LOOK: Signal<CriticalSectionRawMutex, ()> = Signal::new();

    #[shared]
    struct Shared {}

    #[local]
    struct Local {
        lines: Serial,
        node: Station<Logistic<'static>>,
    }

    #[init(local = [memory: Memory = Memory::new()])]
    fn init(cx: init::Context) -> (Shared, Local) {
        let (blob, problem) = blob();
        let lines = Serial::start(blob.baud());
        let node = station(&blob, problem, cx.local.memory);
        let _ = learn::spawn();
        (Shared {}, Local { lines, node })
    }

    /// Whatever else the firmware does comes here.
    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            clock::sleep();
        }
    }

    /// Takes turns for ever. Tasks with a higher priority interrupt it, also while it computes.
    #[task(priority = 1, local = [lines, node])]
    async fn learn(cx: learn::Context) {
        let learn::LocalResources { lines, node, .. } = cx.local;
        loop {
            match node.turn(lines, clock::now()) {
                Next::Compute => node.compute(),
                Next::Wait(until) => {
                    clock::ring_at(until);
                    LOOK.wait().await;
                }
            }
        }
    }

    #[task(binds = ALARM, priority = 2)]
    fn alarm(_: alarm::Context) {
        clock::ring();
        LOOK.signal(());
    }

    /// Moves bytes between a UART and its buffer.
    fn serve(uart: Interrupt) {
        if uart::interrupt(uart as u16) {
            LOOK.signal(());
        }
    }

    #[task(binds = UART0RX, priority = 2)]
    fn receive_0(_: receive_0::Context) {
        serve(Interrupt::UART0RX);
    }
    #[task(binds = UART0TX, priority = 2)]
    fn send_0(_: send_0::Context) {
        serve(Interrupt::UART0TX);
    }
    #[task(binds = UART1RX, priority = 2)]
    fn receive_1(_: receive_1::Context) {
        serve(Interrupt::UART1RX);
    }
    #[task(binds = UART1TX, priority = 2)]
    fn send_1(_: send_1::Context) {
        serve(Interrupt::UART1TX);
    }
    #[task(binds = UART2RX, priority = 2)]
    fn receive_2(_: receive_2::Context) {
        serve(Interrupt::UART2RX);
    }
    #[task(binds = UART2TX, priority = 2)]
    fn send_2(_: send_2::Context) {
        serve(Interrupt::UART2TX);
    }
}
