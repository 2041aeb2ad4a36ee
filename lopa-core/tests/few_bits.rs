//! An exchange whose node's vectors travel in few bits: what is on the line, what is refused, and when it stops.

use std::ops::Range;

use crate::common::{N, P, config, gt, quadratic, scratch};
use lopa_core::codec::{Bits, Block, Codec, CodedGtNode, CodedNeighbour, Share};
use lopa_core::exchange::{
    Exchange, Learner, Micros, Peer, Settings, SettingsError, Standing, Step, Timing,
};
use lopa_core::node::{NodeError, Variable};
use lopa_core::problems::Quadratic;
use lopa_core::wire::{
    self, Acks, Body, Data, FrameReader, Message, Reason, SEAL_LONGEST, Seal, VERSION,
};

/// A chunk is the whole vector, and y.
const VALUES: usize = 2 * N;
const FRAME: usize = wire::message_len(VALUES) + SEAL_LONGEST;
const TIMING: Timing = Timing::uart(1_000_000, FRAME, 2, 1_000);
const TURN: Micros = TIMING.retry / 8;
type Line = Exchange<2, 2, VALUES>;
type Tested = CodedGtNode<Quadratic<'static>, N, P>;

fn node(id: u32, bits: u32, unit: i8) -> Tested {
    node_at(id, bits, unit, [0.5; N])
}

fn node_at(id: u32, bits: u32, unit: i8, x0: [f32; N]) -> Tested {
    let codec = Codec::new(bits, unit).unwrap();
    Tested::gradient_tracking(quadratic(id), config(id), x0, codec).unwrap()
}

fn peer(node: u32) -> Peer {
    Peer { node, link: 0, weight: 0.25 }
}

struct Party {
    node: Tested,
    line: Line,
    step: Step,
}

impl Party {
    fn new(node: Tested, peers: &[Peer]) -> Self {
        let id = node.node().config().sampler.draws.node;
        let settings = Settings { boot: 40 + id, ..Settings::coded(&node, 60, N as u32, TIMING) };
        Self { line: Line::new(settings, peers, &node, 0).unwrap(), node, step: Step::Wait }
    }

    /// Advances as far as it can, and returns what it sends.
    fn send(&mut self, now: Micros) -> Vec<u8> {
        self.send_on(0, now)
    }

    fn send_on(&mut self, link: usize, now: Micros) -> Vec<u8> {
        self.step = self.line.advance(&mut self.node, now);
        while self.step == Step::Compute {
            self.node.compute(&mut scratch()).unwrap();
            self.step = self.line.advance(&mut self.node, now);
        }
        let (mut sent, mut buffer) = (Vec::new(), [0; Line::BUFFER]);
        while let Some(len) = self.line.transmit(link, &self.node, now, &mut buffer).unwrap() {
            sent.extend(&buffer[..len]);
        }
        sent
    }

    fn standing(&self) -> Standing {
        self.line.standings().next().unwrap().1
    }

    fn bits(&self) -> Vec<u32> {
        let s = self.node.state();
        [s.x, s.theta, s.v, s.z, s.y].concat().iter().map(|a| a.to_bits()).collect()
    }
}

/// Two parties take turns; returns what `b` sent.
fn talk(a: &mut Party, b: &mut Party, turns: Micros) -> Vec<u8> {
    talk_from(a, b, 0..turns)
}

/// The same in some of the turns.
fn talk_from(a: &mut Party, b: &mut Party, turns: Range<Micros>) -> Vec<u8> {
    let mut tape = Vec::new();
    for now in turns.map(|turn| turn * TURN) {
        let (from_a, from_b) = (a.send(now), b.send(now));
        a.line.receive(0, &from_b, now).unwrap();
        b.line.receive(0, &from_a, now).unwrap();
        tape.extend(from_b);
    }
    tape
}

/// The round and the values of every data message.
fn data(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = FrameReader::<FRAME>::new(Seal::PLAIN);
    let mut found = Vec::new();
    for &byte in bytes {
        let Some(frame) = reader.push(byte) else { continue };
        if let Body::Data(data) = wire::decode(frame.unwrap()).unwrap().body {
            found.push((data.round, data.values.to_vec()));
        }
    }
    found
}

/// A frame of node 1 with these values of a round.
fn frame(round: u64, values: &[u8]) -> Vec<u8> {
    let data = Data { round, chunk: 0, acks: Acks::default(), values };
    let message =
        Message { version: VERSION, sender: 1, session: 41, epoch: 0, body: Body::Data(data) };
    let mut frame = [0; 2 * FRAME];
    let mut bytes = [0; 2 * FRAME];
    let bytes = postcard::to_slice(&message, &mut bytes).unwrap();
    let mut writer = wire::FrameWriter::new(&Seal::PLAIN, &mut frame);
    bytes.iter().for_each(|&byte| writer.push(byte));
    let len = writer.finish().unwrap();
    frame[..len].to_vec()
}

/// Two nodes in-process.
fn in_process(nodes: &mut [Tested; 2], rounds: u64) {
    let share = Share::of(0.25).unwrap();
    for _ in 0..rounds {
        let mut sent = [([0; N], [0; N]); 2];
        for (node, (x, y)) in nodes.iter_mut().zip(&mut sent) {
            node.compute(&mut scratch()).unwrap();
            node.changes(x, y);
        }
        for (node, (x, y)) in nodes.iter_mut().zip(sent.iter().rev()) {
            node.mix_with([CodedNeighbour { share, x, y }]).unwrap();
        }
    }
}

#[test]
fn an_epoch_begins_with_floats_and_goes_on_with_blocks() {
    for (bits, block) in [(8, 6), (4, 4), (3, 3)] {
        let mut nodes = [node(0, bits, -22), node(1, bits, -22)];
        let [mut a, mut b] = [0, 1].map(|id| Party::new(node(id, bits, -22), &[peer(1 - id)]));
        let tape = data(&talk(&mut a, &mut b, 400));
        assert_eq!((a.step, b.step), (Step::Finished, Step::Finished));
        assert_eq!(tape.len(), 60);
        for (round, values) in tape {
            match round {
                0 => assert_eq!(values.len(), 4 * VALUES),
                _ => assert!([2 * block, block + 1, 0].contains(&values.len()), "{values:?}"),
            }
        }
        in_process(&mut nodes, 60);
        for (party, node) in [&a, &b].into_iter().zip(nodes) {
            assert_eq!(party.node.ledgers(), node.ledgers());
            assert_eq!(party.bits(), Party::new(node.clone(), &[]).bits());
            assert_eq!(party.line.counters().malformed, 0);
        }
    }
}

/// On the path b - a - c, b completes the first round when a has its chunk, while a still waits for c.
#[test]
fn blocks_of_the_second_round_are_read_by_a_node_in_the_first() {
    let of = |id, peers: &[Peer]| Party::new(node(id, 4, -22), peers);
    let [mut a, mut b, mut c] =
        [of(0, &[peer(1), Peer { link: 1, ..peer(2) }]), of(1, &[peer(0)]), of(2, &[peer(0)])];
    let (mut held, mut ahead) = (Vec::new(), 0);
    for now in (0..600).map(|turn| turn * TURN) {
        let (to_b, to_c) = (a.send_on(0, now), a.send_on(1, now));
        let (from_b, from_c) = (b.send(now), c.send(now));
        b.line.receive(0, &to_b, now).unwrap();
        c.line.receive(0, &to_c, now).unwrap();
        a.line.receive(0, &from_b, now).unwrap();
        ahead += data(&from_b).iter().filter(|(round, _)| *round > a.node.state().round).count();
        // The chunks of c are late at first; greetings are not.
        held.extend(from_c);
        if ahead > 0 || data(&held).is_empty() {
            a.line.receive(1, &std::mem::take(&mut held), now).unwrap();
        }
    }
    assert!(ahead > 0, "b was never ahead");
    assert_eq!([&a, &b, &c].map(|party| party.step), [Step::Finished; 3]);
    assert_eq!([&a, &b, &c].map(|party| party.line.counters().malformed), [0; 3]);
    let mut nodes = [0, 1, 2].map(|id| node(id, 4, -22));
    let share = Share::of(0.25).unwrap();
    for _ in 0..60 {
        let sent = nodes.each_mut().map(|node| {
            let (mut x, mut y) = ([0; N], [0; N]);
            node.compute(&mut scratch()).unwrap();
            node.changes(&mut x, &mut y);
            (x, y)
        });
        let from = |number: usize| CodedNeighbour { share, x: &sent[number].0, y: &sent[number].1 };
        nodes[0].mix_with([from(1), from(2)]).unwrap();
        nodes[1].mix_with([from(0)]).unwrap();
        nodes[2].mix_with([from(0)]).unwrap();
    }
    for (party, node) in [&a, &b, &c].into_iter().zip(&nodes) {
        assert_eq!((party.node.ledgers(), party.node.state().x), (node.ledgers(), node.state().x));
    }
}

#[test]
fn a_chunk_without_changes_has_no_values() {
    // So coarse that values are zero on the grid, and stay there.
    let [mut a, mut b] = [0, 1].map(|id| Party::new(node(id, 4, 10), &[peer(1 - id)]));
    let tape = data(&talk(&mut a, &mut b, 400));
    assert_eq!(b.step, Step::Finished);
    assert!(tape.len() == 60 && tape.iter().all(|(_, values)| values.is_empty()));
}

#[test]
fn an_epoch_that_begins_with_zeros_sends_no_floats() {
    let unit = Codec::new(8, -22).unwrap().outer().unit();
    let with_last = |last: f32| {
        let mut x0 = [0.0; N];
        x0[N - 1] = last;
        x0
    };
    for (bits, x0, floats) in [
        (8, [0.0; N], false),
        (4, [-0.0; N], false),
        (3, with_last(0.49 * unit), false),
        (3, with_last(-0.5 * unit), true),
        (8, with_last(unit), true),
        (4, with_last(-1.0), true),
    ] {
        // Only b begins there, and a with zeros: either way its neighbour knows what it knows in-process.
        let start = |id| node_at(id, bits, -22, if id == 1 { x0 } else { [0.0; N] });
        let mut nodes = [start(0), start(1)];
        let [mut a, mut b] = [0, 1].map(|id| Party::new(start(id), &[peer(1 - id)]));
        let tape = data(&talk(&mut a, &mut b, 400));
        assert_eq!((a.step, b.step), (Step::Finished, Step::Finished));
        assert_eq!(tape.len(), 60);
        let (round, values) = &tape[0];
        assert_eq!((*round, values.len()), (0, if floats { 4 * VALUES } else { 0 }), "{x0:?}");
        assert!(tape[1..].iter().any(|(_, values)| !values.is_empty()));
        in_process(&mut nodes, 60);
        for (party, node) in [&a, &b].into_iter().zip(nodes) {
            assert_eq!(party.node.ledgers(), node.ledgers());
            assert_eq!(party.bits(), Party::new(node.clone(), &[]).bits());
            assert_eq!(party.line.counters().malformed, 0);
        }
    }
}

#[test]
fn floats_of_a_wrong_length_are_malformed_and_none_are_zeros() {
    let start = |id| node_at(id, 8, -22, [if id == 1 { 0.0 } else { 0.5 }; N]);
    let [mut a, mut b] = [0, 1].map(|id| Party::new(start(id), &[peer(1 - id)]));
    // Until both have met; what b sends of the first round is lost.
    let mut turn = 0;
    loop {
        let (from_a, from_b) = (a.send(turn * TURN), b.send(turn * TURN));
        b.line.receive(0, &from_a, turn * TURN).unwrap();
        if !data(&from_b).is_empty() {
            break;
        }
        a.line.receive(0, &from_b, turn * TURN).unwrap();
        turn += 1;
        assert!(turn < 20, "they do not meet");
    }
    assert_eq!((a.standing(), a.node.state().round), (Standing::Met, 0));
    let before = *a.line.counters();
    for len in [1, 3, 4, VALUES, 4 * N, 4 * VALUES - 4, 4 * VALUES - 1, 4 * VALUES + 1] {
        a.line.receive(0, &frame(0, &vec![0; len]), turn * TURN).unwrap();
    }
    assert_eq!(a.line.counters().malformed, before.malformed + 8);
    assert_eq!(a.line.counters().repeated, before.repeated);
    a.line.receive(0, &frame(0, &[]), turn * TURN).unwrap();
    assert_eq!(a.line.counters().malformed, before.malformed + 8);
    // It is taken for the chunk: the same one again is a repetition.
    a.line.receive(0, &frame(0, &[]), turn * TURN).unwrap();
    assert_eq!(a.line.counters().repeated, before.repeated + 1);
    talk_from(&mut a, &mut b, turn..turn + 400);
    let mut nodes = [start(0), start(1)];
    in_process(&mut nodes, 60);
    assert_eq!((a.step, a.node.ledgers()), (Step::Finished, nodes[0].ledgers()));
}

#[test]
fn neighbours_with_other_codecs_refuse_each_other() {
    for (bits, unit) in [(4, -22), (8, -21)] {
        let (mut a, mut b) =
            (Party::new(node(0, 8, -22), &[peer(1)]), Party::new(node(1, bits, unit), &[peer(0)]));
        talk(&mut a, &mut b, 6);
        let refused = Standing::Refused(Reason::Codec);
        assert_eq!((a.standing(), b.standing()), (refused, refused));
    }
}

#[test]
fn settings_that_do_not_fit_the_codec_are_refused() {
    let coded = node(0, 8, -22);
    let good = Settings::coded(&coded, 60, N as u32, TIMING);
    let new = |settings, peers: &[Peer]| Line::new(settings, peers, &coded, 0).map(|_| ());
    assert_eq!(new(good, &[peer(1)]), Ok(()));
    let third = Peer { weight: 1.0 / 3.0, ..peer(1) };
    assert_eq!(new(good, &[third]), Err(SettingsError::Share { node: 1 }));
    let mut short = good;
    short.identity.chunk = 4;
    assert_eq!(new(short, &[]), Err(SettingsError::Blocks));
    let floats = Settings::of(coded.node(), 60, N as u32, TIMING);
    assert_eq!(new(floats, &[]), Err(SettingsError::Codec));
    let other = Settings::coded(&node(0, 4, -22), 60, N as u32, TIMING);
    assert_eq!(new(other, &[]), Err(SettingsError::Codec));
    // The other way round: settings for a codec, but a node with floats.
    assert_eq!(Line::new(good, &[], &gt(0), 0).map(|_| ()), Err(SettingsError::Codec));
    for error in [SettingsError::Codec, SettingsError::Blocks, SettingsError::Share { node: 3 }] {
        assert!(error.to_string().contains("codec"), "{error}");
    }
}

#[test]
fn blocks_that_no_node_sends_are_malformed_and_change_nothing() {
    let [mut a, mut b] = [0, 1].map(|id| Party::new(node(id, 8, -22), &[peer(1 - id)]));
    talk(&mut a, &mut b, 20);
    let round = a.node.state().round;
    assert!(round > 2 && a.standing() == Standing::Met);
    let (now, before) = (20 * TURN, a.line.counters().malformed);
    for values in [
        &[30, 1, 1, 1, 1, 1, 31][..],
        &[31],
        &[31, 31, 31],
        &[0, 1, 1, 1, 1, 31],
        &[0, 0x80, 1, 1, 1, 1, 31],
        &[0; 4 * VALUES],
    ] {
        a.line.receive(0, &frame(round, values), now).unwrap();
    }
    assert_eq!(a.line.counters().malformed, before + 6);
    // It goes on as if nothing had happened.
    let mut nodes = [node(0, 8, -22), node(1, 8, -22)];
    talk_from(&mut a, &mut b, 20..400);
    in_process(&mut nodes, 60);
    assert_eq!(a.node.ledgers(), nodes[0].ledgers());
}

#[test]
fn a_node_that_leaves_the_range_stops_and_sends_nothing_more() {
    // The range of x is a 128th of the usual one, -1 to 1: x is 0.5 at first, and moves beyond.
    let [mut a, mut b] = [0, 1].map(|id| Party::new(node(id, 8, -29), &[peer(1 - id)]));
    let tape = data(&talk(&mut a, &mut b, 400));
    let stopped = |party: &Party| matches!(party.step, Step::Diverged(_));
    assert!(stopped(&a) || stopped(&b), "{:?} {:?}", a.step, b.step);
    let party = if stopped(&a) { &mut a } else { &mut b };
    let error = party.node.compute(&mut scratch()).unwrap_err();
    assert!(matches!(error, NodeError::Range(_)), "{error}");
    let NodeError::Range(divergence) = error else { return };
    assert!(matches!(divergence.variable, Variable::Outer | Variable::Direction));
    assert!(party.send(1_000 * TURN).is_empty());
    let grid = party.node.codec().outer();
    for (round, values) in tape {
        // What was sent was in range.
        if round == 0 {
            assert!(wire::floats(&values).take(N).all(|x| grid.holds(x)));
        } else if !values.is_empty() {
            assert!(Block::read(Bits::Eight, N, &values).is_some());
        }
    }
}

#[test]
fn a_node_changed_between_two_advances_takes_no_further_part() {
    let [mut a, mut b] = [0, 1].map(|id| Party::new(node(id, 8, -22), &[peer(1 - id)]));
    talk(&mut a, &mut b, 20);
    // The same epoch and round, but it opens an epoch again.
    let (epoch, round) = (a.node.state().epoch, a.node.state().round);
    a.node.restart(epoch, round);
    assert!(Learner::outgoing(&a.node).unwrap().is_opening());
    a.send(20 * TURN);
    assert_eq!(a.step, Step::Mismatch);
}
