//! Where images are not black, so that nodes need not read the rest.

use std::sync::OnceLock;

use lopa_core::samples::{LabelKind, Lists, Samples, SamplesError};

/// Marks of a table's samples, and lists of what they mark: found when they are first read, and no part of what the table is.
#[derive(Debug, Default)]
pub(super) struct Marks {
    marks: OnceLock<Box<[u64]>>,
    lists: OnceLock<Option<Lists>>,
}

impl Marks {
    /// Samples with their marks, if enough of them is black. For problems with many classes, which multiply every sample with
    /// many vectors, with lists too.
    pub(super) fn add_to<'a>(&'a self, samples: Samples<'a>) -> Result<Samples<'a>, SamplesError> {
        let marks = self.marks.get_or_init(|| {
            let mut marks = vec![0; Samples::marks(samples.len(), samples.width())];
            samples.mark(&mut marks);
            let filled: u64 = marks.iter().map(|word| u64::from(word.count_ones())).sum();
            let chunks = samples.len() * samples.width().div_ceil(lopa_core::vector::LANES);
            // Below this share the marks cost more than they save.
            if filled as f64 > 0.9 * chunks as f64 { Box::default() } else { marks.into() }
        });
        if marks.is_empty() {
            return Ok(samples);
        }
        let samples = samples.marked(marks)?;
        if samples.labels().kind() != LabelKind::Class {
            return Ok(samples);
        }
        let lists = self.lists.get_or_init(|| {
            // A list needs two bytes for each entry: no more than the samples themselves.
            let short = |lists: &Lists| lists.len() <= samples.features().len() / 2;
            samples.lists().filter(short)
        });
        lists.as_ref().map_or(Ok(samples), |lists| samples.listed(lists))
    }
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
