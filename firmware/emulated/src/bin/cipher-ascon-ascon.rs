//! The cost of Ascon-AEAD128 with its own tag of the message as the nonce, as frames are sealed.
#![no_std]
#![no_main]

use emulated::cipher;

emulated::program!(cipher::measure::<cipher::AsconTwice>());
