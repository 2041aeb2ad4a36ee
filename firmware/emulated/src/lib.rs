//! Shared by the emulated programs: entry and exit, an instruction counter, and a stack gauge.
#![no_std]

pub mod cipher;
pub mod cost;
mod counter;
mod program;
#[cfg(feature = "reference")]
pub mod reference;
mod stack;

#[doc(hidden)]
pub use program::{fault, leave};
