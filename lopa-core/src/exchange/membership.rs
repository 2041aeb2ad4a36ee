//! Which nodes take part: every change begins a new epoch.

use super::neighbour::Standing;
use super::session::{Session, bump};
use super::settings::Micros;
use crate::epoch::Epoch;
use crate::wire::Hello;

/// Hashes numbers into one that looks random.
fn mixed(numbers: impl IntoIterator<Item = u32>) -> u32 {
    numbers.into_iter().fold(0x9e37_79b9_u32, |a, b| {
        (a ^ b).wrapping_mul(0x85eb_ca6b).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    })
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// A challenge that was not used before, for a neighbour or a host; never 0.
    ///
    /// The boot number makes it new after every boot. If boots are not counted, only the time does.
    pub(super) fn new_challenge(&mut self, node: u32, now: Micros) -> u32 {
        self.challenges = self.challenges.wrapping_add(1);
        mixed([self.settings.boot, node, self.challenges, now as u32]).max(1)
    }

    /// A session for a node that cannot count its boots, derived from a challenge that was never given before, so that it
    /// differs from the session before the boot. It is above all boot numbers.
    pub(super) fn session_from(&self, challenge: u32, now: Micros) -> u32 {
        mixed([self.settings.node, challenge, now as u32]) | (1 << 31)
    }

    /// Gives the neighbour at a place a new challenge: it has echoed the old one, or is given up.
    pub(super) fn challenge_anew(&mut self, at: usize, now: Micros) {
        let Some(node) = self.neighbours.get(at).map(|n| n.peer.node) else { return };
        let challenge = self.new_challenge(node, now);
        if let Some(n) = self.neighbours.get_mut(at) {
            (n.challenge, n.given) = (challenge, false);
        }
    }

    /// Continues without a neighbour, in a new epoch if rounds waited for it.
    pub(super) fn leave_out(&mut self, at: usize, standing: Standing, now: Micros) {
        if self.give_up(at, standing, now) {
            self.begin(self.epoch.number, self.round, now);
        }
    }

    /// Gives a neighbour up; returns whether rounds waited for it.
    fn give_up(&mut self, at: usize, standing: Standing, now: Micros) -> bool {
        let probe = now.saturating_add(self.settings.timing.probe);
        // It no longer waits for this neighbour: from now on its own round counts.
        self.settled = true;
        let Some(n) = self.neighbours.get_mut(at) else { return false };
        let counted = n.counts();
        (n.standing, n.hello_at) = (standing, Some(probe));
        self.challenge_anew(at, now);
        counted
    }

    /// Declares neighbours dead that have given no sign of life for too long.
    pub(super) fn bury(&mut self, now: Micros) {
        let timing = self.settings.timing;
        let mut anyone = false;
        for at in 0..self.neighbours.len() {
            let Some(n) = self.neighbours.get(at) else { break };
            if n.counts() && now >= n.alive_until(&timing) {
                anyone |= self.give_up(at, Standing::Dead, now);
            }
        }
        if anyone {
            self.begin(self.epoch.number, self.round, now);
        }
    }

    /// The round in which two sides continue together: the earlier one, because a node that was alone runs ahead of the
    /// others and must not cut their work short. A node that just booted does not decide, unless both just booted.
    pub(super) fn common_round(&self, hello: &Hello) -> u64 {
        match (self.decided_round(), hello.round) {
            (u64::MAX, u64::MAX) => self.round.min(hello.start),
            (ours, theirs) => ours.min(theirs),
        }
    }

    /// The round in a greeting: `u64::MAX` if this node does not decide.
    pub(super) fn decided_round(&self) -> u64 {
        if self.settled { self.round } else { u64::MAX }
    }

    /// Begins a new epoch in round `start` or earlier, later than the present one and the one with number `other`.
    pub(super) fn begin(&mut self, other: u64, start: u64, now: Micros) {
        let present = self.epoch;
        let other = Epoch { number: other, mark: 0 };
        let last = if other.is_later_than(present.number) { other } else { present };
        // Without a session no other node shares the epoch, and the first neighbour that is met begins another.
        let mark = match self.session {
            0 => self.session_from(self.challenges, now),
            session => session,
        };
        // Gradient tracking starts again, which moves x away from where it was: there must be rounds left to return.
        // Once all rounds are done, x stays where it is even if nodes leave.
        let rounds = self.settings.rounds;
        let start = if start < rounds { start.min(rounds - rounds / 4) } else { start };
        let [next, own] = [last, present].map(|epoch| epoch.after(self.settings.node, mark));
        // After a forged number, almost half a turn ahead, the next one is no longer later than the present one.
        let next = if next.is_later_than(present.number) { next } else { own };
        self.join(next, start, now);
    }

    /// Joins an epoch: every neighbour that counts is greeted again.
    pub(super) fn join(&mut self, epoch: Epoch, start: u64, now: Micros) {
        (self.epoch, self.start, self.resumed, self.restart) = (epoch, start, false, true);
        self.opening = self.coded();
        (self.round, self.computed) = (start, false);
        self.base = self.first(start);
        bump(&mut self.counters.epochs);
        let (base, timing) = (self.base, self.settings.timing);
        for n in &mut self.neighbours {
            n.begin(base, now, &timing);
        }
    }
}
