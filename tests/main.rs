//! All tests across the crates, in one program, because every further program would link everything again.
//!
//! To run one part: `cargo test -p lopa-tests exchange::`. Emulated chips and boards are ignored by default: `cargo test -p
//! lopa-tests chips:: -- --ignored`, and the same for `nodes::`.

mod algorithm;
mod chips;
mod exchange;
mod house;
mod nodes;
mod packages;
mod reference;
