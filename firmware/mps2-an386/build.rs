//! Links the program for the board; on targets without one the program is empty.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(board)");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let boards = ["thumbv6m-none-eabi", "thumbv7em-none-eabihf", "thumbv8m.main-none-eabihf"];
    if !boards.contains(&target.as_str()) {
        return;
    }
    println!("cargo::rustc-cfg=board");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rustc-link-arg-bins=--nmagic");
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo::rustc-link-arg-bins=-Tdefmt.x");
    }
}
