//! Rows of numbers: a table's own, or a part of the memory that the tables of all nodes share.
//!
//! Nodes draw rows at random, and a processor remembers the places of a few pages of memory only. In pages of 4 KB it would have
//! to look most rows up; so all of them move together, into large pages where the system has them.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::MmapMut;

use super::table::Values;

/// A large page has so many bytes, on most machines.
const PAGE: usize = 2 << 20;

/// Where a table begins: at a line of a cache.
const LINE: usize = 64;

/// Numbers, row after row.
///
/// ```
/// use lopa_host::data::Rows;
/// let rows = Rows::from(vec![1.0_f32, 2.0]);
/// assert_eq!(rows[1], 2.0);
/// ```
#[derive(Clone)]
pub struct Rows<T>(Kept<T>);

#[derive(Clone)]
enum Kept<T> {
    Own(Vec<T>),
    /// These bytes of a memory that others have a part of, too.
    Shared(Arc<MmapMut>, Range<usize>),
}

impl<T> From<Vec<T>> for Rows<T> {
    fn from(own: Vec<T>) -> Self {
        Self(Kept::Own(own))
    }
}

impl<T: Pod> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        Vec::from_iter(numbers).into()
    }
}

impl<T: Pod> Deref for Rows<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Kept::Own(own) => own,
            Kept::Shared(all, part) => bytemuck::cast_slice(&all[part.clone()]),
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Rows<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Pod> Rows<T> {
    /// The numbers, to be changed: those that others share are copied first.
    pub(super) fn to_mut(&mut self) -> &mut Vec<T> {
        if let Kept::Shared(..) = self.0 {
            self.0 = Kept::Own(self.to_vec());
        }
        match &mut self.0 {
            Kept::Own(own) => own,
            Kept::Shared(..) => unreachable!("it was copied"),
        }
    }

    /// Copies the numbers to where they will be found from now on, and forgets them.
    fn leave_for(&mut self, place: &mut [u8]) {
        place.copy_from_slice(bytemuck::cast_slice(self));
        *self = Vec::new().into();
    }
}

/// Puts the rows of several tables next to each other. If all of them together have fewer bytes than a large page, or no memory
/// can be mapped, they stay where they are.
pub(super) fn together(tables: &mut [&mut Values]) {
    let mut end = 0_usize;
    let places: Vec<Range<usize>> = tables
        .iter()
        .map(|values| {
            let start = end.next_multiple_of(LINE);
            end = start + values.bytes().len();
            start..end
        })
        .collect();
    if end < PAGE {
        return;
    }
    let Ok(mut all) = MmapMut::map_anon(end) else { return };
    // A system without large pages has small ones: slower, but the same numbers.
    #[cfg(target_os = "linux")]
    let _ = all.advise(memmap2::Advice::HugePage);
    for (values, place) in tables.iter_mut().zip(&places) {
        match values {
            Values::Bytes(rows) => rows.leave_for(&mut all[place.clone()]),
            Values::Floats(rows) => rows.leave_for(&mut all[place.clone()]),
        }
    }
    let all = Arc::new(all);
    for (values, place) in tables.iter_mut().zip(places) {
        match values {
            Values::Bytes(rows) => rows.0 = Kept::Shared(Arc::clone(&all), place),
            Values::Floats(rows) => rows.0 = Kept::Shared(Arc::clone(&all), place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_wherever_they_are() {
        let bytes: Vec<u8> = (0..PAGE + 5).map(|i| (i % 251) as u8).collect();
        let floats: Vec<f32> = (0..77).map(|i| i as f32 * 0.7 - 3.0).collect();
        let original = [
            Values::Bytes(bytes.into()),
            Values::Floats(floats.clone().into()),
            Values::Floats(Vec::new().into()),
        ];
        let mut moved = original.clone();
        together(&mut moved.iter_mut().collect::<Vec<_>>());
        assert_eq!(moved, original);
        for values in &moved {
            let shared = match values {
                Values::Bytes(rows) => matches!(rows.0, Kept::Shared(..)),
                Values::Floats(rows) => matches!(rows.0, Kept::Shared(..)),
            };
            assert!(shared);
        }
        // Who changes them has a copy.
        let copy = moved.clone();
        let Values::Floats(rows) = &mut moved[1] else { panic!("they are floats") };
        rows.to_mut()[3] = 8.0;
        assert_eq!((rows[3], rows[4]), (8.0, floats[4]));
        assert_eq!(copy, original);
    }

    #[test]
    fn little_stays_where_it_is() {
        let mut few = Values::Floats(vec![1.0, 2.0].into());
        together(&mut [&mut few]);
        assert!(matches!(few, Values::Floats(Rows(Kept::Own(_)))));
        together(&mut []);
    }
}
