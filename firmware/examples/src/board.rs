//! What a firmware already has: a blob in flash, lines, a clock, and an end if all goes wrong.

use lopa_core::blob::Blob;
use lopa_core::problem::Problem;
use lopa_core::problems::{AnyProblem, Logistic};
use mps2::places::{BLOB, LIGHTS};
use mps2::uart::Uart;
use mps2::{Device, clock};

use crate::station::{LINKS, Lines, Memory, Station};

/// The node's blob, which `lopa shard` wrote, and its problem.
///
/// # Panics
/// If there is no valid blob, or its problem is not logistic regression.
#[must_use]
pub fn blob() -> (Blob<'static>, Logistic<'static>) {
    // SAFETY: RAM of the board that nothing writes to.
    let bytes = unsafe { core::slice::from_raw_parts(BLOB.0 as *const u8, BLOB.1) };
    // Not `expect`, which would print the error, and with it bring the printing of floats into the image.
    let Ok(blob) = Blob::read(bytes) else { panic!("the blob is not valid") };
    let AnyProblem::Logistic(problem) = blob.problem() else {
        panic!("these programs learn logistic regression only");
    };
    (blob, problem)
}

/// The node of the blob. A product would tell a host why there is none: see `Exchange::decline`.
///
/// # Panics
/// If the blob does not fit.
#[must_use]
pub fn station<P: Problem>(
    blob: &Blob<'static>,
    problem: P,
    memory: &'static mut Memory,
) -> Station<P> {
    let Ok(station) = Station::new(blob, problem, memory, clock::now()) else {
        panic!("the blob does not fit");
    };
    station
}

/// The board's lines.
#[derive(Debug)]
pub struct Serial([Uart; LINKS]);

impl Serial {
    /// Starts clock and lines. Interrupts are left to the program.
    #[must_use]
    pub fn start(baud: u32) -> Self {
        clock::start();
        Self(Uart::start(baud))
    }
}

impl Lines for Serial {
    fn read(&mut self, link: usize, bytes: &mut [u8]) -> usize {
        self.0.get_mut(link).map_or(0, |uart| uart.take(bytes))
    }

    fn write(&mut self, link: usize, bytes: &[u8]) -> usize {
        self.0.get_mut(link).map_or(0, |uart| uart.give(bytes))
    }
}

/// Switches the board's light.
pub fn light(on: bool) {
    // SAFETY: the board's FPGA registers, the first of which are its lights.
    unsafe { Device::new(LIGHTS) }.write::<0>(on.into());
}

/// Prints the reason and ends the emulator; a board would reset.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    semihosting::eprintln!("{info}");
    semihosting::process::exit(101)
}
