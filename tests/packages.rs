//! The contents of the published packages, and the links in the repository's pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const PACKAGES: [&str; 2] = ["lopa-core", "lopa-host"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of a package, as cargo would upload them.
fn files(package: &str) -> BTreeSet<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--list", "--allow-dirty", "--offline", "-p", package]);
    let output = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("paths are text").lines().map(PathBuf::from).collect()
}

/// The files that a Markdown page links to, relative to the folder that `page` is relative to.
fn links(page: &Path, text: &str) -> Vec<PathBuf> {
    let folder = page.parent().expect("a page is in a folder");
    let targets = ["](", "src=\""].into_iter().flat_map(|mark| text.split(mark).skip(1));
    targets
        .filter_map(|rest| rest.split([')', '"', '#', ' ']).next())
        // Without a dot or a slash it is a heading, or an item that rustdoc links to.
        .filter(|link| link.contains(['.', '/']) && !link.contains("://"))
        .map(|link| plain(&folder.join(link)))
        .collect()
}

/// The path without `..`, as far as it stays below its start.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

#[test]
fn packages_contain_their_readme_and_licences() {
    for package in PACKAGES {
        let files = files(package);
        for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.lock"] {
            assert!(files.contains(Path::new(name)), "{package} lacks {name}");
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let own = fs::read(root().join(package).join(name)).unwrap();
            assert!(own == fs::read(root().join(name)).unwrap(), "{package}/{name} differs");
        }
    }
}

#[test]
fn packages_contain_no_results_and_no_tests_that_need_the_repository() {
    let files = files("lopa-host");
    for folder in ["benches", "paper/results", "tests"] {
        let found = files.iter().find(|file| file.starts_with(folder));
        assert_eq!(found, None, "lopa-host");
    }
    // The studies themselves are part of the command.
    assert!(files.contains(Path::new("paper/momentum.toml")));
}

#[test]
fn fonts_are_packaged_with_their_licences() {
    let files = files("lopa-host");
    let is_font = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "ttf");
    let fonts: Vec<&PathBuf> = files.iter().filter(is_font).collect();
    assert!(!fonts.is_empty());
    for font in fonts {
        let folder = font.parent().expect("fonts have a folder");
        let page = fs::read_to_string(root().join("lopa-host").join(folder).join("README.md"));
        let page = page.expect("the folder has a page");
        let name = font.file_name().and_then(|name| name.to_str()).expect("a name");
        let row = page.lines().find(|line| line.contains(&format!("`{name}`")));
        let licences = links(&folder.join("README.md"), row.expect("the page has every font"));
        assert!(!licences.is_empty(), "{name} has no licence");
        for licence in licences {
            assert!(files.contains(&licence), "{}: {}", font.display(), licence.display());
        }
    }
}

#[test]
fn packaged_pages_link_only_to_packaged_files() {
    for package in PACKAGES {
        let files = files(package);
        for page in files.iter().filter(|file| is_markdown(file)) {
            let text = fs::read_to_string(root().join(package).join(page)).unwrap();
            for link in links(page, &text) {
                assert!(files.contains(&link), "{package}, {}: {}", page.display(), link.display());
            }
        }
    }
}

#[test]
fn pages_link_to_files_that_exist() {
    let mut dirs = vec![PathBuf::new()];
    let mut count = 0;
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(root().join(&dir)).unwrap() {
            let path = dir.join(entry.unwrap().file_name());
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            if root().join(&path).is_dir() {
                if !name.starts_with('.') && !["data", "out", "target"].contains(&name) {
                    dirs.push(path);
                }
            } else if is_markdown(&path) {
                let text = fs::read_to_string(root().join(&path)).unwrap();
                for link in links(&path, &text) {
                    count += 1;
                    assert!(
                        root().join(&link).exists(),
                        "{} links to {}, which does not exist",
                        path.display(),
                        link.display()
                    );
                }
            }
        }
    }
    assert!(count > 50, "only {count} links found");
}
