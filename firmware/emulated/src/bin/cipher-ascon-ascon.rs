//! What Ascon-AEAD128 costs with its own tag of the message as nonce: what frames are sealed with.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::AsconTwice>());
