//! Two nodes on a line, and frames made by hand that are refused, counted, answered or ignored.

use crate::common::{N, P, config, gt, lg, quadratic, scratch};
use lopa_core::blob::BlobError;
use lopa_core::codec::Codec;
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{
    Exchange, ExchangeError, Micros, Peer, Settings, SettingsError, Standing, Step, Timing,
};
use lopa_core::node::{GtNode, Scheme, Variable};
use lopa_core::problem::Problem;
use lopa_core::problems::Quadratic;
use lopa_core::wire::{
    self, Acks, Answer, Ask, Body, Cause, Counters, Data, Floats, FrameReader, HOST, Held, Hello,
    Identity, LEAST_VALUES, Message, Reason, Request, SEAL_LONGEST, Seal, Trouble, VERSION,
};

const CHUNK: usize = 2;
const VALUES: usize = 2 * CHUNK;
const ROOM: usize = LEAST_VALUES;
const FRAME: usize = wire::message_len(ROOM) + SEAL_LONGEST;
type Line = Exchange<2, 2, ROOM>;

const TIMING: Timing = Timing::uart(1_000_000, FRAME, 2, 1_000);

fn settings(node: u32) -> Settings {
    let size = quadratic(0).dimensions();
    let scheme = Scheme::GradientTracking;
    let identity = Identity::new(7, size, scheme, &config(0), CHUNK as u32, 100);
    Settings { node, identity, rounds: 100, boot: 40 + node, timing: TIMING, seal: Seal::PLAIN }
}

const fn peer(node: u32) -> Peer {
    Peer { node, link: 0, weight: 0.25 }
}

/// Enough time between two turns for a greeting to be answered.
const TURN: Micros = TIMING.retry / 8;

/// A node with its exchange.
struct Party {
    node: GtNode<Quadratic<'static>, N, P>,
    line: Line,
}

impl Party {
    fn new(settings: Settings, peers: &[Peer]) -> Self {
        let node = gt(settings.node);
        Self { line: Line::new(settings, peers, &node, 0).unwrap(), node }
    }

    /// Advances as far as it can, and returns what it sends on link 0.
    fn send(&mut self, now: Micros) -> Vec<u8> {
        while self.line.advance(&mut self.node, now) == Step::Compute {
            self.node.compute(&mut scratch()).unwrap();
        }
        let mut sent = Vec::new();
        let mut buffer = [0; Line::BUFFER];
        while let Some(len) = self.line.transmit(0, &self.node, now, &mut buffer).unwrap() {
            sent.extend(&buffer[..len]);
        }
        sent
    }

    fn receive(&mut self, bytes: &[u8], now: Micros) {
        self.line.receive(0, bytes, now).unwrap();
    }

    fn standing(&self) -> Standing {
        self.line.standings().next().unwrap().1
    }

    /// Everything that a bad frame must not change.
    fn fingerprint(&self) -> (Vec<u32>, u64, Epoch, Vec<(u32, Standing)>) {
        let s = self.node.state();
        let bits = [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect();
        (bits, s.round, self.line.epoch(), self.line.standings().collect())
    }
}

/// Runs two parties for at most `turns` turns, until neither has anything to send.
fn talk(a: &mut Party, b: &mut Party, turns: usize) {
    exchange_turns(a, b, 0..turns as Micros);
}

/// The same for a range of turns. Returns what `b` sent.
fn exchange_turns(a: &mut Party, b: &mut Party, turns: std::ops::Range<Micros>) -> Vec<u8> {
    let mut tape = Vec::new();
    for now in turns.map(|turn| turn * TURN) {
        let (from_a, from_b) = (a.send(now), b.send(now));
        a.receive(&from_b, now);
        b.receive(&from_a, now);
        tape.extend(from_b);
    }
    tape
}

/// Two parties that have met.
fn couple() -> (Party, Party) {
    let (mut a, mut b) = (Party::new(settings(0), &[peer(1)]), Party::new(settings(1), &[peer(0)]));
    talk(&mut a, &mut b, 4);
    assert_eq!((a.standing(), b.standing()), (Standing::Met, Standing::Met));
    (a, b)
}

fn encode(message: &Message<Floats<'_>>) -> Vec<u8> {
    let mut out = vec![0; 4096];
    let len = wire::encode(message, &Seal::PLAIN, &mut out).unwrap();
    out.truncate(len);
    out
}

/// Passes each message in some bytes to `look`.
fn messages(bytes: &[u8], mut look: impl FnMut(Message<&[u8]>)) {
    let mut reader = FrameReader::<FRAME>::new(Seal::PLAIN);
    for &byte in bytes {
        if let Some(frame) = reader.push(byte) {
            look(wire::decode(frame.unwrap()).unwrap());
        }
    }
}

#[test]
fn two_nodes_meet_and_finish_together() {
    let (mut a, mut b) = couple();
    talk(&mut a, &mut b, 3_000);
    assert_eq!((a.node.state().round, b.node.state().round), (100, 100));
    let counters = |p: &Party| *p.line.counters();
    assert_eq!(counters(&a).received, counters(&b).sent);
    assert_eq!(counters(&a).repaired + counters(&b).repaired, 0);
}

#[test]
fn nodes_that_differ_refuse_each_other_and_report_why() {
    type Change = fn(&mut Settings);
    let differ: [(Reason, Change); 6] = [
        (Reason::Problem, |s| s.identity.problem += 1),
        (Reason::InnerDimension, |s| s.identity.inner += 1),
        (Reason::Scheme, |s| s.identity.scheme = Scheme::LocalGradient),
        (Reason::Math, |s| s.identity.math += 1),
        (Reason::Chunk, |s| s.identity.chunk = 1),
        (Reason::Configuration, |s| s.identity.digest ^= 1),
    ];
    for (reason, change) in differ {
        let mut other = settings(1);
        change(&mut other);
        let (mut a, mut b) = (Party::new(settings(0), &[peer(1)]), Party::new(other, &[peer(0)]));
        talk(&mut a, &mut b, 6);
        let refused = Standing::Refused(reason);
        assert_eq!((a.standing(), b.standing()), (refused, refused));
        assert!(a.line.counters().refused > 0 && b.line.counters().refused > 0);
        assert!(!reason.to_string().is_empty());
    }
    let other = Peer { weight: 0.26, ..peer(0) };
    let (mut a, mut b) = (Party::new(settings(0), &[peer(1)]), Party::new(settings(1), &[other]));
    talk(&mut a, &mut b, 6);
    let refused = Standing::Refused(Reason::Weight);
    assert_eq!((a.standing(), b.standing()), (refused, refused));
}

#[test]
fn a_refused_node_is_accepted_once_it_is_fixed() {
    let mut wrong = settings(1);
    wrong.identity.digest ^= 1;
    let (mut a, mut b) = (Party::new(settings(0), &[peer(1)]), Party::new(wrong, &[peer(0)]));
    talk(&mut a, &mut b, 6);
    assert_eq!(a.standing(), Standing::Refused(Reason::Configuration));
    let mut b = Party::new(Settings { boot: 99, ..settings(1) }, &[peer(0)]);
    talk(&mut a, &mut b, 12);
    assert_eq!((a.standing(), b.standing()), (Standing::Met, Standing::Met));
}

#[test]
fn another_version_is_counted_and_changes_nothing() {
    let (mut a, mut b) = couple();
    let state = a.fingerprint();
    // Frames of another version, from a neighbour and from a stranger, as far as this version can read them.
    for (sender, count) in [(1, 1), (9, 2)] {
        let mut out = [0; 64];
        let mut writer = wire::FrameWriter::new(&Seal::PLAIN, &mut out);
        [VERSION + 1, sender, 200, 7, 7].into_iter().for_each(|byte| writer.push(byte));
        let len = writer.finish().unwrap();
        a.receive(&out[..len], 10);
        assert_eq!((a.fingerprint(), a.line.counters().version), (state.clone(), count));
    }
    talk(&mut a, &mut b, 3_000);
    assert_eq!((a.node.state().round, a.line.epoch()), (100, Epoch::FIRST));
}

#[test]
fn two_nodes_with_the_same_number_are_detected() {
    // Both ends of a line claim to be node 0.
    let (mut a, mut b) = (
        Party::new(settings(0), &[peer(1)]),
        Party::new(Settings { boot: 77, ..settings(0) }, &[peer(1)]),
    );
    talk(&mut a, &mut b, 4);
    assert!(a.line.duplicate() && b.line.duplicate());
    // A node that receives its own frames, as on a half-duplex bus, does not report a duplicate.
    let mut a = Party::new(settings(0), &[peer(1)]);
    let sent = a.send(0);
    a.receive(&sent, 0);
    assert!(!a.line.duplicate());
    // A neighbour's number on a line that does not lead to it.
    let other = Peer { node: 2, link: 1, weight: 0.25 };
    let mut a = Party::new(settings(0), &[peer(1), other]);
    let mut twin = Party::new(settings(2), &[peer(0)]);
    talk(&mut a, &mut twin, 4);
    assert_eq!(twin.standing(), Standing::Refused(Reason::DuplicateNode));
    assert!(a.line.counters().refused > 0);
}

/// Sends a frame to a party that has met node 1, and returns which counters changed.
fn counted(body: Body<Floats<'_>>, epoch: u64, sender: u32) -> Counters {
    let (mut a, _) = couple();
    let (before, state) = (*a.line.counters(), a.fingerprint());
    a.receive(&encode(&Message { version: VERSION, sender, session: 41, epoch, body }), 5);
    assert_eq!(a.fingerprint(), state);
    let (after, _) = (*a.line.counters(), a.send(5));
    let d = |of: fn(&Counters) -> u64| of(&after) - of(&before);
    Counters {
        malformed: d(|c| c.malformed),
        foreign: d(|c| c.foreign),
        stale: d(|c| c.stale),
        repeated: d(|c| c.repeated),
        early: d(|c| c.early),
        non_finite: d(|c| c.non_finite),
        ..Counters::default()
    }
}

fn data(round: u64, chunk: u32, values: &[f32]) -> Body<Floats<'_>> {
    Body::Data(Data { round, chunk, acks: Acks::default(), values: Floats(values, &[]) })
}

#[test]
fn senseless_frames_are_counted_and_change_nothing() {
    let none = Counters::default();
    let full = [1.0; VALUES];
    // A chunk has CHUNK elements of x and of y; the last of N = 5 has one of each.
    for (what, body) in [
        ("too few values", data(1, 0, &full[1..])),
        ("too many for the last chunk", data(1, 2, &full)),
        ("no values", data(1, 0, &[])),
        ("a chunk beyond the vector", data(1, 3, &full)),
        ("the last possible chunk", data(u64::MAX, u32::MAX, &full)),
    ] {
        assert_eq!(counted(body, 0, 1), Counters { malformed: 1, ..none }, "{what}");
    }
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let values = [0.0, 0.0, bad, 0.0];
        assert_eq!(counted(data(1, 0, &values), 0, 1), Counters { non_finite: 1, ..none });
    }
    // Round 0 was mixed when the greeting ended; there is room for two chunks ahead.
    assert_eq!(counted(data(0, 0, &full), 0, 1), Counters { repeated: 1, ..none });
    assert_eq!(counted(data(9, 0, &full), 0, 1), Counters { early: 1, ..none });
    assert_eq!(counted(data(u64::MAX / 4, 0, &full), 0, 1), Counters { early: 1, ..none });
    assert_eq!(counted(data(1, 0, &full), 1 << 16, 1), Counters { stale: 1, ..none });
    assert_eq!(counted(data(1, 0, &full), 0, 2), Counters { foreign: 1, ..none });
    assert_eq!(counted(data(1, 0, &full), 0, HOST), Counters { foreign: 1, ..none });
    assert_eq!(counted(Body::Ack(Acks::default()), 1 << 16, 1), Counters { stale: 1, ..none });
    // A neighbour that claims to have received what was never sent.
    let lie = |next| {
        let mut acks = Acks { next, ..Acks::default() };
        acks.held.push(Held { to: 0, chunks: u32::MAX }).unwrap();
        Body::Ack(acks)
    };
    for next in [100, u64::MAX] {
        assert_eq!(counted(lie(next), 0, 1), none);
    }
}

#[test]
fn bytes_that_are_not_frames_are_counted_by_cause() {
    let (mut a, mut b) = couple();
    let state = a.fingerprint();
    let before = *a.line.counters();
    let good = encode(&Message {
        version: VERSION,
        sender: 1,
        session: 41,
        epoch: 0,
        body: data(1, 0, &[1.0; VALUES]),
    });
    let mut flipped = good.clone();
    let last = flipped.len() - 2;
    flipped[last] ^= 0x10;
    a.receive(&flipped, 5);
    a.receive(&[9, 1, 1, 0], 5);
    a.receive(&[vec![1; 2 * FRAME], vec![0]].concat(), 5);
    // A correct checksum over an unknown kind of message, and over one with trailing bytes.
    for message in [&[VERSION, 1, 41, 0, 17][..], &[VERSION, 1, 41, 0, 1, 0, 0, 0, 0]] {
        let mut out = [0; 64];
        let mut writer = wire::FrameWriter::new(&Seal::PLAIN, &mut out);
        message.iter().for_each(|&byte| writer.push(byte));
        let len = writer.finish().unwrap();
        a.receive(&out[..len], 5);
    }
    assert_eq!(a.line.receive(2, &good, 5), Err(ExchangeError::Link { link: 2, links: 2 }));
    let after = *a.line.counters();
    assert_eq!(after.corrupt - before.corrupt, 1);
    assert_eq!(after.truncated - before.truncated, 1);
    assert_eq!(after.oversize - before.oversize, 1);
    assert_eq!(after.malformed - before.malformed, 2);
    assert_eq!(after.received, before.received);
    assert_eq!(a.fingerprint(), state);
    // The line still works.
    talk(&mut a, &mut b, 3_000);
    assert_eq!(a.node.state().round, 100);
}

#[test]
fn replayed_frames_change_nothing() {
    // Every frame of a whole run, replayed in the same session and after a reboot.
    let (mut a, mut b) = (Party::new(settings(0), &[peer(1)]), Party::new(settings(1), &[peer(0)]));
    let tape = exchange_turns(&mut a, &mut b, 0..3_000);
    assert_eq!(a.node.state().round, 100);
    let end = a.fingerprint();
    a.receive(&tape, 3_000 * TURN);
    a.send(3_000 * TURN);
    assert_eq!(a.fingerprint(), end);
    let mut a = Party::new(Settings { boot: 1_000, ..settings(0) }, &[peer(1)]);
    a.send(0);
    let start = a.fingerprint();
    a.receive(&tape, 1);
    a.send(1);
    assert_eq!(a.fingerprint(), start);
}

#[test]
fn greetings_from_before_a_reboot_begin_no_epoch() {
    // Node 1 reboots; then its earlier greetings are replayed again and again.
    let (mut a, mut b) = (Party::new(settings(0), &[peer(1)]), Party::new(settings(1), &[peer(0)]));
    let tape = exchange_turns(&mut a, &mut b, 0..50);
    let mut b = Party::new(Settings { boot: 500, ..settings(1) }, &[peer(0)]);
    exchange_turns(&mut a, &mut b, 50..60);
    assert_eq!((a.standing(), b.standing()), (Standing::Met, Standing::Met));
    let epoch = a.line.epoch();
    assert_ne!(epoch, Epoch::FIRST);
    for now in (60..70).map(|turn| turn * TURN) {
        a.receive(&tape, now);
        a.send(now);
    }
    assert_eq!((a.line.epoch(), a.standing()), (epoch, Standing::Met));
}

#[test]
fn a_refusal_from_before_a_reboot_has_no_effect() {
    let (mut a, _) = couple();
    let refuse = |echo| {
        let refuse = wire::Refuse { to: 0, echo, reason: Reason::Problem };
        encode(&Message {
            version: VERSION,
            sender: 1,
            session: 41,
            epoch: 0,
            body: Body::Refuse(refuse),
        })
    };
    a.receive(&refuse(12_345), 9);
    assert_eq!(a.standing(), Standing::Met);
}

#[test]
fn requests_of_a_host_are_answered() {
    let (mut a, _) = couple();
    let mut answers = Vec::new();
    let mut ask = |a: &mut Party, tag: u32, ask: Ask| -> Option<String> {
        let request = Request { to: 0, echo: 0, tag, ask };
        let body = Body::Request(request);
        a.receive(
            &encode(&Message { version: VERSION, sender: HOST, session: 0, epoch: 0, body }),
            9,
        );
        let mut answer = None;
        messages(&a.send(9), |message| {
            if let Body::Reply(reply) = message.body {
                assert_eq!(reply.tag, tag);
                if let Answer::Values { values, .. } = reply.answer {
                    answers.extend(wire::floats(values));
                }
                answer = Some(format!("{:?}", reply.answer));
            }
        });
        answer
    };
    let status = ask(&mut a, 1, Ask::Status).unwrap();
    assert!(status.contains("session: 40") && status.contains("met: 1"), "{status}");
    assert!(ask(&mut a, 1, Ask::Counters).unwrap().contains("sent_bytes"));
    assert!(ask(&mut a, 1, Ask::Metrics).unwrap().contains("evaluations"));
    for (variable, len) in [(Variable::Outer, N), (Variable::Inner, P), (Variable::Direction, N)] {
        for offset in (0..len as u32 + 1).step_by(ROOM) {
            ask(&mut a, 2, Ask::Read { variable, offset }).unwrap();
        }
    }
    let s = a.node.state();
    assert_eq!(answers, [s.x, s.theta, s.y].concat());
}

/// Sends a request to node 0 and returns the answer, if there is one.
fn request(a: &mut Party, echo: u32, tag: u32, ask: Ask) -> Option<Answered> {
    let body = Body::Request(Request { to: 0, echo, tag, ask });
    a.receive(&encode(&Message { version: VERSION, sender: HOST, session: 0, epoch: 0, body }), 9);
    let mut answer = None;
    messages(&a.send(9), |message| {
        if let Body::Reply(reply) = message.body {
            assert_eq!(reply.tag, tag);
            answer = Some(match reply.answer {
                Answer::Done => Answered::Done,
                Answer::Cannot => Answered::Cannot,
                Answer::Status(status) => Answered::Challenge(status.challenge),
                _ => panic!("another answer"),
            });
        }
    });
    answer
}

#[derive(Debug, PartialEq)]
enum Answered {
    Done,
    Cannot,
    Challenge(u32),
}

/// The challenge of a node's status.
fn challenge(a: &mut Party) -> u32 {
    match request(a, 0, 1_000, Ask::Status) {
        Some(Answered::Challenge(challenge)) => challenge,
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_that_change_something_must_echo_the_last_status() {
    let (mut a, _) = couple();
    let first = challenge(&mut a);
    let paused = |a: &mut Party| a.line.advance(&mut a.node, 9) == Step::Paused;
    assert_eq!(request(&mut a, first ^ 1, 5, Ask::Stop), None);
    assert_eq!(request(&mut a, first, 5, Ask::Stop), Some(Answered::Done));
    // The same request is answered again; another one needs another status.
    assert_eq!(request(&mut a, first, 5, Ask::Stop), Some(Answered::Done));
    assert_eq!(request(&mut a, first, 6, Ask::Start), None);
    let second = challenge(&mut a);
    assert_eq!(request(&mut a, second, 6, Ask::Start), Some(Answered::Done));
    // A recording of the stop changes nothing.
    assert_eq!((request(&mut a, first, 5, Ask::Stop), paused(&mut a)), (None, false));
    let third = challenge(&mut a);
    assert_eq!(request(&mut a, third, 7, Ask::Checkpoint), None);
    assert!(a.line.checkpoint_asked());
    // A checkpoint requested again while it is being written is written once.
    assert_eq!(request(&mut a, third, 7, Ask::Checkpoint), None);
    a.line.checkpoint_written(false);
    assert!(!a.line.checkpoint_asked());
    assert_eq!(request(&mut a, third, 7, Ask::Checkpoint), Some(Answered::Cannot));
    assert!(!a.line.checkpoint_asked());
}

#[test]
fn a_forged_stop_does_not_block_later_starts() {
    let (mut a, mut b) = couple();
    // An attacker on the line requests the status, as anyone can, and uses the highest tag.
    let seen = challenge(&mut a);
    assert_eq!(request(&mut a, seen, u32::MAX, Ask::Stop), Some(Answered::Done));
    talk(&mut a, &mut b, 20);
    assert_eq!(a.line.advance(&mut a.node, 20), Step::Paused);
    let seen = challenge(&mut a);
    assert_eq!(request(&mut a, seen, 8, Ask::Start), Some(Answered::Done));
    talk(&mut a, &mut b, 3_000);
    assert_eq!(a.node.state().round, 100);
}

#[test]
fn a_paused_fleet_waits_and_stays_together() {
    let (mut a, mut b) = couple();
    a.line.pause(true);
    b.line.pause(true);
    talk(&mut a, &mut b, 500);
    let round = a.node.state().round;
    assert!(round < 100);
    assert_eq!(a.line.advance(&mut a.node, 500 * TURN), Step::Paused);
    // Much later they have not lost each other.
    let later = 500 + 20 * TIMING.silence / TURN;
    exchange_turns(&mut a, &mut b, 500..later);
    assert_eq!((a.standing(), a.node.state().round), (Standing::Met, round));
    a.line.pause(false);
    b.line.pause(false);
    exchange_turns(&mut a, &mut b, later..later + 3_000);
    assert_eq!((a.node.state().round, a.line.epoch()), (100, Epoch::FIRST));
}

#[test]
fn bad_settings_are_refused_by_name() {
    let new =
        |settings, peers: &[Peer]| Line::new(settings, peers, &gt(0), 0).map(|_| ()).unwrap_err();
    let good = settings(0);
    // With the feature or without: the node sends floats.
    let coded = good.identity.with_codec(Codec::new(8, Codec::USUAL_UNIT).unwrap());
    assert_eq!(new(Settings { identity: coded, ..good }, &[]), SettingsError::Codec);
    let number = Settings { node: 70_000, ..good };
    assert_eq!(new(number, &[]), SettingsError::Number { node: 70_000 });
    assert_eq!(new(good, &[peer(70_000)]), SettingsError::Number { node: 70_000 });
    assert_eq!(new(good, &[peer(0)]), SettingsError::Neighbour { node: 0 });
    assert_eq!(new(good, &[peer(4), peer(4)]), SettingsError::Neighbour { node: 4 });
    assert_eq!(new(good, &[Peer { link: 2, ..peer(1) }]), SettingsError::Link { node: 1 });
    for weight in [0.0, -0.1, f32::NAN, f32::INFINITY] {
        assert_eq!(new(good, &[Peer { weight, ..peer(1) }]), SettingsError::Weight { node: 1 });
    }
    let heavy = [Peer { weight: 0.6, ..peer(1) }, Peer { weight: 0.4, ..peer(2) }];
    assert_eq!(new(good, &heavy), SettingsError::Weights);
    let many = [1, 2, 3].map(peer);
    assert_eq!(new(good, &many), SettingsError::TooMany { room: 2 });
    for chunk in [0, 5, u32::MAX] {
        let identity = Identity { chunk, ..good.identity };
        let error = new(Settings { identity, ..good }, &[]);
        assert_eq!(error, SettingsError::Chunk { room: ROOM });
    }
    for timing in [
        Timing { retry: 0, ..TIMING },
        Timing { probe: 0, ..TIMING },
        Timing { patience: 0, ..TIMING },
        Timing { silence: 63, ..TIMING },
    ] {
        assert_eq!(new(Settings { timing, ..good }, &[]), SettingsError::Timing);
    }
    let identity = Identity { outer: 0, ..good.identity };
    assert_eq!(new(Settings { identity, ..good }, &[]), SettingsError::Chunk { room: ROOM });
}

#[test]
fn a_longest_pause_below_the_first_causes_no_flood() {
    let timing = Timing { retry_most: 0, ..TIMING };
    let hasty = |node| Settings { timing, ..settings(node) };
    let (mut a, mut b) = (Party::new(hasty(0), &[peer(1)]), Party::new(hasty(1), &[peer(0)]));
    exchange_turns(&mut a, &mut b, 0..20);
    let mut buffer = [0; Line::BUFFER];
    for now in [30 * TURN, 60 * TURN, 90 * TURN] {
        a.line.advance(&mut a.node, now);
        let mut sends = || a.line.transmit(0, &a.node, now, &mut buffer).unwrap().is_some();
        let frames = (0..100).take_while(|_| sends());
        assert!(frames.count() < 20, "it does not stop sending");
    }
}

#[test]
fn a_false_greeting_has_no_effect() {
    // Correct in everything except the echo of the challenge: it is answered, but not trusted.
    let mut a = Party::new(settings(0), &[peer(1)]);
    a.send(0);
    let own = settings(1);
    let hello = Hello {
        to: 0,
        challenge: 5,
        echo: 6,
        ask: true,
        without: true,
        resumed: false,
        mark: 7,
        start: 50,
        round: 50,
        next: 150,
        held: 0,
        window: 255,
        weight: 0.25,
        identity: own.identity,
    };
    let state = a.fingerprint();
    let body = Body::Hello(hello);
    a.receive(
        &encode(&Message { version: VERSION, sender: 1, session: 41, epoch: 5 << 16, body }),
        1,
    );
    assert_eq!(a.fingerprint(), state);
    let mut echoed = None;
    messages(&a.send(TIMING.retry), |message| {
        if let Body::Hello(hello) = message.body {
            echoed = Some(hello.echo);
        }
    });
    assert_eq!(echoed, Some(5));
}

#[test]
fn a_node_that_does_not_match_its_settings_is_refused() {
    let identity = Identity { outer: N as u32 + 1, ..settings(0).identity };
    let other = Settings { identity, ..settings(0) };
    assert_eq!(Line::new(other, &[], &gt(0), 0).unwrap_err(), SettingsError::Node);
    let mut half = gt(0);
    half.compute(&mut scratch()).unwrap();
    assert_eq!(Line::new(settings(0), &[], &half, 0).unwrap_err(), SettingsError::Node);
}

#[test]
fn an_exchange_continues_from_its_nodes_state() {
    let epoch = Epoch { number: 3 << 16, mark: 9 };
    let mut node = gt(0);
    node.restart(epoch, 40);
    let line = Line::new(settings(0), &[peer(1)], &node, 0).unwrap();
    assert_eq!(line.epoch(), epoch);
    let mut sent = [0; 512];
    let mut line = line;
    line.advance(&mut node, 0);
    let len = line.transmit(0, &node, 0, &mut sent).unwrap().unwrap();
    messages(&sent[..len], |message| {
        let Body::Hello(hello) = message.body else { panic!("not a greeting") };
        assert_eq!((hello.start, hello.mark, hello.resumed), (40, 9, true));
        assert_eq!((message.epoch, hello.next), (epoch.number, 40 * 3));
    });
}

#[test]
fn a_node_changed_outside_its_exchange_falls_silent() {
    let moves: [fn(&mut Party); 3] = [
        |a| a.node = gt(0),
        |a| a.node.restart(Epoch { number: 1 << 16, mark: 1 }, a.node.state().round),
        |a| {
            let (epoch, round) = (a.node.state().epoch, a.node.state().round);
            a.node.restart(epoch, round + 1);
        },
    ];
    for change in moves {
        let (mut a, mut b) = couple();
        talk(&mut a, &mut b, 50);
        change(&mut a);
        assert_eq!(a.line.advance(&mut a.node, 50 * TURN), Step::Mismatch);
        assert_eq!((a.send(51 * TURN), a.line.deadline()), (vec![], Micros::MAX));
        // So its neighbour continues without it.
        let later = 60 * TURN + TIMING.silence;
        b.send(later);
        assert_eq!(b.standing(), Standing::Dead);
    }
}

#[test]
fn a_node_without_neighbours_sends_nothing_and_continues() {
    let scheme = Scheme::LocalGradient;
    let identity =
        Identity::new(7, quadratic(0).dimensions(), scheme, &config(0), CHUNK as u32, 100);
    let mut node = lg(0);
    let mut line = Line::new(Settings { identity, ..settings(0) }, &[], &node, 0).unwrap();
    // Without neighbours nothing is sent, and rounds still continue.
    while line.advance(&mut node, 0) == Step::Compute {
        node.compute(&mut scratch()).unwrap();
        assert_eq!(line.transmit(0, &node, 0, &mut [0; 500]), Ok(None));
    }
    assert_eq!((node.state().round, line.deadline()), (100, Micros::MAX));
}

#[test]
fn a_wrong_link_and_a_short_buffer_are_refused_by_name_and_change_nothing() {
    let mut a = Party::new(settings(0), &[peer(1)]);
    let state = (a.fingerprint(), *a.line.counters());
    let link = ExchangeError::Link { link: 2, links: 2 };
    assert_eq!(a.line.receive(2, &[1; 9], 0), Err(link));
    let mut buffer = [0; Line::BUFFER];
    assert_eq!(a.line.transmit(2, &a.node, 0, &mut buffer), Err(link));
    let (needed, found) = (Line::BUFFER, Line::BUFFER - 1);
    let short = a.line.transmit(0, &a.node, 0, &mut buffer[..found]);
    assert_eq!(short, Err(ExchangeError::Buffer { needed, found }));
    assert_eq!((a.fingerprint(), *a.line.counters()), state);
    assert!(a.line.transmit(0, &a.node, 0, &mut buffer).unwrap().is_some());
    assert_eq!(link.to_string(), "there is no link 2: the exchange has 2, counted from 0");
}

#[test]
fn memory_grows_with_neighbours_times_chunks() {
    use std::mem::size_of;
    // A window of chunks per neighbour, a frame per link, and a little bookkeeping.
    const LARGE: usize = wire::message_len(392) + SEAL_LONGEST;
    let size = size_of::<Exchange<4, 3, 392, 4>>();
    let needed = 4 * (4 * 392 * 4) + 3 * LARGE;
    assert!(size - needed <= 4 * 200 + 3 * 80 + 500, "{}", size - needed);
}

#[cfg(feature = "encrypt")]
#[test]
fn without_the_key_nothing_changes() {
    let sealed = |node| Settings { seal: Seal::keyed([9; 32]), ..settings(node) };
    let (mut a, mut b) = (Party::new(sealed(0), &[peer(1)]), Party::new(sealed(1), &[peer(0)]));
    talk(&mut a, &mut b, 4);
    assert_eq!(a.standing(), Standing::Met);
    let state = a.fingerprint();
    for seal in [Seal::PLAIN, Seal::keyed([8; 32])] {
        for body in [data(1, 0, &[1.0; VALUES]), Body::Ack(Acks::default())] {
            let mut out = vec![0; 500];
            let message = Message { version: VERSION, sender: 1, session: 41, epoch: 0, body };
            let len = wire::encode(&message, &seal, &mut out).unwrap();
            a.receive(&out[..len], 9);
        }
    }
    assert_eq!((a.fingerprint(), a.line.counters().corrupt), (state, 4));
    let mut stranger = Party::new(settings(1), &[peer(0)]);
    let (mut a, mut other) = (Party::new(sealed(0), &[peer(1)]), Party::new(sealed(1), &[peer(0)]));
    talk(&mut a, &mut stranger, 6);
    assert_eq!((a.standing(), stranger.standing()), (Standing::Unmet, Standing::Unmet));
    talk(&mut a, &mut other, 6);
    assert_eq!(a.standing(), Standing::Met);
}

/// The answers of an exchange that does not start to some requests.
fn refusals(line: &mut Line, requests: &[(u32, Ask)]) -> Vec<(u32, u32, Trouble)> {
    let (node, mut found) = (gt(0), Vec::new());
    for (tag, &(to, ask)) in (1..).zip(requests) {
        let body = Body::Request(Request { to, echo: 0, tag, ask });
        let request = Message { version: VERSION, sender: HOST, session: 0, epoch: 0, body };
        line.receive(1, &encode(&request), 0).unwrap();
        let mut buffer = [0; Line::BUFFER];
        assert_eq!(line.transmit(0, &node, 0, &mut buffer), Ok(None), "no request came from there");
        while let Some(len) = line.transmit(1, &node, 0, &mut buffer).unwrap() {
            messages(&buffer[..len], |message| {
                let Body::Reply(reply) = message.body else { panic!("not a reply") };
                let Answer::Refused(trouble) = reply.answer else { panic!("not a refusal") };
                found.push((message.sender, reply.tag, trouble));
            });
        }
    }
    found
}

#[test]
fn a_node_that_does_not_start_answers_every_request_with_the_reason() {
    let variable = Variable::Outer;
    let asks = [
        Ask::Start,
        Ask::Stop,
        Ask::Status,
        Ask::Counters,
        Ask::Metrics,
        Ask::Read { variable, offset: 0 },
        Ask::Checkpoint,
    ];
    let trouble = Trouble::from(BlobError::Corrupt);
    assert_eq!(trouble, Trouble { cause: Cause::Corrupt, needed: 0, found: 0 });
    // It does not know its number: it answers as the node in the request.
    let mut line = Line::vacant();
    line.decline(None, trouble);
    let requests: Vec<_> = (5..).zip(asks).collect();
    let want: Vec<_> = (5..12).zip(1..).map(|(node, tag)| (node, tag, trouble)).collect();
    assert_eq!(refusals(&mut line, &requests), want);
    // It knows its number: it answers for itself only.
    line.decline(Some(7), trouble);
    assert_eq!(refusals(&mut line, &requests), [(7, 3, trouble)]);
    // A node that starts after all no longer reports trouble.
    let node = gt(0);
    line.start(settings(0), &[peer(1)], &node, 0).unwrap();
    let mut party = Party { node, line };
    let mut other = Party::new(settings(1), &[peer(0)]);
    talk(&mut party, &mut other, 4);
    assert_eq!(party.standing(), Standing::Met);
}

#[test]
fn troubles_say_how_much_is_missing() {
    let room = |name, needed, room| Trouble::from(BlobError::Capacity { name, needed, room });
    for (name, cause, text) in [
        (
            "floats of memory",
            Cause::Floats,
            "its blob needs 9 floats of memory, its image has 8: \
             use a smaller problem, or a board with more RAM",
        ),
        (
            "neighbours",
            Cause::Neighbours,
            "its blob has 9 neighbours, its image has room for 8: \
             use a topology with fewer neighbours",
        ),
        (
            "links",
            Cause::Links,
            "its blob needs 9 links, its board has 8: \
             use a topology with fewer neighbours, or route frames through the host",
        ),
        (
            "floats per chunk",
            Cause::Chunk,
            "its blob's chunks have 9 floats, its image has room for 8: use smaller chunks",
        ),
    ] {
        let trouble = room(name, 9, 8);
        assert_eq!(trouble, Trouble { cause, needed: 9, found: 8 });
        assert_eq!(trouble.to_string(), text);
    }
    assert_eq!(Trouble::from(SettingsError::Weights).cause, Cause::Settings);
    assert_eq!(Trouble::from(SettingsError::Codec).cause, Cause::Codec);
    assert_eq!(Trouble::from(SettingsError::TooMany { room: 4 }).cause, Cause::Neighbours);
}
