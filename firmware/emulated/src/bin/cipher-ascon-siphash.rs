//! What Ascon-AEAD128 costs with SipHash of the message as nonce.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::Hashed<cipher::Ascon>>());
