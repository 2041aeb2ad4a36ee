//! Sets the log level to `info` unless `DEFMT_LOG` is set: by default defmt drops all but errors.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEFMT_LOG");
    if env::var_os("DEFMT_LOG").is_none() {
        println!("cargo::rustc-env=DEFMT_LOG=info");
    }
}
