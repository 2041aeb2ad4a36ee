//! The cost of ChaCha20-Poly1305.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::ChaCha>());
