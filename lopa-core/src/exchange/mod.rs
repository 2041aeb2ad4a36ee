//! Rounds over links that drop, corrupt, repeat and delay.
//!
//! A state machine without I/O: bytes in per link, bytes out per link, time as an argument, the next deadline
//! as an answer. It never blocks, allocates or reads a clock, so the simulator, the emulator and a board run
//! the same code:
//!
//! ```text
//! loop {
//!     exchange.receive(link, bytes, now);                       // whatever came
//!     match exchange.advance(&mut node, now) {
//!         Step::Compute => node.compute(&mut scratch)?,         // then advance again
//!         Step::Wait | Step::Paused | Step::Finished => {}
//!         Step::Diverged(divergence) => …
//!     }
//!     while let Some(len) = exchange.transmit(link, &node, now, &mut buffer) { … }
//!     sleep until bytes come or exchange.deadline()
//! }
//! ```
//!
//! # How a round goes
//!
//! A vector travels in chunks, counted through all rounds. A node mixes chunk c when every neighbour's chunk c has
//! come and every neighbour holds its own; then it may overwrite its own. Neighbours are added in order of their
//! numbers, so the sum has one order whatever the timing: **the links decide when, never what**. A neighbour can
//! be one round ahead, never two.
//!
//! Acknowledgements ride on data where they can. A chunk that is not acknowledged in time is sent again, with
//! growing pauses; one that is missing in the middle is sent again at once.
//!
//! # Who takes part
//!
//! Neighbours greet each other at the start of every *epoch* and compare what the network must agree on; what
//! differs is refused with a reason both ends report. A neighbour silent for a set time is dead: the node that
//! notices begins a new epoch in which rounds go on without that neighbour (its term is left out, which folds the
//! weight into the node's own), gradient tracking starts anew with y = z, and the news spreads through the
//! greetings. A node that comes back, rebooted or across a mended link, begins another epoch. Of epochs begun at
//! the same time the highest wins.

mod greeting;
mod neighbour;
mod settings;

pub use neighbour::Standing;
pub use settings::{Micros, Peer, Settings, SettingsError, Timing};

use neighbour::{Neighbour, bit};

use crate::node::{Divergence, Node, NodeError, Phase, Scheme, State, Variable};
use crate::oracles::Evaluations;
use crate::problem::Problem;
use crate::vector::{Storage, add_gap};
use crate::wire::{
    self, Ack, Acks, Answer, Ask, Body, Counters, Data, Floats, FrameError, FrameReader, HOST,
    Message, MessageError, Metrics, Reason, Reply, Status, VERSION,
};

/// What an exchange needs of a node.
pub trait Learner {
    /// Its variables.
    fn state(&self) -> State<'_>;
    /// Where it stands in its round.
    fn phase(&self) -> Phase;
    /// See [`Node::mix`].
    ///
    /// # Errors
    /// See [`Node::mix`].
    fn mix(&mut self, x_gap: &[f32], y_gap: &[f32]) -> Result<(), NodeError>;
    /// See [`Node::restart`].
    fn restart(&mut self, epoch: u64, round: u64);
    /// How often each oracle was asked.
    fn evaluations(&self) -> Evaluations;
}

impl<P: Problem, X: Storage, T: Storage, D: Storage> Learner for Node<P, X, T, D> {
    fn state(&self) -> State<'_> {
        self.state()
    }
    fn phase(&self) -> Phase {
        self.phase()
    }
    fn mix(&mut self, x_gap: &[f32], y_gap: &[f32]) -> Result<(), NodeError> {
        self.mix(x_gap, y_gap)
    }
    fn restart(&mut self, epoch: u64, round: u64) {
        self.restart(epoch, round);
    }
    fn evaluations(&self) -> Evaluations {
        self.evaluations()
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Step {
    /// Compute the node's half of the next round, then advance again.
    Compute,
    /// Nothing, until bytes come or the deadline passes.
    Wait,
    /// A host said stop. Go on as with `Wait`.
    Paused,
    /// All rounds are done. Go on as with `Wait`: neighbours may still need answers.
    Finished,
    /// The node diverged and is out.
    Diverged(Divergence),
}

/// The exchange of one node: up to `NEIGHBOURS` neighbours on `LINKS` links, `WINDOW` chunks of `VALUES` floats
/// held of each neighbour, messages of up to `FRAME` bytes.
///
/// `FRAME` must be at least [`Exchange::FRAME_NEEDED`]; the compiler checks it.
#[derive(Debug, Clone)]
pub struct Exchange<
    const NEIGHBOURS: usize,
    const LINKS: usize,
    const WINDOW: usize,
    const VALUES: usize,
    const FRAME: usize,
> {
    readers: [FrameReader<FRAME>; LINKS],
    table: Table<NEIGHBOURS, LINKS, WINDOW, VALUES>,
}

/// Everything but the readers, so that a frame can lie in its reader while it is acted on.
#[derive(Debug, Clone)]
struct Table<const NEIGHBOURS: usize, const LINKS: usize, const WINDOW: usize, const VALUES: usize>
{
    settings: Settings,
    neighbours: heapless::Vec<Neighbour<WINDOW, VALUES>, NEIGHBOURS>,
    counters: Counters,
    epoch: u64,
    /// The round in which the epoch began.
    start: u64,
    /// The node has yet to be told of the epoch.
    restart: bool,
    /// The next chunk to mix, counted through all rounds.
    base: u64,
    /// Chunks of a round.
    chunks: u64,
    /// The round the node works on, as of the last advance.
    round: u64,
    /// Whether the node has computed its half of that round.
    computed: bool,
    paused: bool,
    diverged: bool,
    /// A node with this node's number was heard.
    duplicate: bool,
    /// How often a neighbour was given up: makes challenges new.
    given_up: u32,
    /// A host's request to be answered on each link.
    asked: [Option<(u32, Ask)>; LINKS],
    /// A checkpoint a host asked for: the link and the tag.
    checkpoint: Option<(usize, u32)>,
    /// An answer about a checkpoint: the link, the tag, and whether it was written.
    written: Option<(usize, u32, bool)>,
    /// A refusal of a node whose number is taken: the link, the number, its challenge.
    refuse_twin: Option<(usize, u32, u32)>,
}

/// How many elements are mixed at a time: bounds the stack.
const PIECE: usize = 32;

impl<
    const NEIGHBOURS: usize,
    const LINKS: usize,
    const WINDOW: usize,
    const VALUES: usize,
    const FRAME: usize,
> Exchange<NEIGHBOURS, LINKS, WINDOW, VALUES, FRAME>
{
    /// The least `FRAME`: the longest message with `VALUES` floats, and its checksum.
    pub const FRAME_NEEDED: usize = wire::message_len(VALUES) + 4;

    /// An exchange for a node that has completed `round` rounds and was last in `epoch`; 0 and 0 for a new one.
    ///
    /// # Errors
    /// Refuses neighbours, weights and chunks that make no sense or find no room.
    pub fn new(
        settings: Settings,
        peers: &[Peer],
        epoch: u64,
        round: u64,
        now: Micros,
    ) -> Result<Self, SettingsError> {
        const {
            assert!(FRAME >= Self::FRAME_NEEDED, "FRAME is less than FRAME_NEEDED");
            assert!(WINDOW >= 1 && WINDOW <= 32, "WINDOW is not 1 to 32");
            assert!(LINKS >= 1 && LINKS <= 255, "LINKS is not 1 to 255");
        }
        Ok(Self {
            readers: [const { FrameReader::new() }; LINKS],
            table: Table::new(settings, peers, epoch, round, now)?,
        })
    }

    /// Takes in bytes from a link, in pieces of any size.
    pub fn receive(&mut self, link: usize, bytes: &[u8], now: Micros) {
        let Some(reader) = self.readers.get_mut(link) else { return };
        let count = &mut self.table.counters.received_bytes;
        *count = count.saturating_add(bytes.len() as u64);
        for &byte in bytes {
            if let Some(frame) = reader.push(byte) {
                self.table.frame(link, frame, now);
            }
        }
    }

    /// Does what can be done with what has come: deaths, new epochs, mixing.
    pub fn advance<L: Learner + ?Sized>(&mut self, learner: &mut L, now: Micros) -> Step {
        self.table.advance(learner, now)
    }

    /// Writes the next frame for a link into `out`, if there is something to say, and returns its length.
    ///
    /// `out` needs [`wire::frame_len`]`(`[`Exchange::FRAME_NEEDED`]`)` bytes; a frame that does not fit is not
    /// sent.
    pub fn transmit<L: Learner + ?Sized>(
        &mut self,
        link: usize,
        learner: &L,
        now: Micros,
        out: &mut [u8],
    ) -> Option<usize> {
        let len = self.table.transmit(link, learner, now, out)?;
        let count = &mut self.table.counters;
        count.sent = count.sent.saturating_add(1);
        count.sent_bytes = count.sent_bytes.saturating_add(len as u64);
        Some(len)
    }

    /// When to call [`Exchange::advance`] and [`Exchange::transmit`] again, even if no bytes come.
    #[must_use]
    pub fn deadline(&self) -> Micros {
        self.table.deadline()
    }

    /// What the links have done.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.table.counters
    }

    /// The epoch.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.table.epoch
    }

    /// How the node stands with its neighbours, in order of their numbers.
    pub fn standings(&self) -> impl Iterator<Item = (u32, Standing)> {
        self.table.neighbours.iter().map(|n| (n.peer.node, n.standing))
    }

    /// Whether another node with this node's number was heard.
    #[must_use]
    pub const fn duplicate(&self) -> bool {
        self.table.duplicate
    }

    /// Pauses after the round, or goes on, as a host can ask too.
    pub const fn pause(&mut self, paused: bool) {
        self.table.paused = paused;
    }

    /// Whether a host asked for a checkpoint; answer with [`Exchange::checkpoint_written`].
    #[must_use]
    pub const fn checkpoint_asked(&self) -> bool {
        self.table.checkpoint.is_some()
    }

    /// Tells the host that asked whether its checkpoint was written.
    pub fn checkpoint_written(&mut self, written: bool) {
        if let Some((link, tag)) = self.table.checkpoint.take() {
            self.table.written = Some((link, tag, written));
        }
    }
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const WINDOW: usize, const VALUES: usize>
    Table<NEIGHBOURS, LINKS, WINDOW, VALUES>
{
    fn new(
        settings: Settings,
        peers: &[Peer],
        epoch: u64,
        round: u64,
        now: Micros,
    ) -> Result<Self, SettingsError> {
        if settings.node > 0xffff {
            return Err(SettingsError::Number { node: settings.node });
        }
        let vectors = if settings.identity.scheme == Scheme::GradientTracking { 2 } else { 1 };
        let chunk = settings.identity.chunk as usize;
        let chunks =
            u64::from(settings.identity.outer).div_ceil(u64::from(settings.identity.chunk).max(1));
        if chunk == 0 || chunks == 0 || chunk.saturating_mul(vectors) > VALUES {
            return Err(SettingsError::Chunk { room: VALUES });
        }
        let mut table = Self {
            settings,
            neighbours: heapless::Vec::new(),
            counters: Counters::default(),
            epoch,
            start: round,
            restart: false,
            base: round.saturating_mul(chunks),
            chunks,
            round,
            computed: false,
            paused: false,
            diverged: false,
            duplicate: false,
            given_up: 0,
            asked: [None; LINKS],
            checkpoint: None,
            written: None,
            refuse_twin: None,
        };
        let mut total = 0.0;
        let mut last = None;
        for _ in peers {
            // In order of their numbers, whatever order they are given in.
            let next = peers.iter().filter(|peer| last.is_none_or(|last| peer.node > last));
            let Some(peer) = next.min_by_key(|peer| peer.node) else {
                let twice = |a: &&Peer| peers.iter().filter(|b| a.node == b.node).count() > 1;
                let node = peers.iter().find(twice).map_or(settings.node, |peer| peer.node);
                return Err(SettingsError::Neighbour { node });
            };
            last = Some(peer.node);
            let node = peer.node;
            if node > 0xffff {
                return Err(SettingsError::Number { node });
            }
            if node == settings.node {
                return Err(SettingsError::Neighbour { node });
            }
            if usize::from(peer.link) >= LINKS {
                return Err(SettingsError::Link { node });
            }
            if !(peer.weight > 0.0 && peer.weight.is_finite()) {
                return Err(SettingsError::Weight { node });
            }
            total += peer.weight;
            let challenge = table.challenge(node);
            let mut neighbour = Neighbour::new(*peer, challenge, now, &settings.timing);
            neighbour.begin(table.base, now, &settings.timing);
            if table.neighbours.push(neighbour).is_err() {
                return Err(SettingsError::TooMany { room: NEIGHBOURS });
            }
        }
        if total >= 1.0 {
            return Err(SettingsError::Weights);
        }
        Ok(table)
    }

    /// The elements of a chunk.
    fn elements(&self, chunk: u64) -> core::ops::Range<usize> {
        let size = self.settings.identity.chunk as usize;
        let outer = self.settings.identity.outer as usize;
        let at = chunk.checked_rem(self.chunks).unwrap_or(0) as usize;
        let start = at.saturating_mul(size).min(outer);
        start..start.saturating_add(size).min(outer)
    }

    fn tracking(&self) -> bool {
        self.settings.identity.scheme == Scheme::GradientTracking
    }

    fn frame(&mut self, link: usize, frame: Result<&[u8], FrameError>, now: Micros) {
        let count = &mut self.counters;
        let counter = match frame.map(wire::decode) {
            Ok(Ok(message)) => {
                count.received = count.received.saturating_add(1);
                return self.message(link, &message, now);
            }
            Ok(Err(MessageError::Version { sender })) => {
                if let Some(neighbour) = find(&mut self.neighbours, link, sender) {
                    neighbour.refuse = Some(Reason::Version);
                    neighbour.standing = Standing::Refused(Reason::Version);
                }
                &mut self.counters.refused
            }
            Ok(Err(MessageError::Malformed)) => &mut count.malformed,
            Err(FrameError::Oversize) => &mut count.oversize,
            Err(FrameError::Truncated) => &mut count.truncated,
            Err(FrameError::Checksum) => &mut count.corrupt,
        };
        *counter = counter.saturating_add(1);
    }

    fn message(&mut self, link: usize, message: &Message<&[u8]>, now: Micros) {
        match &message.body {
            Body::Hello(hello) => self.hello(link, message.sender, message.epoch, hello, now),
            Body::Refuse(refuse) => self.refused(link, message.sender, refuse),
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
            Body::Request(request) => {
                if request.to == self.settings.node && message.sender == HOST {
                    self.request(link, request.tag, request.ask);
                }
            }
            Body::Reply(_) => {}
        }
    }

    /// Whether a frame comes from a neighbour met in this epoch; if so it is a sign of life.
    fn in_step(&mut self, link: usize, message: &Message<&[u8]>, now: Micros) -> bool {
        let (epoch, timing) = (self.epoch, self.settings.timing);
        let Some(neighbour) = find(&mut self.neighbours, link, message.sender) else {
            self.counters.foreign = self.counters.foreign.saturating_add(1);
            return false;
        };
        if message.epoch == epoch && neighbour.met() {
            neighbour.alive_at = now;
            return true;
        }
        // One of the two has missed something: a greeting will tell.
        if !matches!(neighbour.standing, Standing::Refused(_)) {
            neighbour.hello_soon(now, &timing);
        }
        self.counters.stale = self.counters.stale.saturating_add(1);
        false
    }

    fn data(&mut self, link: usize, sender: u32, data: &Data<&[u8]>, now: Micros) {
        let chunk = data.round.saturating_mul(self.chunks).saturating_add(u64::from(data.chunk));
        let vectors = if self.tracking() { 2 } else { 1 };
        let needed = self.elements(chunk).len().saturating_mul(vectors);
        let values = wire::floats(data.values);
        if u64::from(data.chunk) >= self.chunks || data.values.len() != 4 * needed {
            self.counters.malformed = self.counters.malformed.saturating_add(1);
            return;
        }
        if values.clone().any(|a| !a.is_finite()) {
            self.counters.non_finite = self.counters.non_finite.saturating_add(1);
            return;
        }
        let (base, delay, chunks) = (self.base, self.settings.timing.delay, self.chunks);
        let ahead = chunk.checked_sub(base);
        let Some(neighbour) = find(&mut self.neighbours, link, sender) else { return };
        let counter = match ahead {
            Some(ahead) if ahead >= WINDOW as u64 => &mut self.counters.early,
            Some(ahead) if neighbour.filled & bit(ahead) == 0 => {
                if let Some(slot) = neighbour.slot(chunk) {
                    slot.iter_mut().zip(values).for_each(|(place, value)| *place = value);
                }
                neighbour.filled |= bit(ahead);
                neighbour.reached = neighbour.reached.max(chunk.saturating_add(1));
                // Someone is held up if it can send no more, or if the round is over.
                let last = neighbour.reached.checked_rem(chunks) == Some(0);
                let blocked = neighbour.reached >= neighbour.told.saturating_add(WINDOW as u64);
                let wait = if last || blocked { 0 } else { delay };
                neighbour.ack_by(now.saturating_add(wait));
                return;
            }
            _ => &mut self.counters.repeated,
        };
        *counter = counter.saturating_add(1);
        // Its picture of us is old.
        neighbour.ack_by(now);
    }

    fn acks(&mut self, link: usize, sender: u32, acks: &Acks, now: Micros) {
        let (node, timing) = (self.settings.node, self.settings.timing);
        // A neighbour cannot have what was not sent: one round of lead at most.
        let most = self.round.saturating_add(1).saturating_mul(self.chunks);
        if let Some(neighbour) = find(&mut self.neighbours, link, sender) {
            for ack in acks.iter().filter(|ack| ack.to == node && ack.next <= most) {
                neighbour.acknowledged(ack, now, &timing);
            }
        }
    }

    fn request(&mut self, link: usize, tag: u32, ask: Ask) {
        match ask {
            Ask::Start => self.paused = false,
            Ask::Stop => self.paused = true,
            Ask::Checkpoint => {
                self.checkpoint = Some((link, tag));
                return;
            }
            Ask::Status | Ask::Counters | Ask::Metrics | Ask::Read { .. } => {}
        }
        if let Some(asked) = self.asked.get_mut(link) {
            *asked = Some((tag, ask));
        }
    }

    fn advance<L: Learner + ?Sized>(&mut self, learner: &mut L, now: Micros) -> Step {
        self.bury(learner.state().round, now);
        if self.restart {
            self.restart = false;
            learner.restart(self.epoch, self.start);
        }
        loop {
            let round = learner.state().round;
            (self.round, self.computed) = (round, matches!(learner.phase(), Phase::Mixing { .. }));
            match learner.phase() {
                Phase::Diverged(divergence) => {
                    self.diverged = true;
                    return Step::Diverged(divergence);
                }
                Phase::Ready if round >= self.settings.rounds => return Step::Finished,
                Phase::Ready if self.paused => return Step::Paused,
                Phase::Ready => return Step::Compute,
                Phase::Mixing { .. } => {}
            }
            let base = self.base;
            let ready = |n: &Neighbour<WINDOW, VALUES>| n.met() && n.filled & 1 != 0 && n.has(base);
            if !self.neighbours.iter().filter(|n| n.counts()).all(ready) {
                self.nag(now);
                return Step::Wait;
            }
            if self.mix(learner).is_err() {
                continue;
            }
            self.base = base.saturating_add(1);
            for neighbour in &mut self.neighbours {
                neighbour.filled >>= 1;
                // It may have been waiting for room.
                if neighbour.met()
                    && neighbour.reached >= neighbour.told.saturating_add(WINDOW as u64)
                {
                    neighbour.ack_by(now);
                }
            }
        }
    }

    /// Mixes the chunk at the base, piece by piece.
    fn mix<L: Learner + ?Sized>(&self, learner: &mut L) -> Result<(), NodeError> {
        let elements = self.elements(self.base);
        let len = elements.len();
        let mut done = 0;
        while done < len {
            let size = (len - done).min(PIECE);
            let (mut x_gap, mut y_gap) = ([0.0; PIECE], [0.0; PIECE]);
            let from = elements.start.saturating_add(done);
            let part = |a: &'_ [f32], from: usize| {
                from.min(a.len())..from.saturating_add(size).min(a.len())
            };
            let state = learner.state();
            let own_x = state.x.get(part(state.x, from)).unwrap_or(&[]);
            let own_y = state.y.get(part(state.y, from)).unwrap_or(&[]);
            for neighbour in self.neighbours.iter().filter(|n| n.met()) {
                let values = neighbour.chunk(self.base);
                let their_x = values.get(part(values, done)).unwrap_or(&[]);
                add_gap(&mut x_gap, neighbour.peer.weight, their_x, own_x);
                if self.tracking() {
                    let their_y = values.get(part(values, len.saturating_add(done))).unwrap_or(&[]);
                    add_gap(&mut y_gap, neighbour.peer.weight, their_y, own_y);
                }
            }
            learner.mix(&x_gap[..size], &y_gap[..size])?;
            done += size;
        }
        Ok(())
    }

    /// While a round waits for a neighbour's chunk, tells it now and then what is missing: the last
    /// acknowledgement may have been lost.
    fn nag(&mut self, now: Micros) {
        let retry = self.settings.timing.retry;
        for neighbour in &mut self.neighbours {
            if neighbour.met() && neighbour.filled & 1 == 0 && neighbour.ack_at.is_none() {
                let since = now.max(neighbour.spoke_at);
                neighbour.ack_by(since.saturating_add(retry));
            }
        }
    }

    fn transmit<L: Learner + ?Sized>(
        &mut self,
        link: usize,
        learner: &L,
        now: Micros,
        out: &mut [u8],
    ) -> Option<usize> {
        if let Some(body) = self.greeting(link, now) {
            return self.send(body, out);
        }
        if let Some(reply) = self.reply(link, learner) {
            return self.send(Body::Reply(reply), out);
        }
        if self.restart || self.diverged {
            return None;
        }
        let timing = self.settings.timing;
        for neighbour in self.neighbours.iter_mut().filter(|n| usize::from(n.peer.link) == link) {
            let lost = neighbour.retry(now, &timing);
            self.counters.repaired = self.counters.repaired.saturating_add(u64::from(lost));
        }
        let on_link =
            |n: &&mut Neighbour<WINDOW, VALUES>| n.met() && usize::from(n.peer.link) == link;
        let end = self.round.saturating_add(u64::from(self.computed)).saturating_mul(self.chunks);
        let base = self.base;
        // A frame is for everybody on the link: it waits until everybody has room.
        let room = self.neighbours.iter_mut().filter(on_link).map(|n| n.room()).min();
        let end = end.min(room.unwrap_or(0));
        let wanted =
            self.neighbours.iter_mut().filter(on_link).filter_map(|n| n.wants(base, end)).min();
        if let Some(chunk) = wanted {
            let elements = self.elements(chunk);
            let state = learner.state();
            let x = state.x.get(elements.clone()).unwrap_or(&[]);
            let y = if self.tracking() { state.y.get(elements).unwrap_or(&[]) } else { &[] };
            for neighbour in self.neighbours.iter_mut().filter(on_link) {
                neighbour.sent(chunk, now);
            }
            let acks = self.acks_for(link, now, true);
            let round = self.round;
            let chunk = chunk.checked_rem(self.chunks).unwrap_or(0) as u32;
            return self.send(Body::Data(Data { round, chunk, acks, values: Floats(x, y) }), out);
        }
        let keep_alive = timing.keep_alive();
        let due = |n: &&mut Neighbour<WINDOW, VALUES>| {
            n.ack_at.is_some_and(|at| at <= now) || n.spoke_at.saturating_add(keep_alive) <= now
        };
        if self.neighbours.iter_mut().filter(on_link).any(|n| due(&n)) {
            let acks = self.acks_for(link, now, false);
            return self.send(Body::Ack(acks), out);
        }
        None
    }

    /// Acknowledgements for the neighbours on a link: those with news on data, those due on their own.
    fn acks_for(&mut self, link: usize, now: Micros, riding: bool) -> Acks {
        let mut acks = Acks::new();
        let keep_alive = self.settings.timing.keep_alive();
        for n in self.neighbours.iter_mut().filter(|n| n.met() && usize::from(n.peer.link) == link)
        {
            let news = n.ack_at.is_some() || n.told != self.base;
            let due = n.ack_at.is_some_and(|at| at <= now)
                || n.spoke_at.saturating_add(keep_alive) <= now;
            n.spoke_at = now;
            let ack = Ack { to: n.peer.node, next: self.base, held: n.filled };
            if (due || (riding && news)) && acks.push(ack).is_ok() {
                (n.told, n.ack_at) = (self.base, None);
            }
        }
        acks
    }

    fn reply<'l, L: Learner + ?Sized>(
        &mut self,
        link: usize,
        learner: &'l L,
    ) -> Option<Reply<Floats<'l>>> {
        if let Some((_, tag, written)) = self.written.take_if(|(at, ..)| *at == link) {
            let answer = if written { Answer::Done } else { Answer::Cannot };
            return Some(Reply { tag, answer });
        }
        let (tag, ask) = self.asked.get_mut(link)?.take()?;
        let state = learner.state();
        let answer = match ask {
            Ask::Start | Ask::Stop => Answer::Done,
            Ask::Checkpoint => Answer::Cannot,
            Ask::Status => Answer::Status(self.status(state.round)),
            Ask::Counters => Answer::Counters(self.counters),
            Ask::Metrics => Answer::Metrics(Metrics::of(&state, learner.evaluations())),
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
                let values = Floats(vector.get(from..to).unwrap_or(&[]), &[]);
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
            round,
            rounds: self.settings.rounds,
            met: count(|s| s == Standing::Met),
            dead: count(|s| s == Standing::Dead),
            refused: count(|s| matches!(s, Standing::Refused(_))),
            paused: self.paused,
            diverged: self.diverged,
        }
    }

    fn send(&self, body: Body<Floats<'_>>, out: &mut [u8]) -> Option<usize> {
        let (sender, epoch) = (self.settings.node, self.epoch);
        wire::encode(&Message { version: VERSION, sender, epoch, body }, out)
    }

    fn deadline(&self) -> Micros {
        let timing = &self.settings.timing;
        self.neighbours.iter().fold(Micros::MAX, |first, n| {
            let silent =
                n.alive_at.saturating_add(if n.ever { timing.silence } else { timing.patience });
            let keep_alive = n.spoke_at.saturating_add(timing.keep_alive());
            let always = [n.hello_at, n.retry_at, n.ack_at].into_iter().flatten();
            let rest = [n.counts().then_some(silent), n.met().then_some(keep_alive)];
            always.chain(rest.into_iter().flatten()).fold(first, Micros::min)
        })
    }
}

/// The neighbour with a number, if that link leads to it.
fn find<const WINDOW: usize, const VALUES: usize>(
    neighbours: &mut [Neighbour<WINDOW, VALUES>],
    link: usize,
    node: u32,
) -> Option<&mut Neighbour<WINDOW, VALUES>> {
    neighbours.iter_mut().find(|n| n.peer.node == node && usize::from(n.peer.link) == link)
}
