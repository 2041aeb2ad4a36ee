//! Where images are not black, so that nodes need not read the rest.

use std::sync::OnceLock;

use lopa_core::samples::{Samples, SamplesError};

/// Marks of a table's samples: found when they are first read, and no part of what the table is.
#[derive(Debug, Default)]
pub(super) struct Marks(OnceLock<Box<[u64]>>);

impl Marks {
    /// Samples with their marks, if enough of them is black.
    pub(super) fn add_to<'a>(&'a self, samples: Samples<'a>) -> Result<Samples<'a>, SamplesError> {
        let marks = self.0.get_or_init(|| {
            let mut marks = vec![0; Samples::marks(samples.len(), samples.width())];
            samples.mark(&mut marks);
            let filled: u64 = marks.iter().map(|word| u64::from(word.count_ones())).sum();
            let chunks = samples.len() * samples.width().div_ceil(lopa_core::vector::LANES);
            // Below this share the marks cost more than they save.
            if filled as f64 > 0.9 * chunks as f64 { Box::default() } else { marks.into() }
        });
        if marks.is_empty() { Ok(samples) } else { samples.marked(marks) }
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
