//! Simulate LoPA networks on a host, with the same nodes as on a chip.
//!
//! - [`config`]: a network described in a file; [`run`]: from the file to its results;
//! - [`words`]: settings written in words, and what a misspelt one meant;
//! - [`topology`]: who talks to whom, and with which weight;
//! - [`data`]: samples from files or made up, dealt out to nodes; [`quadratics`]: problems with a closed form;
//! - [`algorithms`]: LoPA and what it is compared with, behind one trait;
//! - [`network`]: the nodes of any algorithm in one process;
//! - [`linked`]: LoPA's nodes over links, in simulated time, with [`fault`]s;
//! - [`metrics`]: how it learns, in a [`record`]; [`exact`]: what no node computes, and how far the nodes are from it;
//! - [`theory`]: the constants, bounds and step sizes of the paper, measured and checked;
//! - [`chips`]: a network as blobs for chips, what they need, and the boards there is firmware for;
//! - `fleet`: boards that learn, emulated or real, and the host that looks after them (on Unix);
//! - [`campaign`]: many runs with one purpose: searches for step sizes, and studies;
//! - [`paper`]: the paper's experiments, each a file with its claim and the rule that judges it;
//! - [`numerics`]: statistics of runs, numbers for people, and linear algebra; [`csv`]: how every table is written;
//! - [`plot`]: charts of records, as SVG and PNG; [`report`]: all there is to see of a run, in one page.

pub mod algorithms;
pub mod campaign;
mod chance;
pub mod chips;
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
pub mod network;
pub mod numerics;
pub mod paper;
pub mod plot;
mod purposes;
pub mod quadratics;
pub mod record;
pub mod report;
pub mod run;
pub mod theory;
pub mod topology;
pub mod words;
