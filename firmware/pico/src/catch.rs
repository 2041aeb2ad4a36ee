//! Lines that receive without the processor while the flash changes.
//!
//! Nothing can be executed from the flash meanwhile, so embassy disables interrupts, and a UART holds only 32 bytes. DMA
//! takes what arrives into a buffer, which is read before anything that arrives later.

use core::cell::RefCell;
use core::future::poll_fn;
use core::pin::pin;
use core::sync::atomic::{Ordering, compiler_fence};
use core::task::{Context, Poll, Waker};

use embassy_rp::interrupt::{self, InterruptExt};
use embassy_rp::pac;
use embassy_rp::pac::dma::vals::{DataSize, TreqSel};
use embassy_rp::uart::{BufferedUart, BufferedUartRx, BufferedUartTx, Error};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embedded_io_async::{ErrorType, Read, Write};
use lopa_embassy::RECEIVE;

type Receiver = Mutex<CriticalSectionRawMutex, RefCell<Option<Caught>>>;
/// The receiving ends, which the lines share with `changing`.
static LINES: [Receiver; 2] = [const { Mutex::new(RefCell::new(None)) }; 2];

/// A receiving end, and what DMA has caught: `bytes[from..to]`.
struct Caught {
    uart: BufferedUartRx,
    bytes: &'static mut [u8; RECEIVE],
    from: usize,
    to: usize,
}

/// A line to a neighbour.
pub struct Wire {
    number: usize,
    out: BufferedUartTx,
}

impl Wire {
    /// The line of UART 0 or 1, which uses the DMA channel of the same number. Call it once for each.
    pub fn new(number: usize, uart: BufferedUart, bytes: &'static mut [u8; RECEIVE]) -> Self {
        let (out, uart) = uart.split();
        LINES[number].lock(|line| line.replace(Some(Caught { uart, bytes, from: 0, to: 0 })));
        Self { number, out }
    }
}

/// To be called with true before the flash changes, and with false afterwards.
pub fn changing(now: bool) {
    for (number, line) in LINES.iter().enumerate() {
        line.lock(|line| {
            if let Some(caught) = &mut *line.borrow_mut() {
                if now { caught.start(number) } else { caught.stop(number) }
            }
        });
    }
}

/// The UART, its interrupt, and its requests for DMA.
fn parts(number: usize) -> (pac::uart::Uart, interrupt::Interrupt, TreqSel) {
    match number {
        0 => (pac::UART0, interrupt::UART0_IRQ, TreqSel::UART0_RX),
        _ => (pac::UART1, interrupt::UART1_IRQ, TreqSel::UART1_RX),
    }
}

impl Caught {
    fn start(&mut self, number: usize) {
        let (uart, interrupt, request) = parts(number);
        // Its handler leaves everything alone while DMA receives, and would be called again and again.
        interrupt.disable();
        // What arrived before has to be read before.
        let mut cx = Context::from_waker(Waker::noop());
        while let Some(rest @ [_, ..]) = self.bytes.get_mut(self.to..) {
            match pin!(self.uart.read(rest)).poll(&mut cx) {
                Poll::Ready(Ok(len)) => self.to += len,
                _ => break,
            }
        }
        let Some(rest @ [_, ..]) = self.bytes.get_mut(self.to..) else { return };
        let channel = pac::DMA.ch(number);
        channel.read_addr().write_value(uart.uartdr().as_ptr() as u32);
        channel.write_addr().write_value(rest.as_mut_ptr() as u32);
        channel.trans_count().write_value(crate::transfers(rest.len() as u32));
        compiler_fence(Ordering::SeqCst);
        channel.ctrl_trig().write(|w| {
            w.set_treq_sel(request);
            w.set_data_size(DataSize::SIZE_BYTE);
            w.set_incr_write(true);
            w.set_chain_to(number as u8);
            w.set_irq_quiet(true);
            w.set_en(true);
        });
        uart.uartdmacr().write(|w| w.set_rxdmae(true));
    }

    fn stop(&mut self, number: usize) {
        let (uart, interrupt, _) = parts(number);
        if uart.uartdmacr().read().rxdmae() {
            uart.uartdmacr().write(|w| w.set_rxdmae(false));
            let channel = pac::DMA.ch(number);
            pac::DMA.chan_abort().write(|w| w.set_chan_abort(1 << number));
            while channel.ctrl_trig().read().busy() {}
            compiler_fence(Ordering::SeqCst);
            let end = channel.write_addr().read() as usize;
            self.to = end.saturating_sub(self.bytes.as_ptr() as usize).clamp(self.to, RECEIVE);
        }
        // SAFETY: it was enabled before the flash changed, and its handler was installed by `BufferedUart`.
        unsafe { interrupt.enable() };
    }

    fn poll(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Poll<Result<usize, Error>> {
        let caught = self.bytes.get(self.from..self.to).unwrap_or(&[]);
        if caught.is_empty() {
            (self.from, self.to) = (0, 0);
            return pin!(self.uart.read(bytes)).poll(cx);
        }
        let len = caught.len().min(bytes.len());
        bytes.iter_mut().zip(caught).for_each(|(place, byte)| *place = *byte);
        self.from += len;
        Poll::Ready(Ok(len))
    }
}

impl ErrorType for Wire {
    type Error = Error;
}

impl Read for Wire {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        poll_fn(|cx| {
            LINES[self.number].lock(|line| match &mut *line.borrow_mut() {
                Some(caught) => caught.poll(bytes, cx),
                None => Poll::Pending,
            })
        })
        .await
    }
}

impl Write for Wire {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        self.out.write(bytes).await
    }

    async fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
