//! Rules of this repository that no compiler checks.

use std::collections::{BTreeMap, BTreeSet};
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
    // Only hosts have the standard library, and only what they read together uses it.
    let for_hosts = "#[cfg(feature = \"simd\")]\nextern crate std;\n";
    assert_eq!(root.matches(for_hosts).count(), 1);
    let together = [
        "problems/integer/wide.rs",
        "problems/integer/wide/layer.rs",
        "samples/lists.rs",
        "vector/matrix.rs",
        "vector/sparse.rs",
        "vector/wide.rs",
    ];
    let alone = |path: &Path| !together.iter().any(|file| path.ends_with(file));
    for (path, text) in files.iter().filter(|(path, _)| alone(path)) {
        for word in ["extern crate", "alloc::", "std::"] {
            let found = text.replace(for_hosts, "").contains(word);
            assert!(!found, "{} uses {word}", path.display());
        }
    }
}

#[test]
fn the_readme_of_the_core_lists_every_module_and_feature() {
    let text = |path| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lopa-core").join(path);
        fs::read_to_string(path).unwrap()
    };
    let (readme, root, manifest) = (text("README.md"), text("src/lib.rs"), text("Cargo.toml"));
    let modules = root.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    for module in modules {
        assert!(readme.contains(&format!("| [`{module}`] |")), "module {module}");
    }
    let features = manifest.split_once("[features]").unwrap().1.split_once("\n[").unwrap().0;
    for (feature, _) in features.lines().filter_map(|line| line.split_once(" = [")) {
        let listed = readme.contains(&format!("- `{feature}`: "));
        assert!(listed || feature == "default", "feature {feature}");
    }
}

#[test]
fn greetings_name_the_versions_that_decide_bits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for lock in ["Cargo.lock", "firmware/Cargo.lock", "tests/fuzz/Cargo.lock"] {
        let text = fs::read_to_string(root.join(lock)).unwrap();
        let locked = |name: &str| {
            let (_, package) = text.split_once(&format!("name = \"{name}\"\nversion = \""))?;
            package.split('"').next()
        };
        let patch = lopa_core::math::LIBM_PATCH;
        assert_eq!(
            locked("libm"),
            Some(&*format!("0.2.{patch}")),
            "{lock}: raise math::LIBM_PATCH"
        );
        // In math::IDENTITY it is one more: another version must be another number.
        assert!(locked("micromath").is_none_or(|version| version == "2.1.0"), "{lock}");
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

/// The top-level modules of the host's library, each with those that its code names. Tests may use any module.
fn modules() -> BTreeMap<String, BTreeSet<String>> {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources("lopa-host/src") {
        let place = path.to_string_lossy().split_once("lopa-host/src/").unwrap().1.to_owned();
        let module = place.split(['/', '.']).next().unwrap().to_owned();
        let test = place.contains("/tests") || place.ends_with("testing.rs");
        if ["lib", "main", "command"].contains(&module.as_str()) || test {
            continue;
        }
        let uses = modules.entry(module).or_default();
        let code = text.split("#[cfg(test)]\nmod").next().unwrap().lines();
        for line in code.filter(|line| !line.trim_start().starts_with("//")) {
            for rest in line.split("crate::").skip(1) {
                let named = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                uses.insert(named.unwrap().to_owned());
            }
        }
    }
    modules
}

#[test]
fn modules_of_the_host_do_not_depend_on_each_other_in_a_cycle() {
    let mut modules = modules();
    assert!(modules.len() > 10, "only {} modules found", modules.len());
    for (module, others) in &mut modules {
        others.remove(module);
    }
    // Removes modules that use no other until none is left; those that remain are in a cycle, or use one.
    while let Some(module) = modules.iter().find(|(_, uses)| uses.is_empty()).map(|(name, _)| name)
    {
        let module = module.clone();
        modules.remove(&module);
        modules.values_mut().for_each(|uses| {
            uses.remove(&module);
        });
    }
    assert!(modules.is_empty(), "there is a cycle among {modules:?}");
}

#[test]
fn no_file_of_tests_is_left_out() {
    for package in ["lopa-core", "lopa-host"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("tests");
        let main = fs::read_to_string(folder.join("main.rs")).unwrap();
        let mut count = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
                continue;
            };
            count += 1;
            let line = format!("\nmod {module};\n");
            assert!(main.contains(&line), "{package}/tests/main.rs lacks `mod {module};`");
        }
        assert!(count > 10, "only {count} files of tests in {package}");
    }
}
