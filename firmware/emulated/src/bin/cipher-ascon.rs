//! What Ascon-AEAD128 costs.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::Ascon>());
