#![doc = include_str!("../README.md")]
#![doc = include_str!("../docs/cost.md")]
#![doc = include_str!("../docs/integer.md")]
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "simd")]
extern crate std;

// 80-bit registers round twice, wherever the compiler happens to spill them.
#[cfg(any(all(target_arch = "x86", not(target_feature = "sse2")), target_arch = "m68k"))]
compile_error!(
    "lopa-core needs floats that are IEEE 754 single precision at every step, and this target computes in 80 bits: \
     build for one with SSE2, such as i686 instead of i586"
);

// They are in public signatures: re-exported so that users have the same versions.
#[doc(no_inline)]
pub use {heapless, rand_core};

pub mod batch;
pub mod blob;
pub mod check;
pub mod checkpoint;
pub mod codec;
pub mod draw;
pub mod epoch;
pub mod exchange;
#[cfg(feature = "integer")]
mod fixed;
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
