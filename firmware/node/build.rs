//! Lets logs of the level `info` through, unless another is asked for: by itself defmt drops all but errors.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEFMT_LOG");
    if env::var_os("DEFMT_LOG").is_none() {
        println!("cargo::rustc-env=DEFMT_LOG=info");
    }
}
