//! The cost of a step of the shared-layer benchmark in plain C.
#![no_std]
#![no_main]

emulated::program!(emulated::reference::shared_layer());
