//! The cost of a step of the ridge benchmark.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::ridge));
