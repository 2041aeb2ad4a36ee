//! The wire format: the bytes in the docs, plain postcard, streams cut anywhere, and messages that must not be read.

use std::collections::BTreeMap;

use super::fuzzing::crc;
use lopa_core::batch::{BatchSize, Sampler, Sharing};
use lopa_core::codec::Codec;
use lopa_core::draw::Draws;
use lopa_core::node::{Config, Scheme, Variable};
use lopa_core::problem::Dimensions;
use lopa_core::steps::StepSizes;
use lopa_core::wire::{
    ACKS, Acks, Answer, Ask, Body, Cause, Counters, Data, Floats, FrameError, FrameReader, HOST,
    Held, Hello, Identity, Message, MessageError, Metrics, Reason, Refuse, Reply, Request,
    SEAL_LONGEST, Seal, Status, Trouble, VERSION, decode, encode, floats, frame_len, message_len,
};
use proptest::prelude::*;

const DOCS: &str = include_str!("../../lopa-core/docs/wire.md");

/// A message with its values as owned bytes.
type Owned = Message<Vec<u8>>;

fn message(sender: u32, session: u32, epoch: u64, body: Body<Vec<u8>>) -> Owned {
    Message { version: VERSION, sender, session, epoch, body }
}

/// The same message with its values in another type.
fn with_values<'a, V: 'a>(message: &'a Owned, values: impl Fn(&'a [u8]) -> V) -> Message<V> {
    let body = match &message.body {
        Body::Data(Data { round, chunk, acks, values: bytes }) => Body::Data(Data {
            round: *round,
            chunk: *chunk,
            acks: acks.clone(),
            values: values(bytes),
        }),
        Body::Ack(acks) => Body::Ack(acks.clone()),
        Body::Hello(hello) => Body::Hello(*hello),
        Body::Refuse(refuse) => Body::Refuse(*refuse),
        Body::Request(request) => Body::Request(*request),
        Body::Reply(Reply { tag, answer }) => {
            let answer = match answer {
                Answer::Done => Answer::Done,
                Answer::Cannot => Answer::Cannot,
                Answer::Status(status) => Answer::Status(*status),
                Answer::Counters(counters) => Answer::Counters(*counters),
                Answer::Metrics(metrics) => Answer::Metrics(*metrics),
                Answer::Refused(trouble) => Answer::Refused(*trouble),
                Answer::Values { variable, offset, values: bytes } => {
                    Answer::Values { variable: *variable, offset: *offset, values: values(bytes) }
                }
            };
            Body::Reply(Reply { tag: *tag, answer })
        }
    };
    let Message { version, sender, session, epoch, .. } = *message;
    Message { version, sender, session, epoch, body }
}

/// The bytes of a message's values; empty if it has none.
fn values(message: &Owned) -> &[u8] {
    match &message.body {
        Body::Data(data) => &data.values,
        Body::Reply(Reply { answer: Answer::Values { values, .. }, .. }) => values,
        _ => &[],
    }
}

/// A message as the node writes it: values from two slices of floats, into a frame.
fn written(message: &Owned, cut: usize) -> Vec<u8> {
    let numbers: Vec<f32> = floats(values(message)).collect();
    let (x, y) = numbers.split_at(cut.min(numbers.len()));
    let mut out = vec![0xaa; frame_len(longest(message))];
    let len = encode(&with_values(message, |_| Floats(x, y)), &Seal::PLAIN, &mut out).unwrap();
    out.truncate(len);
    out
}

/// The longest message according to the docs.
fn longest(message: &Owned) -> usize {
    let values = values(message).len() / 4;
    match message.body {
        Body::Reply(Reply { answer: Answer::Counters(_), .. }) => 198,
        _ => message_len(values),
    }
}

/// The format as the docs describe it, written without serde.
#[derive(Default)]
struct Book(Vec<u8>);

impl Book {
    fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        let mut rest = number.into();
        while rest > 127 {
            self.0.push(rest as u8 | 128);
            rest >>= 7;
        }
        self.byte(rest as u8)
    }

    fn float(&mut self, float: f32) -> &mut Self {
        self.0.extend(float.to_bits().to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64).0.extend(bytes);
        self
    }

    fn acks(&mut self, acks: &Acks) -> &mut Self {
        self.number(acks.next).number(acks.all).number(acks.held.len() as u64);
        for held in &acks.held {
            self.number(held.to).number(held.chunks);
        }
        self
    }

    fn hello(&mut self, hello: &Hello) -> &mut Self {
        self.number(hello.to).number(hello.challenge).number(hello.echo);
        self.byte(hello.ask.into()).byte(hello.without.into()).byte(hello.resumed.into());
        self.number(hello.mark).number(hello.start).number(hello.round);
        self.number(hello.next).number(hello.held).byte(hello.window).float(hello.weight);
        let identity = &hello.identity;
        self.number(identity.problem).number(identity.outer).number(identity.inner);
        self.byte(match identity.scheme {
            Scheme::LocalGradient => 0,
            Scheme::GradientTracking => 1,
        });
        self.number(identity.math).number(identity.chunk).number(identity.digest)
    }

    fn variable(&mut self, variable: Variable) -> &mut Self {
        self.byte(match variable {
            Variable::Outer => 0,
            Variable::Inner => 1,
            Variable::HessianInverseVector => 2,
            Variable::Hypergradient => 3,
            Variable::Direction => 4,
        })
    }

    fn ask(&mut self, ask: Ask) -> &mut Self {
        match ask {
            Ask::Start => self.byte(0),
            Ask::Stop => self.byte(1),
            Ask::Status => self.byte(2),
            Ask::Counters => self.byte(3),
            Ask::Metrics => self.byte(4),
            Ask::Read { variable, offset } => self.byte(5).variable(variable).number(offset),
            Ask::Checkpoint => self.byte(6),
        }
    }

    fn answer(&mut self, answer: &Answer<Vec<u8>>) -> &mut Self {
        match answer {
            Answer::Done => self.byte(0),
            Answer::Cannot => self.byte(1),
            Answer::Status(s) => {
                self.byte(2).number(s.session).number(s.challenge).number(s.round).number(s.rounds);
                self.byte(s.met).byte(s.dead).byte(s.refused);
                self.byte(s.paused.into()).byte(s.diverged.into())
            }
            Answer::Counters(c) => {
                self.byte(3);
                for counter in [
                    [c.sent, c.sent_bytes, c.received, c.received_bytes],
                    [c.repaired, c.corrupt, c.truncated, c.oversize],
                    [c.malformed, c.version, c.foreign, c.stale],
                    [c.repeated, c.early, c.non_finite, c.refused],
                ]
                .concat()
                {
                    self.number(counter);
                }
                self.number(c.epochs)
            }
            Answer::Metrics(m) => {
                self.byte(4).float(m.outer_norm).float(m.direction_norm).float(m.inner_norm);
                for count in m.evaluations {
                    self.number(count);
                }
                self
            }
            Answer::Values { variable, offset, values } => {
                self.byte(5).variable(*variable).number(*offset).bytes(values)
            }
            Answer::Refused(Trouble { cause, needed, found }) => {
                let cause = CAUSES.iter().position(|known| known == cause).unwrap();
                self.byte(6).byte(cause as u8).number(*needed).number(*found)
            }
        }
    }

    fn message(message: &Owned) -> Vec<u8> {
        let mut book = Self::default();
        book.byte(message.version).number(message.sender).number(message.session);
        book.number(message.epoch);
        match &message.body {
            Body::Data(data) => {
                book.byte(0).number(data.round).number(data.chunk);
                book.acks(&data.acks).bytes(&data.values)
            }
            Body::Ack(acks) => book.byte(1).acks(acks),
            Body::Hello(hello) => book.byte(2).hello(hello),
            Body::Refuse(refuse) => {
                // The reasons in the order of the docs.
                let reasons = REASONS.iter().position(|&reason| reason == refuse.reason);
                book.byte(3).number(refuse.to).number(refuse.echo).byte(reasons.unwrap() as u8)
            }
            Body::Request(request) => {
                book.byte(4).number(request.to).number(request.echo).number(request.tag);
                book.ask(request.ask)
            }
            Body::Reply(reply) => book.byte(5).number(reply.tag).answer(&reply.answer),
        };
        book.0
    }
}

const REASONS: [Reason; 10] = [
    Reason::Problem,
    Reason::OuterDimension,
    Reason::InnerDimension,
    Reason::Scheme,
    Reason::Math,
    Reason::Chunk,
    Reason::Codec,
    Reason::Configuration,
    Reason::Weight,
    Reason::DuplicateNode,
];

const CAUSES: [Cause; 20] = [
    Cause::NoBlob,
    Cause::Version,
    Cause::Length,
    Cause::Corrupt,
    Cause::Memory,
    Cause::Section,
    Cause::Value,
    Cause::Math,
    Cause::Steps,
    Cause::Neighbour,
    Cause::Samples,
    Cause::Problem,
    Cause::Floats,
    Cause::Neighbours,
    Cause::Links,
    Cause::Chunk,
    Cause::Settings,
    Cause::Key,
    Cause::Boot,
    Cause::Codec,
];

const VARIABLES: [Variable; 5] = [
    Variable::Outer,
    Variable::Inner,
    Variable::HessianInverseVector,
    Variable::Hypergradient,
    Variable::Direction,
];

/// A frame as the docs describe it.
fn framed(message: &[u8]) -> Vec<u8> {
    let sealed = [message, &crc(message).to_le_bytes()].concat();
    let mut out = Vec::new();
    let mut blocks = sealed.split(|&byte| byte == 0).peekable();
    while let Some(block) = blocks.next() {
        let mut runs = block.chunks(254).peekable();
        if block.is_empty() {
            out.push(1);
        }
        while let Some(run) = runs.next() {
            out.push(run.len() as u8 + 1);
            out.extend(run);
            // A full block implies no zero: a zero after it needs an empty block.
            if run.len() == 254 && runs.peek().is_none() && blocks.peek().is_some() {
                out.push(1);
            }
        }
    }
    out.push(0);
    out
}

/// An example of the docs: the bytes of a message, its checksum, and its frame.
#[derive(Default)]
struct Example {
    message: Vec<u8>,
    checksum: Vec<u8>,
    frame: Vec<u8>,
}

/// The examples of the docs by name.
fn examples() -> BTreeMap<String, Example> {
    let hex = |text: &str| -> Vec<u8> {
        text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    };
    let mut all = BTreeMap::new();
    for block in DOCS.split("```text\n").skip(1) {
        let block = block.split_once("```").expect("the block ends").0;
        let Some((name, rest)) = block.split_once('\n').filter(|(_, rest)| rest.contains("frame "))
        else {
            continue;
        };
        let mut example = Example::default();
        let (fields, rest) = rest.split_once("checksum").expect("a checksum follows the message");
        for line in fields.lines() {
            // Two spaces separate the bytes from their meaning.
            example.message.extend(hex(line.trim_start().split("  ").next().unwrap()));
        }
        let (checksum, frame) = rest.split_once("frame").unwrap();
        (example.checksum, example.frame) = (hex(checksum), hex(frame));
        assert!(all.insert(name.to_owned(), example).is_none(), "{name} occurs twice");
    }
    all
}

fn identity() -> Identity {
    Identity {
        problem: 7,
        outer: 784,
        inner: 10,
        scheme: Scheme::GradientTracking,
        math: 0,
        chunk: 64,
        digest: 0x0123_4567_89ab_cdef,
    }
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|a| a.to_le_bytes()).collect()
}

fn acks<const N: usize>(next: u64, all: u32, held: [(u32, u32); N]) -> Acks {
    Acks { next, all, held: held.into_iter().map(|(to, chunks)| Held { to, chunks }).collect() }
}

/// The messages of the docs' examples.
fn messages() -> BTreeMap<&'static str, Owned> {
    let epoch = (1 << 16) | 2;
    let hello = Hello {
        to: 2,
        challenge: 0xcafe,
        echo: 0xbeef,
        ask: true,
        without: false,
        resumed: false,
        mark: 9,
        start: 250,
        round: 300,
        next: 600,
        held: 1,
        window: 4,
        weight: 0.25,
        identity: identity(),
    };
    let ask =
        |tag, ask| message(HOST, 0, 0, Body::Request(Request { to: 1, echo: 0xface, tag, ask }));
    let reply = |tag, answer| message(1, 4, epoch, Body::Reply(Reply { tag, answer }));
    let (variable, offset) = (Variable::Hypergradient, 128);
    let data = |round, chunk, acks, values: &[f32]| {
        Body::Data(Data { round, chunk, acks, values: bytes(values) })
    };
    let coded = |values| Body::Data(Data { round: 300, chunk: 0, acks: acks(300, 1, []), values });
    BTreeMap::from([
        ("data", message(1, 4, epoch, data(300, 1, acks(601, 1, []), &[1.0, -0.75]))),
        ("data-tracking", message(1, 4, 0, data(0, 0, acks(0, 0, []), &[0.5, -2.0, 0.0, 3.0]))),
        ("data-coded", message(1, 4, epoch, coded(vec![2, 0x97, 1, 31]))),
        ("data-silent", message(1, 4, epoch, coded(vec![]))),
        ("data-zeros", message(1, 4, 0, data(0, 0, acks(0, 0, []), &[]))),
        ("ack", message(2, 9, epoch, Body::Ack(acks(600, 1, [(1, 3)])))),
        ("hello", message(1, 4, epoch, Body::Hello(hello))),
        (
            "hello-after-boot",
            message(
                1,
                4,
                0,
                Body::Hello(Hello {
                    echo: 0,
                    resumed: true,
                    mark: 0,
                    start: 0,
                    round: u64::MAX,
                    next: 0,
                    held: 0,
                    identity: identity().with_codec(Codec::new(8, -22).unwrap()),
                    ..hello
                }),
            ),
        ),
        (
            "refuse",
            message(2, 9, 0, Body::Refuse(Refuse { to: 1, echo: 0xcafe, reason: Reason::Scheme })),
        ),
        ("request-stop", ask(17, Ask::Stop)),
        ("request-read", ask(18, Ask::Read { variable, offset })),
        ("reply-done", reply(17, Answer::Done)),
        ("reply-cannot", reply(19, Answer::Cannot)),
        (
            "reply-status",
            reply(
                20,
                Answer::Status(Status {
                    session: 4,
                    challenge: 0xface,
                    round: 300,
                    rounds: 1_000,
                    met: 2,
                    dead: 1,
                    refused: 0,
                    paused: false,
                    diverged: false,
                }),
            ),
        ),
        (
            "reply-counters",
            reply(
                21,
                Answer::Counters(Counters {
                    sent: 1_200,
                    sent_bytes: 960_000,
                    received: 1_190,
                    received_bytes: 950_000,
                    repaired: 12,
                    corrupt: 3,
                    truncated: 2,
                    oversize: 1,
                    malformed: 0,
                    version: 6,
                    foreign: 0,
                    stale: 4,
                    repeated: 5,
                    early: 0,
                    non_finite: 0,
                    refused: 0,
                    epochs: 1,
                }),
            ),
        ),
        (
            "reply-metrics",
            reply(
                22,
                Answer::Metrics(Metrics {
                    outer_norm: 2.0,
                    direction_norm: 0.125,
                    inner_norm: 9.5,
                    evaluations: [300; 5],
                }),
            ),
        ),
        ("reply-values", reply(18, Answer::Values { variable, offset, values: bytes(&[-1.5]) })),
        (
            "reply-refused",
            message(
                1,
                0,
                0,
                Body::Reply(Reply {
                    tag: 23,
                    answer: Answer::Refused(Trouble {
                        cause: Cause::Floats,
                        needed: 9_000,
                        found: 6_272,
                    }),
                }),
            ),
        ),
    ])
}

fn spaced(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}

#[test]
fn examples_in_the_docs_are_the_bytes_on_the_wire() {
    let (examples, messages) = (examples(), messages());
    assert!(examples.keys().eq(messages.keys()), "{:?}", examples.keys());
    for (name, message) in &messages {
        let example = &examples[*name];
        let book = Book::message(message);
        assert_eq!(spaced(&example.message), spaced(&book), "{name}");
        assert_eq!(spaced(&example.checksum), spaced(&crc(&book).to_le_bytes()), "{name}");
        assert_eq!(spaced(&example.frame), spaced(&written(message, 0)), "{name}");
        assert_eq!(decode(&example.message), Ok(with_values(message, |v| v)), "{name}");
        assert_eq!(read::<256>(&example.frame), [Ok(book)], "{name}");
    }
}

#[test]
fn tags_have_the_numbers_in_the_docs() {
    for (tag, reason) in REASONS.into_iter().enumerate() {
        let refuse = message(1, 0, 0, Body::Refuse(Refuse { to: 2, echo: 3, reason }));
        let bytes = postcard::to_stdvec(&refuse).unwrap();
        assert_eq!(bytes, [VERSION, 1, 0, 0, 3, 2, 3, tag as u8], "{reason:?}");
        assert_eq!(bytes, Book::message(&refuse));
    }
    // One more than the last means nothing.
    assert_eq!(decode(&[VERSION, 1, 0, 0, 3, 2, 3, 10]), Err(MessageError::Malformed));
    for (tag, cause) in CAUSES.into_iter().enumerate() {
        let trouble = Trouble { cause, needed: 5, found: 6 };
        let answer = Answer::Refused(trouble);
        let reply = message(1, 0, 0, Body::Reply(Reply { tag: 9, answer }));
        let bytes = postcard::to_stdvec(&reply).unwrap();
        assert_eq!(bytes, [VERSION, 1, 0, 0, 5, 9, 6, tag as u8, 5, 6], "{cause:?}");
        assert!(!trouble.to_string().is_empty());
    }
    assert_eq!(decode(&[VERSION, 1, 0, 0, 5, 9, 6, 20, 5, 6]), Err(MessageError::Malformed));
    let mut asks = vec![Ask::Start, Ask::Stop, Ask::Status, Ask::Counters, Ask::Metrics];
    asks.extend(VARIABLES.map(|variable| Ask::Read { variable, offset: 9 }));
    asks.push(Ask::Checkpoint);
    for ask in asks {
        let request = Request { to: 2, echo: 5, tag: 3, ask };
        let request = message(HOST, 0, 0, Body::Request(request));
        assert_eq!(postcard::to_stdvec(&request).unwrap(), Book::message(&request), "{ask:?}");
    }
}

#[test]
fn the_digest_matches_the_docs() {
    let steps = StepSizes::new(0.01, 0.02, 0.03, 0.4, 0.5).unwrap();
    let draws = Draws { seed: 0x1234_5678_9abc, node: 3 };
    let size = Dimensions { outer: 784, inner: 10, workspace: 0 };
    let sizes = [(BatchSize::Full, 0), (BatchSize::Drawn(8.try_into().unwrap()), 8)];
    let shares = [(Sharing::Independent, 0), (Sharing::PerLevel, 1)];
    for ((size_of_batch, batch), (sharing, shared)) in sizes.into_iter().zip(shares) {
        let sampler = Sampler { draws, size: size_of_batch, sharing };
        let config = Config { steps, sampler };
        let identity = Identity::new(7, size, Scheme::LocalGradient, &config, 64, 1_000);
        let floats = [0.01_f32, 0.02, 0.03, 0.4, 0.5].map(|a| u64::from(a.to_bits()));
        let words = [&floats[..], &[draws.seed, batch, shared, 1_000]].concat();
        let digest = words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        assert_eq!(identity.digest, digest);
    }
}

/// All frames in a stream, through a reader of `N` bytes.
fn read<const N: usize>(stream: &[u8]) -> Vec<Result<Vec<u8>, FrameError>> {
    let mut reader = FrameReader::<N>::new(Seal::PLAIN);
    stream.iter().filter_map(|&b| reader.push(b).map(|frame| frame.map(<[u8]>::to_vec))).collect()
}

/// The messages with every number at its longest, and `values` floats in those that have values.
fn extremes(values: usize) -> Vec<Owned> {
    let (small, large) = (u32::MAX, u64::MAX);
    let values = vec![0xff; 4 * values];
    let acks = acks(large, small, [(small, small); ACKS]);
    let identity = Identity {
        problem: small,
        outer: small,
        inner: small,
        math: small,
        chunk: small,
        digest: large,
        ..identity()
    };
    let bodies = vec![
        Body::Data(Data { round: large, chunk: small, acks: acks.clone(), values: values.clone() }),
        Body::Ack(acks),
        Body::Hello(Hello {
            to: small,
            challenge: small,
            echo: small,
            ask: true,
            without: true,
            resumed: true,
            mark: small,
            start: large,
            round: large,
            next: large,
            held: small,
            window: 255,
            weight: 1.0,
            identity,
        }),
        Body::Refuse(Refuse { to: small, echo: small, reason: Reason::DuplicateNode }),
        Body::Request(Request {
            to: small,
            echo: small,
            tag: small,
            ask: Ask::Read { variable: Variable::Direction, offset: small },
        }),
        Body::Reply(Reply {
            tag: small,
            answer: Answer::Status(Status {
                session: small,
                challenge: small,
                round: large,
                rounds: large,
                met: 255,
                dead: 255,
                refused: 255,
                paused: true,
                diverged: true,
            }),
        }),
        Body::Reply(Reply {
            tag: small,
            answer: Answer::Metrics(Metrics {
                outer_norm: 1.0,
                direction_norm: 1.0,
                inner_norm: 1.0,
                evaluations: [large; 5],
            }),
        }),
        Body::Reply(Reply {
            tag: small,
            answer: Answer::Values { variable: Variable::Direction, offset: small, values },
        }),
    ];
    bodies.into_iter().map(|body| message(small, small, large, body)).collect()
}

#[test]
fn no_message_is_longer_than_message_len() {
    let mut most = 0;
    for values in [0, 1, 31, 32, 196, 4_095, 4_096] {
        for message in extremes(values) {
            let len = postcard::to_stdvec(&message).unwrap().len();
            assert!(len <= message_len(values), "{len} bytes: {message:?}");
            if let Body::Data(_) = message.body {
                most = most.max(len.saturating_sub(4 * values));
            }
            assert!(written(&message, 0).len() <= frame_len(len));
        }
    }
    // Only the length of the values was not at its longest: three bytes for 4,096 floats.
    assert_eq!((most, message_len(100) - 400), (96, 98));
    let counters = Counters {
        sent: u64::MAX,
        sent_bytes: u64::MAX,
        received: u64::MAX,
        received_bytes: u64::MAX,
        repaired: u64::MAX,
        corrupt: u64::MAX,
        truncated: u64::MAX,
        oversize: u64::MAX,
        malformed: u64::MAX,
        version: u64::MAX,
        foreign: u64::MAX,
        stale: u64::MAX,
        repeated: u64::MAX,
        early: u64::MAX,
        non_finite: u64::MAX,
        refused: u64::MAX,
        epochs: u64::MAX,
    };
    let body = Body::Reply(Reply { tag: u32::MAX, answer: Answer::Counters(counters) });
    let len = postcard::to_stdvec(&message(u32::MAX, u32::MAX, u64::MAX, body)).unwrap().len();
    assert_eq!(len, 198);
    assert_eq!((message_len(0), message_len(25), message_len(26)), (198, 198, 202));
}

#[test]
fn no_frame_is_longer_than_frame_len() {
    for len in 0..1_300 {
        for byte in [0, 1] {
            let message = vec![byte; len];
            let frame = framed(&message);
            assert!(frame.len() <= frame_len(len), "{len}");
            if byte != 0 {
                // Not too generous: the longest seal, and one byte where a block is exactly full.
                assert!(frame.len() + SEAL_LONGEST - 4 + 2 > frame_len(len), "{len}");
            }
            assert_eq!(read::<1_304>(&frame), [Ok(message)]);
        }
    }
}

#[test]
fn a_chunk_of_64_floats_costs_what_the_docs_say() {
    let body = |next| {
        let values = bytes(&[1.5; 64]);
        Body::Data(Data { round: 300, chunk: 1, acks: acks(next, 1, []), values })
    };
    for (epoch, most) in [(0, 21), ((1 << 16) | 2, 23)] {
        let len = written(&message(1, 4, epoch, body(601)), 64).len();
        assert!((most - 1..=most).contains(&(len - 256)), "{}", len - 256);
    }
}

#[test]
fn only_messages_of_this_version_are_read() {
    for (name, message) in messages() {
        let bytes = Book::message(&message);
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Err(MessageError::Malformed), "{name} cut at {end}");
        }
        for extra in [0, 1, 255] {
            let longer = [&bytes[..], &[extra]].concat();
            assert_eq!(decode(&longer), Err(MessageError::Malformed), "{name}");
        }
        let sender = message.sender;
        for version in (0..=255).filter(|&version| version != VERSION) {
            let other = [&[version], &bytes[1..]].concat();
            assert_eq!(decode(&other), Err(MessageError::Version { sender }), "{name}");
            // Anything may follow the sender in that version.
            let len = 1 + postcard::to_stdvec(&sender).unwrap().len();
            assert_eq!(decode(&other[..len]), Err(MessageError::Version { sender }));
            assert_eq!(decode(&other[..len - 1]), Err(MessageError::Malformed));
        }
    }
    assert_eq!(decode(&[]), Err(MessageError::Malformed));
}

#[test]
fn unknown_tags_are_malformed() {
    // The bytes before a tag, and the first number that is not a tag.
    let head = [VERSION, 1, 4, 0];
    for (before, first, after) in [
        (&[][..], 6, &[][..]),              // kinds
        (&[3, 1, 2], 10, &[]),              // reasons
        (&[4, 1, 4, 2], 7, &[]),            // asks
        (&[4, 1, 4, 2, 5], 5, &[0]),        // variables requested
        (&[5, 2], 7, &[]),                  // answers
        (&[5, 2, 5], 5, &[0, 0]),           // variables answered
        (&[2, 1, 2, 3], 2, &[0; 19]),       // bool: ask
        (&[2, 1, 2, 3, 0], 2, &[0; 18]),    // bool: without
        (&[2, 1, 2, 3, 0, 1], 2, &[0; 17]), // bool: resumed
    ] {
        let with = |tag: &[u8]| decode(&[&head, before, tag, after].concat()).is_ok();
        for tag in first..=255_u8 {
            let bytes = [tag & 127, 1];
            let tag = if tag < 128 { &[tag][..] } else { &[bytes[0] | 128, bytes[1]] };
            assert!(!with(tag), "{before:02x?} {tag:02x?}");
        }
    }
    // And the last valid ones.
    let hello = [&[2, 1, 2, 3, 1, 1, 1][..], &[0; 17]].concat();
    for bytes in [
        &[3, 1, 2, 9][..],
        &[4, 1, 4, 2, 6],
        &[4, 1, 4, 2, 5, 4, 0],
        &[5, 2, 5, 4, 0, 0],
        &[5, 2, 6, 19, 0, 0],
        &hello,
    ] {
        assert!(decode(&[&head, bytes].concat()).is_ok(), "{bytes:02x?}");
    }
    // Hello: the scheme is a tag. The number after it is not: a later libm is understood, and refused for that reason.
    let hello = Book::message(&messages()["hello"]);
    let scheme = hello.len() - 12;
    assert_eq!(hello[scheme..scheme + 2], [1, 0]);
    for tag in [2, 127] {
        let (mut other, mut later) = (hello.clone(), hello.clone());
        other[scheme] = tag;
        assert_eq!(decode(&other), Err(MessageError::Malformed));
        later[scheme + 1] = tag;
        let Body::Hello(hello) = decode(&later).unwrap().body else { panic!("not a greeting") };
        assert_eq!(identity().difference(&hello.identity), Some(Reason::Math));
    }
}

#[test]
fn wrong_lengths_are_malformed() {
    let data = |len: &[u8], rest: usize| {
        [&[VERSION, 1, 4, 0, 0, 7, 1, 15, 3, 0], len, &vec![0x3f; rest]].concat()
    };
    assert!(decode(&data(&[8], 8)).is_ok());
    for (len, rest) in [
        (&[8][..], 7),
        (&[8], 9),
        (&[0xff, 0xff, 0xff, 0xff, 0x0f], 8),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], 8),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], 8),
    ] {
        assert_eq!(decode(&data(len, rest)), Err(MessageError::Malformed), "{len:02x?}");
    }
    // Four acknowledgements are read, five are not.
    let ack = |count: u8| {
        [&[VERSION, 1, 4, 0, 1, 15, 3, count][..], &vec![2; 2 * usize::from(count)]].concat()
    };
    assert!(decode(&ack(4)).is_ok());
    assert_eq!(decode(&ack(5)), Err(MessageError::Malformed));
    // A number in more bytes than it needs is the same number; one that overflows is malformed.
    let sender =
        |bytes: &[u8]| decode(&[&[VERSION], bytes, &[4, 0, 1, 0, 0, 0]].concat()).map(|m| m.sender);
    assert_eq!(sender(&[0x81, 0x80, 0x80, 0x80, 0x00]), Ok(1));
    assert_eq!(sender(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
    assert_eq!(sender(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(MessageError::Malformed));
    assert_eq!(sender(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]), Err(MessageError::Malformed));
}

#[test]
fn a_frame_that_does_not_fit_is_not_written() {
    for message in messages().values() {
        let numbers: Vec<f32> = floats(values(message)).collect();
        let sent = with_values(message, |_| Floats(&numbers, &[]));
        let len = written(message, 0).len();
        for room in 0..len {
            assert_eq!(encode(&sent, &Seal::PLAIN, &mut vec![0; room]), None);
        }
        assert_eq!(encode(&sent, &Seal::PLAIN, &mut vec![0; len]), Some(len));
    }
}

/// Numbers of every length, including the extremes.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..300_u64, any::<u64>(), (0..64_u32).prop_map(|bits| 1 << bits), Just(u64::MAX),]
}

fn small() -> impl Strategy<Value = u32> {
    number().prop_map(|a| a as u32)
}

/// Any bits, including NaNs and infinities.
fn float() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(f32::from_bits)
}

/// Bytes of up to 200 floats, often with zeros, sometimes with none for longer than a block.
fn value_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<[u8; 4]>(), 0..40),
        prop::collection::vec(any::<[u8; 4]>().prop_map(|b| b.map(|b| b | 1)), 60..200),
        prop::collection::vec(any::<[u8; 4]>().prop_map(|b| b.map(|b| b & 1)), 0..100),
    ]
    .prop_map(|floats| floats.concat())
}

fn some_acks() -> impl Strategy<Value = Acks> {
    let held = (small(), small()).prop_map(|(to, chunks)| Held { to, chunks });
    (number(), small(), prop::collection::vec(held, 0..=ACKS)).prop_map(|(next, all, held)| Acks {
        next,
        all,
        held: held.into_iter().collect(),
    })
}

fn some_identity() -> impl Strategy<Value = Identity> {
    let scheme = prop_oneof![Just(Scheme::LocalGradient), Just(Scheme::GradientTracking)];
    (small(), small(), small(), scheme, small(), small(), number()).prop_map(
        |(problem, outer, inner, scheme, math, chunk, digest)| Identity {
            problem,
            outer,
            inner,
            scheme,
            math,
            chunk,
            digest,
        },
    )
}

fn some_hello() -> impl Strategy<Value = Hello> {
    let small_numbers = [small(), small(), small(), small(), small()];
    let numbers = [number(), number(), number()];
    (small_numbers, numbers, any::<([bool; 3], u8)>(), float(), some_identity()).prop_map(
        |(
            [to, challenge, echo, mark, held],
            [start, round, next],
            ([ask, without, resumed], window),
            weight,
            identity,
        )| Hello {
            to,
            challenge,
            echo,
            ask,
            without,
            resumed,
            mark,
            start,
            round,
            next,
            held,
            window,
            weight,
            identity,
        },
    )
}

fn some_variable() -> impl Strategy<Value = Variable> {
    prop::sample::select(&VARIABLES[..])
}

fn some_ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        prop::sample::select(vec![
            Ask::Start,
            Ask::Stop,
            Ask::Status,
            Ask::Counters,
            Ask::Metrics,
            Ask::Checkpoint,
        ]),
        (some_variable(), small()).prop_map(|(variable, offset)| Ask::Read { variable, offset }),
    ]
}

fn some_answer() -> impl Strategy<Value = Answer<Vec<u8>>> {
    let status = ([small(), small()], [number(), number()], any::<([u8; 3], bool, bool)>())
        .prop_map(|(small, numbers, ([met, dead, refused], paused, diverged))| {
            let ([session, challenge], [round, rounds]) = (small, numbers);
            Answer::Status(Status {
                session,
                challenge,
                round,
                rounds,
                met,
                dead,
                refused,
                paused,
                diverged,
            })
        });
    let counters = prop::collection::vec(number(), 17).prop_map(|c| {
        Answer::Counters(Counters {
            sent: c[0],
            sent_bytes: c[1],
            received: c[2],
            received_bytes: c[3],
            repaired: c[4],
            corrupt: c[5],
            truncated: c[6],
            oversize: c[7],
            malformed: c[8],
            version: c[9],
            foreign: c[10],
            stale: c[11],
            repeated: c[12],
            early: c[13],
            non_finite: c[14],
            refused: c[15],
            epochs: c[16],
        })
    });
    let evaluations = [number(), number(), number(), number(), number()];
    let metrics = ([float(), float(), float()], evaluations).prop_map(|(norms, evaluations)| {
        let [outer_norm, direction_norm, inner_norm] = norms;
        Answer::Metrics(Metrics { outer_norm, direction_norm, inner_norm, evaluations })
    });
    let values = (some_variable(), small(), value_bytes())
        .prop_map(|(variable, offset, values)| Answer::Values { variable, offset, values });
    let refused = (prop::sample::select(&CAUSES[..]), small(), small())
        .prop_map(|(cause, needed, found)| Answer::Refused(Trouble { cause, needed, found }));
    prop_oneof![
        Just(Answer::Done),
        Just(Answer::Cannot),
        status,
        counters,
        metrics,
        values,
        refused
    ]
}

fn some_message() -> impl Strategy<Value = Owned> {
    let data = (number(), small(), some_acks(), value_bytes())
        .prop_map(|(round, chunk, acks, values)| Body::Data(Data { round, chunk, acks, values }));
    let refuse = (small(), small(), prop::sample::select(&REASONS[..]))
        .prop_map(|(to, echo, reason)| Body::Refuse(Refuse { to, echo, reason }));
    let request = (small(), small(), small(), some_ask())
        .prop_map(|(to, echo, tag, ask)| Body::Request(Request { to, echo, tag, ask }));
    let body = prop_oneof![
        data,
        some_acks().prop_map(Body::Ack),
        some_hello().prop_map(Body::Hello),
        refuse,
        request,
        (small(), some_answer()).prop_map(|(tag, answer)| Body::Reply(Reply { tag, answer })),
    ];
    (small(), small(), number(), body)
        .prop_map(|(sender, session, epoch, body)| message(sender, session, epoch, body))
}

/// More than any message of [`some_message`] with its seal.
const ROOM: usize = message_len(200) + SEAL_LONGEST;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_message_is_plain_postcard_in_a_plain_frame(message in some_message(), cut in 0_usize..200) {
        let plain = postcard::to_stdvec(&message).unwrap();
        prop_assert_eq!(&plain, &Book::message(&message));
        prop_assert!(plain.len() <= longest(&message));
        let frame = written(&message, cut);
        prop_assert_eq!(&frame, &framed(&plain));
        let frames = read::<ROOM>(&frame);
        prop_assert_eq!(&frames, &[Ok(plain.clone())]);
        // As bytes: a NaN is not equal to itself.
        let decoded = decode(&plain).unwrap();
        prop_assert_eq!(&postcard::to_stdvec(&decoded).unwrap(), &plain);
        prop_assert_eq!(format!("{decoded:?}"), format!("{:?}", with_values(&message, |v| v)));
    }

    #[test]
    fn frames_are_read_after_any_cuts_and_garbage(
        parts in prop::collection::vec(
            (some_message(), prop::collection::vec(any::<u8>(), 0..300), any::<bool>()), 1..6),
        cuts in prop::collection::vec(1_usize..50, 1..20),
    ) {
        let mut stream = Vec::new();
        let mut expected = Vec::new();
        for (message, garbage, noisy) in &parts {
            if *noisy {
                // Garbage before a frame does no harm once a zero has ended it.
                stream.extend(garbage);
                stream.push(0);
            }
            let bytes = postcard::to_stdvec(message).unwrap();
            stream.extend(framed(&bytes));
            expected.push(bytes);
        }
        let mut reader = FrameReader::<ROOM>::new(Seal::PLAIN);
        let (mut frames, mut at) = (Vec::new(), 0);
        for size in cuts.iter().cycle() {
            let end = (at + size).min(stream.len());
            for &byte in &stream[at..end] {
                frames.extend(reader.push(byte).and_then(|frame| frame.ok().map(<[u8]>::to_vec)));
            }
            at = end;
            if at == stream.len() {
                break;
            }
        }
        prop_assert_eq!(frames, expected);
    }

    #[test]
    fn a_reader_never_holds_more_than_its_buffer(message in some_message()) {
        let bytes = postcard::to_stdvec(&message).unwrap();
        let expected = if bytes.len() + 4 <= 100 { Ok(bytes.clone()) } else { Err(FrameError::Oversize) };
        let next = Book::message(&messages()["ack"]);
        let stream = [framed(&bytes), framed(&next)].concat();
        prop_assert_eq!(read::<100>(&stream), [expected, Ok(next)]);
    }

    #[test]
    fn a_damaged_frame_is_not_read_as_a_message(
        message in some_message(), at in any::<prop::sample::Index>(), with in 1..=255_u8,
    ) {
        let mut frame = framed(&postcard::to_stdvec(&message).unwrap());
        let at = at.index(frame.len());
        frame[at] ^= with;
        frame.push(0);
        prop_assert!(read::<ROOM>(&frame).iter().all(Result::is_err));
    }
}

#[test]
fn values_round_trip_bit_for_bit() {
    let numbers = [0.0, -0.0, 1.0e-45, f32::MAX, f32::NEG_INFINITY, f32::from_bits(0x7fc0_1234)];
    let back: Vec<u32> = floats(&bytes(&numbers)).map(f32::to_bits).collect();
    assert_eq!(back, numbers.map(f32::to_bits));
    // Bytes after the last whole float are ignored.
    assert_eq!(floats(&[0; 7]).len(), 1);
    assert_eq!(floats(&[]).len(), 0);
}
