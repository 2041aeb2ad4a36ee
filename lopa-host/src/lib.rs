//! Simulate LoPA networks on a host, with the same nodes as on a chip.
//!
//! - [`config`]: a network described in a file; [`run`]: from the file to the [`outputs`];
//! - [`topology`]: who talks to whom, and with which weight;
//! - [`data`]: samples from files, dealt out to nodes;
//! - [`synthetic`]: data with a known truth; [`quadratics`]: problems with a closed form;
//! - [`algorithms`]: LoPA and what it is compared with, behind one trait;
//! - [`simulation`]: LoPA's network, all in one memory;
//! - [`linked`]: the same over links, in simulated time, with [`fault`]s;
//! - [`metrics`]: how it learns, in a [`record`]; [`exact`]: what no node computes, and how far the nodes are from it;
//! - [`shards`]: a network as blobs for chips, and what they cost; [`boards`]: which boards there is firmware for;
//! - `fleet`: boards that learn, emulated or real, and the host that looks after them (on Unix);
//! - [`campaign`]: many runs with one purpose: searches for step sizes, and studies;
//! - [`paper`]: the paper's experiments, each a file with its claim and the rule that judges it;
//! - [`csv`]: how every table is written;
//! - [`plot`]: charts of records, as SVG and PNG; [`report`]: all there is to see of a run, in one page.

pub mod algorithms;
pub mod boards;
pub mod campaign;
pub mod config;
pub mod csv;
pub mod data;
pub mod exact;
pub mod fault;
pub mod files;
#[cfg(unix)]
pub mod fleet;
pub mod key;
pub mod linked;
pub mod metrics;
pub mod outputs;
pub mod paper;
pub mod plot;
pub mod quadratics;
pub mod record;
pub mod report;
pub mod run;
pub mod shards;
pub mod simulation;
pub mod synthetic;
pub mod topology;
