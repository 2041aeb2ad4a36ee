//! What boards with an embassy HAL have in common.
//!
//! A board starts its chip's HAL and uses the rest from here: [`Time`] over embassy's time driver, a [`Link`] that may be
//! unconnected, the [`blob`] and the [`Kept`] checkpoints in the regions of the board's `memory.x`, a line to the host over
//! USB, and a panic handler that logs the panic and restarts the chip from its last checkpoint.
#![no_std]

mod clock;
mod flash;
mod light;
mod link;
mod panic;
#[cfg(feature = "usb")]
pub mod usb;

pub use clock::{PATIENCE, Time};
pub use flash::{Kept, blob};
pub use light::LowIsOn;
pub use link::{Link, RECEIVE, SEND};
