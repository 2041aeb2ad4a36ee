//! All tests of the public API in one program, because every further program would link the whole crate again.
//!
//! To run the tests of one file: `cargo test -p lopa-core --test main rounds::`.

mod blob;
mod checkpoints;
mod codec;
mod coded_blob;
mod common;
mod conversation;
#[cfg(feature = "codec")]
mod few_bits;
mod integers;
mod networks;
mod rounds;
mod scales;
mod serde;

#[test]
fn no_file_of_tests_is_left_out() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
            continue;
        };
        let line = format!("\nmod {module};\n");
        assert!(include_str!("main.rs").contains(&line), "tests/main.rs lacks `mod {module};`");
    }
}
