//! What the emulated programs share: a way in and out, a counter of instructions, a gauge for the stack.
#![no_std]

pub mod cipher;
pub mod cost;
mod counter;
mod program;
mod stack;

#[doc(hidden)]
pub use program::{fault, leave};
