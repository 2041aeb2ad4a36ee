//! Programs that run on a host and on a chip alike: no allocation, no clock, nothing of the platform.
//!
//! [`fingerprint`] tells whether two machines compute the same bits, [`benchmark`] is what is measured.
#![no_std]

pub mod benchmark;
pub mod data;
pub mod fingerprint;
pub mod hash;
pub mod primitives;
pub mod programs;
pub mod run;
pub mod topology;
