//! What is known now, and the news for those that follow.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::about::About;
use super::feed::{Feed, Slot};
use super::json;
use super::state::{Node, Phase, State};
use crate::locked::locked;
use crate::network::LineHealth;
use crate::record::Column;

/// The most rows that are kept; of more, every other one is left out.
const MOST_ROWS: usize = 1_200;
/// The news that are kept for browsers that come back.
const KEPT: usize = 64;
/// How often news are gathered.
const OFTEN: Duration = Duration::from_millis(200);
/// The same where there is a lot of them.
const SELDOM: Duration = Duration::from_secs(1);

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct Current {
    /// The number of the last news.
    pub(super) number: u64,
    pub(super) round: u64,
    pub(super) phase: Phase,
    pub(super) words: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Option<f64>>>,
    /// The last row, even if it is not among those that are kept.
    pub(super) last: Vec<Option<f64>>,
    pub(super) nodes: Vec<Node>,
    pub(super) lines: Vec<LineHealth>,
    pub(super) x: Vec<f32>,
    pub(super) xs: usize,
    /// The last news, the oldest first, without gaps.
    news: VecDeque<(u64, Arc<str>)>,
    /// Nothing follows.
    over: bool,
}

/// Which parts of it are new.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fresh {
    /// How many rows.
    pub(super) rows: usize,
    pub(super) columns: bool,
    pub(super) nodes: bool,
    pub(super) x: bool,
}

/// What a browser gets next.
#[derive(Debug)]
pub(super) enum Next {
    /// Everything, or news.
    Events(String),
    /// Nothing happened for a while.
    Quiet,
    /// Nothing follows.
    Over,
}

/// Between a feed and those that follow it.
pub(super) struct Hub {
    pub(super) about: About,
    feed: Feed,
    /// Which life of the server this is: numbers of another one mean nothing.
    life: String,
    spare: Mutex<Slot>,
    current: Mutex<Current>,
    changed: Condvar,
    streams: AtomicUsize,
    dropped: AtomicU64,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("about", &self.about.title).finish_non_exhaustive()
    }
}

impl Hub {
    pub(super) fn new(about: About, feed: &Feed) -> Self {
        let mut life = [0; 4];
        // Only to tell lives apart: the time of the start would do.
        if getrandom::fill(&mut life).is_err() {
            life = (about.since as u32).to_le_bytes();
        }
        Self {
            about,
            feed: feed.clone(),
            life: format!("{:08x}", u32::from_le_bytes(life)),
            spare: Mutex::default(),
            current: Mutex::default(),
            changed: Condvar::new(),
            streams: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// How often to gather news.
    fn pace(&self) -> Duration {
        let elements = self.about.shared.as_ref().map_or(0, |shape| shape.elements);
        if self.about.nodes > 100 || elements > 2_048 { SELDOM } else { OFTEN }
    }

    /// Gathers news until it is over.
    pub(super) fn work(&self) {
        loop {
            self.gather();
            let current = locked(&self.current);
            if self.wait(current, self.pace(), |current| !current.over).over {
                return;
            }
        }
    }

    /// Waits as long as something holds, but not longer than this.
    fn wait<'a>(
        &self,
        current: MutexGuard<'a, Current>,
        time: Duration,
        mut holds: impl FnMut(&mut Current) -> bool,
    ) -> MutexGuard<'a, Current> {
        let waited = self.changed.wait_timeout_while(current, time, |current| holds(current));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes what was reported, and tells those that follow.
    pub(super) fn gather(&self) {
        let mut slot = locked(&self.spare);
        let round = self.feed.take(&mut slot);
        let mut current = locked(&self.current);
        let mut fresh = Fresh { rows: slot.rows.len(), ..Fresh::default() };
        let moved = current.round != round || slot.end.is_some();
        current.round = round;
        if !slot.columns.is_empty() {
            (current.columns, fresh.columns) = (std::mem::take(&mut slot.columns), true);
        }
        if !slot.nodes.is_empty() {
            fresh.nodes = current.nodes != slot.nodes || current.lines != slot.lines;
            std::mem::swap(&mut current.nodes, &mut slot.nodes);
            std::mem::swap(&mut current.lines, &mut slot.lines);
        }
        if let Some(node) = slot.diverged.and_then(|node| current.nodes.get_mut(node)) {
            (node.state, fresh.nodes) = (State::Diverged, true);
        }
        if slot.xs > 0 {
            fresh.x = current.x != slot.x;
            std::mem::swap(&mut current.x, &mut slot.x);
            current.xs = slot.xs;
        }
        if let Some((phase, words)) = slot.end.take() {
            (current.phase, current.words) = (phase, words);
        }
        current.rows.append(&mut slot.rows);
        if let Some(last) = current.rows.last() {
            current.last = last.clone();
        }
        if !moved && fresh.rows == 0 && !fresh.columns && !fresh.nodes && !fresh.x {
            return;
        }
        current.number += 1;
        if self.streams() > 0 {
            let id = self.id(current.number);
            let text: Arc<str> =
                event("step", &id, &json::step(&self.about, &current, fresh)).into();
            let number = current.number;
            current.news.push_back((number, text));
            if current.news.len() > KEPT {
                current.news.pop_front();
            }
        } else {
            // Nobody follows; whoever comes next starts with everything.
            current.news.clear();
        }
        current.thin();
        drop(current);
        self.changed.notify_all();
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.life)
    }

    /// The number of an event of this life.
    fn number(&self, id: &str) -> Option<u64> {
        id.strip_prefix(&self.life)?.strip_prefix('-')?.parse().ok()
    }

    /// Everything, as JSON.
    pub(super) fn state(&self) -> String {
        let current = locked(&self.current);
        json::whole(&self.id(current.number), &self.about, &current)
    }

    /// Looks at everything.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Current) -> T) -> T {
        look(&locked(&self.current))
    }

    /// The number of the last news that a browser with this id has; nothing if it must start with everything.
    pub(super) fn known(&self, id: Option<&str>) -> Option<u64> {
        let number = self.number(id?)?;
        locked(&self.current).follows(number).then_some(number)
    }

    /// What follows after the news with a number; waits for it, but not longer than `time`.
    pub(super) fn next(&self, known: &mut Option<u64>, time: Duration) -> Next {
        let mut current = locked(&self.current);
        if let Some(number) = *known {
            current = self.wait(current, time, |now| now.number == number && !now.over);
            if current.number == number {
                return if current.over { Next::Over } else { Next::Quiet };
            }
            if current.follows(number) {
                *known = Some(current.number);
                let news = current.news.iter().filter(|(own, _)| *own > number);
                return Next::Events(news.map(|(_, text)| &**text).collect());
            }
        }
        *known = Some(current.number);
        let id = self.id(current.number);
        Next::Events(event("whole", &id, &json::whole(&id, &self.about, &current)))
    }

    /// Has everybody go home.
    pub(super) fn close(&self) {
        locked(&self.current).over = true;
        self.changed.notify_all();
    }

    /// Waits until nobody follows, but not longer than this.
    pub(super) fn wait_for_streams(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut current = locked(&self.current);
        while self.streams() > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(current, left);
            current = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many follow.
    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// How many were dropped because they were too slow.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Somebody follows, until what this returns is dropped; nothing if too many do.
    pub(super) fn follow(&self, most: usize) -> Option<Following<'_>> {
        let room = |now: usize| (now < most).then_some(now + 1);
        self.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        Some(Following(self))
    }

    /// Somebody was too slow.
    pub(super) fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Somebody that follows.
pub(super) struct Following<'a>(&'a Hub);

impl Drop for Following<'_> {
    fn drop(&mut self) {
        // Under the lock, so that nobody who waits for it misses it.
        let current = locked(&self.0.current);
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
        drop(current);
        self.0.changed.notify_all();
    }
}

impl Current {
    /// Whether all news after a number are still there.
    fn follows(&self, number: u64) -> bool {
        let oldest = self.news.front().map_or(self.number + 1, |(number, _)| *number);
        number <= self.number && number + 1 >= oldest
    }

    /// Leaves out every other row, if there are too many; the first and the newest stay.
    fn thin(&mut self) {
        while self.rows.len() > MOST_ROWS {
            let last = self.rows.len() - 1;
            let mut at = 0;
            self.rows.retain(|_| {
                at += 1;
                (at - 1) % 2 == 0 || at - 1 == last
            });
        }
    }
}

/// A server-sent event.
fn event(name: &str, id: &str, data: &str) -> String {
    format!("event: {name}\nid: {id}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_thinned_but_the_first_and_the_newest_stay() {
        let mut current = Current::default();
        for round in 0..5_000 {
            current.rows.push(vec![Some(f64::from(round))]);
            current.thin();
            assert!(current.rows.len() <= MOST_ROWS);
            assert_eq!(current.rows[0], [Some(0.0)]);
            assert_eq!(current.rows.last().unwrap()[..], [Some(f64::from(round))]);
        }
        assert!(current.rows.len() > MOST_ROWS / 3, "{}", current.rows.len());
        assert!(current.rows.is_sorted_by(|a, b| a[0] < b[0]));
    }

    #[test]
    fn news_are_followed_only_without_gaps() {
        let mut current = Current { number: 7, ..Current::default() };
        // Nothing is kept: only who has seen everything can go on.
        assert_eq!([6, 7, 8].map(|number| current.follows(number)), [false, true, false]);
        current.news.extend([(5, "a".into()), (6, "b".into()), (7, "c".into())]);
        let all = [3, 4, 5, 7, 8].map(|number| current.follows(number));
        assert_eq!(all, [false, true, true, true, false]);
    }
}
