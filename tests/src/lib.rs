//! Programs that run on hosts and on chips: they allocate nothing, read no clock and use nothing of the platform.
//!
//! [`fingerprint`] shows whether two machines compute the same bits; [`benchmark`] is what the cost tests measure. On
//! hosts, `real_data` finds the real data sets for the tests of all crates.
#![no_std]

#[cfg(not(target_os = "none"))]
extern crate std;

pub mod benchmark;
pub mod data;
pub mod fingerprint;
pub mod hash;
pub mod images;
pub mod primitives;
pub mod programs;
#[cfg(not(target_os = "none"))]
pub mod real_data;
pub mod run;
pub mod topology;
