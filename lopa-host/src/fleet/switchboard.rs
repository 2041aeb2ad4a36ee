//! The host in between: it forwards frames between nodes, damages them on request, and takes replies out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};

use lopa_core::exchange::Micros;
use lopa_core::wire::{self, Answer, Body, FrameReader, HOST, Message, Reply, Seal};

use super::client::{Client, Heard};
use super::line::{LONGEST, Line};
use super::port::Stream;
use crate::locked::locked;
use crate::network::{Faults, FaultyLine, LineHealth};

/// One end of a line, as the host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// A node's link 0.
    Host(u32),
    /// A node's line to a neighbour, which the host stands in the middle of.
    Wire(u32, u32),
}

/// What the host did with frames between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Frames that came from nodes, once for each receiver.
    pub frames: u64,
    /// Frames lost or damaged on purpose.
    pub spoiled: u64,
    /// Frames dropped because a line was full, or damaged before they came here.
    pub dropped: u64,
}

/// What carries frames to nodes that are not on this host.
///
/// It need not be reliable, nor keep an order: nodes repair what it does to frames.
pub trait Uplink: Send + Sync + fmt::Debug {
    /// Sends a frame of a node: to all its neighbours, or to one.
    fn send(&self, from: u32, to: Option<u32>, frame: &[u8]);
}

/// Nodes that are not on this host, and the way to them.
#[derive(Debug)]
struct Away {
    /// The nodes that are on this host.
    here: Vec<u32>,
    uplink: Box<dyn Uplink>,
}

#[derive(Debug)]
struct Shared {
    /// The nodes that receive a node's frames through the host; none where nodes have lines of their own.
    routes: Vec<Vec<u32>>,
    outboxes: Mutex<BTreeMap<End, SyncSender<Vec<u8>>>>,
    /// Every direction between two neighbours.
    ways: Mutex<BTreeMap<(u32, u32), FaultyLine>>,
    faults: Faults,
    seed: u64,
    /// How frames are sealed; nothing if this host does not know their key.
    seal: Option<Seal>,
    /// Set once, if there are nodes elsewhere.
    away: OnceLock<Away>,
    passed: Mutex<Passed>,
    /// Frames between nodes as they came, while they are recorded.
    recording: Mutex<Option<Vec<Recorded>>>,
}

/// A frame from one node to another, as an eavesdropper on the line receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Who sent it.
    pub from: u32,
    /// The nodes it was for.
    pub to: u32,
    /// Its bytes, the final zero among them.
    pub frame: Vec<u8>,
}

/// The host's end of all lines.
#[derive(Debug)]
pub struct Switchboard {
    shared: Arc<Shared>,
    lines: BTreeMap<End, Line>,
}

/// Where frames from elsewhere enter.
#[derive(Debug, Clone)]
pub struct Entrance(Arc<Shared>);

impl Entrance {
    /// Passes a frame of a node elsewhere on to its neighbours here, or to one of them.
    pub fn receive(&self, from: u32, to: Option<u32>, frame: &[u8]) {
        let here = |node: &u32| self.0.away.get().is_some_and(|away| away.here.contains(node));
        // A node that is here sends nothing from elsewhere: that is an echo, or someone else with its number.
        if here(&from) {
            return;
        }
        for neighbour in self.0.neighbours(from, to).filter(here) {
            self.0.pass(from, neighbour, End::Host(neighbour), frame);
        }
    }
}

impl Switchboard {
    /// Without lines. `routes` lists the nodes that receive each node's frames through the host; `faults` happen to what passes
    /// between nodes, never to what a host asks and nodes reply. Nodes that have a key are understood with the same
    /// `seal` only; without one, everything is passed on to all neighbours, of which only those it is for listen.
    #[must_use]
    pub fn new(
        routes: Vec<Vec<u32>>,
        faults: Faults,
        seed: u64,
        seal: impl Into<Option<Seal>>,
    ) -> Self {
        let shared = Shared {
            routes,
            outboxes: Mutex::default(),
            ways: Mutex::default(),
            faults,
            seed,
            seal: seal.into(),
            away: OnceLock::new(),
            passed: Mutex::default(),
            recording: Mutex::default(),
        };
        Self { shared: Arc::new(shared), lines: BTreeMap::new() }
    }

    /// Where frames of nodes elsewhere enter, for the other end of [`Switchboard::join`].
    #[must_use]
    pub fn entrance(&self) -> Entrance {
        Entrance(Arc::clone(&self.shared))
    }

    /// Joins nodes elsewhere: all but those `here`. Only the first call has an effect.
    pub fn join(&self, here: Vec<u32>, uplink: Box<dyn Uplink>) {
        let _ = self.shared.away.set(Away { here, uplink });
    }

    /// An eavesdropper on the lines between nodes, who records and replays; what passes is recorded from now on.
    #[must_use]
    pub fn eavesdropper(&self) -> Eavesdropper {
        *locked(&self.shared.recording) = Some(Vec::new());
        Eavesdropper(Arc::clone(&self.shared))
    }

    /// Takes up the line to a node's link 0.
    pub fn attach(&mut self, node: u32, stream: Stream) -> Client {
        let (replies, heard) = mpsc::channel();
        let shared = Arc::clone(&self.shared);
        let route = move |frame: &[u8]| shared.route(node, frame, &replies);
        let seal = self.shared.seal.unwrap_or(Seal::PLAIN);
        let line = self.serve(End::Host(node), Line::carry(stream, route));
        Client::new(node, line.outbox().clone(), heard, Arc::clone(line.closed()), seal)
    }

    /// Takes up a node's end of a line to a neighbour.
    pub fn attach_wire(&mut self, node: u32, neighbour: u32, stream: Stream) {
        let shared = Arc::clone(&self.shared);
        let pass = move |frame: &[u8]| {
            shared.pass(node, neighbour, End::Wire(neighbour, node), frame);
        };
        self.serve(End::Wire(node, neighbour), Line::carry(stream, pass));
    }

    /// Lets go of all lines of a node.
    pub fn detach(&mut self, node: u32) {
        self.hang_up(|end| matches!(end, End::Host(n) | End::Wire(n, _) if *n == node));
    }

    /// Cuts both directions between two neighbours, or repairs them.
    pub fn cut(&self, a: u32, b: u32, cut: bool) {
        let always = cut.then_some(0..Micros::MAX).into_iter().collect();
        let faults = Faults { cut: always, ..self.shared.faults.clone() };
        let mut ways = locked(&self.shared.ways);
        for (from, to) in [(a, b), (b, a)] {
            self.shared.way(&mut ways, from, to).set_faults(faults.clone());
        }
    }

    /// What was done with frames so far.
    #[must_use]
    pub fn passed(&self) -> Passed {
        *locked(&self.shared.passed)
    }

    /// How the lines between nodes are doing, as far as the host is in between.
    #[must_use]
    pub fn lines(&self) -> Vec<LineHealth> {
        let ways = locked(&self.shared.ways);
        ways.iter().map(|((from, to), way)| way.health(*from, *to)).collect()
    }

    fn hang_up(&mut self, which: impl Fn(&End) -> bool) {
        locked(&self.shared.outboxes).retain(|end, _| !which(end));
        let lines = std::mem::take(&mut self.lines);
        let (gone, kept): (BTreeMap<_, _>, _) = lines.into_iter().partition(|(end, _)| which(end));
        self.lines = kept;
        // First all, then wait: each needs a moment to notice.
        gone.values().for_each(|line| line.closed().store(true, Ordering::Relaxed));
    }

    /// Takes up a line, instead of one that was there.
    fn serve(&mut self, end: End, line: Line) -> &Line {
        self.hang_up(|other| *other == end);
        locked(&self.shared.outboxes).insert(end, line.outbox().clone());
        self.lines.entry(end).or_insert(line)
    }
}

/// An attacker with access to the lines between nodes, where the host is in between: for tests of what they can do.
#[derive(Debug)]
pub struct Eavesdropper(Arc<Shared>);

impl Eavesdropper {
    /// What has passed since the last call.
    #[must_use]
    pub fn recorded(&self) -> Vec<Recorded> {
        locked(&self.0.recording).as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Plays a frame to the node it is for, on its line from the other. Tells whether the line took it.
    #[must_use]
    pub fn play(&self, recorded: &Recorded) -> bool {
        let outboxes = locked(&self.0.outboxes);
        let own = outboxes.get(&End::Wire(recorded.to, recorded.from));
        let line = own.or_else(|| outboxes.get(&End::Host(recorded.to)));
        line.is_some_and(|line| line.try_send(recorded.frame.clone()).is_ok())
    }
}

impl Drop for Eavesdropper {
    fn drop(&mut self) {
        *locked(&self.0.recording) = None;
    }
}

impl Drop for Switchboard {
    fn drop(&mut self) {
        self.hang_up(|_| true);
    }
}

impl Shared {
    fn way<'w>(
        &self,
        ways: &'w mut BTreeMap<(u32, u32), FaultyLine>,
        from: u32,
        to: u32,
    ) -> &'w mut FaultyLine {
        ways.entry((from, to)).or_insert_with(|| {
            // A number of its own for each direction, the same in every run.
            let number = from.wrapping_mul(0x1_0000).wrapping_add(to);
            FaultyLine::new(self.faults.clone(), self.seed, number)
        })
    }

    /// Passes a frame on to one neighbour, through whatever its way does to it.
    fn pass(&self, from: u32, to: u32, end: End, frame: &[u8]) {
        if let Some(recording) = &mut *locked(&self.recording) {
            recording.push(Recorded { from, to, frame: frame.to_vec() });
        }
        let arrived: Vec<Vec<u8>> = {
            let mut ways = locked(&self.ways);
            let way = self.way(&mut ways, from, to);
            way.send(frame, 0);
            std::iter::from_fn(|| way.receive(Micros::MAX)).collect()
        };
        let spoiled = arrived.len() != 1 || arrived[0] != frame;
        let outbox = locked(&self.outboxes).get(&end).cloned();
        let lost = |bytes| outbox.as_ref().is_none_or(|outbox| outbox.try_send(bytes).is_err());
        let dropped = arrived.into_iter().map(lost).filter(|lost| *lost).count();
        let mut passed = locked(&self.passed);
        passed.frames += 1;
        passed.spoiled += u64::from(spoiled);
        passed.dropped += dropped as u64;
    }

    /// A node's neighbours that receive its frames through the host: all, or one.
    fn neighbours(&self, node: u32, to: Option<u32>) -> impl Iterator<Item = u32> {
        let all = self.routes.get(node as usize).into_iter().flatten().copied();
        all.filter(move |neighbour| to.is_none_or(|to| to == *neighbour))
    }

    /// What came on a node's link 0: a reply is for the host, all else for neighbours.
    fn route(&self, node: u32, frame: &[u8], replies: &mpsc::Sender<Heard>) {
        let Some(seal) = self.seal else { return self.forward(node, None, frame) };
        let sealed = opened(frame, seal);
        // Without its key a node can say one thing: why it does not start.
        let plain = || opened(frame, Seal::PLAIN).filter(|_| seal.is_keyed());
        let bytes = sealed.or_else(|| plain().filter(|bytes| declines(bytes)));
        let message = bytes.as_deref().map(wire::decode);
        let Some(Ok(Message { sender, epoch, body, .. })) = message else {
            // Damaged on its way here, of a node with another key, or garbage of a board that boots.
            locked(&self.passed).dropped += 1;
            return;
        };
        let to = match body {
            Body::Reply(reply) => {
                // If the receiver is gone, the reply does not matter.
                let _ = replies.send(Heard::new(sender, epoch, &reply));
                return;
            }
            Body::Data(_) | Body::Ack(_) => None,
            Body::Hello(hello) => Some(hello.to),
            Body::Refuse(refuse) => Some(refuse.to),
            Body::Request(_) => Some(HOST),
        };
        self.forward(node, to, frame);
    }

    /// Passes a frame of a node on to its neighbours, here and elsewhere.
    fn forward(&self, node: u32, to: Option<u32>, frame: &[u8]) {
        let away = self.away.get();
        let elsewhere = |neighbour: &u32| away.is_some_and(|away| !away.here.contains(neighbour));
        for neighbour in self.neighbours(node, to).filter(|neighbour| !elsewhere(neighbour)) {
            self.pass(node, neighbour, End::Host(neighbour), frame);
        }
        if let Some(Away { uplink, .. }) = away
            && self.neighbours(node, to).any(|neighbour| elsewhere(&neighbour))
        {
            uplink.send(node, to, frame);
            locked(&self.passed).frames += 1;
        }
    }
}

/// The message in a frame.
fn opened(frame: &[u8], seal: Seal) -> Option<Vec<u8>> {
    let mut reader = FrameReader::<LONGEST>::new(seal);
    frame.iter().filter_map(|&byte| Some(reader.push(byte)?.ok()?.to_vec())).last()
}

/// Whether a message says that a node does not start.
fn declines(message: &[u8]) -> bool {
    matches!(
        wire::decode(message),
        Ok(Message { body: Body::Reply(Reply { answer: Answer::Refused(_), .. }), .. })
    )
}
