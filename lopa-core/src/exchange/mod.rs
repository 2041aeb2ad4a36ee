//! Rounds over links that drop, corrupt, repeat and delay.
//!
//! A state machine without I/O: bytes in per link, bytes out per link, time as an argument, the next deadline
//! as an answer. It never blocks, allocates or reads a clock, so the simulator, the emulator and a board run
//! the same code.
//!
#![doc = include_str!("../../docs/two-nodes.md")]
//!
//! # How a round goes
//!
//! A vector travels in chunks, counted through all rounds. A node mixes chunk c when it has received chunk c of every
//! neighbour and every neighbour holds its own; then it may overwrite its own. Neighbours are added in order of their
//! numbers, so the sum has one order whatever the timing: **the links decide when, never what**. A neighbour can
//! be one round ahead, never two.
//!
//! Acknowledgements ride on data where they can. A chunk that is not acknowledged in time is sent again, with
//! growing pauses; one that is missing in the middle is sent again at once.
//!
//! # Who takes part
//!
//! Neighbours greet each other at the start of every [*epoch*](crate::epoch) and compare what the network must agree on;
//! what differs is refused with a reason that both ends report. **Everything that changes who takes part begins a new
//! epoch**: a death, a refusal, a reboot, a return. Rounds go on without a neighbour that is dead or refused (its term is
//! left out, which folds the weight into the node's own), gradient tracking starts anew with y = z, and the news spreads
//! through the greetings. Of epochs begun at the same time the latest wins.
//!
//! **Only progress is a sign of life**: a new chunk, a new acknowledgement, or a greeting that echoes a challenge given a
//! moment ago. A neighbour that shows none for a quarter of the silence is asked; at its end it is dead. A neighbour
//! whose answer contradicts what it said before (it rebooted unnoticed, or somebody spoke in its name) is met anew, in a
//! new epoch. **Nothing that a node believes of a neighbour changes without such an echo**, so recordings and stray
//! frames change nothing.
//!
//! A whole fleet that reboots from checkpoints of one round goes on with the bits of an unbroken run. From checkpoints of
//! different rounds or epochs it cannot go on as if nothing had happened: the first node that notices begins a new epoch,
//! in the lower round. A run does not end with a fresh epoch: one that begins in the last quarter of the rounds goes back
//! to the start of that quarter, and a node that joined so late that it had less than half of the rounds asks for more.
//!
//! # What it costs
//!
//! Bytes on the wire over bytes of values, greetings and acknowledgements included, at n = 784, 60 rounds, no loss:
//!
//! | network | chunk | LG | GT |
//! |---|---:|---:|---:|
//! | ring of 5, a line for each pair | 196 | 1.031 | 1.017 |
//! | star of 5 through a router | 392 | 1.019 | 1.011 |
//! | ring of 4 on a shared bus | 392 | 1.015 | 1.009 |
//!
//! ```sh
//! cargo test -p lopa-tests exchange::bits::without_loss -- --nocapture
//! ```
//!
//! What loss adds in frames, bytes and repairs is in `tests/exchange/loss.table`, and frames per round against the number
//! of neighbours in `tests/exchange/neighbours.table`; tests make and check both. A window of one chunk leaves a line
//! idle while acknowledgements travel; where bytes take long to arrive, as through USB, a window of eight carries four
//! times as much (`a_window_keeps_a_line_busy`).

mod advancing;
mod error;
mod greeting;
mod membership;
mod neighbour;
mod receiving;
mod settings;
mod speaking;
mod starting;

pub use error::ExchangeError;
pub use neighbour::Standing;
pub use settings::{Micros, Peer, Settings, SettingsError, Timing};

use neighbour::Neighbour;
use starting::{Asked, Start};

use crate::epoch::Epoch;
use crate::node::{Divergence, Node, NodeError, Phase, Scheme, State};
use crate::oracles::Evaluations;
use crate::problem::Problem;
use crate::vector::Storage;
use crate::wire::buffer::Buffer;
use crate::wire::cobs::{self, Unstuffer};
use crate::wire::{self, Counters, Seal, Trouble};

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
    fn restart(&mut self, epoch: Epoch, round: u64);
    /// How often each oracle was asked. The number of Hessian-vector products tells whether the node has had all its
    /// rounds.
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
    fn restart(&mut self, epoch: Epoch, round: u64) {
        self.restart(epoch, round);
    }
    fn evaluations(&self) -> Evaluations {
        self.evaluations()
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
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
    /// The node is not where the exchange left it: somebody restored, restarted or mixed it in between, or it is
    /// another node. It is out, like one that diverged.
    Mismatch,
}

/// The exchange of one node, with room for `NEIGHBOURS` neighbours on `LINKS` links and, for each neighbour, `WINDOW`
/// chunks of `VALUES` floats.
///
/// `VALUES` counts what one message carries: the elements of a chunk, twice as many with gradient tracking, where y
/// travels behind x. It is at least [`LEAST_VALUES`](wire::LEAST_VALUES), `WINDOW` is 1 to 32 and `LINKS` 1 to 255; the
/// compiler checks it. Two chunks of each neighbour keep a short line busy.
///
/// ```
/// use lopa_core::exchange::Exchange;
/// // Four neighbours, each on a line of its own, and a host; chunks of 32 elements with gradient tracking.
/// type BoardExchange = Exchange<4, 5, 64>;
/// let mut frame = [0_u8; BoardExchange::BUFFER];
/// ```
#[derive(Debug, Clone)]
pub struct Exchange<
    const NEIGHBOURS: usize,
    const LINKS: usize,
    const VALUES: usize,
    const WINDOW: usize = 2,
> {
    readers: [Unstuffer<Buffer<VALUES>>; LINKS],
    table: Table<NEIGHBOURS, LINKS, VALUES, WINDOW>,
}

/// Everything but the readers, so that a frame can lie in its reader while it is acted on.
#[derive(Debug, Clone)]
struct Table<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
{
    settings: Settings,
    neighbours: heapless::Vec<Neighbour, NEIGHBOURS>,
    /// Chunks of each neighbour that have come, the chunk at place p in the slot p modulo `WINDOW`.
    values: [[[f32; VALUES]; WINDOW]; NEIGHBOURS],
    counters: Counters,
    /// What tells this life of the node from others: the boot number; for a node that cannot count its boots, a number
    /// made from the first challenge it is given, and 0 before that.
    session: u32,
    epoch: Epoch,
    /// The round in which the epoch began; for a node that booted in it, the round it had completed then.
    start: u64,
    /// It booted in this epoch: only those who did so in the same round are in step with it.
    resumed: bool,
    /// The node has yet to be told of the epoch.
    restart: bool,
    /// The next chunk to mix, counted through all rounds.
    base: u64,
    /// Chunks of a round.
    chunks: u64,
    /// The round the node works on, as of the last advance.
    round: u64,
    /// Whether it met anybody since it booted, or gave up waiting.
    settled: bool,
    /// Whether the node has computed its half of that round.
    computed: bool,
    paused: bool,
    diverged: bool,
    /// It takes no part any more: it diverged, or is not the node it was.
    out: bool,
    /// A node with this node's number was heard.
    duplicate: bool,
    /// How many challenges were made: makes the next one new.
    challenges: u32,
    /// What a host must echo to change something; and what it echoed last, with the tag of that request.
    host_challenge: u32,
    changed: (u32, u32),
    /// A host's request to be answered on each link.
    asked: [Asked; LINKS],
    /// A checkpoint a host asked for: the link and the tag.
    checkpoint: Option<(usize, u32)>,
    /// An answer about a checkpoint: the link, the tag; and whether it was written.
    answer: Option<(usize, u32)>,
    written: bool,
    /// A refusal of a node whose number is taken: the link, the number, its challenge.
    refuse_twin: Option<(usize, u32, u32)>,
    /// Whether the node starts, and why it does not.
    state: Start,
    trouble: Trouble,
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Exchange<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// The longest frame, and so the room [`Exchange::transmit`] needs.
    pub const BUFFER: usize = wire::frame_len(wire::message_len(VALUES));

    /// An exchange for a node, which goes on where the node stands: at the beginning, or at a restored checkpoint.
    ///
    /// # Errors
    /// Refuses neighbours, weights and chunks that make no sense or find no room, and a node that the settings do not
    /// describe.
    pub fn new<L: Learner + ?Sized>(
        settings: Settings,
        peers: &[Peer],
        learner: &L,
        now: Micros,
    ) -> Result<Self, SettingsError> {
        let mut exchange = Self::vacant();
        exchange.start(settings, peers, learner, now)?;
        Ok(exchange)
    }

    /// An exchange that knows nobody, to be started where it lies: an exchange is large for a chip's stack.
    ///
    /// It has no bit set, so as a static it takes no flash.
    #[must_use]
    pub const fn vacant() -> Self {
        const {
            assert!(VALUES >= wire::LEAST_VALUES, "VALUES must be at least LEAST_VALUES");
            assert!(WINDOW >= 1 && WINDOW <= 32, "WINDOW must be 1 to 32");
            assert!(LINKS >= 1 && LINKS <= 255, "LINKS must be 1 to 255");
        }
        Self { readers: [const { Unstuffer::new(Buffer::EMPTY) }; LINKS], table: Table::vacant() }
    }

    /// Starts anew, as [`Exchange::new`] does.
    ///
    /// # Errors
    /// As [`Exchange::new`]; the exchange then knows nobody.
    pub fn start<L: Learner + ?Sized>(
        &mut self,
        settings: Settings,
        peers: &[Peer],
        learner: &L,
        now: Micros,
    ) -> Result<(), SettingsError> {
        self.readers.iter_mut().for_each(Unstuffer::reset);
        let started = self.table.start(settings, peers, &learner.state(), learner.phase(), now);
        if started.is_err() {
            self.table.neighbours.clear();
        }
        started
    }

    /// Does not start: it knows nobody, and answers every request of a host with the reason.
    ///
    /// Its number may be unknown, as that of a node without a blob is. Then it answers whoever is asked, under the number
    /// that was asked.
    pub fn decline(&mut self, node: Option<u32>, trouble: Trouble) {
        self.table.neighbours.clear();
        self.table.settings.node = node.unwrap_or(0);
        // It may not know its key; all it says is why it does not start.
        self.table.settings.seal = Seal::PLAIN;
        self.table.state = if node.is_some() { Start::Declined } else { Start::Nameless };
        self.table.trouble = trouble;
    }

    /// Takes in bytes from a link, in pieces of any size. Bytes that make no sense are counted, and are not an error.
    ///
    /// # Errors
    /// Refuses a link that it does not have.
    pub fn receive(
        &mut self,
        link: usize,
        bytes: &[u8],
        now: Micros,
    ) -> Result<(), ExchangeError> {
        let unknown = ExchangeError::Link { link, links: LINKS };
        let reader = self.readers.get_mut(link).ok_or(unknown)?;
        let count = &mut self.table.counters.received_bytes;
        *count = count.saturating_add(bytes.len() as u64);
        for &byte in bytes {
            if let Some(frame) = reader.push(byte, &self.table.settings.seal) {
                self.table.frame(link, frame, now);
            }
        }
        Ok(())
    }

    /// Does what can be done with what was received: deaths, new epochs, mixing.
    pub fn advance<L: Learner + ?Sized>(&mut self, learner: &mut L, now: Micros) -> Step {
        self.table.advance(learner, now)
    }

    /// Writes the next frame for a link into `out`, if there is something to say, and returns its length.
    ///
    /// # Errors
    /// Refuses a link that it does not have, and fewer than [`Exchange::BUFFER`] bytes.
    pub fn transmit<L: Learner + ?Sized>(
        &mut self,
        link: usize,
        learner: &L,
        now: Micros,
        out: &mut [u8],
    ) -> Result<Option<usize>, ExchangeError> {
        if link >= LINKS {
            return Err(ExchangeError::Link { link, links: LINKS });
        }
        if out.len() < Self::BUFFER {
            return Err(ExchangeError::Buffer { needed: Self::BUFFER, found: out.len() });
        }
        let (state, evaluations) = (learner.state(), learner.evaluations());
        let written = self.table.transmit(link, &state, &evaluations, now, out);
        // Here, where the message is gone from the stack.
        let len = written.and_then(|end| cobs::close(&self.table.settings.seal, out, end));
        if let Some(len) = len {
            let count = &mut self.table.counters;
            bump(&mut count.sent);
            count.sent_bytes = count.sent_bytes.saturating_add(len as u64);
        }
        Ok(len)
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
    pub const fn epoch(&self) -> Epoch {
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

    /// Tells the host that asked whether its checkpoint was written; does nothing if none has asked.
    pub fn checkpoint_written(&mut self, written: bool) {
        if let Some(asked) = self.table.checkpoint.take() {
            (self.table.answer, self.table.written) = (Some(asked), written);
        }
    }
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Table<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// Where the values of a chunk lie.
    fn slot(chunk: u64) -> usize {
        chunk.checked_rem(WINDOW as u64).map_or(0, |slot| slot as usize)
    }

    /// The elements of a chunk.
    fn elements(&self, chunk: u64) -> core::ops::Range<usize> {
        let size = self.settings.identity.chunk as usize;
        let outer = self.settings.identity.outer as usize;
        let at = chunk.checked_rem(self.chunks).unwrap_or(0) as usize;
        let start = at.saturating_mul(size).min(outer);
        start..start.saturating_add(size).min(outer)
    }

    /// The first chunk, counted through all rounds, that cannot have been sent yet.
    fn sent_up_to(&self) -> u64 {
        self.round.saturating_add(u64::from(self.computed)).saturating_mul(self.chunks)
    }

    fn tracking(&self) -> bool {
        self.settings.identity.scheme == Scheme::GradientTracking
    }
}

/// Counts one more; a counter stays at its highest value.
fn bump(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// The neighbour with a number, if that link leads to it.
fn find(neighbours: &mut [Neighbour], link: usize, node: u32) -> Option<&mut Neighbour> {
    neighbours.iter_mut().find(|n| n.is(link, node))
}

#[cfg(feature = "defmt")]
impl<const N: usize, const L: usize, const V: usize, const W: usize> defmt::Format
    for Exchange<N, L, V, W>
{
    fn format(&self, f: defmt::Formatter<'_>) {
        let t = &self.table;
        defmt::write!(
            f,
            "Exchange of node {} (epoch {}, round {})",
            t.settings.node,
            t.epoch.number,
            t.round
        );
    }
}
