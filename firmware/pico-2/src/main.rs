//! The node program on a Raspberry Pi Pico 2: an RP2350 with an FPU.
//!
//! Where its lines are says the Pico's `start.rs`; where the blob and the checkpoints lie says `memory.x`.
#![no_std]
#![no_main]

#[path = "../../pico/src/start.rs"]
mod start;

/// What a host sees of the board.
const NAME: &str = "Pico 2";
/// Bytes of flash on the board.
const FLASH: usize = 4 * 1024 * 1024;
/// Floats for a node: a shared layer of 784-28-10, with gradient tracking.
const FLOATS: usize = 100 * 1024;
