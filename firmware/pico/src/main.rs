//! The node program on a Raspberry Pi Pico: an RP2040, floats in software.
//!
//! Where its lines are says `start.rs`; where the blob and the checkpoints lie says `memory.x`.
#![no_std]
#![no_main]

mod start;

/// What a host sees of the board.
const NAME: &str = "Pico";
/// Bytes of flash on the board.
const FLASH: usize = 2 * 1024 * 1024;
/// Floats for a node.
const FLOATS: usize = 40 * 1024;
