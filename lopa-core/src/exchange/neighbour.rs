//! What a node knows about one neighbour: its standing, which chunks it has sent, and which it has received.

use super::settings::{Micros, Peer, Timing};
use crate::wire::Reason;

/// The standing of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Standing {
    /// Not yet met in this epoch: rounds wait for it.
    Unmet,
    /// Met in this epoch: rounds continue with it.
    Met,
    /// Considered dead: rounds continue without it.
    Dead,
    /// Refused, by this node or by the neighbour: rounds continue without it.
    Refused(Reason),
}

/// One neighbour, without the values of its chunks, so that it is small enough for a stack.
#[derive(Debug, Clone)]
pub(super) struct Neighbour {
    pub peer: Peer,
    pub standing: Standing,
    /// What the neighbour must echo, once, to be trusted.
    pub challenge: u32,
    /// Whether the challenge has been sent; it cannot be echoed otherwise.
    pub given: bool,
    /// What was known of its chunks (`next`, `held`) when the challenge was sent: an honest echo cannot fall behind that.
    pub seen: (u64, u32),
    /// The neighbour's challenge as last received, to be echoed; 0 for none.
    pub heard: u32,
    /// Its boot number when it was met.
    pub session: u32,
    /// The last sign of life; when waiting began, if there was none.
    pub alive_at: Micros,
    /// Whether it has ever given one.
    pub ever: bool,
    /// When to greet it next, for other reasons than to ask for a sign of life.
    pub hello_at: Option<Micros>,
    /// Whether that greeting wants an answer even though it is met.
    pub ask: bool,
    /// It waits for the greeting that lets it meet us, which is sent before anything else.
    pub owed: bool,
    /// When it was greeted last.
    pub greeted_at: Option<Micros>,
    /// A refusal to be sent.
    pub refuse: Option<Reason>,
    /// The growing pause between greetings or retries in a row.
    pub pause: Micros,

    /// Which of its chunks have been received: bit b for chunk base + b.
    pub filled: u32,
    /// The highest chunk received, plus one.
    pub reached: u64,
    /// The base in the last acknowledgement to it, and when that was sent.
    pub told: u64,
    pub told_at: Micros,
    /// The growing pause between acknowledgements with nothing new.
    pub nag: Micros,
    /// When to send it an acknowledgement.
    pub ack_at: Option<Micros>,

    /// It has mixed all chunks before this one, so it has all of ours before it.
    pub next: u64,
    /// Which of our chunks it holds: bit b for chunk next + b.
    pub held: u32,
    /// Which of our chunks are on their way: bit b for chunk next + b.
    pub sent: u32,
    /// How many chunks beyond `next` it can hold.
    pub window: u8,
    /// When to send again.
    pub retry_at: Option<Micros>,
}

/// Bit `distance` of a mask; no bit beyond its end.
pub(super) fn bit(distance: u64) -> u32 {
    u32::try_from(distance).ok().and_then(|d| 1_u32.checked_shl(d)).unwrap_or(0)
}

/// A mask that now begins `distance` places later.
fn shifted(mask: u32, distance: u64) -> u32 {
    u32::try_from(distance).ok().and_then(|d| mask.checked_shr(d)).unwrap_or(0)
}

impl Neighbour {
    pub fn new(peer: Peer, challenge: u32, now: Micros, timing: &Timing) -> Self {
        Self {
            peer,
            standing: Standing::Unmet,
            challenge,
            given: false,
            seen: (0, 0),
            heard: 0,
            session: 0,
            alive_at: now,
            ever: false,
            hello_at: Some(now),
            ask: false,
            owed: false,
            greeted_at: None,
            refuse: None,
            pause: timing.retry,
            filled: 0,
            reached: 0,
            told: 0,
            told_at: now,
            nag: timing.retry,
            ack_at: None,
            next: 0,
            held: 0,
            sent: 0,
            window: 0,
            retry_at: None,
        }
    }

    /// Whether this link leads to it.
    pub fn on(&self, link: usize) -> bool {
        usize::from(self.peer.link) == link
    }

    /// Whether it has this number, and this link leads to it.
    pub fn is(&self, link: usize, node: u32) -> bool {
        self.peer.node == node && self.on(link)
    }

    /// Whether rounds wait for it.
    pub fn counts(&self) -> bool {
        matches!(self.standing, Standing::Unmet | Standing::Met)
    }

    pub fn met(&self) -> bool {
        self.standing == Standing::Met
    }

    /// Forgets all chunks: a new epoch begins with chunk `base`.
    pub fn begin(&mut self, base: u64, now: Micros, timing: &Timing) {
        (self.filled, self.reached, self.told, self.ack_at) = (0, base, base, None);
        (self.next, self.held, self.sent, self.retry_at) = (base, 0, 0, None);
        (self.seen, self.nag, self.pause) = ((base, 0), timing.retry, timing.retry);
        self.owed = false;
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

    /// The first of our chunks in a range that it lacks and that is not on its way.
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

    /// Handles an acknowledgement. If it contains something new, it is a sign of life, and the result is the number of chunks
    /// now known to be lost.
    pub fn acknowledged(
        &mut self,
        next: u64,
        held: u32,
        now: Micros,
        timing: &Timing,
    ) -> Option<u32> {
        let ahead = next.checked_sub(self.next)?;
        if ahead == 0 && held & !self.held == 0 {
            return None;
        }
        self.held = shifted(self.held, ahead) | held;
        self.sent = shifted(self.sent, ahead) | held;
        (self.next, self.alive_at) = (next, now);
        // Links keep the order: what was sent before something it holds, and is not held, was lost.
        let highest = 32_u32.saturating_sub(self.held.leading_zeros());
        let below = bit(u64::from(highest)).wrapping_sub(1);
        let below = if highest == 0 { 0 } else { below };
        let lost = self.sent & !self.held & below;
        self.sent &= !lost;
        self.pause = timing.retry;
        let waiting = self.sent & !self.held != 0;
        self.retry_at = waiting.then(|| now.saturating_add(self.pause));
        Some(lost.count_ones())
    }

    /// Whether an acknowledgement contradicts what was known when the challenge was sent, or what was sent (all chunks
    /// before `most`): the neighbour has forgotten something, or its frames were forged.
    pub fn contradicts(&self, next: u64, held: u32, most: u64) -> bool {
        let (then, had) = self.seen;
        match next.checked_sub(then) {
            // It cannot hold what was not sent, and cannot have lost what it held.
            Some(ahead) => {
                let beyond = most.checked_sub(next).map_or(u32::MAX, |sent| {
                    u32::try_from(sent)
                        .ok()
                        .and_then(|sent| u32::MAX.checked_shl(sent))
                        .unwrap_or(0)
                });
                held & beyond != 0 || next > most || shifted(had, ahead) & !held != 0
            }
            None => true,
        }
    }

    /// Stops waiting for acknowledgements when it is time: chunks on their way count as lost. Returns their number.
    pub fn retry(&mut self, now: Micros, timing: &Timing) -> u32 {
        if self.retry_at.is_none_or(|at| at > now) {
            return 0;
        }
        let lost = (self.sent & !self.held).count_ones();
        self.sent = self.held;
        self.retry_at = None;
        self.pause = self.pause.saturating_mul(2).min(timing.retry_most).max(timing.retry);
        lost
    }

    /// Schedules an acknowledgement no later than `at`.
    pub fn ack_by(&mut self, at: Micros) {
        self.ack_at = Some(self.ack_at.map_or(at, |before| before.min(at)));
    }

    /// Whether an acknowledgement to it is due.
    pub fn ack_due(&self, now: Micros) -> bool {
        self.ack_at.is_some_and(|at| at <= now)
    }

    /// Notes that it was sent an acknowledgement with this `base`.
    pub fn tell(&mut self, base: u64, now: Micros, timing: &Timing) {
        let news = self.told != base;
        let longer = self.nag.saturating_mul(2).min(timing.retry_most);
        self.nag = if news { timing.retry } else { longer.max(timing.retry) };
        (self.told, self.told_at, self.ack_at) = (base, now, None);
    }

    /// Schedules a greeting that wants an answer, but at most one per `gap`.
    pub fn greet_soon(&mut self, now: Micros, gap: Micros) {
        let at = self.greeted_at.map_or(now, |last| now.max(last.saturating_add(gap)));
        self.hello_at = Some(self.hello_at.map_or(at, |before| before.min(at)));
        self.ask = true;
    }

    /// When it will be declared dead, unless it gives a sign of life.
    pub fn alive_until(&self, timing: &Timing) -> Micros {
        self.alive_at.saturating_add(if self.ever { timing.silence } else { timing.patience })
    }

    /// Whether its last sign of life is so long ago that it must be asked for one.
    pub fn doubtful(&self, now: Micros, timing: &Timing) -> bool {
        self.met() && now >= self.alive_at.saturating_add(timing.doubt())
    }

    /// When the next greeting is due.
    pub fn greeting_at(&self, timing: &Timing) -> Option<Micros> {
        let paced = |at: Micros, gap: Micros| {
            self.greeted_at.map_or(at, |last| at.max(last.saturating_add(gap)))
        };
        let other = self.hello_at.map(|at| if self.owed { at } else { paced(at, timing.pace()) });
        let doubt = paced(self.alive_at.saturating_add(timing.doubt()), timing.insist());
        match other {
            Some(at) if self.met() => Some(at.min(doubt)),
            None if self.met() => Some(doubt),
            other => other,
        }
    }

    /// Notes that it is greeted, and schedules the next greeting. Returns whether this one wants an answer.
    pub fn greeted(&mut self, now: Micros, timing: &Timing) -> bool {
        let ask = !self.met() || self.ask || self.doubtful(now, timing);
        self.hello_at = match self.standing {
            Standing::Unmet => Some(now.saturating_add(self.pause)),
            Standing::Met => None,
            Standing::Dead | Standing::Refused(_) => Some(now.saturating_add(timing.probe)),
        };
        if self.standing == Standing::Unmet {
            // A neighbour that was there a moment ago gets more frames than one that may never come.
            let most = if self.ever { timing.silence / 32 } else { timing.retry_most };
            self.pause = self.pause.saturating_mul(2).min(most.max(timing.retry));
        }
        if !self.given {
            (self.given, self.seen) = (true, (self.next, self.held));
        }
        (self.greeted_at, self.ask, self.owed) = (Some(now), false, false);
        ask
    }
}
