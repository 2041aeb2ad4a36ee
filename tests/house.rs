//! Rules of this repository that no compiler checks.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(dir: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(!files.is_empty());
    files
}

/// The names of public structs and enums.
fn public_types(text: &str) -> impl Iterator<Item = &str> {
    let name = |line: &'_ str| -> Option<usize> {
        line.strip_prefix("pub struct ").or(line.strip_prefix("pub enum ")).map(str::len)
    };
    text.lines().map(str::trim_start).filter_map(move |line| {
        let rest = &line[line.len() - name(line)?..];
        rest.split(|c: char| !c.is_alphanumeric()).next()
    })
}

#[test]
fn every_public_type_of_the_core_can_be_logged() {
    let files = sources("lopa-core/src");
    let list = &files.iter().find(|(path, _)| path.ends_with("formatted.rs")).unwrap().1;
    let mut count = 0;
    for (path, text) in &files {
        for name in public_types(text) {
            count += 1;
            let listed = list.lines().any(|line| {
                line.trim_start().starts_with("formatted::<")
                    && line.split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
            });
            assert!(listed, "{name} of {} is missing from formatted.rs", path.display());
        }
    }
    assert!(count > 40, "only {count} types found");
}

#[test]
fn the_core_forbids_unsafe_and_has_no_allocator() {
    let files = sources("lopa-core/src");
    let root = &files.iter().find(|(path, _)| path.ends_with("src/lib.rs")).unwrap().1;
    assert!(root.contains("#![forbid(unsafe_code)]"));
    assert!(root.contains("#![cfg_attr(not(test), no_std)]"));
    for (path, text) in &files {
        for word in ["extern crate", "alloc::", "std::"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

#[test]
fn every_source_file_begins_with_a_line_of_docs() {
    for dir in ["lopa-core", "lopa-host", "tests", "firmware"] {
        for (path, text) in sources(dir) {
            if path.components().any(|part| part.as_os_str() == "target") {
                continue;
            }
            let documented = text.starts_with("//!") || text.starts_with("#![doc");
            assert!(documented, "{} does not begin with a line of docs", path.display());
        }
    }
}
