//! The baseline of the cipher programs: seals nothing.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::Nothing>());
