//! Prints what this chip computes, one line per program.
#![no_std]
#![no_main]

use lopa_tests::fingerprint;
use semihosting::println;

emulated::program!(fingerprint::all(&mut |line| println!("{line}")));
