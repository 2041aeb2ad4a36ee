//! The cost of Ascon-AEAD128.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::Ascon>());
