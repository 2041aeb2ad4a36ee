//! The cost of a step of the meta benchmark.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::meta));
