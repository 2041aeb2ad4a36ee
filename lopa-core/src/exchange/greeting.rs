//! Greetings: who takes part in an epoch, and who does not.

use core::cmp::Ordering;

use super::neighbour::{Neighbour, Standing};
use super::settings::Micros;
use super::{Table, bump, find};
use crate::wire::{Body, Floats, Hello, Message, Reason, Refuse};

/// The first epoch after `epoch` that node `node` can begin. No other node can begin the same one.
fn epoch_after(epoch: u64, node: u32) -> u64 {
    ((epoch >> 16).wrapping_add(1) << 16) | u64::from(node)
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const WINDOW: usize, const VALUES: usize>
    Table<NEIGHBOURS, LINKS, WINDOW, VALUES>
{
    /// A challenge for a neighbour: new after every boot and every time someone was given up, never 0.
    pub(super) fn challenge(&self, node: u32) -> u32 {
        let mixed =
            [self.settings.boot, node, self.given_up].into_iter().fold(0x9e37_79b9_u32, |a, b| {
                (a ^ b)
                    .wrapping_mul(0x85eb_ca6b)
                    .rotate_left(13)
                    .wrapping_mul(5)
                    .wrapping_add(0xe654_6b64)
            });
        mixed.max(1)
    }

    /// Acts on a greeting. Not inlined, as are other kinds of messages: a chip's stack must hold one of them only.
    #[inline(never)]
    pub(super) fn hello(
        &mut self,
        link: usize,
        message: &Message<&[u8]>,
        hello: &Hello,
        now: Micros,
    ) {
        let Message { sender, session, epoch, .. } = *message;
        if sender == self.settings.node {
            // An echo of ourselves is a bus; another session is another node with our number.
            if session != self.settings.boot && !self.duplicate {
                self.duplicate = true;
                self.refuse_twin = Some((link, sender, hello.challenge));
                bump(&mut self.counters.refused);
            }
            return;
        }
        if hello.to != self.settings.node {
            return;
        }
        let known = self.neighbours.iter().any(|n| n.peer.node == sender);
        let (own, timing, mine) = (self.settings.identity, self.settings.timing, self.epoch);
        let Some(n) = find(&mut self.neighbours, link, sender) else {
            // A neighbour's number on a link that does not lead to it: there are two of them.
            let counter =
                if known { &mut self.counters.refused } else { &mut self.counters.foreign };
            bump(counter);
            if known {
                self.refuse_twin = Some((link, sender, hello.challenge));
            }
            return;
        };
        let news = core::mem::replace(&mut n.heard, hello.challenge) != hello.challenge;
        if hello.echo != n.challenge {
            // It does not know us yet, or it speaks from the past: nothing follows but an answer.
            if news {
                n.hello_at = Some(now);
            } else {
                n.hello_soon(now, &timing);
            }
            return;
        }
        let weight = (n.peer.weight.to_bits() != hello.weight.to_bits()).then_some(Reason::Weight);
        if let Some(reason) = own.difference(&hello.identity).or(weight) {
            if n.standing != Standing::Refused(reason) {
                bump(&mut self.counters.refused);
            }
            n.refuse = Some(reason);
            n.standing = Standing::Refused(reason);
            n.hello_at = None;
            return;
        }
        // No node could begin an epoch after the last, nor count chunks beyond the last: not said by a node.
        let far = hello.start > self.settings.rounds
            || hello.start.saturating_mul(self.chunks) > u64::MAX / 2;
        if epoch >> 16 == u64::MAX >> 16 || far {
            bump(&mut self.counters.malformed);
            return;
        }
        (n.alive_at, n.ever, n.window) = (now, true, hello.window.min(32));
        let rebooted = n.met() && n.session != session;
        let lost = !n.counts();
        if hello.dead && epoch >= mine && !lost {
            // It gave us up while we still heard it: then it must be without it here too.
            // Should it hear us after all, an answer to our new challenge will tell at once.
            n.standing = Standing::Dead;
            n.hello_at = Some(now);
            self.give_up_anew(sender);
            if epoch > mine {
                self.begin(epoch, hello.start, now);
            } else {
                self.begin(epoch_after(mine, self.settings.node), self.round, now);
            }
            return;
        }
        let invited = lost && !hello.dead && epoch > mine;
        if (lost || rebooted) && !invited {
            n.standing = Standing::Unmet;
            if rebooted {
                // With a new challenge its greetings from the life before are worth nothing.
                self.give_up_anew(sender);
            }
            let round = self.common_round(hello);
            self.begin(epoch_after(mine.max(epoch), self.settings.node), round, now);
            return;
        }
        if lost {
            n.standing = Standing::Unmet;
        }
        // Who booted in an epoch has a y that fits those only who booted in it in the same round. Should another join it,
        // with y = z, the mean of y would no longer be that of z.
        let torn = match epoch.cmp(&mine) {
            Ordering::Less => self.resumed,
            Ordering::Equal => hello.start != self.start,
            Ordering::Greater => hello.resumed,
        };
        if torn {
            let round = self.common_round(hello);
            self.begin(epoch_after(mine.max(epoch), self.settings.node), round, now);
            return;
        }
        if epoch > mine {
            self.begin(epoch, hello.start, now);
        } else if epoch < mine {
            n.hello_soon(now, &timing);
            return;
        }
        self.settled = true;
        if let Some(n) = find(&mut self.neighbours, link, sender) {
            if n.standing == Standing::Unmet {
                n.standing = Standing::Met;
                n.pause = timing.retry;
                n.hello_at = None;
            }
            (n.known, n.session) = (hello.challenge, session);
            if !hello.met {
                n.hello_at = Some(now);
            }
        }
    }

    /// Acts on a refusal.
    pub(super) fn refused(&mut self, link: usize, sender: u32, refuse: &Refuse) {
        if refuse.to != self.settings.node {
            return;
        }
        if sender == self.settings.node {
            self.duplicate |= self.neighbours.iter().any(|n| n.challenge == refuse.echo);
            return;
        }
        if let Some(n) = find(&mut self.neighbours, link, sender)
            && n.counts()
            && refuse.echo == n.challenge
        {
            n.standing = Standing::Refused(refuse.reason);
            n.hello_at = None;
            bump(&mut self.counters.refused);
        }
    }

    /// The round in which two sides go on together: the earlier one, for a node that was alone runs ahead of the
    /// others and must not end their work; but a node that just booted has no say, unless both did.
    fn common_round(&self, hello: &Hello) -> u64 {
        match (self.say(), hello.round) {
            (u64::MAX, u64::MAX) => self.round.min(hello.start),
            (ours, theirs) => ours.min(theirs),
        }
    }

    /// What a greeting says of the round.
    fn say(&self) -> u64 {
        if self.settled { self.round } else { u64::MAX }
    }

    /// Declares silent neighbours dead; the first of them begins a new epoch.
    pub(super) fn bury(&mut self, round: u64, now: Micros) {
        let timing = self.settings.timing;
        let mut anyone = false;
        for at in 0..self.neighbours.len() {
            let Some(n) = self.neighbours.get_mut(at) else { break };
            let limit = if n.ever { timing.silence } else { timing.patience };
            if n.counts() && now >= n.alive_at.saturating_add(limit) {
                n.standing = Standing::Dead;
                n.hello_at = Some(now.saturating_add(timing.probe));
                let node = n.peer.node;
                self.give_up_anew(node);
                anyone = true;
            }
        }
        if anyone {
            self.settled = true;
            self.begin(epoch_after(self.epoch, self.settings.node), round, now);
        }
    }

    /// A neighbour that was given up must prove that it hears us: it gets a new challenge to echo.
    fn give_up_anew(&mut self, node: u32) {
        self.given_up = self.given_up.wrapping_add(1);
        let challenge = self.challenge(node);
        if let Some(n) = self.neighbours.iter_mut().find(|n| n.peer.node == node) {
            n.challenge = challenge;
        }
    }

    /// Begins an epoch, or joins one that another node began: everyone who counts is greeted anew.
    fn begin(&mut self, epoch: u64, start: u64, now: Micros) {
        (self.epoch, self.start, self.resumed, self.restart) = (epoch, start, false, true);
        (self.round, self.computed) = (start, false);
        self.base = start.saturating_mul(self.chunks);
        bump(&mut self.counters.epochs);
        let (base, timing) = (self.base, self.settings.timing);
        for n in &mut self.neighbours {
            n.begin(base, now, &timing);
        }
    }

    /// The next refusal or greeting to be said on a link.
    pub(super) fn greeting(&mut self, link: usize, now: Micros) -> Option<Body<Floats<'static>>> {
        if let Some((_, to, echo)) = self.refuse_twin.take_if(|(at, ..)| *at == link) {
            return Some(Body::Refuse(Refuse { to, echo, reason: Reason::DuplicateNode }));
        }
        let timing = self.settings.timing;
        let (start, round, identity) = (self.start, self.say(), self.settings.identity);
        let resumed = self.resumed;
        for n in self.neighbours.iter_mut().filter(|n| usize::from(n.peer.link) == link) {
            if let Some(reason) = n.refuse.take() {
                return Some(Body::Refuse(Refuse { to: n.peer.node, echo: n.heard, reason }));
            }
            if n.hello_at.is_none_or(|at| at > now) {
                continue;
            }
            n.hello_at = match n.standing {
                Standing::Unmet => Some(now.saturating_add(n.pause)),
                Standing::Dead => Some(now.saturating_add(timing.probe)),
                Standing::Met | Standing::Refused(_) => None,
            };
            n.pause = match n.standing {
                Standing::Unmet => n.pause.saturating_mul(2).min(timing.retry_most),
                _ => n.pause,
            };
            (n.greeted_at, n.spoke_at) = (Some(now), now);
            let hello = hello_to(n, [start, round], WINDOW as u8, identity);
            return Some(Body::Hello(Hello { resumed, ..hello }));
        }
        None
    }
}

fn hello_to(
    n: &Neighbour,
    [start, round]: [u64; 2],
    window: u8,
    identity: crate::wire::Identity,
) -> Hello {
    Hello {
        to: n.peer.node,
        challenge: n.challenge,
        echo: n.heard,
        // Met means this very life of it: one that rebooted must answer to be found out.
        met: n.met() && n.known == n.heard,
        dead: n.standing == Standing::Dead,
        resumed: false,
        start,
        round,
        window,
        weight: n.peer.weight,
        identity,
    }
}
