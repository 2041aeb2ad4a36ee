//! One exchange among neighbours that are honest, faulty or hostile, as a script decides.

use lopa_core::batch::Sampler;
use lopa_core::codec::Codec;
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{Exchange, Learner, Micros, Peer, Settings, Timing};
use lopa_core::node::{Config, Phase, Scheme, Scratch, Variable};
use lopa_core::steps::StepSizes;
use lopa_core::wire::{
    Answer, Ask, Body, Counters, Data, FrameReader, HOST, Identity, LEAST_VALUES, Message, Metrics,
    Reason, Refuse, Reply, Request, SEAL_LONGEST, Seal, Status, VERSION, frame_len, message_len,
    received_len,
};

use super::actor::Actor;
use super::script::Script;
use super::watched::{INNER, OUTER, Watched, dimensions};

pub(super) const LINKS: usize = 2;
pub(super) const WINDOW: usize = 3;
/// Few, but enough for a block of x and one of y in full.
pub(super) const VALUES: usize = 2 * OUTER;
const _: () = assert!(VALUES >= LEAST_VALUES);
/// The longest message that the exchange can receive.
const FRAME: usize = received_len(VALUES) + SEAL_LONGEST;
/// A message with this many values is as long as one with counters, the longest that an exchange with few values sends.
pub(super) const COUNTERS: usize = 15;
pub(super) const LONGEST: usize = frame_len(message_len(COUNTERS));
/// The node under test, and its boot number if it counts its boots.
pub(super) const NODE: u32 = 3;
const BOOT: u32 = 77;
/// Its neighbours' numbers, links and weights: two share a link.
const PEERS: [(u32, u8, f32); 3] = [(1, 0, 0.25), (2, 0, 0.25), (700, 1, 0.125)];
/// Powers of two: silence is divided by 64.
pub(super) const TIMING: Timing = Timing {
    retry: 1 << 10,
    retry_most: 1 << 13,
    delay: 1 << 7,
    silence: 1 << 16,
    patience: 1 << 18,
    probe: 1 << 13,
};
/// The most frames at one time.
pub(super) const MOST_FRAMES: usize = 24;
/// A script longer than this is cut.
const MOST_OPS: usize = 4_096;

pub(super) type Tested = Exchange<3, LINKS, VALUES, WINDOW>;

/// The exchange, and what its environment knows about it.
pub(super) struct Harness {
    pub exchange: Tested,
    pub watched: Watched,
    pub scratch: Scratch<[f32; INNER], [f32; 0]>,
    pub actors: Vec<Actor>,
    pub settings: Settings,
    /// Copies of the exchange's readers, which show what it must have received.
    pub readers: [FrameReader<FRAME>; LINKS],
    pub now: Micros,
    /// The node's session; 0 while it has none.
    pub session: u32,
    /// Tags of requests.
    pub tags: Vec<u32>,
    /// The challenge of the last status, if no request has used it up.
    pub status: Option<u32>,
    /// The last request that changed something: its echo and tag; and how many were carried out.
    pub changed: Option<(u32, u32)>,
    pub carried: u32,
    /// Whether the node is paused, and whether a checkpoint was requested.
    pub paused: bool,
    pub checkpoint: bool,
    /// As of the last check: the node's epoch and round, the exchange's epoch, its counters.
    pub seen: (Epoch, u64, Epoch, Counters),
}

/// How far a script got: a run that reaches nothing proves nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reached {
    /// Rounds completed.
    pub round: u64,
    pub counters: Counters,
    pub diverged: bool,
    pub finished: bool,
    pub duplicate: bool,
    /// Whether vectors travelled in few bits.
    pub coded: bool,
    /// Requests that changed something.
    pub carried: u32,
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
    // Whatever happened, it must come to rest.
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
        coded: harness.coded(),
        carried: harness.carried,
    }
}

impl Harness {
    fn new(script: &mut Script<'_>) -> Self {
        let choice = script.byte();
        let tracking = choice & 1 == 0;
        let scheme = if tracking { Scheme::GradientTracking } else { Scheme::LocalGradient };
        // With a codec a chunk is a whole vector, because a block is longer.
        let bits = [8, 4, 3][usize::from(choice >> 5) % 3];
        let codec = (choice & 16 != 0).then(|| Codec::new(bits, -16).unwrap());
        let chunk = match codec {
            Some(_) => OUTER as u32,
            None if tracking => 2,
            None => 4,
        };
        let rounds = if choice & 2 == 0 { 1_000 } else { [1, 3, u64::MAX][script.below(3)] };
        let neighbours = if choice & 4 == 0 { 2 } else { 3 };
        // Some nodes cannot count their boots.
        let boot = if choice & 8 == 0 { BOOT } else { 0 };
        let steps = StepSizes::new(0.2, 0.3, 0.3, 0.5, 0.7).unwrap();
        let config = Config { steps, sampler: Sampler::full(NODE) };
        let identity = Identity::new(9, dimensions(), scheme, &config, chunk, rounds);
        let identity = codec.map_or(identity, |codec| identity.with_codec(codec));
        let settings =
            Settings { node: NODE, identity, rounds, boot, timing: TIMING, seal: Seal::PLAIN };
        // With two neighbours, both links are still in use.
        let peers: Vec<Peer> = PEERS[3 - neighbours..]
            .iter()
            .map(|&(node, link, weight)| Peer { node, link, weight })
            .collect();
        let watched = Watched::new(scheme, config, codec);
        let exchange = Exchange::new(settings, &peers, &watched, 0).unwrap();
        let actor = |peer: &Peer| Actor::new(peer.node, usize::from(peer.link), peer.weight);
        Self {
            exchange,
            watched,
            scratch: Scratch::new(),
            actors: peers.iter().map(actor).collect(),
            settings,
            readers: [const { FrameReader::new(Seal::PLAIN) }; LINKS],
            now: 0,
            session: boot,
            tags: Vec::new(),
            status: None,
            changed: None,
            carried: 0,
            paused: false,
            checkpoint: false,
            seen: (Epoch::FIRST, 0, Epoch::FIRST, Counters::default()),
        }
    }

    fn act(&mut self, script: &mut Script<'_>) {
        match script.byte() % 16 {
            0 => {
                let Timing { retry, delay, silence, patience, probe, .. } = TIMING;
                let steps = [1, delay, retry, silence / 4, probe, silence, patience, 1 << 40];
                self.now = self.now.saturating_add(script.pick(&steps));
            }
            1 | 2 => {
                let index = script.below(self.actors.len());
                let hello = self.honest_hello(index);
                self.send_as(index, hello);
            }
            3..=5 => {
                let choice = script.byte();
                let index = usize::from(choice) % self.actors.len();
                // Mostly the chunk the node waits for.
                let ahead = [0, 0, 0, 0, 0, 1, 2, 3][usize::from(choice >> 5)];
                let (data, values) = self.honest_data(index, ahead, choice);
                self.send_as(index, Body::Data(Data { values: &values, ..data }));
            }
            6 => {
                let index = script.below(self.actors.len());
                let acks = self.honest_acks(index);
                self.send_as(index, Body::Ack(acks));
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

    /// Messages of hosts and strangers, and actions of the node's own program.
    fn rest(&mut self, script: &mut Script<'_>) {
        let link = script.below(LINKS);
        let index = script.below(self.actors.len());
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
                let (known, new) = (self.status.unwrap_or(0), self.tags.len() as u32 + 1);
                let (echo, tag) = match script.byte() % 8 {
                    1 => self.changed.unwrap_or((0, 0)),
                    2 => (known.wrapping_add(1), new),
                    3 => (self.changed.map_or(0, |(echo, _)| echo), new),
                    _ => (known, new),
                };
                self.tags.push(tag);
                let body = Body::Request(Request { to: NODE, echo, tag, ask });
                self.send(link, &message(HOST, 0, 0, body));
            }
            3 => {
                let reasons =
                    [Reason::Scheme, Reason::Problem, Reason::Weight, Reason::DuplicateNode];
                let reason = script.pick(&reasons);
                let echo = self.actors[index]
                    .seen_challenge
                    .wrapping_add(u32::from(script.byte().is_multiple_of(8)));
                self.send_as(index, Body::Refuse(Refuse { to: NODE, echo, reason }));
            }
            4 => {
                let status = Status {
                    session: 6,
                    challenge: 7,
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
                self.send_as(index, Body::Reply(Reply { tag: 5, answer }));
            }
            5 => {
                // Another version of the protocol, of which only the head is known.
                let sender = [self.actors[index].number, NODE, HOST, 40][script.below(4)];
                let version = script.byte();
                let mut bytes = vec![if version == VERSION { 1 } else { version }];
                bytes.extend(postcard::to_stdvec(&sender).unwrap());
                bytes.extend(script.bytes(8));
                let frame = super::decoding::frame(&bytes);
                self.receive(link, &frame);
            }
            6 => {
                // A reboot: another session, and perhaps nothing known.
                let actor = &mut self.actors[index];
                actor.session += 1;
                actor.got.1.clear();
                if script.byte().is_multiple_of(2) {
                    actor.seen_challenge = 0;
                }
            }
            _ => {
                self.paused = script.byte().is_multiple_of(2);
                self.exchange.pause(self.paused);
                if self.exchange.checkpoint_asked() {
                    self.checkpoint = false;
                    self.exchange.checkpoint_written(script.byte().is_multiple_of(2));
                    assert!(!self.exchange.checkpoint_asked());
                }
            }
        }
    }
}

/// A message of this version.
pub(super) fn message(sender: u32, session: u32, epoch: u64, body: Body<&[u8]>) -> Message<&[u8]> {
    Message { version: VERSION, sender, session, epoch, body }
}

/// A message as a frame.
pub(super) fn encode(message: &Message<&[u8]>) -> Vec<u8> {
    super::frame(&postcard::to_stdvec(message).unwrap())
}
