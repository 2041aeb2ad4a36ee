//! Tells the crate whether it is built for size: then its loops are as short as possible, instead of written out.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(built_for_size)");
    if matches!(std::env::var("OPT_LEVEL").as_deref(), Ok("s" | "z")) {
        println!("cargo::rustc-cfg=built_for_size");
    }
}
