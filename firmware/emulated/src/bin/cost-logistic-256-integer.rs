//! The cost of a step of the logistic benchmark with 256 features in integers.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::logistic_256_integer));
