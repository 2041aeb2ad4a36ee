//! Link a node into a firmware: what to allocate, what to call when, and what it costs.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]

pub mod recent;
pub mod station;

// They stand in for a HAL, and exist only for the emulated boards.
#[cfg(board)]
pub mod board;
#[cfg(board)]
pub mod device;
