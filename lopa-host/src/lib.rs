//! Simulate LoPA networks on a host: the same nodes as on a chip, all in one memory.
//!
//! - [`topology`]: who talks to whom, and with which weight;
//! - [`synthetic`]: data with a known truth;
//! - [`simulation`]: a network that runs, all in one memory;
//! - [`linked`]: the same over links, in simulated time, with [`fault`]s.

pub mod fault;
pub mod linked;
pub mod simulation;
pub mod synthetic;
pub mod topology;
