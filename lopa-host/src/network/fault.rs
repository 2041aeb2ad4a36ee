//! A serial line that misbehaves on purpose: it drops, corrupts, repeats, reorders and delays frames, and goes dead.
//!
//! It is seeded, so that every fault can be reproduced.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use lopa_core::draw::{Draws, Stream};
use lopa_core::exchange::Micros;

use super::LineHealth;
use crate::purposes;

/// What a line does to frames. Probabilities are from 0 to 1, independent for each frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Faults {
    /// The probability that a frame is lost.
    pub drop: f32,
    /// The probability that a frame is damaged: bits flipped, bytes lost, garbage added.
    pub corrupt: f32,
    /// The probability that a frame arrives twice.
    pub duplicate: f32,
    /// The probability that a frame is overtaken by later ones.
    pub reorder: f32,
    /// The longest extra delay of a frame.
    pub delay: Micros,
    /// When the line is dead in this direction.
    pub cut: Vec<Range<Micros>>,
}

impl Faults {
    /// A line without faults.
    pub const NONE: Self =
        Self { drop: 0.0, corrupt: 0.0, duplicate: 0.0, reorder: 0.0, delay: 0, cut: Vec::new() };
}

/// One direction of a line: frames in, bytes out, each at its time.
#[derive(Debug)]
pub struct FaultyLine {
    faults: Faults,
    stream: Stream,
    /// Frames in flight: when they arrive, a number that keeps their order, and their bytes.
    flying: BinaryHeap<Reverse<(Micros, u64, Vec<u8>)>>,
    count: u64,
    /// When the last frame in order arrives; later ones do not overtake it.
    last: Micros,
    /// Frames sent, and those among them that were lost or damaged.
    sent: u64,
    spoiled: u64,
}

impl FaultyLine {
    /// A line with its own number, so that lines with the same seed fail differently.
    #[must_use]
    pub fn new(faults: Faults, seed: u64, number: u32) -> Self {
        let stream = Draws { seed, node: number }.stream(0, purposes::FAULTS);
        Self { faults, stream, flying: BinaryHeap::new(), count: 0, last: 0, sent: 0, spoiled: 0 }
    }

    /// Changes what the line does from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Sends a frame that has left its sender at `now`.
    pub fn send(&mut self, frame: &[u8], now: Micros) {
        self.sent += 1;
        if self.faults.cut.iter().any(|cut| cut.contains(&now)) || self.chance(self.faults.drop) {
            self.spoiled += 1;
            return;
        }
        let copies = if self.chance(self.faults.duplicate) { 2 } else { 1 };
        let mut whole = false;
        for _ in 0..copies {
            let mut bytes = frame.to_vec();
            if self.chance(self.faults.corrupt) {
                self.damage(&mut bytes);
            } else {
                whole = true;
            }
            let delay = (f64::from(self.stream.unit()) * self.faults.delay as f64) as Micros;
            let late = self.chance(self.faults.reorder);
            let at = if late { now + 3 * delay.max(1_000) } else { self.last.max(now + delay) };
            if !late {
                self.last = at;
            }
            self.flying.push(Reverse((at, self.count, bytes)));
            self.count += 1;
        }
        self.spoiled += u64::from(!whole);
    }

    /// How the line is doing; it leads from one node to another.
    #[must_use]
    pub const fn health(&self, from: u32, to: u32) -> LineHealth {
        LineHealth { from, to, frames: self.sent, spoiled: self.spoiled }
    }

    /// The bytes that have arrived by `now`, one frame at a time.
    pub fn receive(&mut self, now: Micros) -> Option<Vec<u8>> {
        let Reverse((at, ..)) = self.flying.peek()?;
        if *at > now {
            return None;
        }
        self.flying.pop().map(|Reverse((_, _, bytes))| bytes)
    }

    /// When the next bytes arrive.
    #[must_use]
    pub fn next(&self) -> Option<Micros> {
        self.flying.peek().map(|Reverse((at, ..))| *at)
    }

    /// Frames in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.flying.len()
    }

    fn chance(&mut self, chance: f32) -> bool {
        // Draws even if nothing can happen, so that the rate of one fault does not affect the others.
        self.stream.unit() < chance
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = |stream: &mut Stream, len: usize| (stream.unit() * len as f32) as usize;
        match self.stream.next() % 4 {
            0 => {
                let place = at(&mut self.stream, bytes.len());
                bytes[place] ^= 1 << (self.stream.next() % 8);
            }
            1 => bytes.truncate(at(&mut self.stream, bytes.len())),
            2 => {
                let place = at(&mut self.stream, bytes.len());
                let garbage: Vec<u8> =
                    (0..1 + self.stream.next() % 9).map(|_| self.stream.next() as u8).collect();
                bytes.splice(place..place, garbage);
            }
            _ => {
                let from = at(&mut self.stream, bytes.len());
                for byte in &mut bytes[from..] {
                    *byte ^= (self.stream.next() & self.stream.next()) as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(faults: Faults) -> (usize, usize, bool) {
        let mut line = FaultyLine::new(faults, 3, 0);
        let frame = |i: u64| [i.to_le_bytes(), [7; 8]].concat();
        (0..1_000).for_each(|i| line.send(&frame(i), 10 * i));
        let health = line.health(1, 2);
        let got: Vec<Vec<u8>> = std::iter::from_fn(|| line.receive(Micros::MAX)).collect();
        let whole: Vec<u64> = got
            .iter()
            .filter(|f| f.len() == 16 && f[8..] == [7; 8])
            .map(|f| u64::from_le_bytes(f[..8].try_into().unwrap()))
            .collect();
        // Numbers that arrived whole; what was damaged may look whole, but only just.
        let arrived: std::collections::BTreeSet<u64> = whole.iter().copied().collect();
        let lost = 1_000 - arrived.len() as u64;
        assert!(health.frames == 1_000 && health.spoiled.abs_diff(lost) < 50, "{health:?}, {lost}");
        (got.len(), whole.iter().filter(|&&i| i < 1_000).count(), whole.is_sorted())
    }

    #[test]
    fn each_fault_does_what_it_says_at_its_rate() {
        assert_eq!(count(Faults::NONE), (1_000, 1_000, true));
        let (all, ..) = count(Faults { drop: 0.3, ..Faults::NONE });
        assert!((640..760).contains(&all), "{all}");
        let (all, ..) = count(Faults { duplicate: 0.2, ..Faults::NONE });
        assert!((1_160..1_240).contains(&all), "{all}");
        let (all, whole, _) = count(Faults { corrupt: 0.1, ..Faults::NONE });
        assert!(all == 1_000 && (860..940).contains(&whole), "{whole}");
        let (.., sorted) = count(Faults { reorder: 0.1, delay: 50, ..Faults::NONE });
        assert!(!sorted);
        let (.., sorted) = count(Faults { delay: 500, ..Faults::NONE });
        assert!(sorted);
        let cut = std::iter::once(1_000..3_000).collect();
        let (all, ..) = count(Faults { cut, ..Faults::NONE });
        assert_eq!(all, 800);
    }
}
