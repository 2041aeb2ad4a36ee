//! What measuring costs by itself: the frame the others are compared with.
#![no_std]
#![no_main]

emulated::program!(emulated::cost::measure(lopa_tests::benchmark::nothing));
