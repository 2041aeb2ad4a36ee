//! The node program on an emulated MPS2 board: with a Cortex-M4F, or, for fleets of mixed chips, with another chip.
//!
//! | what | where |
//! |---|---|
//! | link 0, to a host | UART 0 |
//! | links 1 to 4, to neighbours | UARTs 1 to 4 |
//! | the blob | the board's second RAM, put there by the emulator |
//! | flash | `flash.bin` in the emulator's working directory, mirrored after the blob |
//! | a node's vectors, with the feature `large` | after the flash |
//! | logs, with the feature `log` | the emulator's standard output |
//!
//! [`mps2`] lists the chips. For other targets this program is empty.
#![no_std]
#![no_main]

#[cfg(all(board, feature = "log"))]
use defmt_semihosting as _;

#[cfg(not(board))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[cfg(board)]
mod clock;
#[cfg(board)]
mod executor;
#[cfg(board)]
mod flash;
#[cfg(board)]
mod places;
#[cfg(all(board, feature = "planted"))]
mod planted;
#[cfg(board)]
mod registers;
#[cfg(board)]
mod start;
#[cfg(board)]
mod uart;
