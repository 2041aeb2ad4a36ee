//! The cost of a step of the logistic benchmark in integers.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::logistic_integer));
