//! A LoPA node for firmware in C: the functions of `include/lopa.h`, which is generated from [`api`] and [`error`].
//!
//! The library allocates nothing, has no statics, calls nothing back and never blocks. A node lives in memory that its caller
//! owns. See `firmware/c/README.md` for how to use it.
#![cfg_attr(target_os = "none", no_std)]

pub mod api;
pub mod error;
mod floats;
mod node;
#[cfg(target_os = "none")]
mod panic;

pub use node::LopaNode;
