//! Where real data are.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of a data set, or a plain word that there is none: in `$LOPA_DATA`, or in `data` or `../shared/data` beside the workspace.
pub fn folder(name: &str) -> Option<PathBuf> {
    let found = find(name);
    if found.is_none() {
        // Not println, which nobody sees when a test passes.
        let text = "not here, nothing tested: set LOPA_DATA to the folder that holds it";
        std::io::stderr().write_all(format!("{name}/ is {text}\n").as_bytes()).unwrap();
    }
    found
}

/// The same without a word.
pub fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let given = std::env::var_os("LOPA_DATA").map(PathBuf::from);
    let places = given.into_iter().chain([root.join("data"), root.join("../shared/data")]);
    places.map(|place| place.join(name)).find(|folder| folder.is_dir())
}
