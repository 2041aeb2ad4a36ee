//! The node program on a board that may return anything.
//!
//! All that its parts return passes through `black_box`: any number of bytes, errors, times, flash with any content. A real
//! board's drivers, start-up code and executor are not covered.

use core::future::{Future, poll_fn};
use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use embedded_hal::digital::{ErrorType as PinErrorType, OutputPin};
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use embedded_storage::nor_flash::{
    ErrorType as FlashErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash,
};
use lopa_core::blob::Blob;
use lopa_core::exchange::Micros;
use lopa_node::{Board, Clock, Desk, LINKS, Mapped, Watchdog, run};

/// Any number, an error, or pending.
fn anything<E>(error: E) -> Poll<Result<usize, E>> {
    match black_box(0_u8) {
        0 => Poll::Pending,
        1 => Poll::Ready(Err(error)),
        _ => Poll::Ready(Ok(black_box(7))),
    }
}

struct Line;

impl ErrorType for Line {
    type Error = ErrorKind;
}

impl Read for Line {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, ErrorKind> {
        black_box(bytes);
        poll_fn(|_| anything(ErrorKind::Other)).await
    }
}

impl Write for Line {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        black_box(bytes);
        poll_fn(|_| anything(ErrorKind::Other)).await
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

struct Time;

impl Clock for Time {
    fn now(&mut self) -> Micros {
        black_box(9)
    }

    fn wait_until(&mut self, at: Micros) -> impl Future<Output = ()> {
        black_box(at);
        poll_fn(|_| if black_box(true) { Poll::Pending } else { Poll::Ready(()) })
    }
}

struct Pin;

impl PinErrorType for Pin {
    type Error = core::convert::Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

struct Dog;

impl Watchdog for Dog {
    fn feed(&mut self) {
        black_box(());
    }
}

/// Flash of any size and content.
struct Memory(&'static [u8]);

impl Memory {
    fn taken() -> Result<(), NorFlashErrorKind> {
        if black_box(true) { Ok(()) } else { Err(NorFlashErrorKind::Other) }
    }
}

impl FlashErrorType for Memory {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Memory {
    const READ_SIZE: usize = 1;

    fn read(&mut self, _: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        black_box(bytes);
        Self::taken()
    }

    fn capacity(&self) -> usize {
        black_box(self.0.len())
    }
}

impl NorFlash for Memory {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        black_box((from, to));
        Self::taken()
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        black_box((offset, bytes));
        Self::taken()
    }
}

impl Mapped for Memory {
    fn bytes(&self) -> &[u8] {
        black_box(self.0)
    }
}

/// Runs the program on that board for one poll.
pub fn live() {
    static FLASH: [u32; 256] = [1; 256];
    let bytes: &[u8] = bytemuck::cast_slice(black_box(&FLASH[..]));
    let board = Board {
        links: [const { Line }; LINKS],
        clock: Time,
        light: Pin,
        watchdog: Dog,
        flash: Memory(black_box(bytes)),
    };
    let mut arena = [0.0; 64];
    let mut desk = Desk::new();
    let blob = Blob::read(bytes);
    let task = pin!(run(board, &blob, black_box(&mut arena), &mut desk));
    let _ = task.poll(&mut Context::from_waker(Waker::noop()));
}
