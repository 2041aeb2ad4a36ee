//! What a node knows of one neighbour: who it is, what came from it, what it has.

use super::settings::{Micros, Peer, Timing};
use crate::wire::Reason;

/// How a node stands with a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Standing {
    /// Not met in this epoch yet: rounds wait for it.
    Unmet,
    /// Met in this epoch: rounds go on with it.
    Met,
    /// Held for dead: rounds go on without it.
    Dead,
    /// Refused, here or there: rounds go on without it.
    Refused(Reason),
}

/// One neighbour. The values of its chunks lie beside it: it is small enough for a stack.
#[derive(Debug, Clone)]
pub(super) struct Neighbour {
    pub peer: Peer,
    pub standing: Standing,
    /// What the neighbour must echo to be believed.
    pub challenge: u32,
    /// The neighbour's challenge as last heard, to be echoed; 0 for none.
    pub heard: u32,
    /// Its challenge when it was met.
    pub known: u32,
    /// Its boot number when it was met.
    pub session: u32,
    /// The last sign of life; when waiting began, if there was none.
    pub alive_at: Micros,
    /// Whether there ever was one.
    pub ever: bool,
    /// When to greet it next.
    pub hello_at: Option<Micros>,
    /// When it was greeted last.
    pub greeted_at: Option<Micros>,
    /// A refusal to be said.
    pub refuse: Option<Reason>,
    /// When anything was last said to it.
    pub spoke_at: Micros,
    /// Growing pause between greetings or retries in a row.
    pub pause: Micros,

    /// Its chunks that have come, bit b for chunk base + b.
    pub filled: u32,
    /// The highest chunk that came, plus one.
    pub reached: u64,
    /// The base it was last told.
    pub told: u64,
    /// When to tell it what has come.
    pub ack_at: Option<Micros>,

    /// All its chunks before this one are mixed: it has all of ours before it.
    pub next: u64,
    /// Ours it holds, bit b for chunk next + b.
    pub held: u32,
    /// Ours on the way, bit b for chunk next + b.
    pub sent: u32,
    /// How many chunks beyond `next` it can hold.
    pub window: u8,
    /// When to send again.
    pub retry_at: Option<Micros>,
}

/// Bit `distance` of a mask; nothing beyond its end.
pub(super) fn bit(distance: u64) -> u32 {
    u32::try_from(distance).ok().and_then(|d| 1_u32.checked_shl(d)).unwrap_or(0)
}

impl Neighbour {
    pub fn new(peer: Peer, challenge: u32, now: Micros, timing: &Timing) -> Self {
        Self {
            peer,
            standing: Standing::Unmet,
            challenge,
            heard: 0,
            known: 0,
            session: 0,
            alive_at: now,
            ever: false,
            hello_at: Some(now),
            greeted_at: None,
            refuse: None,
            spoke_at: now,
            pause: timing.retry,
            filled: 0,
            reached: 0,
            told: 0,
            ack_at: None,
            next: 0,
            held: 0,
            sent: 0,
            window: 0,
            retry_at: None,
        }
    }

    /// Whether it has this number, and this link leads to it.
    pub fn is(&self, link: usize, node: u32) -> bool {
        self.peer.node == node && usize::from(self.peer.link) == link
    }

    /// Whether rounds wait for it.
    pub fn counts(&self) -> bool {
        matches!(self.standing, Standing::Unmet | Standing::Met)
    }

    pub fn met(&self) -> bool {
        self.standing == Standing::Met
    }

    /// Forgets all chunks: an epoch begins with chunk `base`.
    pub fn begin(&mut self, base: u64, now: Micros, timing: &Timing) {
        (self.filled, self.reached, self.told, self.ack_at) = (0, base, base, None);
        (self.next, self.held, self.sent, self.retry_at) = (base, 0, 0, None);
        self.pause = timing.retry;
        if self.counts() {
            self.standing = Standing::Unmet;
            self.hello_at = Some(now);
        }
    }

    /// Whether it has our chunk.
    pub fn has(&self, chunk: u64) -> bool {
        chunk < self.next || self.held & bit(chunk - self.next) != 0
    }

    /// The first of our chunks it could not hold.
    pub fn room(&self) -> u64 {
        self.next.saturating_add(u64::from(self.window))
    }

    /// Our first chunk in a range that it lacks and that is not on its way.
    pub fn wants(&self, from: u64, to: u64) -> Option<u64> {
        (from.max(self.next)..to).find(|&chunk| {
            let bit = bit(chunk - self.next);
            bit != 0 && (self.held | self.sent) & bit == 0
        })
    }

    /// Notes that a chunk was sent.
    pub fn sent(&mut self, chunk: u64, now: Micros) {
        if let Some(distance) = chunk.checked_sub(self.next) {
            self.sent |= bit(distance);
            let retry = now.saturating_add(self.pause);
            self.retry_at.get_or_insert(retry);
        }
    }

    /// Takes in what it says it has. Tells how many chunks are now known to be lost.
    pub fn acknowledged(&mut self, next: u64, held: u32, now: Micros, timing: &Timing) -> u32 {
        let Some(ahead) = next.checked_sub(self.next) else { return 0 };
        if ahead == 0 && held & !self.held == 0 {
            return 0;
        }
        let shift =
            |mask: u32| u32::try_from(ahead).ok().and_then(|a| mask.checked_shr(a)).unwrap_or(0);
        self.held = shift(self.held) | held;
        self.sent = shift(self.sent) | held;
        self.next = next;
        // What was sent before something it holds, and is not held, was lost on a link that keeps order.
        let highest = 32_u32.saturating_sub(self.held.leading_zeros());
        let below = bit(u64::from(highest)).wrapping_sub(1);
        let below = if highest == 0 { 0 } else { below };
        let lost = self.sent & !self.held & below;
        self.sent &= !lost;
        self.pause = timing.retry;
        let waiting = self.sent & !self.held != 0;
        self.retry_at = waiting.then(|| now.saturating_add(self.pause));
        lost.count_ones()
    }

    /// Gives up waiting for acknowledgements: what is on the way counts as lost. Tells how many chunks.
    pub fn retry(&mut self, now: Micros, timing: &Timing) -> u32 {
        if self.retry_at.is_none_or(|at| at > now) {
            return 0;
        }
        let lost = (self.sent & !self.held).count_ones();
        self.sent = self.held;
        self.retry_at = None;
        self.pause = self.pause.saturating_mul(2).min(timing.retry_most);
        lost
    }

    /// Asks for an acknowledgement not later than `at`.
    pub fn ack_by(&mut self, at: Micros) {
        self.ack_at = Some(self.ack_at.map_or(at, |before| before.min(at)));
    }

    /// Asks for a greeting now, but not more often than once a retry.
    pub fn hello_soon(&mut self, now: Micros, timing: &Timing) {
        let at = self.greeted_at.map_or(now, |last| now.max(last.saturating_add(timing.retry)));
        self.hello_at = Some(self.hello_at.map_or(at, |before| before.min(at)));
    }
}
