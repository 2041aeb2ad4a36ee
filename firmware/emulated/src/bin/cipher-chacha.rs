//! What ChaCha20-Poly1305 costs.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::ChaCha>());
