//! Simulate LoPA networks on a host, with the same nodes as on a chip.
//!
//! - [`config`]: a network described in a file; [`run`]: from the file to its results;
//! - [`words`]: settings written in words, and what a misspelt one meant;
//! - [`topology`]: which nodes are linked, and with which weight;
//! - [`data`]: samples from files or made up, dealt out to nodes; [`quadratics`]: problems with a closed form;
//! - [`algorithms`]: LoPA and the methods it is compared with, behind one trait;
//! - [`network`]: the nodes of any algorithm in one process, and LoPA's over links in simulated time, with faults;
//! - [`metrics`]: what is measured, in a [`record`]; [`exact`]: solutions that no node computes, and the nodes' distance from them;
//! - [`model`]: what was learned, in a form that can be used: predictions, and code for a chip;
//! - [`theory`]: the constants, bounds and step sizes of the paper, measured and checked;
//! - [`chips`]: a network as blobs for chips, what they need, and the boards there is firmware for;
//! - `fleet`: boards that learn, emulated or real, and the host that controls them (on Unix);
//! - [`campaign`]: many runs with one purpose: searches for step sizes, and studies;
//! - [`paper`]: the paper's experiments, each a file with its claim and the rule that judges it;
//! - [`numerics`]: statistics of runs, numbers for people, and linear algebra; [`csv`]: how every table is written;
//! - [`live`]: a run in a browser while it learns, and its numbers for Prometheus;
//! - [`plot`]: charts of records, as SVG and PNG; [`report`]: the results of a run, as files and as one page.

// Only the command prints, in a way that survives a closed pipe.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod algorithms;
pub mod campaign;
mod chance;
pub mod chips;
pub mod config;
pub mod csv;
pub mod data;
pub mod exact;
pub mod files;
#[cfg(unix)]
pub mod fleet;
pub mod key;
pub mod live;
mod locked;
pub mod meeting;
pub mod metrics;
pub mod model;
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
