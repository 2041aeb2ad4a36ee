//! The board's UARTs as links.

use core::convert::Infallible;
use core::future::poll_fn;
use core::task::Poll;

use embedded_io_async::{ErrorType, Read, Write};
use lopa_node::LINKS;
use mps2::uart::Uart;

/// One line. Its futures register no waker: the executor polls after every interrupt that matters.
#[derive(Debug)]
pub struct Line(Uart);

impl Line {
    /// Starts all lines at a rate.
    pub fn start(baud: u32) -> [Self; LINKS] {
        Uart::start(baud).map(|uart| {
            mps2::enable(uart.interrupt());
            mps2::enable(uart.interrupt() + 1);
            Self(uart)
        })
    }
}

impl ErrorType for Line {
    type Error = Infallible;
}

/// A cancelled read has taken nothing.
impl Read for Line {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        poll_fn(|_| match self.0.take(bytes) {
            0 if !bytes.is_empty() => Poll::Pending,
            len => Poll::Ready(Ok(len)),
        })
        .await
    }
}

/// A cancelled write has written nothing.
impl Write for Line {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        poll_fn(|_| match self.0.give(bytes) {
            0 if !bytes.is_empty() => Poll::Pending,
            len => Poll::Ready(Ok(len)),
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
