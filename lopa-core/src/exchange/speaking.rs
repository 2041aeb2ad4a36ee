//! Chooses what to send: greetings, then answers, chunks and acknowledgements.

use core::ops::Range;

use super::neighbour::{Neighbour, Standing};
use super::session::Session;
use super::settings::Micros;
use super::starting::Start;
use crate::codec::Outgoing;
use crate::node::{State, Variable};
use crate::oracles::Evaluations;
#[cfg(feature = "codec")]
use crate::wire::Changes;
use crate::wire::{
    self, Acks, Answer, Ask, Body, Data, Floats, Held, Message, Metrics, Reply, Status, VERSION,
    Values,
};

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// Not generic over the learner, so that a program contains it once.
    pub(super) fn transmit(
        &mut self,
        link: usize,
        state: &State<'_>,
        outgoing: Option<&Outgoing<'_>>,
        evaluations: &Evaluations,
        now: Micros,
        out: &mut [u8],
    ) -> Option<usize> {
        if !self.out
            && let Some(body) = self.greeting(link, now)
        {
            return self.send(body, out);
        }
        if let Some(reply) = self.reply(link, state, evaluations) {
            return self.send(Body::Reply(reply), out);
        }
        if self.restart || self.out {
            return None;
        }
        let timing = self.settings.timing;
        for neighbour in self.neighbours.iter_mut().filter(|n| n.on(link)) {
            let lost = neighbour.retry(now, &timing);
            self.counters.repaired = self.counters.repaired.saturating_add(u64::from(lost));
        }
        let on_link = |n: &Neighbour| n.met() && n.on(link);
        let (base, end) = (self.base, self.sent_up_to());
        // A frame is for all neighbours on the link: it waits until all of them are met and have room.
        let counting = self.neighbours.iter().filter(|n| n.on(link) && n.counts());
        let room = counting.map(|n| if n.met() { n.room() } else { 0 }).min();
        let end = end.min(room.unwrap_or(0));
        let on_link_now = self.neighbours.iter().filter(|n| on_link(n));
        let wanted = on_link_now.filter_map(|n| n.wants(base, end)).min();
        if let Some(place) = wanted {
            let round = self.round;
            let elements = self.elements(round, place);
            let values = self.values_of(state, outgoing, elements);
            for neighbour in self.neighbours.iter_mut().filter(|n| on_link(n)) {
                neighbour.sent(place, now);
            }
            let acks = self.acks_for(link, now);
            let chunk = place.saturating_sub(self.first(round)) as u32;
            return self.send(Body::Data(Data { round, chunk, acks, values }), out);
        }
        if self.neighbours.iter().any(|n| on_link(n) && n.ack_due(now)) {
            let acks = self.acks_for(link, now);
            return self.send(Body::Ack(acks), out);
        }
        None
    }

    /// The values of a chunk in the node's round.
    #[inline]
    fn values_of<'l>(
        &self,
        state: &State<'l>,
        outgoing: Option<&Outgoing<'l>>,
        elements: Range<usize>,
    ) -> Values<'l> {
        #[cfg(feature = "codec")]
        if let Some(outgoing) = outgoing
            && self.coded()
        {
            if self.bits(self.round).is_some() {
                return Values::Changes(Changes::new(*outgoing, elements));
            }
            if outgoing.is_zero(elements.clone()) {
                return Values::Floats(Floats(&[], &[]));
            }
        }
        #[cfg(not(feature = "codec"))]
        let _ = outgoing;
        let x = state.x.get(elements.clone()).unwrap_or(&[]);
        let y = if self.tracking() { state.y.get(elements).unwrap_or(&[]) } else { &[] };
        Values::Floats(Floats(x, y))
    }

    /// What has been received from the neighbours on a link. What was received from all of them is encoded once; neighbours
    /// from which more was received are named, first those whose acknowledgement is due. One that does not fit stays due.
    fn acks_for(&mut self, link: usize, now: Micros) -> Acks {
        let (base, timing) = (self.base, self.settings.timing);
        let counting = self.neighbours.iter().filter(|n| n.on(link) && n.counts());
        // A neighbour that is not met has sent nothing yet.
        let all = counting.fold(u32::MAX, |all, n| if n.met() { all & n.filled } else { 0 });
        let mut acks = Acks { next: base, all, ..Acks::default() };
        for urgent in [true, false] {
            for n in self.neighbours.iter_mut().filter(|n| n.on(link) && n.met()) {
                let news = n.ack_at.is_some() || n.told != base;
                if n.ack_due(now) != urgent || !news {
                    continue;
                }
                let held = Held { to: n.peer.node, chunks: n.filled };
                if n.filled == all || acks.held.push(held).is_ok() {
                    n.tell(base, now, &timing);
                }
            }
        }
        acks
    }

    fn reply<'l>(
        &mut self,
        link: usize,
        state: &State<'l>,
        evaluations: &Evaluations,
    ) -> Option<Reply<Values<'l>>> {
        if let Some((_, tag)) = self.answer.take_if(|(at, _)| *at == link) {
            let answer = if self.written { Answer::Done } else { Answer::Cannot };
            return Some(Reply { tag, answer });
        }
        let (tag, ask) = self.asked.get_mut(link)?.take()?;
        if self.state != Start::Sound {
            return Some(Reply { tag, answer: Answer::Refused(self.trouble) });
        }
        let answer = match ask {
            Ask::Start | Ask::Stop => Answer::Done,
            Ask::Checkpoint => Answer::Cannot,
            Ask::Status => Answer::Status(self.status(state.round)),
            Ask::Counters => Answer::Counters(self.counters),
            Ask::Metrics => Answer::Metrics(Metrics::of(state, *evaluations)),
            Ask::Read { variable, offset } => {
                let vector = match variable {
                    Variable::Outer => state.x,
                    Variable::Inner => state.theta,
                    Variable::HessianInverseVector => state.v,
                    Variable::Hypergradient => state.z,
                    Variable::Direction => state.y,
                };
                let from = (offset as usize).min(vector.len());
                let to = from.saturating_add(VALUES).min(vector.len());
                let values = Values::Floats(Floats(vector.get(from..to).unwrap_or(&[]), &[]));
                Answer::Values { variable, offset, values }
            }
        };
        Some(Reply { tag, answer })
    }

    fn status(&self, round: u64) -> Status {
        let count = |which: fn(Standing) -> bool| {
            let count = self.neighbours.iter().filter(|n| which(n.standing)).count();
            u8::try_from(count).unwrap_or(u8::MAX)
        };
        Status {
            session: self.settings.boot,
            challenge: self.host_challenge,
            round,
            rounds: self.settings.rounds,
            met: count(|s| s == Standing::Met),
            dead: count(|s| s == Standing::Dead),
            refused: count(|s| matches!(s, Standing::Refused(_))),
            paused: self.paused,
            diverged: self.diverged,
        }
    }

    fn send(&self, body: Body<Values<'_>>, out: &mut [u8]) -> Option<usize> {
        let (sender, session) = (self.settings.node, self.session);
        let message = Message { version: VERSION, sender, session, epoch: self.epoch.number, body };
        wire::write(&message, &self.settings.seal, out)
    }

    pub(super) fn deadline(&self) -> Micros {
        if self.out {
            return Micros::MAX;
        }
        let timing = &self.settings.timing;
        self.neighbours.iter().fold(Micros::MAX, |first, n| {
            // Chunks and acknowledgements are only sent to neighbours that are met.
            let met = [n.retry_at, n.ack_at].map(|at| at.filter(|_| n.met()));
            let rest = [n.greeting_at(timing), n.counts().then(|| n.alive_until(timing))];
            met.into_iter().chain(rest).flatten().fold(first, Micros::min)
        })
    }
}
