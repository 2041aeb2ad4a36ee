//! Who takes part: every change of that begins a new epoch.

use super::neighbour::Standing;
use super::settings::Micros;
use super::session::{Session, bump};
use crate::epoch::Epoch;
use crate::wire::Hello;

/// Mixes numbers into one that looks like chance.
fn mixed(numbers: impl IntoIterator<Item = u32>) -> u32 {
    numbers.into_iter().fold(0x9e37_79b9_u32, |a, b| {
        (a ^ b).wrapping_mul(0x85eb_ca6b).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    })
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// A challenge nobody was given before, for a neighbour or a host; never 0.
    ///
    /// The boot number makes it new in every life. Where boots are not counted, the time has to do.
    pub(super) fn new_challenge(&mut self, node: u32, now: Micros) -> u32 {
        self.challenges = self.challenges.wrapping_add(1);
        mixed([self.settings.boot, node, self.challenges, now as u32]).max(1)
    }

    /// A session for a node that cannot count its boots, from a challenge that its giver never gave before: the life
    /// before got another. Above all boot numbers.
    pub(super) fn session_from(&self, challenge: u32, now: Micros) -> u32 {
        mixed([self.settings.node, challenge, now as u32]) | (1 << 31)
    }

    /// The neighbour at a place has echoed its challenge, or is given up: it gets a new one.
    pub(super) fn challenge_anew(&mut self, at: usize, now: Micros) {
        let Some(node) = self.neighbours.get(at).map(|n| n.peer.node) else { return };
        let challenge = self.new_challenge(node, now);
        if let Some(n) = self.neighbours.get_mut(at) {
            (n.challenge, n.given) = (challenge, false);
        }
    }

    /// Goes on without a neighbour, in a new epoch if rounds waited for it.
    pub(super) fn leave_out(&mut self, at: usize, standing: Standing, now: Micros) {
        if self.give_up(at, standing, now) {
            self.begin(self.epoch.number, self.round, now);
        }
    }

    /// Gives a neighbour up; tells whether rounds waited for it.
    fn give_up(&mut self, at: usize, standing: Standing, now: Micros) -> bool {
        let probe = now.saturating_add(self.settings.timing.probe);
        // It no longer waits for this one: from now on its own round counts.
        self.settled = true;
        let Some(n) = self.neighbours.get_mut(at) else { return false };
        let counted = n.counts();
        (n.standing, n.hello_at) = (standing, Some(probe));
        self.challenge_anew(at, now);
        counted
    }

    /// Declares neighbours dead that gave no sign of life for too long.
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

    /// The round in which two sides go on together: the earlier one, for a node that was alone runs ahead of the
    /// others and must not end their work. A node that just booted does not decide, unless both did.
    pub(super) fn common_round(&self, hello: &Hello) -> u64 {
        match (self.decided_round(), hello.round) {
            (u64::MAX, u64::MAX) => self.round.min(hello.start),
            (ours, theirs) => ours.min(theirs),
        }
    }

    /// What a greeting says of the round.
    pub(super) fn decided_round(&self) -> u64 {
        if self.settled { self.round } else { u64::MAX }
    }

    /// Begins an epoch of its own in round `start` or earlier, after the present one and one with number `other`.
    pub(super) fn begin(&mut self, other: u64, start: u64, now: Micros) {
        let present = self.epoch;
        let other = Epoch { number: other, mark: 0 };
        let last = if other.is_later_than(present.number) { other } else { present };
        // Without a session there is nobody to share the epoch with, and whoever comes begins another.
        let mark = match self.session {
            0 => self.session_from(self.challenges, now),
            session => session,
        };
        // Gradient tracking starts anew, which takes x away from where it was: there must be rounds left to come back.
        // Once all rounds are done it stays where it is, whoever leaves.
        let rounds = self.settings.rounds;
        let start = if start < rounds { start.min(rounds - rounds / 4) } else { start };
        let [next, own] = [last, present].map(|epoch| epoch.after(self.settings.node, mark));
        // After a number that is made up, almost half a turn ahead, the next one is no longer later than the present.
        let next = if next.is_later_than(present.number) { next } else { own };
        self.join(next, start, now);
    }

    /// Joins an epoch: every neighbour that counts is greeted anew.
    pub(super) fn join(&mut self, epoch: Epoch, start: u64, now: Micros) {
        (self.epoch, self.start, self.resumed, self.restart) = (epoch, start, false, true);
        (self.round, self.computed) = (start, false);
        self.base = start.saturating_mul(self.chunks);
        bump(&mut self.counters.epochs);
        let (base, timing) = (self.base, self.settings.timing);
        for n in &mut self.neighbours {
            n.begin(base, now, &timing);
        }
    }
}
