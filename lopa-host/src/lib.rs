//! Simulate LoPA networks on a host, with the same nodes as on a chip.
//!
//! - [`config`]: a network described in a file; [`run`]: from the file to the [`outputs`], with [`metrics`] in a [`record`];
//! - [`topology`]: who talks to whom, and with which weight;
//! - [`data`]: samples from files, dealt out to nodes;
//! - [`synthetic`]: data with a known truth; [`quadratics`]: problems with a closed form;
//! - [`simulation`]: a network that runs, all in one memory;
//! - [`exact`]: what no node computes, and how far the nodes are from it;
//! - [`linked`]: the same over links, in simulated time, with [`fault`]s.
//! - [`plot`]: charts of [`record`]s, as SVG and PNG; [`report`]: all there is to see of a run, in one page.

pub mod config;
pub mod data;
pub mod exact;
pub mod fault;
pub mod linked;
pub mod metrics;
pub mod outputs;
pub mod plot;
pub mod problem;
pub mod quadratics;
pub mod record;
pub mod report;
pub mod run;
pub mod simulation;
pub mod synthetic;
pub mod topology;
