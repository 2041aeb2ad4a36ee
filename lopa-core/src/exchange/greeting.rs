//! Greetings: neighbours prove that they are present, and compare what they agree on.

use super::neighbour::{Neighbour, Standing};
use super::session::{Session, bump};
use super::settings::Micros;
use crate::epoch::Epoch;
use crate::wire::{Body, Hello, Message, Reason, Refuse, Values};

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// Handles a greeting. Like the handlers of other messages, it is not inlined: a chip's stack then holds only one of them.
    #[inline(never)]
    pub(super) fn hello(
        &mut self,
        link: usize,
        message: &Message<&[u8]>,
        hello: &Hello,
        now: Micros,
    ) {
        let Message { sender, session, epoch: number, .. } = *message;
        if sender == self.settings.node {
            // On a bus a node receives its own frames; another session means another node with the same number.
            let own = session == self.session || session == 0;
            if !own && !self.duplicate {
                self.duplicate = true;
                self.refuse_twin = Some((link, sender, hello.challenge));
                bump(&mut self.counters.refused);
            }
            return;
        }
        if hello.to != self.settings.node {
            return;
        }
        let Some(at) = self.neighbours.iter().position(|n| n.is(link, sender)) else {
            // A neighbour's number on a link that does not lead to it: two nodes have that number.
            if self.neighbours.iter().any(|n| n.peer.node == sender) {
                self.refuse_twin = Some((link, sender, hello.challenge));
                bump(&mut self.counters.refused);
            } else {
                bump(&mut self.counters.foreign);
            }
            return;
        };
        if self.session == 0 {
            self.session = self.session_from(hello.challenge, now);
        }
        let pace = self.settings.timing.pace();
        let Some(n) = self.neighbours.get_mut(at) else { return };
        n.heard = hello.challenge;
        if !n.given || hello.echo != n.challenge {
            // It has not received our greeting yet, or this is a recording: we only ask for an echo. If nothing seems to have
            // changed and it wants no answer, two answers have crossed.
            let same = n.met() && n.session == session && number == self.epoch.number;
            if hello.ask || !same {
                n.greet_soon(now, pace);
            }
            return;
        }
        // An echo is accepted once.
        self.challenge_anew(at, now);
        self.proven(at, message, hello, now);
    }

    /// Handles a greeting that echoes the current challenge.
    fn proven(&mut self, at: usize, message: &Message<&[u8]>, hello: &Hello, now: Micros) {
        let Message { session, epoch: number, .. } = *message;
        let (most, coded) = (self.sent_up_to(), self.coded());
        let beyond = |round: u64| round > self.settings.rounds || self.first(round) > u64::MAX / 2;
        let far = beyond(hello.start) || (hello.round != u64::MAX && beyond(hello.round));
        let Some(n) = self.neighbours.get_mut(at) else { return };
        let weight = (n.peer.weight.to_bits() != hello.weight.to_bits()).then_some(Reason::Weight);
        if let Some(reason) = self.settings.identity.difference(&hello.identity).or(weight) {
            n.refuse = Some(reason);
            if n.standing != Standing::Refused(reason) {
                bump(&mut self.counters.refused);
                self.leave_out(at, Standing::Refused(reason), now);
            }
            return;
        }
        if far || hello.window == 0 {
            bump(&mut self.counters.malformed);
            return;
        }
        (n.alive_at, n.ever, n.window) = (now, true, hello.window.min(32));
        if hello.ask {
            n.hello_at = Some(now);
        }
        let theirs = Epoch { number, mark: hello.mark };
        let (later, same) = (theirs.is_later_than(self.epoch.number), number == self.epoch.number);
        if hello.without && (later || same) && n.counts() {
            // It gave us up while we still counted on it. If it receives us after all, its next echo will show that.
            (n.standing, n.hello_at) = (Standing::Dead, Some(now));
            return if later {
                self.join(theirs, hello.start, now);
            } else {
                self.begin(number, self.round, now);
            };
        }
        let lost = !n.counts();
        let rebooted = n.met() && n.session != session;
        let invited = lost && !hello.without && later;
        // The y of a node that booted in an epoch fits only nodes that booted in it in the same round. If another node
        // joined, with y = z, the mean of y would no longer be that of z.
        let torn = if same {
            theirs != self.epoch
                || hello.start != self.start
                // Its first round may travel in another way.
                || (coded && hello.resumed != self.resumed)
                || n.contradicts(hello.next, hello.held, most)
        } else if later {
            hello.resumed
        } else {
            self.resumed
        };
        if lost || rebooted {
            n.standing = Standing::Unmet;
        }
        if torn || rebooted || (lost && !invited) {
            self.begin(number, self.common_round(hello), now);
            return;
        }
        if later {
            self.join(theirs, hello.start, now);
        } else if !same {
            // It has missed our epoch: an answer will tell it.
            n.hello_at = Some(now);
            return;
        }
        self.settled = true;
        let timing = self.settings.timing;
        let Some(n) = self.neighbours.get_mut(at) else { return };
        if n.standing == Standing::Unmet {
            (n.standing, n.pause) = (Standing::Met, timing.retry);
            n.owed = hello.ask || later;
            n.hello_at = n.owed.then_some(now);
        }
        n.session = session;
        if same {
            let lost = n.acknowledged(hello.next, hello.held, now, &timing).unwrap_or(0);
            self.counters.repaired = self.counters.repaired.saturating_add(u64::from(lost));
        }
    }

    /// Handles a refusal.
    pub(super) fn refused(&mut self, link: usize, sender: u32, refuse: &Refuse, now: Micros) {
        if refuse.to != self.settings.node {
            return;
        }
        let echoed = |n: &Neighbour| n.given && n.challenge == refuse.echo;
        if sender == self.settings.node {
            self.duplicate |= self.neighbours.iter().any(echoed);
            return;
        }
        let found = self.neighbours.iter().position(|n| n.is(link, sender) && echoed(n));
        if let Some(at) = found {
            if self.neighbours.get(at).is_some_and(|n| n.counts()) {
                bump(&mut self.counters.refused);
                self.leave_out(at, Standing::Refused(refuse.reason), now);
            } else {
                self.challenge_anew(at, now);
            }
        }
    }

    /// The next refusal or greeting to be sent on a link.
    pub(super) fn greeting(&mut self, link: usize, now: Micros) -> Option<Body<Values<'static>>> {
        if let Some((_, to, echo)) = self.refuse_twin.take_if(|(at, ..)| *at == link) {
            return Some(Body::Refuse(Refuse { to, echo, reason: Reason::DuplicateNode }));
        }
        let timing = self.settings.timing;
        let (start, round, next) = (self.start, self.decided_round(), self.base);
        let (identity, resumed, mark) = (self.settings.identity, self.resumed, self.epoch.mark);
        for n in self.neighbours.iter_mut().filter(|n| n.on(link)) {
            if let Some(reason) = n.refuse.take() {
                return Some(Body::Refuse(Refuse { to: n.peer.node, echo: n.heard, reason }));
            }
            if n.greeting_at(&timing).is_none_or(|at| at > now) {
                continue;
            }
            return Some(Body::Hello(Hello {
                to: n.peer.node,
                ask: n.greeted(now, &timing),
                challenge: n.challenge,
                echo: n.heard,
                without: !n.counts(),
                resumed,
                mark,
                start,
                round,
                next,
                held: n.filled,
                window: WINDOW as u8,
                weight: n.peer.weight,
                identity,
            }));
        }
        None
    }
}
