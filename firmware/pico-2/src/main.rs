//! The node program on a Raspberry Pi Pico 2: an RP2350 with an FPU.
//!
//! The Pico's `start.rs` lists the pins of its lines; `memory.x` has the addresses of the blob and the checkpoints.
#![no_std]
#![no_main]

#[path = "../../pico/src/catch.rs"]
mod catch;
#[path = "../../pico/src/start.rs"]
mod start;

use embassy_rp::pac::dma::regs::ChTransCount;

/// The board's name, as a host sees it.
const NAME: &str = "Pico 2";
/// Bytes of flash on the board.
const FLASH: usize = 4 * 1024 * 1024;
/// Floats for a node: a shared layer of 784-28-10, with gradient tracking.
const FLOATS: usize = 100 * 1024;

/// A number of transfers, as the chip's DMA is told: to be done once.
const fn transfers(count: u32) -> ChTransCount {
    ChTransCount(count)
}
