//! What a network reports while it learns: a slot that is filled without waiting for anybody.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::about::About;
use super::state::{Node, Phase};
use crate::locked::locked;
use crate::network::LineHealth;
use crate::record::{Column, Record, Scale};

/// The most rows that wait to be taken: more than a reader needs.
const MOST_ROWS: usize = 4_096;
/// The most numbers of x that are copied, of all nodes together.
const MOST_NUMBERS: usize = 1 << 18;

/// What was reported since it was last taken.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The columns, with the first row.
    pub(super) columns: Vec<Column>,
    /// Rows of metrics.
    pub(super) rows: Vec<Vec<Option<f64>>>,
    /// All nodes, if there are news of them.
    pub(super) nodes: Vec<Node>,
    /// Lines, if there are news of them.
    pub(super) lines: Vec<LineHealth>,
    /// x of some nodes, one behind the other, and of how many.
    pub(super) x: Vec<f32>,
    pub(super) xs: usize,
    /// A node that diverged.
    pub(super) diverged: Option<usize>,
    /// The end.
    pub(super) end: Option<(Phase, String)>,
}

impl Slot {
    /// Empties it, but keeps its memory for the next time.
    pub(super) fn clear(&mut self) {
        self.columns.clear();
        self.rows.clear();
        self.nodes.clear();
        self.lines.clear();
        self.x.clear();
        (self.xs, self.diverged, self.end) = (0, None, None);
    }
}

#[derive(Debug)]
struct Shared {
    round: AtomicU64,
    /// Whether a look at the nodes is wanted: at the start, and when the last one was taken.
    wanted: AtomicBool,
    slot: Mutex<Slot>,
    /// Rows of the record that were reported already.
    rows: AtomicUsize,
    /// Elements of x that are shown.
    elements: usize,
    /// Nodes that are shown.
    nodes: usize,
    rounds: u64,
}

/// Takes what a network reports. All of it is copied, at most as much as is shown; nothing waits for a reader.
#[derive(Debug, Clone)]
pub struct Feed(Arc<Shared>);

impl Feed {
    pub(super) fn new(about: &About) -> Self {
        Self(Arc::new(Shared {
            round: AtomicU64::new(0),
            wanted: AtomicBool::new(true),
            slot: Mutex::default(),
            rows: AtomicUsize::new(0),
            elements: about.shared.as_ref().map_or(0, |shape| shape.elements),
            nodes: about.places.len(),
            rounds: about.rounds,
        }))
    }

    /// Rounds to do.
    pub(super) fn rounds(&self) -> u64 {
        self.0.rounds
    }

    /// Reports the rounds completed.
    pub fn round(&self, round: u64) {
        self.0.round.store(round, Ordering::Relaxed);
    }

    /// Whether somebody wants to know how nodes are doing: if not, what would be reported is not looked at.
    #[must_use]
    pub fn wants_nodes(&self) -> bool {
        self.0.wanted.load(Ordering::Relaxed)
    }

    /// Reports how all nodes are doing, their lines, and x of those of which it is known.
    pub fn nodes<'x>(
        &self,
        nodes: impl IntoIterator<Item = Node>,
        lines: impl IntoIterator<Item = LineHealth>,
        xs: impl IntoIterator<Item = &'x [f32]>,
    ) {
        let mut slot = locked(&self.0.slot);
        slot.nodes.clear();
        slot.nodes.extend(nodes.into_iter().take(self.0.nodes));
        slot.lines.clear();
        slot.lines.extend(lines);
        slot.x.clear();
        slot.xs = 0;
        let elements = self.0.elements;
        let most = MOST_NUMBERS.checked_div(elements).map_or(0, |most| most.max(1));
        for x in xs.into_iter().take(most) {
            if let Some(shown) = x.get(..elements) {
                slot.x.extend(shown);
                slot.xs += 1;
            }
        }
        self.0.wanted.store(false, Ordering::Relaxed);
    }

    /// Whether a record has rows that were not reported.
    pub(super) fn lacks(&self, record: &Record) -> bool {
        record.rows().len() > self.0.rows.load(Ordering::Relaxed)
    }

    /// Reports the rows of a record that were not reported before; the newest one has this many repaired chunks, where they are
    /// counted.
    pub fn record(&self, record: &Record, repaired: Option<u64>) {
        let before = self.0.rows.swap(record.rows().len(), Ordering::Relaxed);
        let Some(rows) = record.rows().get(before..).filter(|rows| !rows.is_empty()) else {
            return;
        };
        let mut slot = locked(&self.0.slot);
        if before == 0 {
            slot.columns = record.columns().to_vec();
            let (name, title) = ("repaired".into(), "chunks repaired".into());
            slot.columns.extend(repaired.map(|_| Column { name, title, scale: Scale::Linear }));
        }
        for (at, row) in rows.iter().enumerate() {
            if slot.rows.len() >= MOST_ROWS {
                // Nobody took them for a while: the newest is the one to know.
                slot.rows.pop();
            }
            let mut row = row.clone();
            if repaired.is_some() {
                row.push(repaired.filter(|_| at + 1 == rows.len()).map(|count| count as f64));
            }
            slot.rows.push(row);
        }
    }

    /// Reports that a node diverged.
    pub fn diverged(&self, node: Option<usize>) {
        locked(&self.0.slot).diverged = node;
    }

    /// Reports the end, and what there is to say about it.
    pub fn end(&self, phase: Phase, words: &str) {
        locked(&self.0.slot).end = Some((phase, words.to_owned()));
    }

    /// Takes everything, in exchange for an empty slot; and asks for another look at the nodes.
    pub(super) fn take(&self, slot: &mut Slot) -> u64 {
        slot.clear();
        std::mem::swap(&mut *locked(&self.0.slot), slot);
        self.0.wanted.store(true, Ordering::Relaxed);
        self.0.round.load(Ordering::Relaxed)
    }
}
