//! Drivers for the MPS2 boards that QEMU emulates.
//!
//! | target | machine | chip |
//! |---|---|---|
//! | `thumbv7em-none-eabihf` | `mps2-an386` | Cortex-M4F |
//! | `thumbv6m-none-eabi` | `mps2-an385` | Cortex-M3, which runs the code for a Cortex-M0: floats in software |
//! | `thumbv8m.main-none-eabihf` | `mps2-an505` | Cortex-M33 |
//!
//! For other targets this crate is empty. Interrupt handlers belong to the program: they call [`uart::interrupt`] and
//! [`clock::ring`].
#![no_std]

#[cfg(board)]
pub mod clock;
#[cfg(board)]
mod interrupts;
#[cfg(board)]
pub mod places;
#[cfg(board)]
mod registers;
#[cfg(board)]
pub mod uart;

#[cfg(board)]
pub use {interrupts::enable, registers::Device};
