//! The node program on a Raspberry Pi Pico: an RP2040, floats in software.
//!
//! `start.rs` lists the pins of its lines; `memory.x` has the addresses of the blob and the checkpoints.
#![no_std]
#![no_main]

mod catch;
mod start;

/// The board's name, as a host sees it.
const NAME: &str = "Pico";
/// Bytes of flash on the board.
const FLASH: usize = 2 * 1024 * 1024;
/// Floats for a node.
const FLOATS: usize = 40 * 1024;

/// A number of transfers, as the chip's DMA is told.
const fn transfers(count: u32) -> u32 {
    count
}
