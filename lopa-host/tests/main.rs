//! All tests of the host in one program, because every further program would link the whole crate again.
//!
//! To run the tests of one file: `cargo test -p lopa-host --test main fetch::`.

mod algorithms;
mod automatic;
mod bars;
mod bits;
mod bits_over_links;
mod boards;
#[cfg(unix)]
mod browser;
mod common;
mod compare;
mod data;
mod demonstration;
#[cfg(unix)]
mod doctor;
mod fetch;
#[cfg(unix)]
mod fleet;
mod fleet_seconds;
#[cfg(all(unix, feature = "zenoh"))]
mod gateway;
mod keys;
mod learned;
mod live;
mod memory;
mod mistakes;
mod model;
mod own_data;
mod paper;
mod paths;
mod plots;
#[cfg(unix)]
mod processes;
mod real_data;
#[cfg(unix)]
mod refused;
mod resume;
mod run;
#[cfg(unix)]
mod safe_results;
mod same_results;
mod shard;
mod theory;
mod topologies;
mod topology_command;
#[cfg(all(unix, feature = "zenoh"))]
mod workers;
