//! The cost of a step of the logistic benchmark.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::logistic));
