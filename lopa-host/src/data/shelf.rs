//! Data sets that stay in memory for a while: a study deals the same ones out a hundred times, and reading one may take seconds.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

use lopa_core::samples::LabelKind;

use super::{DataError, DataTable, Dataset};

/// While a thread has a shelf, the data sets that it reads stay in memory, and it does not notice changes of their files.
///
/// ```
/// use lopa_core::samples::LabelKind;
/// use lopa_host::data::{DataTable, Shelf};
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("rooms.csv");
/// # std::fs::write(&file, "1,0.5\n0,0.1\n".repeat(20))?;
/// let table = DataTable { file: Some(file), ..DataTable::default() };
/// let _shelf = Shelf::new();
/// for seed in 0..5 {
///     // Reads the file once.
///     let shards = table.shards(LabelKind::Binary, 2, seed)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shelf {
    /// It stays in its thread.
    _thread: PhantomData<*const ()>,
}

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept { shelves: 0, sets: Vec::new() }) };
}

impl Shelf {
    /// Puts up a shelf. All shelves of a thread share what is on them.
    #[must_use]
    pub fn new() -> Self {
        KEPT.with_borrow_mut(|kept| kept.shelves += 1);
        Self { _thread: PhantomData }
    }
}

impl Default for Shelf {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        KEPT.with_borrow_mut(Kept::take_down);
    }
}

/// What a data set depends on: where it is read from, and how.
type Key = (DataTable, LabelKind);

/// How many data sets are kept at a time: a study has few, and they may be large.
const MOST: usize = 3;

/// What is on the shelves of a thread.
#[derive(Debug)]
struct Kept {
    shelves: usize,
    /// The latest comes last.
    sets: Vec<(Key, Arc<Dataset>)>,
}

impl Kept {
    fn find(&self, wanted: &Key) -> Option<Arc<Dataset>> {
        self.sets.iter().find(|(key, _)| key == wanted).map(|(_, set)| Arc::clone(set))
    }

    fn put(&mut self, key: Key, set: &Arc<Dataset>) {
        if self.shelves > 0 && self.find(&key).is_none() {
            self.sets.push((key, Arc::clone(set)));
            let older = self.sets.len().saturating_sub(MOST);
            self.sets.drain(..older);
        }
    }

    fn take_down(&mut self) {
        self.shelves -= 1;
        if self.shelves == 0 {
            self.sets.clear();
        }
    }
}

/// The data set of a table: from a shelf, or as `read` reads it.
pub(super) fn fetch(
    table: &DataTable,
    labels: LabelKind,
    read: impl FnOnce() -> Result<Dataset, DataError>,
) -> Result<Arc<Dataset>, DataError> {
    let key = (table.read_part(), labels);
    if let Some(set) = KEPT.with_borrow(|kept| kept.find(&key)) {
        return Ok(set);
    }
    let set = Arc::new(read()?);
    KEPT.with_borrow_mut(|kept| kept.put(key, &set));
    Ok(set)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{Table, Targets, Values};
    use super::*;

    #[test]
    fn sets_are_kept_while_there_is_a_shelf_and_not_too_many() {
        let set = |rows: usize| {
            let targets = Targets::Real(vec![0.0; rows]);
            let table = Table::new(Values::Floats(vec![0.5; rows].into()), 1, targets, [].into());
            Arc::new(Dataset::new(table.unwrap(), None).unwrap())
        };
        let key = |name: &str, labels| {
            (DataTable { dir: Some(PathBuf::from(name)), ..DataTable::default() }, labels)
        };
        let (a, b) = (key("a", LabelKind::Real), key("b", LabelKind::Real));
        let mut kept = Kept { shelves: 0, sets: Vec::new() };
        kept.put(a.clone(), &set(1));
        assert_eq!(kept.find(&a), None);

        kept.shelves = 2;
        kept.put(a.clone(), &set(1));
        kept.put(a.clone(), &set(2));
        assert_eq!(kept.find(&a), Some(set(1)));
        assert_eq!([kept.find(&b), kept.find(&key("a", LabelKind::Class))], [None, None]);
        kept.take_down();
        assert_eq!(kept.find(&a), Some(set(1)));

        for (name, rows) in [("b", 2), ("c", 3), ("d", 4)] {
            kept.put(key(name, LabelKind::Real), &set(rows));
        }
        assert_eq!((kept.find(&a), kept.find(&b)), (None, Some(set(2))));
        kept.take_down();
        assert_eq!(kept.find(&b), None);
    }
}
