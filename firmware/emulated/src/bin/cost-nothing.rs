//! The baseline of the cost programs: the cost of measuring alone.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::nothing));
