//! The cost of a step of the logistic benchmark with 784 features.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::logistic_784));
