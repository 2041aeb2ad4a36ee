//! All tests of the public API in one program, because every further program would link the whole crate again.
//!
//! To run the tests of one file: `cargo test -p lopa-core --test main rounds::`.

mod blob;
mod checkpoints;
mod codec;
mod coded_blob;
mod common;
mod conversation;
#[cfg(feature = "codec")]
mod few_bits;
mod integers;
mod networks;
mod rounds;
mod scales;
mod serde;
