//! Which node has samples of which classes.

use super::{Drawing, Figure};
use crate::data::{Shard, Validation};
use crate::plot::Bars;

/// Bars of more nodes are too thin to be seen.
const MOST: usize = 200;

/// How many samples of each class every node has, for training and validation; `None` if there are no classes, or too many
/// nodes to draw.
#[must_use]
pub fn labels(shards: &[Shard], validation: Validation) -> Option<Figure> {
    let classes = shards.first()?.train.classes();
    if classes.is_empty() || shards.len() > MOST {
        return None;
    }
    // Where both levels have the same samples, they count once.
    let same = validation == Validation::Same;
    let counts = |shard: &Shard| match same && shard.train == shard.validation {
        true => shard.train.counts(),
        false => shard.counts(),
    };
    let bars = Bars {
        title: "labels".into(),
        x_title: "node".into(),
        y_title: "samples".into(),
        part_title: "class".into(),
        parts: classes.iter().map(|class| class.name.clone()).collect(),
        counts: shards.iter().map(counts).collect(),
    };
    let words = "How many samples of each class every node has, for both levels together.";
    Some(Figure::new("labels", Vec::new(), Drawing::Bars(bars)).explained(words))
}
