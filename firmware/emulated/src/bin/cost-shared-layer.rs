//! The cost of a step of the shared-layer benchmark.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::shared_layer));
