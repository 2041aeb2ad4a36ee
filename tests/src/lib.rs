//! T
#![no_std]
