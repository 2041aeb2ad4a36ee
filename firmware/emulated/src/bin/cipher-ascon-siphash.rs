//! The cost of Ascon-AEAD128 with SipHash of the message as the nonce.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::Hashed<cipher::Ascon>>());
