//! The node program on an emulated MPS2 board with a Cortex-M4F.
//!
//! | what | where |
//! |---|---|
//! | link 0, to a host | UART 0 |
//! | links 1 to 4, to neighbours | UARTs 1 to 4 |
//! | the blob | 0x2100_0000, in the board's second RAM, put there by the emulator |
//! | flash | `flash.bin` in the emulator's working directory, mirrored at 0x2180_0000 |
//! | a node's vectors, with the feature `large` | 0x21a0_0000 |
//! | logs, with the feature `log` | the emulator's standard output |
//!
//! The board is built for `thumbv7em-none-eabihf`; for other targets this program is empty.
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
#[cfg(all(board, feature = "planted"))]
mod planted;
#[cfg(board)]
mod registers;
#[cfg(board)]
mod start;
#[cfg(board)]
mod uart;
