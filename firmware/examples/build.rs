//! Links the programs for the board; on targets without one they are empty.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=device.x");
    println!("cargo::rustc-check-cfg=cfg(board)");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let boards = ["thumbv6m-none-eabi", "thumbv7em-none-eabihf", "thumbv8m.main-none-eabihf"];
    if !boards.contains(&target.as_str()) {
        return;
    }
    println!("cargo::rustc-cfg=board");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::copy("device.x", out.join("device.x")).expect("device.x can be copied");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rustc-link-arg-bins=--nmagic");
}
