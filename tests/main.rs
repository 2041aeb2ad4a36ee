//! All tests across the crates, in one program, because every further program would link everything again.
//!
//! To run one part: `cargo test -p lopa-tests exchange::`. Emulated chips and boards are ignored by default: `cargo test -p
//! lopa-tests chips:: -- --ignored`, and the same for `nodes::` and `pico::`. So is the count of a host's instructions, `hosts::`.

mod algorithm;
mod chips;
mod counts;
mod exchange;
mod guide;
// Counts are of this architecture, and by a tool of Linux.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod hosts;
mod house;
mod nodes;
mod packages;
mod pico;
mod reference;
