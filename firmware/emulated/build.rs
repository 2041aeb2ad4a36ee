//! Gives the linker the memory of the machine that emulates the target.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let machine = match target.as_str() {
        "thumbv6m-none-eabi" => "microbit",
        "thumbv7em-none-eabihf" => "mps2-an386",
        "thumbv8m.main-none-eabihf" => "mps2-an505",
        "riscv32imc-unknown-none-elf" => "virt",
        _ => panic!("no emulated machine for {target}: choose a --target of emulated/build.rs"),
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let memory = format!("memory/{machine}.x");
    fs::copy(&memory, out.join("memory.x")).expect("memory.x can be copied");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={memory}");
    println!("cargo::rustc-link-search={}", out.display());
    // Not in .cargo/config.toml, which applies only to builds in its own directory.
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rustc-link-arg-bins=--nmagic");
}
