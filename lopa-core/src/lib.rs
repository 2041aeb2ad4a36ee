#![doc = include_str!("../README.md")]
#![doc = include_str!("../docs/cost.md")]
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

// In public signatures, and re-exported so that a user has the same versions.
#[doc(no_inline)]
pub use {heapless, rand_core};

pub mod batch;
pub mod blob;
pub mod check;
pub mod checkpoint;
pub mod draw;
pub mod epoch;
pub mod exchange;
pub mod footprint;
#[cfg(feature = "defmt")]
mod formatted;
pub mod math;
pub mod network;
pub mod node;
pub mod oracles;
pub mod problem;
pub mod problems;
pub mod samples;
pub mod security;
pub mod steps;
pub mod vector;
mod widest;
pub mod wire;
