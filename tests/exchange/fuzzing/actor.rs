//! Frames that the script sends as one of the neighbours: honest ones, and honest ones with a mistake.

use lopa_core::codec::{Bits, Block, Grid};
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{Learner, Micros, Standing};
use lopa_core::node::{Phase, Scheme};
use lopa_core::wire::{Acks, Body, Data, HOST, Held, Hello};

use super::harness::{Harness, NODE, WINDOW, encode, message};
use super::script::Script;
use super::watched::OUTER;

/// The state of one simulated neighbour.
pub(super) struct Actor {
    pub number: u32,
    pub link: usize,
    pub weight: f32,
    pub session: u32,
    /// Counts the challenges it makes.
    pub challenge: u32,
    /// The node's challenge as last received; 0 for none.
    pub seen_challenge: u32,
    /// The epoch as last received, the round in which it began, and whether the node booted in it.
    pub epoch: Epoch,
    pub start: u64,
    pub resumed: bool,
    /// The epoch and the places of the node's chunks that were received.
    pub got: (Epoch, Vec<u64>),

    // What an observer knows about the node:
    /// The session in which the node met it.
    pub met_in: u32,
    /// The challenge that the node gave last, unless a greeting or refusal has used it up.
    pub given: Option<u32>,
    /// The challenge that the node received last.
    pub received_challenge: Option<u32>,
    /// When the node greeted it last.
    pub greeted_at: Option<Micros>,
    /// The places of its own chunks that the node has accepted in its epoch.
    pub gave: Vec<u64>,
}

impl Actor {
    pub fn new(number: u32, link: usize, weight: f32) -> Self {
        Self {
            number,
            link,
            weight,
            session: 4,
            challenge: 1_000 * (1 + number),
            seen_challenge: 0,
            epoch: Epoch::FIRST,
            start: 0,
            resumed: true,
            got: (Epoch::FIRST, Vec::new()),
            met_in: 0,
            given: None,
            received_challenge: None,
            greeted_at: None,
            gave: Vec::new(),
        }
    }
}

/// Changes of about these values as a block.
fn packed(bits: Bits, values: &[f32]) -> Vec<u8> {
    let mut bytes = [0; Block::LONGEST];
    let block = Block::quantise(bits, Grid::new(-12), values, &[0; OUTER]);
    let len = block.write(bits, &mut bytes).unwrap();
    bytes[..len].to_vec()
}

impl Harness {
    /// The next chunk to mix, counted through all rounds.
    pub(super) fn base(&self) -> u64 {
        let chunk = self.settings.identity.chunk as usize;
        let done = match self.watched.phase() {
            Phase::Mixing { next } => next / chunk,
            Phase::Ready | Phase::Diverged(_) => 0,
        };
        self.watched.state().round.saturating_mul(self.chunks()).saturating_add(done as u64)
    }

    pub(super) fn chunks(&self) -> u64 {
        (OUTER as u64).div_ceil(u64::from(self.settings.identity.chunk))
    }

    /// The floats in a chunk of a round.
    pub(super) fn values_in(&self, chunk: u32) -> usize {
        let size = self.settings.identity.chunk as usize;
        let start = (chunk as usize).saturating_mul(size).min(OUTER);
        size.min(OUTER - start) * self.vectors()
    }

    /// How many vectors travel.
    pub(super) fn vectors(&self) -> usize {
        if self.tracking() { 2 } else { 1 }
    }

    /// Whether they travel in few bits.
    pub(super) fn coded(&self) -> bool {
        self.settings.identity.codec() != 0
    }

    pub(super) fn tracking(&self) -> bool {
        self.settings.identity.scheme == Scheme::GradientTracking
    }

    /// What the actor holds: it mixes in step with the node.
    fn honest_held(&self, index: usize) -> (u64, u32) {
        let Actor { epoch, start, ref got, .. } = self.actors[index];
        if epoch != self.watched.state().epoch {
            return (start.saturating_mul(self.chunks()), 0);
        }
        let next = self.base();
        let places = got.1.iter().filter_map(|place| place.checked_sub(next)).filter(|&at| at < 32);
        let held = places.fold(0, |held, at| held | (1 << at));
        (next, if got.0 == epoch { held } else { 0 })
    }

    pub(super) fn honest_hello(&mut self, index: usize) -> Body<&'static [u8]> {
        let (next, held) = self.honest_held(index);
        let ask = self.standing(self.actors[index].number) != Some(Standing::Met);
        let actor = &mut self.actors[index];
        actor.challenge += 1;
        Body::Hello(Hello {
            to: NODE,
            challenge: actor.challenge,
            echo: actor.seen_challenge,
            ask,
            without: false,
            resumed: actor.resumed,
            mark: actor.epoch.mark,
            start: actor.start,
            round: self.watched.state().round,
            next,
            held,
            window: WINDOW as u8,
            weight: actor.weight,
            identity: self.settings.identity,
        })
    }

    /// Some actors name the node, others acknowledge all their neighbours at once.
    pub(super) fn honest_acks(&self, index: usize) -> Acks {
        let (next, chunks) = self.honest_held(index);
        if self.actors[index].number.is_multiple_of(2) {
            return Acks { next, all: chunks, ..Acks::default() };
        }
        Acks { next, all: 0, held: [Held { to: NODE, chunks }].into_iter().collect() }
    }

    pub(super) fn honest_data(
        &self,
        index: usize,
        ahead: u64,
        seed: u8,
    ) -> (Data<&'static [u8]>, Vec<u8>) {
        let place = self.base().saturating_add(ahead);
        let (round, chunk) = (place / self.chunks(), (place % self.chunks()) as u32);
        let value = |at: usize| f32::from(seed) / 64.0 - at as f32;
        let values: Vec<f32> = (0..self.values_in(chunk)).map(value).collect();
        let values = match self.watched.bits(round) {
            // Some change nothing, or begin with zeros.
            _ if self.coded() && seed & 15 == 15 => Vec::new(),
            None => values.iter().flat_map(|a| a.to_le_bytes()).collect(),
            Some(bits) => values.chunks(OUTER).flat_map(|part| packed(bits, part)).collect(),
        };
        (Data { round, chunk, acks: self.honest_acks(index), values: &[] }, values)
    }

    /// An honest frame with one mistake.
    pub(super) fn twisted(&mut self, script: &mut Script<'_>) {
        let index = script.below(self.actors.len());
        let Actor { number, mut link, session, epoch, .. } = self.actors[index];
        let (data, mut values) = self.honest_data(index, 0, 7);
        let mut body = match script.byte() % 4 {
            0 | 1 => self.honest_hello(index),
            2 => Body::Data(data),
            _ => Body::Ack(data.acks),
        };
        let mut twisted = message(number, session, epoch.number, body.clone());
        match (&mut body, script.byte() % 16) {
            (_, 0) => {
                twisted.sender = script.pick(&[NODE, HOST, 40, 1, 2, 700]);
            }
            (_, 1) => link = 1 - link,
            (_, 2) => twisted.epoch = script.around(twisted.epoch),
            (_, 3) => twisted.session = script.around(u64::from(session)) as u32,
            (Body::Hello(hello), 4) => {
                twisted.epoch = script.around(twisted.epoch);
                hello.start = script.around(hello.start);
            }
            (Body::Hello(hello), 5) => match script.byte() % 4 {
                0 => hello.mark = script.around(u64::from(hello.mark)) as u32,
                1 => hello.start = script.around(hello.start),
                2 => hello.next = script.around(hello.next),
                _ => hello.held = script.around(u64::from(hello.held)) as u32,
            },
            (Body::Hello(hello), 6) => hello.without = true,
            (Body::Hello(hello), 7) => {
                (hello.without, twisted.epoch) = (true, script.around(twisted.epoch));
            }
            (Body::Hello(hello), 8) if script.byte() & 1 == 0 => hello.resumed = !hello.resumed,
            (Body::Hello(hello), 8) => hello.ask = !hello.ask,
            (Body::Hello(hello), 9) => hello.echo = hello.echo.wrapping_add(1),
            (Body::Hello(hello), 10) => hello.window = script.pick(&[0, 1, 33, 255]),
            (Body::Hello(hello), 11) => {
                hello.weight = script.pick(&[f32::NAN, 0.0, -0.0, f32::INFINITY, 0.5]);
            }
            (Body::Hello(hello), 12) => match script.byte() % 7 {
                0 => hello.identity.problem ^= 1,
                1 => hello.identity.outer = script.pick(&[0, 4, 6, u32::MAX]),
                2 => hello.identity.inner = script.pick(&[0, 3, u32::MAX]),
                3 => {
                    hello.identity.scheme = if self.tracking() {
                        Scheme::LocalGradient
                    } else {
                        Scheme::GradientTracking
                    };
                }
                4 => hello.identity.math ^= script.pick(&[1, 1 << 17, 1 << 20]),
                5 => hello.identity.chunk = script.pick(&[0, 1, 3, u32::MAX]),
                _ => hello.identity.digest ^= 1,
            },
            (Body::Hello(hello), 13) => hello.to = script.pick(&[0, 40, number, HOST]),
            (Body::Hello(hello), 14) => hello.round = script.around(hello.round),
            (Body::Hello(hello), _) => hello.challenge = script.pick(&[0, 1, u32::MAX]),
            (Body::Data(data), 4) => data.round = script.around(data.round),
            (Body::Data(data), 5) => data.chunk = script.around(u64::from(data.chunk)) as u32,
            (Body::Data(data), 6 | 7) if self.watched.bits(data.round).is_some() => {
                let at = script.below(values.len());
                values[at] = script.byte();
            }
            // A step so large that nodes leave the range of the codec.
            (Body::Data(data), 8) if self.watched.bits(data.round).is_some() => {
                values[0] = script.pick(&[20, 24, 29]);
            }
            (Body::Data(_), 6 | 7) => {
                let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
                let at = 4 * script.below(values.len() / 4);
                values[at..at + 4].copy_from_slice(&script.pick(&bad).to_le_bytes());
            }
            (Body::Data(_), 8) => {
                let huge = script.pick(&[f32::MAX, -f32::MAX, 1.0e30, f32::from_bits(1)]);
                values.as_chunks_mut::<4>().0.fill(huge.to_le_bytes());
            }
            (Body::Data(_), 9 | 10) => values.resize(script.below(40), 0),
            (Body::Data(Data { acks, .. }) | Body::Ack(acks), 11 | 12) => {
                acks.next = script.around(acks.next);
            }
            (Body::Data(Data { acks, .. }) | Body::Ack(acks), 13) => {
                acks.all = u32::MAX;
                acks.held.iter_mut().for_each(|held| held.chunks = u32::MAX);
            }
            (Body::Data(Data { acks, .. }) | Body::Ack(acks), _) => {
                while acks.held.push(Held { to: script.pick(&[NODE, 1, 40]), chunks: 5 }).is_ok() {}
            }
            _ => {}
        }
        if let Body::Data(data) = &mut body {
            data.values = &values;
        }
        twisted.body = body;
        self.send(link, &twisted);
    }

    /// An honest frame that is damaged on its way.
    pub(super) fn damaged(&mut self, script: &mut Script<'_>) {
        let index = script.below(self.actors.len());
        let Actor { link, number, session, epoch, .. } = self.actors[index];
        let (data, values) = self.honest_data(index, 0, 3);
        let body = match script.byte() % 2 {
            0 => self.honest_hello(index),
            _ => Body::Data(Data { values: &values[..], ..data }),
        };
        let mut bytes = encode(&message(number, session, epoch.number, body));
        let at = script.below(bytes.len());
        match script.byte() % 4 {
            0 => bytes[at] ^= 1 << script.below(8),
            1 => bytes.truncate(at),
            2 => {
                bytes.remove(at);
            }
            _ => {
                bytes.splice(at..at, script.bytes(12).iter().copied());
            }
        }
        bytes.push(0);
        self.receive(link, &bytes);
    }

    /// Sends a message as one of the neighbours, in the epoch it knows.
    pub(super) fn send_as(&mut self, index: usize, body: Body<&[u8]>) {
        let Actor { link, number, session, epoch, .. } = self.actors[index];
        self.send(link, &message(number, session, epoch.number, body));
    }
}
