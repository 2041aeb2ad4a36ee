//! Data that is already dealt out: `node-0/train.csv`, `node-0/val.csv` and optionally `node-0/test.csv`, and so on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lopa_core::samples::LabelKind;

use super::csv::{self, Columns};
use super::error::{DataError, FileError, Place, other_width};
use super::reader::{find, need};
use super::shard::Shard;
use super::table::Table;

/// The shards of `nodes` nodes, from files that [`csv::read`] reads, plain or with `.gz`. All have the same columns, and
/// the classes of all files.
///
/// # Errors
/// Names the file that is missing, and the file, line and column of what is wrong.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::{csv::Columns, folders};
/// let dir = tempfile::tempdir()?;
/// for node in ["node-0", "node-1"] {
///     let folder = dir.path().join(node);
///     std::fs::create_dir(&folder)?;
///     std::fs::write(folder.join("train.csv"), "1,0.5,2\n0,1,1\n")?;
///     std::fs::write(folder.join("val.csv"), "0,0.25,3\n")?;
/// }
/// let shards = folders::load(dir.path(), 2, &Columns::default(), LabelKind::Binary)?;
/// assert_eq!((shards.len(), shards[1].train.len(), shards[1].validation.len()), (2, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(
    folder: impl AsRef<Path>,
    nodes: u32,
    columns: &Columns,
    labels: LabelKind,
) -> Result<Vec<Shard>, DataError> {
    let mut first: Option<(PathBuf, Table)> = None;
    let mut read = |file: PathBuf| {
        let table = csv::read(&file, columns, labels)?;
        let (of, like) = first.get_or_insert_with(|| (file.clone(), table.gather(&[])));
        let refuse = |what| Err(FileError::new(&file, Place::File, what));
        if table.width() != like.width() {
            return refuse(other_width(table.width(), of.display(), like.width()));
        }
        if table.names() != like.names() {
            let what = format!("its columns are not those of {}, in the same order", of.display());
            return refuse(what);
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
    let untested = parts.iter().position(|(.., test)| test.is_none());
    if let Some(node) = untested.filter(|_| parts.iter().any(|(.., test)| test.is_some())) {
        let file = folder.as_ref().join(format!("node-{node}/test.csv"));
        let what = "is missing, but other nodes have test samples: give all nodes some, or none";
        return Err(FileError::new(&file, Place::File, what).into());
    }
    let tables = parts.iter_mut().flat_map(|(train, validation, test)| {
        [Some(train), Some(validation), test.as_mut()].into_iter().flatten()
    });
    Table::unite(tables)?;
    let shard = |(train, validation, test): (Table, Table, Option<Table>)| Shard {
        train,
        validation,
        test: test.map(Arc::new),
        standard: None,
    };
    Ok(parts.into_iter().map(shard).collect())
}
