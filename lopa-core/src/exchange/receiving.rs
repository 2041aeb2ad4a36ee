//! Handles received frames: chunks, acknowledgements, and requests of a host.

use super::neighbour::{Standing, bit};
use super::session::{Session, bump, find};
use super::settings::Micros;
use super::starting::{Asked, Start};
use crate::wire::{
    self, Acks, Ask, Body, Data, FrameError, HOST, Message, MessageError, Packing, Request,
};

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    pub(super) fn frame(&mut self, link: usize, frame: Result<&[u8], FrameError>, now: Micros) {
        let count = &mut self.counters;
        let counter = match frame.map(wire::decode) {
            Ok(Ok(message)) => {
                bump(&mut count.received);
                return self.message(link, &message, now);
            }
            // It proves nothing and would not understand an answer: a neighbour with another version stays unmet, then dead.
            Ok(Err(MessageError::Version { .. })) => &mut count.version,
            Ok(Err(MessageError::Malformed)) => &mut count.malformed,
            Err(FrameError::Oversize) => &mut count.oversize,
            Err(FrameError::Truncated) => &mut count.truncated,
            Err(FrameError::Seal) => &mut count.corrupt,
        };
        bump(counter);
    }

    fn message(&mut self, link: usize, message: &Message<&[u8]>, now: Micros) {
        match &message.body {
            Body::Hello(hello) => self.hello(link, message, hello, now),
            Body::Refuse(refuse) => self.refused(link, message.sender, refuse, now),
            Body::Data(data) => {
                if self.in_step(link, message, now) {
                    self.data(link, message.sender, data, now);
                    self.acks(link, message.sender, &data.acks, now);
                }
            }
            Body::Ack(acks) => {
                if self.in_step(link, message, now) {
                    self.acks(link, message.sender, acks, now);
                }
            }
            Body::Request(request) if message.sender == HOST => self.request(link, request, now),
            Body::Request(_) => {}
            Body::Reply(_) => {}
        }
    }

    /// Whether a frame comes from a neighbour met in this epoch.
    fn in_step(&mut self, link: usize, message: &Message<&[u8]>, now: Micros) -> bool {
        let (epoch, timing) = (self.epoch, self.settings.timing);
        let Some(neighbour) = find(&mut self.neighbours, link, message.sender) else {
            bump(&mut self.counters.foreign);
            return false;
        };
        if message.epoch == epoch.number && neighbour.met() && message.session == neighbour.session
        {
            return true;
        }
        // One of the two has missed something: a greeting will settle it.
        if !matches!(neighbour.standing, Standing::Refused(_)) {
            neighbour.greet_soon(now, timing.retry);
        }
        bump(&mut self.counters.stale);
        false
    }

    #[inline(never)]
    fn data(&mut self, link: usize, sender: u32, data: &Data<&[u8]>, now: Micros) {
        let place = self.first(data.round).saturating_add(u64::from(data.chunk));
        let vectors = if self.tracking() { 2 } else { 1 };
        let len = self.elements(data.round, place).len();
        let packing = self.bits(data.round).map(|bits| Packing { bits, len });
        let values = wire::floats(data.values);
        // With a codec, no bytes are zeros in every round: values of the first one, and changes of the others.
        let zeros = self.coded() && data.values.is_empty();
        let sound = match packing {
            _ if zeros => true,
            None => data.values.len() == 4 * len.saturating_mul(vectors),
            Some(packing) => packing.is_of(vectors, data.values),
        };
        if data.chunk >= self.chunks(data.round) || !sound {
            bump(&mut self.counters.malformed);
            return;
        }
        if packing.is_none() && values.clone().any(|a| !a.is_finite()) {
            bump(&mut self.counters.non_finite);
            return;
        }
        let (base, delay) = (self.base, self.settings.timing.delay);
        let (ahead, end) = (place.checked_sub(base), self.first(data.round.saturating_add(1)));
        let shared = self.neighbours.iter().filter(|n| n.met() && n.on(link)).count() > 1;
        let mut each = self.neighbours.iter_mut().zip(&mut self.values);
        let Some((neighbour, slots)) = each.find(|(n, _)| n.is(link, sender)) else { return };
        let counter = match ahead {
            Some(ahead) if ahead >= WINDOW as u64 => &mut self.counters.early,
            Some(ahead) if neighbour.filled & bit(ahead) == 0 => {
                if let Some(slot) = slots.get_mut(Self::slot(place)) {
                    match packing {
                        Some(packing) => {
                            packing.keep(vectors, data.values, bytemuck::cast_slice_mut(slot));
                        }
                        None if zeros => slot.fill(0.0),
                        None => slot.iter_mut().zip(values).for_each(|(to, value)| *to = value),
                    }
                }
                neighbour.filled |= bit(ahead);
                neighbour.alive_at = now;
                neighbour.reached = neighbour.reached.max(place.saturating_add(1));
                // The neighbour is held up if it can send no more, or if the round is over. On a shared line the
                // acknowledgement still waits a moment, so that one frame serves several neighbours.
                let last = neighbour.reached == end;
                let blocked = neighbour.reached >= neighbour.told.saturating_add(WINDOW as u64);
                let wait = if (last || blocked) && !shared { 0 } else { delay };
                neighbour.ack_by(now.saturating_add(wait));
                return;
            }
            _ => &mut self.counters.repeated,
        };
        if ahead.is_some_and(|ahead| ahead >= WINDOW as u64) {
            // It assumes that our window is larger than it is: a greeting will tell it.
            neighbour.greet_soon(now, self.settings.timing.retry);
        }
        bump(counter);
        // It does not know our latest acknowledgement.
        neighbour.ack_by(now.max(neighbour.told_at.saturating_add(delay)));
    }

    fn acks(&mut self, link: usize, sender: u32, acks: &Acks, now: Micros) {
        let (node, timing) = (self.settings.node, self.settings.timing);
        // A neighbour cannot have what was not sent.
        if acks.next > self.sent_up_to() {
            return;
        }
        let own = acks.held.iter().find(|held| held.to == node);
        let held = own.map_or(acks.all, |held| held.chunks);
        if let Some(n) = find(&mut self.neighbours, link, sender) {
            let lost = n.acknowledged(acks.next, held, now, &timing).unwrap_or(0);
            self.counters.repaired = self.counters.repaired.saturating_add(u64::from(lost));
        }
    }

    fn request(&mut self, link: usize, request: &Request, now: Micros) {
        let Request { to, echo, tag, ask } = *request;
        if self.state == Start::Nameless {
            self.settings.node = to;
        }
        if to != self.settings.node {
            return;
        }
        let changes = matches!(ask, Ask::Start | Ask::Stop | Ask::Checkpoint);
        let changes = changes && self.state == Start::Sound;
        // A host that missed the answer repeats its request. No challenge is 0: that means no request so far.
        let again = changes && echo != 0 && self.changed == (echo, tag);
        if changes && !again {
            if echo != self.host_challenge {
                bump(&mut self.counters.stale);
                return;
            }
            self.changed = (echo, tag);
            self.host_challenge = self.new_challenge(HOST, now);
        }
        match ask {
            Ask::Checkpoint if again => {
                if self.checkpoint.is_none() {
                    self.answer = Some((link, tag));
                }
                return;
            }
            _ if again => {}
            Ask::Start => self.paused = false,
            Ask::Stop => self.paused = true,
            Ask::Checkpoint if changes => {
                self.checkpoint = Some((link, tag));
                return;
            }
            _ => {}
        }
        if let Some(asked) = self.asked.get_mut(link) {
            *asked = Asked { waits: true, tag, ask };
        }
    }
}
