//! One exchange among neighbours that are honest, mistaken or mad, as a script says.

use lopa_core::batch::Sampler;
use lopa_core::exchange::{Exchange, Learner, Micros, Peer, Settings, Standing, Step, Timing};
use lopa_core::node::{Buffers, Config, Node, NodeError, Phase, Scheme, Scratch, State, Variable};
use lopa_core::oracles::Evaluations;
use lopa_core::problem::{Dimensions, Problem};
use lopa_core::problems::{Quadratic, QuadraticParts};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{
    self, Acks, Answer, Ask, Body, Counters, Data, FrameError, FrameReader, FrameWriter, HOST,
    Held, Hello, Identity, Message, MessageError, Metrics, Reason, Refuse, Reply, Request,
    SEAL_LONGEST, Seal, Status, VERSION, frame_len, message_len,
};

use super::script::Script;

const OUTER: usize = 5;
const INNER: usize = 2;
const LINKS: usize = 2;
const WINDOW: usize = 3;
const VALUES: usize = 4;
const FRAME: usize = message_len(VALUES) + SEAL_LONGEST;
/// The longest frame an exchange can send: counters outgrow a message with so few values.
const LONGEST: usize = frame_len(message_len(14));
/// The node under test, and its session.
const NODE: u32 = 3;
const BOOT: u32 = 77;
/// Its neighbours' numbers, links and weights: two share a link.
const PEERS: [(u32, u8, f32); 3] = [(1, 0, 0.25), (2, 0, 0.25), (700, 1, 0.125)];
/// Powers of two: silence is divided by 16.
const TIMING: Timing = Timing {
    retry: 1 << 10,
    retry_most: 1 << 13,
    delay: 1 << 7,
    silence: 1 << 16,
    patience: 1 << 18,
    probe: 1 << 13,
};
/// No call may mix, and no moment say, more than this.
const MOST_MIXES: usize = 8;
const MOST_FRAMES: usize = 24;
/// A script longer than this is cut.
const MOST_OPS: usize = 4_096;

type Tested = Exchange<3, LINKS, WINDOW, VALUES, FRAME>;
type TestedNode = Node<Quadratic<'static>, [f32; OUTER], [f32; INNER], [f32; OUTER]>;

const PROBLEM: QuadraticParts<'static> = QuadraticParts {
    diagonal: &[1.5, 2.0],
    spike: &[0.25, -0.5],
    coupling: &[0.5, -0.25, 0.125, 0.0, 1.0, -0.5, 0.25, 0.75, -1.0, 0.5],
    shift: &[1.0, -0.5],
    target: &[0.5, 2.0],
    centre: &[1.0, -1.0, 0.5, 0.0, 2.0],
    rigidity: 0.5,
};

/// A node that watches what the exchange does to it.
struct Watched {
    node: TestedNode,
    mixes: usize,
}

impl Learner for Watched {
    fn state(&self) -> State<'_> {
        self.node.state()
    }
    fn phase(&self) -> Phase {
        self.node.phase()
    }
    fn mix(&mut self, x_gap: &[f32], y_gap: &[f32]) -> Result<(), NodeError> {
        self.mixes += 1;
        assert!(self.mixes <= MOST_MIXES, "advance does not end");
        let result = self.node.mix(x_gap, y_gap);
        // Anything else means that the exchange and the node are out of step.
        assert!(matches!(result, Ok(()) | Err(NodeError::Diverged(_))), "{result:?}");
        result
    }
    fn restart(&mut self, epoch: u64, round: u64) {
        assert!(!matches!(self.phase(), Phase::Diverged(_)), "a node that diverged is out");
        self.node.restart(epoch, round);
    }
    fn evaluations(&self) -> Evaluations {
        self.node.evaluations()
    }
}

/// What the script's side knows as one of the neighbours.
struct Actor {
    number: u32,
    link: usize,
    weight: f32,
    session: u32,
    challenge: u32,
    /// The session in which the node met it.
    met_in: u32,
    /// The node's challenge, as last heard.
    heard: u32,
    /// The start of the epoch, as last heard, and whether the node booted in it.
    start: u64,
    resumed: bool,
    /// The epoch and the places of chunks that came from the node.
    got: (u64, Vec<u64>),
}

struct Harness {
    exchange: Tested,
    watched: Watched,
    scratch: Scratch<[f32; INNER], [f32; 0]>,
    actors: Vec<Actor>,
    settings: Settings,
    /// Follow the exchange's own readers, to know what it must have seen.
    readers: [FrameReader<FRAME>; LINKS],
    now: Micros,
    /// Tags of requests: all, and the highest of one that changed something.
    tags: Vec<u32>,
    last_tag: u32,
    /// As of the last check: the node's epoch and round, the exchange's epoch, its counters.
    seen: (u64, u64, u64, Counters),
}

/// How far a script came: a run that reaches nothing proves nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reached {
    /// Rounds completed.
    pub round: u64,
    pub counters: Counters,
    pub diverged: bool,
    pub finished: bool,
    pub duplicate: bool,
}

/// Runs a script; see [`Harness::act`] for its words.
pub fn exchange(data: &[u8]) -> Reached {
    let mut script = Script::new(data);
    let mut harness = Harness::new(&mut script);
    for _ in 0..MOST_OPS {
        if !script.goes_on() {
            break;
        }
        harness.act(&mut script);
        harness.check();
    }
    // Whatever happened, it comes to rest.
    harness.work();
    harness.drain();
    harness.check();
    let round = harness.watched.state().round;
    Reached {
        round,
        counters: *harness.exchange.counters(),
        diverged: matches!(harness.watched.phase(), Phase::Diverged(_)),
        finished: round >= harness.settings.rounds,
        duplicate: harness.exchange.duplicate(),
    }
}

impl Harness {
    fn new(script: &mut Script<'_>) -> Self {
        let choice = script.byte();
        let tracking = choice & 1 == 0;
        let scheme = if tracking { Scheme::GradientTracking } else { Scheme::LocalGradient };
        let chunk = if tracking { 2 } else { 4 };
        let rounds = if choice & 2 == 0 { 1_000 } else { [1, 3, u64::MAX][script.below(3)] };
        let neighbours = if choice & 4 == 0 { 2 } else { 3 };
        let problem = Quadratic::new(PROBLEM).unwrap();
        let steps = StepSizes::new(0.2, 0.3, 0.3, 0.5, 0.7).unwrap();
        let config = Config { steps, sampler: Sampler::full(NODE) };
        let (outer, inner) = ([0.0; OUTER], [0.0; INNER]);
        let buffers =
            Buffers { x: outer, y: outer, z: outer, theta: inner, v: inner, delta: outer };
        let node = Node::new(problem, scheme, config, buffers).unwrap();
        let size: Dimensions = node.problem().dimensions();
        let identity = Identity::new(9, size, scheme, &config, chunk, rounds);
        let settings = Settings {
            node: NODE,
            identity,
            rounds,
            boot: BOOT,
            timing: TIMING,
            seal: Seal::PLAIN,
        };
        // With two neighbours, both links are still in use.
        let peers: Vec<Peer> = PEERS[3 - neighbours..]
            .iter()
            .map(|&(node, link, weight)| Peer { node, link, weight })
            .collect();
        let exchange = Exchange::new(settings, &peers, 0, 0, 0).unwrap();
        let actors = peers
            .iter()
            .map(|peer| Actor {
                number: peer.node,
                link: usize::from(peer.link),
                weight: peer.weight,
                session: 4,
                challenge: 1_000 + peer.node,
                met_in: 0,
                heard: 0,
                start: 0,
                resumed: true,
                got: (0, Vec::new()),
            })
            .collect();
        Self {
            exchange,
            watched: Watched { node, mixes: 0 },
            scratch: Scratch::new(),
            actors,
            settings,
            readers: [const { FrameReader::new(Seal::PLAIN) }; LINKS],
            now: 0,
            tags: Vec::new(),
            last_tag: 0,
            seen: (0, 0, 0, Counters::default()),
        }
    }

    fn act(&mut self, script: &mut Script<'_>) {
        match script.byte() % 16 {
            0 => {
                let Timing { retry, delay, silence, patience, probe, .. } = TIMING;
                let steps = [1, delay, retry, silence / 16, probe, silence, patience, 1 << 40];
                self.now = self.now.saturating_add(script.pick(&steps));
            }
            1 | 2 => {
                let who = script.below(self.actors.len());
                let hello = self.honest_hello(who);
                self.say(who, hello);
            }
            3..=5 => {
                let choice = script.byte();
                let who = usize::from(choice) % self.actors.len();
                // Mostly the chunk the node waits for.
                let ahead = [0, 0, 0, 0, 0, 1, 2, 3][usize::from(choice >> 5)];
                let (data, values) = self.honest_data(who, ahead, choice);
                self.say(who, Body::Data(Data { values: &values, ..data }));
            }
            6 => {
                let who = script.below(self.actors.len());
                let acks = self.honest_acks(who);
                self.say(who, Body::Ack(acks));
            }
            7 | 8 => self.twisted(script),
            9 => {
                let link = script.below(LINKS);
                let bytes = script.bytes(40);
                self.receive(link, bytes);
            }
            10 => self.damaged(script),
            11 => {
                let link = script.below(LINKS + 1);
                let room = script.below(LONGEST + 1);
                self.transmit(link, room);
            }
            12 => {
                self.work();
                self.drain();
            }
            13 | 14 => self.work(),
            _ => self.rest(script),
        }
    }

    /// Messages of hosts and strangers, and what the node's own program may do.
    fn rest(&mut self, script: &mut Script<'_>) {
        let link = script.below(LINKS);
        let who = script.below(self.actors.len());
        match script.byte() % 8 {
            0..=2 => {
                let variables = [
                    Variable::Outer,
                    Variable::Inner,
                    Variable::HessianInverseVector,
                    Variable::Hypergradient,
                    Variable::Direction,
                ];
                let variable = script.pick(&variables);
                let offset = script.around(3) as u32;
                let asks = [
                    Ask::Start,
                    Ask::Stop,
                    Ask::Status,
                    Ask::Counters,
                    Ask::Metrics,
                    Ask::Read { variable, offset },
                    Ask::Checkpoint,
                    Ask::Start,
                ];
                let ask = script.pick(&asks);
                let odd = script.byte();
                let tag = if odd % 8 == 1 { self.last_tag } else { self.last_tag + 1 };
                let session = if odd % 8 == 2 { BOOT - 1 } else { BOOT };
                self.tags.push(tag);
                let body = Body::Request(Request { to: NODE, session, tag, ask });
                self.send(link, &message(HOST, 0, 0, body));
            }
            3 => {
                let reason = script.pick(&[
                    Reason::Version,
                    Reason::Problem,
                    Reason::Weight,
                    Reason::DuplicateNode,
                ]);
                let echo =
                    self.actors[who].heard.wrapping_add(u32::from(script.byte().is_multiple_of(8)));
                self.say(who, Body::Refuse(Refuse { to: NODE, echo, reason }));
            }
            4 => {
                let status = Status {
                    session: 6,
                    round: 1,
                    rounds: 2,
                    met: 3,
                    dead: 4,
                    refused: 5,
                    paused: true,
                    diverged: false,
                };
                let metrics = Metrics {
                    outer_norm: f32::NAN,
                    direction_norm: 0.0,
                    inner_norm: 1.0,
                    evaluations: [1; 5],
                };
                let answer = match script.byte() % 5 {
                    0 => Answer::Status(status),
                    1 => Answer::Metrics(metrics),
                    2 => Answer::Cannot,
                    3 => Answer::Values {
                        variable: Variable::Outer,
                        offset: 0,
                        values: &[1; 16][..],
                    },
                    _ => Answer::Done,
                };
                self.say(who, Body::Reply(Reply { tag: 5, answer }));
            }
            5 => {
                // Another version of the protocol: its head is all that is known of it.
                let sender = [self.actors[who].number, NODE, HOST, 40][script.below(4)];
                let mut bytes = vec![script.byte().max(2)];
                bytes.extend(postcard::to_stdvec(&sender).unwrap());
                bytes.extend(script.bytes(8));
                let frame = super::decoding::frame(&bytes);
                self.receive(link, &frame);
            }
            6 => {
                // A reboot: another challenge, and nothing known.
                let actor = &mut self.actors[who];
                actor.session += 1;
                actor.challenge = actor.challenge.wrapping_add(0x1_0001);
                actor.got.1.clear();
                if script.byte().is_multiple_of(2) {
                    actor.heard = 0;
                }
            }
            _ => {
                self.exchange.pause(script.byte().is_multiple_of(2));
                if self.exchange.checkpoint_asked() {
                    self.exchange.checkpoint_written(script.byte().is_multiple_of(2));
                    assert!(!self.exchange.checkpoint_asked());
                }
            }
        }
    }

    /// The next chunk to mix, counted through all rounds.
    fn base(&self) -> u64 {
        let chunk = self.settings.identity.chunk as usize;
        let done = match self.watched.phase() {
            Phase::Mixing { next } => next / chunk,
            Phase::Ready | Phase::Diverged(_) => 0,
        };
        self.watched.state().round.saturating_mul(self.chunks()).saturating_add(done as u64)
    }

    fn chunks(&self) -> u64 {
        (OUTER as u64).div_ceil(u64::from(self.settings.identity.chunk))
    }

    /// The floats in a chunk of a round.
    fn values_in(&self, chunk: u32) -> usize {
        let size = self.settings.identity.chunk as usize;
        let start = (chunk as usize).saturating_mul(size).min(OUTER);
        let vectors = if self.tracking() { 2 } else { 1 };
        size.min(OUTER - start) * vectors
    }

    fn tracking(&self) -> bool {
        self.settings.identity.scheme == Scheme::GradientTracking
    }

    fn honest_hello(&self, who: usize) -> Body<&'static [u8]> {
        let actor = &self.actors[who];
        Body::Hello(Hello {
            to: NODE,
            challenge: actor.challenge,
            echo: actor.heard,
            met: self.standing(actor.number) == Some(Standing::Met),
            dead: false,
            resumed: actor.resumed,
            start: actor.start,
            round: self.watched.state().round,
            window: WINDOW as u8,
            weight: actor.weight,
            identity: self.settings.identity,
        })
    }

    fn honest_acks(&self, who: usize) -> Acks {
        let next = self.base();
        let (epoch, got) = &self.actors[who].got;
        let places = got.iter().filter_map(|place| place.checked_sub(next)).filter(|&at| at < 32);
        let chunks = if *epoch == self.exchange.epoch() {
            places.fold(0, |held, at| held | (1 << at))
        } else {
            0
        };
        let held = [Held { to: NODE, chunks }].into_iter().collect();
        Acks { next, held }
    }

    fn honest_data(&self, who: usize, ahead: u64, seed: u8) -> (Data<&'static [u8]>, Vec<u8>) {
        let place = self.base().saturating_add(ahead);
        let (round, chunk) = (place / self.chunks(), (place % self.chunks()) as u32);
        let values = (0..self.values_in(chunk))
            .flat_map(|at| (f32::from(seed) / 64.0 - at as f32).to_le_bytes())
            .collect();
        (Data { round, chunk, acks: self.honest_acks(who), values: &[] }, values)
    }

    /// An honest frame with one thing wrong.
    fn twisted(&mut self, script: &mut Script<'_>) {
        let who = script.below(self.actors.len());
        let (number, mut link) = (self.actors[who].number, self.actors[who].link);
        let (data, mut values) = self.honest_data(who, 0, 7);
        let mut body = match script.byte() % 4 {
            0 | 1 => self.honest_hello(who),
            2 => Body::Data(data),
            _ => Body::Ack(data.acks),
        };
        let session = self.actors[who].session;
        let mut twisted = message(number, session, self.exchange.epoch(), body.clone());
        let twist = script.byte() % 16;
        match (&mut body, twist) {
            (_, 0) => {
                twisted.sender = script.pick(&[NODE, HOST, 40, 1, 2, 700]);
            }
            (_, 1) => link = 1 - link,
            (_, 2) => twisted.epoch = script.around(twisted.epoch),
            (_, 3) => twisted.session = script.around(u64::from(session)) as u32,
            (Body::Hello(hello), 4 | 5) => {
                twisted.epoch = script.around(twisted.epoch);
                hello.start = script.around(hello.start);
            }
            (Body::Hello(hello), 6) => hello.dead = true,
            (Body::Hello(hello), 7) => {
                (hello.dead, twisted.epoch) = (true, script.around(twisted.epoch));
            }
            (Body::Hello(hello), 8) if script.byte() & 1 == 0 => hello.resumed = !hello.resumed,
            (Body::Hello(hello), 8) => hello.met = !hello.met,
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
                4 => hello.identity.math = lopa_core::math::Kind::Micromath,
                5 => hello.identity.chunk = script.pick(&[0, 1, 3, u32::MAX]),
                _ => hello.identity.digest ^= 1,
            },
            (Body::Hello(hello), 13) => hello.to = script.pick(&[0, 40, number, HOST]),
            (Body::Hello(hello), 14) => hello.round = script.around(hello.round),
            (Body::Hello(hello), _) => hello.challenge = script.pick(&[0, 1, u32::MAX]),
            (Body::Data(data), 4) => data.round = script.around(data.round),
            (Body::Data(data), 5) => data.chunk = script.around(u64::from(data.chunk)) as u32,
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
        let before = (self.exchange.epoch(), self.standings());
        let unproven = matches!(body, Body::Hello(_)) && twist == 9;
        twisted.body = body;
        self.send(link, &twisted);
        if unproven {
            let after = (self.exchange.epoch(), self.standings());
            assert_eq!(before, after, "a greeting without the right echo was believed");
        }
    }

    /// An honest frame that is hurt on its way.
    fn damaged(&mut self, script: &mut Script<'_>) {
        let who = script.below(self.actors.len());
        let Actor { link, number, session, .. } = self.actors[who];
        let (data, values) = self.honest_data(who, 0, 3);
        let body = match script.byte() % 2 {
            0 => self.honest_hello(who),
            _ => Body::Data(Data { values: &values[..], ..data }),
        };
        let mut bytes = encode(&message(number, session, self.exchange.epoch(), body));
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

    fn say(&mut self, who: usize, body: Body<&[u8]>) {
        let Actor { link, number, session, .. } = self.actors[who];
        self.send(link, &message(number, session, self.exchange.epoch(), body));
    }

    fn send(&mut self, link: usize, message: &Message<&[u8]>) {
        let frame = encode(message);
        self.receive(link, &frame);
    }

    fn standing(&self, number: u32) -> Option<Standing> {
        self.exchange.standings().find(|(node, _)| *node == number).map(|(_, standing)| standing)
    }

    fn standings(&self) -> Vec<(u32, Standing)> {
        self.exchange.standings().collect()
    }

    /// Gives the exchange bytes, one piece a frame, and checks what it may make of them.
    fn receive(&mut self, link: usize, bytes: &[u8]) {
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
            self.exchange.receive(link, &bytes[from..], self.now);
            assert_eq!(before, self.inside(), "half a frame changed something");
        }
    }

    /// One whole frame.
    fn frame(&mut self, link: usize, piece: &[u8], frame: Result<&[u8], FrameError>) {
        let before = *self.exchange.counters();
        let mut expected = before;
        expected.received_bytes += piece.len() as u64;
        let decoded = frame.map(wire::decode);
        let inside = match decoded {
            Ok(Ok(_) | Err(MessageError::Version { .. })) => None,
            _ => Some(self.inside()),
        };
        if let Ok(Ok(message)) = &decoded {
            self.foresee(link, message, &mut expected);
        }
        let counter = match &decoded {
            Ok(Ok(_)) => &mut expected.received,
            Ok(Err(MessageError::Version { .. })) => &mut expected.refused,
            Ok(Err(MessageError::Malformed)) => &mut expected.malformed,
            Err(FrameError::Oversize) => &mut expected.oversize,
            Err(FrameError::Truncated) => &mut expected.truncated,
            Err(FrameError::Seal) => &mut expected.corrupt,
        };
        *counter += 1;
        // What greetings lead to is not foreseen here, nor chunks that cannot be counted.
        let unforeseen = match decoded.as_ref().map(Result::as_ref) {
            Ok(Ok(Message { body: Body::Hello(_) | Body::Refuse(_), .. })) => true,
            Ok(Ok(Message { body: Body::Data(data), .. })) => data.round > u64::MAX / 4,
            _ => false,
        };
        let standings = self.standings();
        self.exchange.receive(link, piece, self.now);
        if let Ok(Ok(Message { sender, session, body: Body::Hello(_), .. })) = decoded {
            let just_met = |a: &&mut Actor| {
                a.number == sender && !standings.contains(&(sender, Standing::Met))
            };
            self.actors.iter_mut().filter(just_met).for_each(|a| a.met_in = session);
        }
        let mut after = *self.exchange.counters();
        if unforeseen {
            (after.refused, after.epochs) = (expected.refused, expected.epochs);
            (after.foreign, after.malformed) = (expected.foreign, expected.malformed);
            after.non_finite = expected.non_finite;
        }
        // What is lost, early or repeated depends on what was sent and what is held.
        after.repaired = expected.repaired;
        let beyond = (after.early + after.repeated) - (before.early + before.repeated);
        assert!(beyond <= 1);
        (after.early, after.repeated) = (expected.early, expected.repeated);
        assert_eq!(after, expected, "{decoded:?}");
        if let Some(inside) = inside {
            assert_eq!(inside, self.inside(), "a bad frame changed more than a counter");
        }
    }

    /// What data, acks and requests do to the counters.
    fn foresee(&mut self, link: usize, message: &Message<&[u8]>, counters: &mut Counters) {
        if let Body::Request(Request { to: NODE, session, tag, ask }) = message.body
            && matches!(ask, Ask::Start | Ask::Stop | Ask::Checkpoint)
            && message.sender == HOST
        {
            if session == BOOT && tag > self.last_tag {
                self.last_tag = tag;
            } else {
                counters.stale += 1;
            }
        }
        let (Body::Data(_) | Body::Ack(_)) = message.body else { return };
        let actor = self.actors.iter().find(|a| a.number == message.sender && a.link == link);
        let met = self.standing(message.sender) == Some(Standing::Met);
        let now = self.exchange.epoch();
        if actor.is_none() {
            counters.foreign += 1;
        } else if !met || message.epoch != now || actor.is_some_and(|a| a.met_in != message.session)
        {
            counters.stale += 1;
        } else if let Body::Data(data) = &message.body {
            let needed = 4 * self.values_in(data.chunk);
            if u64::from(data.chunk) >= self.chunks() || data.values.len() != needed {
                counters.malformed += 1;
            } else if wire::floats(data.values).any(|a| !a.is_finite()) {
                counters.non_finite += 1;
            }
        }
    }

    /// Everything in the exchange but its readers and counters.
    fn inside(&self) -> String {
        let text = format!("{:?}", self.exchange);
        let (_, table) = text.split_once("table: ").unwrap();
        let (head, rest) = table.split_once("Counters {").unwrap();
        let (_, tail) = rest.split_once('}').unwrap();
        [head, tail].concat()
    }

    /// Advances as the node's program would.
    fn work(&mut self) {
        for _ in 0..2 {
            self.watched.mixes = 0;
            let step = self.exchange.advance(&mut self.watched, self.now);
            let informed = self.watched.state().epoch == self.exchange.epoch();
            assert!(informed || matches!(step, Step::Diverged(_)), "the node knows the epoch");
            self.check();
            match step {
                Step::Compute => {
                    assert!(self.watched.state().round < self.settings.rounds);
                    // What it diverges of is told by the next advance.
                    let _ = self.watched.node.compute(&mut self.scratch);
                }
                Step::Finished => {
                    return assert!(self.watched.state().round >= self.settings.rounds);
                }
                Step::Diverged(divergence) => {
                    return assert_eq!(self.watched.phase(), Phase::Diverged(divergence));
                }
                Step::Wait | Step::Paused => return,
                Step::Mismatch => panic!("the settings describe the node"),
            }
        }
    }

    /// Says all there is to say; then nothing is overdue.
    fn drain(&mut self) {
        for link in 0..LINKS {
            let count = (0..=MOST_FRAMES).take_while(|_| self.transmit(link, LONGEST)).count();
            assert!(count <= MOST_FRAMES, "it does not stop talking on link {link}");
        }
        // The node's program may be about to compute; otherwise it would sleep until the deadline.
        self.watched.mixes = 0;
        let step = self.exchange.advance(&mut self.watched, self.now);
        if !matches!(step, Step::Compute) {
            let deadline = self.exchange.deadline();
            assert!(deadline > self.now, "{deadline} has passed at {}: it would spin", self.now);
        }
    }

    /// One frame into a buffer of `room` bytes; whether there was one.
    fn transmit(&mut self, link: usize, room: usize) -> bool {
        let mut buffer = vec![0xaa; room];
        let before = *self.exchange.counters();
        let len = self.exchange.transmit(link, &self.watched, self.now, &mut buffer);
        let after = self.exchange.counters();
        assert_eq!(after.sent - before.sent, u64::from(len.is_some()));
        assert_eq!(after.sent_bytes - before.sent_bytes, len.unwrap_or(0) as u64);
        let Some(len) = len else { return false };
        let frames = super::decoding::reference(&buffer[..len], LONGEST);
        let [Ok(bytes)] = &frames[..] else { panic!("{frames:?} was sent") };
        assert!(link < LINKS && bytes.len() <= message_len(14));
        let message = wire::decode(bytes).expect("a message was sent");
        let Message { sender, session, epoch, .. } = message;
        assert_eq!((sender, session, epoch), (NODE, BOOT, self.exchange.epoch()));
        self.heard(link, &message);
        true
    }

    /// What a frame of the node may say, and what the neighbours learn from it.
    fn heard(&mut self, link: usize, message: &Message<&[u8]>) {
        let (chunks, epoch) = (self.chunks(), self.exchange.epoch());
        let on_link = |a: &&mut Actor| a.link == link;
        match &message.body {
            Body::Hello(hello) => {
                let mut actors = self.actors.iter_mut().filter(on_link);
                let actor = actors.find(|a| a.number == hello.to).expect("it is on that link");
                assert_eq!(hello.weight.to_bits(), actor.weight.to_bits());
                assert_eq!(hello.identity, self.settings.identity);
                assert!(hello.challenge != 0 && usize::from(hello.window) == WINDOW);
                (actor.heard, actor.start) = (hello.challenge, hello.start);
                actor.resumed = hello.resumed;
            }
            Body::Data(data) => {
                let state = self.watched.state();
                assert!(u64::from(data.chunk) < chunks && data.round == state.round);
                self.plausible(link, &data.acks);
                let size = self.settings.identity.chunk as usize;
                let from = data.chunk as usize * size;
                let part = from..(from + size).min(OUTER);
                let y = if self.tracking() { &state.y[part.clone()] } else { &[] };
                let own: Vec<u8> =
                    state.x[part].iter().chain(y).flat_map(|a| a.to_le_bytes()).collect();
                assert_eq!(data.values, own, "it sends what it has");
                let place = data.round.saturating_mul(chunks).saturating_add(u64::from(data.chunk));
                for actor in self.actors.iter_mut().filter(on_link) {
                    if actor.got.0 != epoch {
                        actor.got = (epoch, Vec::new());
                    }
                    // Older places are below any acknowledgement.
                    actor.got.1.retain(|&at| at.saturating_add(8) > place);
                    actor.got.1.push(place);
                }
            }
            Body::Ack(acks) => self.plausible(link, acks),
            Body::Refuse(refuse) => {
                let known = self.actors.iter().any(|actor| actor.number == refuse.to);
                assert!(known || refuse.to == NODE, "{refuse:?}");
            }
            Body::Reply(reply) => {
                assert!(self.tags.contains(&reply.tag), "{reply:?} was not asked for");
                if let Answer::Values { values, .. } = reply.answer {
                    assert!(values.len() <= 4 * VALUES);
                    assert!(wire::floats(values).all(f32::is_finite));
                }
            }
            Body::Request(_) => panic!("a node asks nothing"),
        }
    }

    /// Acknowledgements name neighbours met on the link, and chunks within the window.
    fn plausible(&self, link: usize, acks: &Acks) {
        assert_eq!(acks.next, self.base());
        for held in &acks.held {
            assert!(self.actors.iter().any(|a| a.number == held.to && a.link == link));
            assert_eq!(self.standing(held.to), Some(Standing::Met));
            assert!(held.chunks < 1 << WINDOW);
        }
    }

    /// What holds at any time.
    fn check(&mut self) {
        let state = self.watched.state();
        for vector in [state.x, state.y, state.z, state.theta, state.v] {
            assert!(vector.iter().all(|a| a.is_finite()), "{state:?}");
        }
        let (epoch, round, joined, counters) = self.seen;
        let now = self.exchange.epoch();
        assert!(now >= joined, "from epoch {joined} to {now}");
        if state.epoch == epoch {
            assert!(state.round == round || state.round == round + 1, "from {round}: {state:?}");
        } else {
            assert!(state.epoch > epoch);
        }
        let numbers: Vec<u32> = self.exchange.standings().map(|(node, _)| node).collect();
        assert!(numbers.iter().copied().eq(self.actors.iter().map(|actor| actor.number)));
        let later = *self.exchange.counters();
        assert!(later.epochs - counters.epochs >= u64::from(now != joined));
        self.seen = (state.epoch, state.round, now, later);
    }
}

fn message(sender: u32, session: u32, epoch: u64, body: Body<&[u8]>) -> Message<&[u8]> {
    Message { version: VERSION, sender, session, epoch, body }
}

fn encode(message: &Message<&[u8]>) -> Vec<u8> {
    let mut out = vec![0; 512];
    let len =
        postcard::serialize_with_flavor(message, FrameWriter::new(&Seal::PLAIN, &mut out)).unwrap();
    out.truncate(len);
    out
}
