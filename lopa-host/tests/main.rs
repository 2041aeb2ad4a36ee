//! All tests of the host in one program: each further program would link the whole crate again.
//!
//! The tests of one file alone: `cargo test -p lopa-host --test main fetch::`.

mod algorithms;
mod bars;
mod boards;
mod common;
mod compare;
mod data;
mod demonstration;
mod fetch;
#[cfg(unix)]
mod fleet;
mod mistakes;
mod paper;
mod paths;
mod plots;
mod real_data;
mod resume;
mod run;
mod shard;
mod theory;
mod topologies;
mod topology_command;
