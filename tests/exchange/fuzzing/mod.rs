//! Checks that must hold for any bytes, shared by the tests and the cargo-fuzz targets.
#![allow(dead_code, unused_imports, reason = "each target uses its part")]

mod actor;
mod checks;
mod decoding;
mod harness;
mod script;
mod watched;

pub use decoding::{crc, decoder, frame};
pub use harness::{Reached, exchange};
