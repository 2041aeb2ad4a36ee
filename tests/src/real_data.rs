//! Finds the real data sets: in `$LOPA_DATA`, or in `data` or `../shared/data` relative to the workspace.

use std::path::{Path, PathBuf};

/// The folder of a data set, for tests that cannot run without it and are therefore ignored by default.
///
/// # Panics
/// If the data set is missing, with a message that says how to get it.
#[must_use]
#[track_caller]
pub fn data_set(name: &str) -> PathBuf {
    find(name).unwrap_or_else(|| {
        panic!(
            "this test needs the data set {name}: run `lopa data fetch {name}` in the workspace, or set LOPA_DATA"
        )
    })
}

/// The folder of a data set, if there is one.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let given = std::env::var_os("LOPA_DATA").map(PathBuf::from);
    let places = given.into_iter().chain([root.join("data"), root.join("../shared/data")]);
    places.map(|place| place.join(name)).find(|folder| folder.is_dir())
}
