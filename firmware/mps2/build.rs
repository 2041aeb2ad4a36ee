//! Gives the linker the memory of the board for the target; on targets without a board this crate is empty.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=memory");
    println!("cargo::rustc-check-cfg=cfg(board, secure)");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let memory = match target.as_str() {
        "thumbv6m-none-eabi" | "thumbv7em-none-eabihf" => "mps2-an386",
        "thumbv8m.main-none-eabihf" => "mps2-an505",
        _ => return,
    };
    println!("cargo::rustc-cfg=board");
    if memory == "mps2-an505" {
        println!("cargo::rustc-cfg=secure");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let from = format!("memory/{memory}.x");
    fs::copy(from, out.join("memory.x")).expect("memory.x can be copied");
    // Programs that use this crate find it too.
    println!("cargo::rustc-link-search={}", out.display());
}
