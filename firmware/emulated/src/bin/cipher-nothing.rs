//! Nothing is sealed: the frame the other programs are compared with.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::Nothing>());
