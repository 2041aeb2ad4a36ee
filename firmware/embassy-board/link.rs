//! The build script of every board: gives the linker the board's memory.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    // Cargo runs it in the board's folder.
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../embassy-board/");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let memory = fs::read_to_string("memory.x").expect("the board has a memory.x");
    fs::write(out.join("memory.x"), &memory).expect("memory.x can be copied");
    fs::copy(format!("{shared}regions.x"), out.join("regions.x")).expect("regions.x can be copied");
    println!("cargo::rerun-if-changed=memory.x");
    println!("cargo::rerun-if-changed={shared}link.rs");
    println!("cargo::rerun-if-changed={shared}regions.x");
    println!("cargo::rustc-link-search={}", out.display());
    // Not in .cargo/config.toml, which applies only to builds in its own directory.
    println!("cargo::rustc-link-arg-bins=--nmagic");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rustc-link-arg-bins=-Tregions.x");
    if memory.contains("BOOT2 ") {
        println!("cargo::rustc-link-arg-bins=-Tlink-rp.x");
    }
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo::rustc-link-arg-bins=-Tdefmt.x");
    }
}
