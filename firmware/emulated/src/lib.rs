//! Shared by the emulated programs: entry and exit, an instruction counter, and a stack gauge.
#![no_std]

pub mod cipher;
pub mod cost;
mod counter;
mod program;
mod stack;

#[doc(hidden)]
pub use program::{fault, leave};
