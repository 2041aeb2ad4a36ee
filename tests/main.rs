//! All tests across the crates, in one program: each further program would link everything again.
//!
//! One part of them: `cargo test -p lopa-tests exchange::`. Those of emulated chips and boards: `cargo test -p lopa-tests
//! chips:: -- --ignored`, and `nodes::`.

mod algorithm;
mod chips;
mod exchange;
mod house;
mod nodes;
mod packages;
mod reference;
