//! What a step of the quadratic benchmark costs.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::quadratic));
