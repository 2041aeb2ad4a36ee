//! Checks of what an exchange does with received frames, what it sends, and what must always hold.

use lopa_core::epoch::Epoch;
use lopa_core::exchange::{ExchangeError, Learner, Standing, Step};
use lopa_core::node::Phase;
use lopa_core::wire::{
    self, Acks, Answer, Ask, Body, Counters, Data, FrameError, HOST, Hello, Message, MessageError,
    Refuse, Request, message_len,
};

use super::actor::Actor;
use super::harness::{
    COUNTERS, Harness, LINKS, LONGEST, MOST_FRAMES, NODE, TIMING, Tested, VALUES, WINDOW, encode,
};
use super::watched::{OUTER, unpacked};

/// What can be predicted about a well-formed frame.
#[derive(Default)]
struct Predicted {
    /// The actor whose greeting echoes the last challenge.
    proven: Option<usize>,
    /// The actor that sent a valid chunk in step, with the right length and finite values; and the chunk's place.
    chunk: Option<(usize, u64)>,
    /// The chunk's place overflows, so whether its length is right is not predicted.
    uncounted: bool,
}

impl Harness {
    pub(super) fn send(&mut self, link: usize, message: &Message<&[u8]>) {
        let frame = encode(message);
        self.receive(link, &frame);
    }

    pub(super) fn standing(&self, number: u32) -> Option<Standing> {
        self.exchange.standings().find(|(node, _)| *node == number).map(|(_, standing)| standing)
    }

    fn standings(&self) -> Vec<(u32, Standing)> {
        self.exchange.standings().collect()
    }

    /// Gives the exchange bytes, one frame at a time, and checks their effect.
    pub(super) fn receive(&mut self, link: usize, bytes: &[u8]) {
        let mut from = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let Some(frame) = self.readers[link].push(byte) else { continue };
            let frame = frame.map(<[u8]>::to_vec);
            let piece = &bytes[from..=at];
            from = at + 1;
            self.frame(link, piece, frame.as_deref().map_err(|error| *error));
        }
        if from < bytes.len() {
            let before = self.inside();
            self.exchange.receive(link, &bytes[from..], self.now).unwrap();
            assert_eq!(before, self.inside(), "half a frame changed something");
        }
    }

    /// One whole frame.
    fn frame(&mut self, link: usize, piece: &[u8], frame: Result<&[u8], FrameError>) {
        let before = *self.exchange.counters();
        let mut expected = before;
        expected.received_bytes += piece.len() as u64;
        let decoded = frame.map(wire::decode);
        let message = match &decoded {
            Ok(Ok(message)) => Some(message),
            _ => None,
        };
        let inside = message.is_none().then(|| self.inside());
        let predicted =
            message.map_or_else(Predicted::default, |m| self.predict(link, m, &mut expected));
        let counter = match &decoded {
            Ok(Ok(_)) => &mut expected.received,
            Ok(Err(MessageError::Version { .. })) => &mut expected.version,
            Ok(Err(MessageError::Malformed)) => &mut expected.malformed,
            Err(FrameError::Oversize) => &mut expected.oversize,
            Err(FrameError::Truncated) => &mut expected.truncated,
            Err(FrameError::Seal) => &mut expected.corrupt,
        };
        *counter += 1;
        let (epoch, standings) = (self.exchange.epoch(), self.standings());
        self.exchange.receive(link, piece, self.now).unwrap();
        let mut after = *self.exchange.counters();
        if predicted.proven.is_some() {
            // The result depends on the state of both, but there is only one.
            for (counter, expected) in [
                (&mut after.refused, expected.refused),
                (&mut after.epochs, expected.epochs),
                (&mut after.malformed, expected.malformed),
            ] {
                assert!((expected..=expected + 1).contains(counter), "{decoded:?}");
                *counter = expected;
            }
        } else if after.epochs == before.epochs {
            let now = (self.exchange.epoch(), self.standings());
            assert_eq!(now, (epoch, standings.clone()), "{decoded:?} had an effect");
        }
        if predicted.uncounted {
            (after.malformed, after.non_finite) = (expected.malformed, expected.non_finite);
        }
        // Which chunks are lost, early or repeated depends on what was sent and what is held.
        after.repaired = expected.repaired;
        let beyond = (after.early + after.repeated) - (before.early + before.repeated);
        assert!(beyond <= u64::from(predicted.chunk.is_some() || predicted.uncounted));
        (after.early, after.repeated) = (expected.early, expected.repeated);
        assert_eq!(after, expected, "{decoded:?}");
        if let Some(inside) = inside {
            assert_eq!(inside, self.inside(), "a bad frame changed more than a counter");
        }
        if self.exchange.epoch() != epoch {
            self.actors.iter_mut().for_each(|actor| actor.gave.clear());
        }
        if let Some((index, place)) = predicted.chunk.filter(|_| beyond == 0) {
            let actor = &mut self.actors[index];
            assert!(!actor.gave.contains(&place), "a chunk was accepted twice");
            actor.gave.push(place);
        }
        // A greeting that makes no sense leaves the neighbour as it was.
        let understood = self.exchange.counters().malformed == before.malformed;
        if let (Some(index), Some(message), true) = (predicted.proven, message, understood) {
            let number = self.actors[index].number;
            if self.standing(number) == Some(Standing::Met) {
                self.actors[index].met_in = message.session;
            }
        }
    }

    /// The effect of a message on the counters. The effect of a proven greeting is not predicted.
    fn predict(
        &mut self,
        link: usize,
        message: &Message<&[u8]>,
        counters: &mut Counters,
    ) -> Predicted {
        let mut predicted = Predicted::default();
        let from = |a: &Actor| a.number == message.sender && a.link == link;
        let index = self.actors.iter().position(from);
        match &message.body {
            Body::Request(request) if message.sender == HOST => {
                self.predict_request(request, counters);
            }
            Body::Hello(hello) => {
                self.predict_hello(index, message, hello, &mut predicted, counters);
            }
            Body::Refuse(Refuse { to: NODE, echo, .. }) if message.sender != NODE => {
                let Some(index) = index.filter(|&index| self.actors[index].given == Some(*echo))
                else {
                    return predicted;
                };
                self.actors[index].given = None;
                let standing = self.standing(message.sender);
                if matches!(standing, Some(Standing::Met | Standing::Unmet)) {
                    (counters.refused, counters.epochs) =
                        (counters.refused + 1, counters.epochs + 1);
                }
            }
            Body::Data(_) | Body::Ack(_) => {
                let Some(index) = index else {
                    counters.foreign += 1;
                    return predicted;
                };
                let met = self.standing(message.sender) == Some(Standing::Met);
                let now = self.exchange.epoch();
                if !met
                    || message.epoch != now.number
                    || self.actors[index].met_in != message.session
                {
                    counters.stale += 1;
                } else if let Body::Data(data) = &message.body {
                    self.predict_data(index, data, &mut predicted, counters);
                }
            }
            _ => {}
        }
        predicted
    }

    fn predict_hello(
        &mut self,
        index: Option<usize>,
        message: &Message<&[u8]>,
        hello: &Hello,
        predicted: &mut Predicted,
        counters: &mut Counters,
    ) {
        if message.sender == NODE {
            // A node with the same number is counted once; its own greeting may come back to it.
            let own = [0, self.session].contains(&message.session);
            counters.refused += u64::from(!own && !self.exchange.duplicate());
            return;
        }
        if hello.to != NODE {
            return;
        }
        let Some(index) = index else {
            let known = self.actors.iter().any(|a| a.number == message.sender);
            *(if known { &mut counters.refused } else { &mut counters.foreign }) += 1;
            return;
        };
        let actor = &mut self.actors[index];
        actor.received_challenge = Some(hello.challenge);
        // An echo counts once.
        if actor.given == Some(hello.echo) {
            (actor.given, predicted.proven) = (None, Some(index));
        }
    }

    fn predict_data(
        &self,
        index: usize,
        data: &Data<&[u8]>,
        predicted: &mut Predicted,
        counters: &mut Counters,
    ) {
        let bits = self.watched.bits(data.round);
        let sound = match bits {
            Some(bits) => unpacked(bits, self.vectors(), data.values).is_some(),
            None if self.coded() && data.values.is_empty() => true,
            None => data.values.len() == 4 * self.values_in(data.chunk),
        };
        // With a codec it depends on where the epoch began, and a node that was not restarted yet does not know that.
        let informed = self.watched.state().epoch == self.exchange.epoch() || !self.coded();
        if data.round > u64::MAX / 4 || !informed {
            predicted.uncounted = true;
        } else if u64::from(data.chunk) >= self.chunks() || !sound {
            counters.malformed += 1;
        } else if bits.is_none() && wire::floats(data.values).any(|a| !a.is_finite()) {
            counters.non_finite += 1;
        } else {
            predicted.chunk = Some((index, data.round * self.chunks() + u64::from(data.chunk)));
        }
    }

    /// A request that changes something is carried out once, and only with the challenge of the last status.
    fn predict_request(&mut self, request: &Request, counters: &mut Counters) {
        let Request { to: NODE, echo, tag, ask } = *request else { return };
        if !matches!(ask, Ask::Start | Ask::Stop | Ask::Checkpoint) {
            return;
        }
        if self.changed == Some((echo, tag)) {
            return;
        }
        if self.status.take_if(|challenge| *challenge == echo).is_none() {
            counters.stale += 1;
            return;
        }
        (self.changed, self.carried) = (Some((echo, tag)), self.carried + 1);
        match ask {
            Ask::Start => self.paused = false,
            Ask::Stop => self.paused = true,
            _ => self.checkpoint = true,
        }
    }

    /// Everything in the exchange but its readers and counters.
    fn inside(&self) -> String {
        let text = format!("{:?}", self.exchange);
        let (_, session) = text.split_once("session: Session {").unwrap();
        let (head, rest) = session.split_once("Counters {").unwrap();
        let (_, tail) = rest.split_once('}').unwrap();
        [head, tail].concat()
    }

    /// Advances as the node's program would.
    pub(super) fn work(&mut self) {
        for _ in 0..2 {
            let step = self.advance();
            let informed = self.watched.state().epoch == self.exchange.epoch();
            assert!(informed || matches!(step, Step::Diverged(_)), "the node is in another epoch");
            self.check();
            match step {
                Step::Compute => {
                    assert!(self.watched.state().round < self.settings.rounds && !self.paused);
                    self.watched.compute(&mut self.scratch);
                }
                Step::Finished => {
                    let rounds = self.settings.rounds;
                    let had = self.watched.evaluations().hessian_vector;
                    return assert!(self.watched.state().round >= rounds && had >= rounds / 2);
                }
                Step::Diverged(divergence) => {
                    return assert_eq!(self.watched.phase(), Phase::Diverged(divergence));
                }
                Step::Paused => return assert!(self.paused),
                Step::Wait => return,
                other => panic!("{other:?}, although the settings describe the node"),
            }
        }
    }

    /// Advances, and tracks what time alone changes: a neighbour that is given up gets a new challenge.
    fn advance(&mut self) -> Step {
        self.watched.mixes = 0;
        let (before, epoch) = (self.standings(), self.exchange.epoch());
        let step = self.exchange.advance(&mut self.watched, self.now);
        for (actor, (number, standing)) in self.actors.iter_mut().zip(before) {
            let now = self.exchange.standings().find(|(node, _)| *node == number).unwrap().1;
            if now == Standing::Dead && now != standing {
                actor.given = None;
            }
            assert!(now == standing || matches!(now, Standing::Dead | Standing::Unmet));
            if self.exchange.epoch() != epoch {
                actor.gave.clear();
            }
        }
        step
    }

    /// Sends everything that is due; after that, nothing is overdue.
    pub(super) fn drain(&mut self) {
        for link in 0..LINKS {
            let count = (0..=MOST_FRAMES).take_while(|_| self.transmit(link, LONGEST)).count();
            assert!(count <= MOST_FRAMES, "it does not stop sending on link {link}");
        }
        // The node's program may be about to compute; otherwise it would sleep until the deadline.
        let step = self.advance();
        if !matches!(step, Step::Compute) {
            let deadline = self.exchange.deadline();
            assert!(deadline > self.now, "{deadline} has passed at {}: it would spin", self.now);
        }
    }

    /// One frame into a buffer of `room` bytes; whether there was one.
    pub(super) fn transmit(&mut self, link: usize, room: usize) -> bool {
        let mut buffer = vec![0xaa; room];
        let before = *self.exchange.counters();
        let sent = self.exchange.transmit(link, &self.watched, self.now, &mut buffer);
        match sent {
            Err(ExchangeError::Link { .. }) => assert!(link >= LINKS),
            Err(ExchangeError::Buffer { needed, found }) => {
                assert!(found == room && needed > room && needed <= LONGEST);
            }
            Err(other) => panic!("{other:?}"),
            Ok(_) => assert!(link < LINKS && room >= Tested::BUFFER),
        }
        let len = sent.unwrap_or(None);
        let after = self.exchange.counters();
        assert_eq!(after.sent - before.sent, u64::from(len.is_some()));
        assert_eq!(after.sent_bytes - before.sent_bytes, len.unwrap_or(0) as u64);
        let Some(len) = len else { return false };
        let frames = super::decoding::reference(&buffer[..len], LONGEST);
        let [Ok(bytes)] = &frames[..] else { panic!("{frames:?} was sent") };
        assert!(bytes.len() <= message_len(COUNTERS));
        let message = wire::decode(bytes).expect("a message was sent");
        let Message { sender, session, epoch, .. } = message;
        if self.session == 0 && session != 0 {
            // A node that cannot count its boots derives its session from the first challenge it receives.
            assert!(
                session >> 31 == 1 && self.actors.iter().any(|a| a.received_challenge.is_some())
            );
            self.session = session;
        }
        assert_eq!((sender, session, epoch), (NODE, self.session, self.exchange.epoch().number));
        self.check_frame(link, &message);
        true
    }

    /// Checks a frame of the node, and updates what the neighbours know.
    fn check_frame(&mut self, link: usize, message: &Message<&[u8]>) {
        match &message.body {
            Body::Hello(hello) => self.heard_hello(link, hello),
            Body::Data(data) => self.heard_data(link, data),
            Body::Ack(acks) => self.plausible(link, acks),
            Body::Refuse(refuse) => {
                let known = self.actors.iter().any(|actor| actor.number == refuse.to);
                assert!(known || refuse.to == NODE, "{refuse:?}");
            }
            Body::Reply(reply) => {
                assert!(self.tags.contains(&reply.tag), "{reply:?} was not requested");
                match reply.answer {
                    Answer::Values { values, .. } => {
                        assert!(values.len() <= 4 * VALUES);
                        assert!(wire::floats(values).all(f32::is_finite));
                    }
                    Answer::Status(status) => {
                        assert_eq!(status.paused, self.paused);
                        assert_ne!(status.challenge, 0);
                        // It stays the same until it is used up.
                        assert!(self.status.is_none_or(|known| known == status.challenge));
                        assert!(self.changed.is_none_or(|used| used.0 != status.challenge));
                        self.status = Some(status.challenge);
                    }
                    _ => {}
                }
            }
            Body::Request(_) => panic!("a node sent a request"),
        }
    }

    fn heard_hello(&mut self, link: usize, hello: &Hello) {
        let (now, epoch) = (self.now, self.exchange.epoch());
        let standing = self.standing(hello.to);
        let mut actors = self.actors.iter_mut().filter(|a| a.link == link);
        let actor = actors.find(|a| a.number == hello.to).expect("a greeting on a wrong link");
        assert_eq!(hello.weight.to_bits(), actor.weight.to_bits());
        assert_eq!((hello.identity, hello.mark), (self.settings.identity, epoch.mark));
        assert!(hello.challenge != 0 && usize::from(hello.window) == WINDOW);
        assert_eq!(
            hello.echo,
            actor.received_challenge.unwrap_or(0),
            "it does not echo the last challenge it received"
        );
        let counts = matches!(standing, Some(Standing::Met | Standing::Unmet));
        assert_eq!(hello.without, !counts);
        assert!(hello.ask || standing == Some(Standing::Met));
        // A challenge is given until it is echoed.
        assert!(actor.given.is_none_or(|given| given == hello.challenge));
        assert!(actor.given.is_some() || actor.seen_challenge != hello.challenge);
        // Greetings are spaced; only one that lets the neighbour meet the node is sent at once.
        let soon = actor.greeted_at.is_some_and(|last| now < last + TIMING.retry / 8);
        assert!(!soon || standing == Some(Standing::Met));
        (actor.given, actor.greeted_at) = (Some(hello.challenge), Some(now));
        let news = actor.epoch != epoch;
        (actor.seen_challenge, actor.epoch, actor.start) = (hello.challenge, epoch, hello.start);
        actor.resumed = hello.resumed;
        if news {
            actor.got = (epoch, Vec::new());
        }
        let next = hello.next;
        let held = self.accepted(hello.to, next);
        if standing == Some(Standing::Met) {
            assert_eq!(hello.held, held, "it misreports the chunks it holds");
        }
        if self.watched.state().epoch == epoch {
            assert_eq!(next, self.base());
        }
    }

    fn heard_data(&mut self, link: usize, data: &Data<&[u8]>) {
        let (chunks, epoch) = (self.chunks(), self.exchange.epoch());
        let state = self.watched.state();
        assert!(u64::from(data.chunk) < chunks && data.round == state.round);
        self.plausible(link, &data.acks);
        let changes = self.watched.changes().concat();
        let zeros = self.coded() && changes.iter().all(|change| *change == 0);
        assert_eq!(data.values.is_empty(), zeros, "zeros, and nothing else, have no bytes");
        if let Some(bits) = self.watched.bits(data.round) {
            let sent = unpacked(bits, self.vectors(), data.values).expect("valid blocks");
            assert_eq!(sent, changes[..sent.len()], "it sends other changes than its own");
        } else if !zeros {
            let size = self.settings.identity.chunk as usize;
            let from = data.chunk as usize * size;
            let part = from..(from + size).min(OUTER);
            let y = if self.tracking() { &state.y[part.clone()] } else { &[] };
            let own = state.x[part].iter().chain(y).flat_map(|a| a.to_le_bytes());
            assert!(own.eq(data.values.iter().copied()), "it sends other values than its own");
        }
        let unmet = |a: &Actor| a.link == link && self.standing(a.number) == Some(Standing::Unmet);
        assert!(!self.actors.iter().any(unmet), "it did not wait for all neighbours on the link");
        let place = data.round.saturating_mul(chunks).saturating_add(u64::from(data.chunk));
        for actor in self.actors.iter_mut().filter(|a| a.link == link && a.epoch == epoch) {
            // Older places are below any acknowledgement.
            actor.got.1.retain(|&at| at.saturating_add(8) > place);
            actor.got.1.push(place);
        }
    }

    /// The chunks of a neighbour from `next` on that the node has accepted.
    fn accepted(&self, number: u32, next: u64) -> u32 {
        let actor = self.actors.iter().find(|a| a.number == number).unwrap();
        let ahead = actor.gave.iter().filter_map(|place| place.checked_sub(next));
        ahead.fold(0, |held, at| held | (1 << at))
    }

    /// Acknowledgements name only neighbours met on the link, and contain only what was received.
    fn plausible(&self, link: usize, acks: &Acks) {
        assert_eq!(acks.next, self.base());
        for held in &acks.held {
            assert!(self.actors.iter().any(|a| a.number == held.to && a.link == link));
            assert_eq!(self.standing(held.to), Some(Standing::Met));
            assert_eq!(held.chunks, self.accepted(held.to, acks.next));
            assert!(held.chunks < 1 << WINDOW && held.chunks & acks.all == acks.all);
            assert_ne!(held.chunks, acks.all, "a neighbour is named without need");
        }
        let of = |a: &Actor| match self.standing(a.number) {
            Some(Standing::Met) => Some(self.accepted(a.number, acks.next)),
            Some(Standing::Unmet) => Some(0),
            _ => None,
        };
        let all = self.actors.iter().filter(|a| a.link == link).filter_map(of);
        assert_eq!(Some(acks.all), all.reduce(|a, b| a & b));
    }

    /// Checks what must always hold.
    pub(super) fn check(&mut self) {
        let state = self.watched.state();
        for vector in [state.x, state.y, state.z, state.theta, state.v] {
            assert!(vector.iter().all(|a| a.is_finite()), "{state:?}");
        }
        let (epoch, round, joined, counters) = self.seen;
        let now: Epoch = self.exchange.epoch();
        assert!(now == joined || now.is_later_than(joined.number), "from {joined:?} to {now:?}");
        if state.epoch == epoch {
            assert!(state.round == round || state.round == round + 1, "from {round}: {state:?}");
        } else {
            assert_eq!(state.epoch, now);
            assert!(state.round <= self.settings.rounds, "{state:?}");
        }
        let numbers: Vec<u32> = self.exchange.standings().map(|(node, _)| node).collect();
        assert!(numbers.iter().copied().eq(self.actors.iter().map(|actor| actor.number)));
        assert_eq!(self.exchange.checkpoint_asked(), self.checkpoint);
        let later = *self.exchange.counters();
        assert!(later.epochs - counters.epochs >= u64::from(now != joined));
        self.seen = (state.epoch, state.round, now, later);
    }
}
