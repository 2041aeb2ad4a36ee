//! The cost of a step of the shared-layer benchmark in integers.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::shared_layer_integer));
