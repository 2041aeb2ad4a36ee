//! What must hold for any bytes: shared by the seeded runs of the tests and the cargo-fuzz targets.

mod decoding;
mod harness;
mod script;

pub use decoding::decoder;
pub use harness::exchange;
