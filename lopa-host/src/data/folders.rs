//! Data that is already dealt out: `node-0/train.csv`, `node-0/val.csv` and optionally `node-0/test.csv`, and so on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lopa_core::samples::LabelKind;

use super::csv;
use super::error::{FileError, Place, other_width};
use super::reader::{find, need};
use super::shard::Shard;
use super::table::{Class, Table};

/// The shards of `nodes` nodes, from files that [`csv::read`] reads, plain or with `.gz`. All have the same number of
/// features, and the classes of all files.
///
/// # Errors
/// Names the file that is missing, and the file, line and column of what is wrong.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::folders;
/// let dir = tempfile::tempdir()?;
/// for node in ["node-0", "node-1"] {
///     let folder = dir.path().join(node);
///     std::fs::create_dir(&folder)?;
///     std::fs::write(folder.join("train.csv"), "1,0.5,2\n0,1,1\n")?;
///     std::fs::write(folder.join("val.csv"), "0,0.25,3\n")?;
/// }
/// let shards = folders::load(dir.path(), 2, LabelKind::Binary)?;
/// assert_eq!((shards.len(), shards[1].train.len(), shards[1].validation.len()), (2, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(
    folder: impl AsRef<Path>,
    nodes: u32,
    labels: LabelKind,
) -> Result<Vec<Shard>, FileError> {
    // The file that set the width, and the longest list of classes.
    let mut width: Option<(usize, PathBuf)> = None;
    let mut classes: Arc<[Class]> = Arc::new([]);
    let mut read = |file: PathBuf| {
        let table = csv::read(&file, labels)?;
        let (expected, of) = width.get_or_insert_with(|| (table.width(), file.clone()));
        if table.width() != *expected {
            let what = other_width(table.width(), of.display(), *expected);
            return Err(FileError::new(&file, Place::File, what));
        }
        if classes.len() < table.classes().len() {
            classes = table.shared_classes();
        }
        Ok(table)
    };
    let mut parts = Vec::new();
    for node in 0..nodes {
        let folder = folder.as_ref().join(format!("node-{node}"));
        let train = read(need(&folder, &["train.csv"])?)?;
        let validation = read(need(&folder, &["val.csv"])?)?;
        let test = find(&folder, &["test.csv"]).map(&mut read).transpose()?;
        parts.push((train, validation, test));
    }
    let named = |table: Table| table.with_classes(Arc::clone(&classes));
    let shard = |(train, validation, test): (Table, Table, Option<Table>)| Shard {
        train: named(train),
        validation: named(validation),
        test: test.map(|test| Arc::new(named(test))),
    };
    Ok(parts.into_iter().map(shard).collect())
}
