//! Where images are not black, so that nodes need not read the rest.

use std::sync::OnceLock;

use lopa_core::samples::{LabelKind, Lists, Samples, SamplesError};

/// Where a table's samples are not black: found when they are first read, and no part of what the table is.
#[derive(Debug, Default)]
pub(super) struct Marks(OnceLock<Option<Box<Found>>>);

#[derive(Debug)]
struct Found {
    marks: Box<[u64]>,
    lists: Option<Lists>,
}

impl Marks {
    /// Samples with their marks, if enough of them is black. For problems with many classes, which multiply every sample with
    /// many vectors, with lists too.
    pub(super) fn add_to<'a>(&'a self, samples: Samples<'a>) -> Result<Samples<'a>, SamplesError> {
        let Some(found) = self.0.get_or_init(|| find(&samples)) else { return Ok(samples) };
        let samples = samples.marked(&found.marks)?;
        found.lists.as_ref().map_or(Ok(samples), |lists| samples.listed(lists))
    }
}

fn find(samples: &Samples<'_>) -> Option<Box<Found>> {
    let mut marks = vec![0; Samples::marks(samples.len(), samples.width())];
    samples.mark(&mut marks);
    let filled: u64 = marks.iter().map(|word| u64::from(word.count_ones())).sum();
    let chunks = samples.len() * samples.width().div_ceil(lopa_core::vector::LANES);
    // Above this share the marks cost more than they save.
    if filled as f64 > 0.9 * chunks as f64 {
        return None;
    }
    let listed = samples.labels().kind() == LabelKind::Class;
    // A list needs two bytes for each entry: no more than the samples themselves.
    let short = |lists: &Lists| lists.len() <= samples.features().len() / 2;
    let lists = listed.then(|| samples.lists()).flatten().filter(short);
    Some(Box::new(Found { marks: marks.into(), lists }))
}

/// A copy finds its own, because it may be changed.
impl Clone for Marks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Marks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
