//! Gives the linker the memory of the machine that emulates the target and, for programs that measure it, plain C.

use std::path::{Path, PathBuf};
use std::process::Command;
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
    if env::var_os("CARGO_FEATURE_REFERENCE").is_some() {
        for (problem, functions) in REFERENCES {
            compile(&out, &target, problem, functions);
        }
    }
}

/// Problems that are written in C too, and the functions that Rust calls.
const REFERENCES: [(&str, [&str; 2]); 2] = [
    ("logistic", ["logistic_compute", "logistic_mix"]),
    ("shared_layer", ["shared_layer_compute", "shared_layer_mix"]),
];

/// How a problem is compiled: with the sums of the node; with fused operations; with sizes that the compiler knows.
const VARIANTS: [(&str, &[&str]); 3] = [
    ("", &["-ffp-contract=off"]),
    ("_fused", &["-ffp-contract=fast"]),
    ("_known", &["-ffp-contract=off", "-DSIZES_KNOWN", "-Wno-unused-parameter"]),
];

/// Compiles each variant of a problem, its functions under names of their own.
fn compile(out: &Path, target: &str, problem: &str, functions: [&str; 2]) {
    let chip: &[&str] = match target {
        "thumbv7em-none-eabihf" => &["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"],
        "thumbv8m.main-none-eabihf" => &["-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16"],
        _ => panic!("the reference is for chips with an FPU, not for {target}"),
    };
    let source = format!("reference/{problem}.c");
    println!("cargo::rerun-if-changed=reference/common.h");
    println!("cargo::rerun-if-changed={source}");
    for (suffix, flags) in VARIANTS {
        let object = out.join(format!("{problem}{suffix}.o"));
        let mut gcc = Command::new("arm-none-eabi-gcc");
        gcc.args(chip).args(["-mthumb", "-mfloat-abi=hard", "-O3", "-std=c11", "-ffreestanding"]);
        gcc.args(["-Wall", "-Wextra", "-Werror"]).args(flags);
        gcc.args(["-c", &source, "-o"]).arg(&object);
        gcc.args(functions.map(|name| format!("-D{name}={name}{suffix}")));
        let status = gcc.status().expect("arm-none-eabi-gcc runs: install gcc-arm-none-eabi");
        assert!(status.success(), "{source} does not compile");
        let program = problem.replace('_', "-");
        println!("cargo::rustc-link-arg-bin=reference-{program}={}", object.display());
    }
}
