//! Prints what this chip computes, one line a program.
#![no_std]
#![no_main]

use lopa_tests::fingerprint;
use semihosting::println;

emulated::program!(fingerprint::all(&mut |line| println!("{line}")));
