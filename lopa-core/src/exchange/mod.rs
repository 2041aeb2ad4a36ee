//! Rounds over links that drop, corrupt, repeat and delay.
//!
//! A state machine without I/O: bytes in and bytes out for each link, time as an argument, the next deadline as a result. It
//! never blocks, allocates or reads a clock, so the simulator, the emulator and a board run the same code.
//!
#![doc = include_str!("../../docs/two-nodes.md")]
//!
//! # How a round works
//!
//! A vector travels in chunks, counted through all rounds. A node mixes chunk c when it has received chunk c from every
//! neighbour, and every neighbour has received its own; only then may it overwrite its own. Neighbours are added in order
//! of their numbers, so the sum has one order whatever the timing: **the links decide when, never what**. A neighbour can
//! be one round ahead, never two.
//!
//! Acknowledgements travel with data where possible. A chunk that is not acknowledged in time is sent again, with growing
//! pauses; a chunk that is missing in the middle is sent again at once.
//!
//! # Few bits
//!
//! With the feature `codec`, a node can be a [coded one](crate::codec::CodedNode). The first round of an epoch then sends values
//! in full, or nothing for chunks of zeros, and all later ones send differences of a few bits. A lost chunk is computed again: a
//! node mixes its elements only when every neighbour has them, so it still has what it sent. The
//! [codec](crate::codec::Codec) is part of what neighbours compare, weights are multiples of 1/256, and chunks consist of whole
//! [blocks](crate::codec::BLOCK). A chunk of differences has as many elements as fit into the bytes of a chunk of floats, so that frames
//! weigh little. A node whose values leave the codec's range stops, before any of them is sent.
//!
//! # Which nodes take part
//!
//! Neighbours greet each other at the start of every [*epoch*](crate::epoch) and compare what the network must agree on;
//! if something differs, they refuse each other, with a reason that both ends report. **Every change of the nodes that take
//! part begins a new epoch**: a death, a refusal, a reboot, a return. Rounds continue without a neighbour that is dead or
//! refused (its term is left out, which adds its weight to the node's own), gradient tracking starts again with y = z, and
//! greetings spread the news. Of several epochs that begin at the same time, the latest wins.
//!
//! **Only progress is a sign of life**: a new chunk, a new acknowledgement, or a greeting that echoes a challenge given a
//! moment ago. A neighbour that shows none for a quarter of the time `silence` is asked for one; when that time is over, it
//! is declared dead. A neighbour whose answer contradicts what it sent before (it rebooted unnoticed, or its frames were
//! forged) is met again, in a new epoch. **What a node knows about a neighbour only changes with such an echo**, so
//! recordings and stray frames change nothing.
//!
//! A whole fleet that reboots from checkpoints of one round continues with the bits of an uninterrupted run. From
//! checkpoints of different rounds or epochs it cannot: the first node that notices begins a new epoch, in the lower round.
//! An epoch always has rounds left: one that begins in the last quarter of the rounds goes back to the start of that
//! quarter, and a node that joined too late to compute half of the rounds begins another epoch to get more.
//!
//! # What it costs
//!
//! Bytes on the wire divided by bytes of values, with greetings and acknowledgements, for n = 784, 60 rounds, no loss:
//!
//! | network | chunk | LG | GT |
//! |---|---:|---:|---:|
//! | ring of 5, one line per pair | 196 | 1.031 | 1.017 |
//! | star of 5 through a router | 392 | 1.019 | 1.011 |
//! | ring of 4 on a shared bus | 392 | 1.015 | 1.009 |
//!
//! ```sh
//! cargo test -p lopa-tests exchange::bits::without_loss -- --nocapture
//! ```
//!
//! With few bits, bytes per neighbour and round on a ring of 3 with n = 784, chunks of 384 and GT, over 100 rounds of which the first
//! sends zeros: 6,358 with floats, 1,629 with 8 bits, 856 with 4 and 663 with 3 (`exchange::bits::few_bits_are_few_bytes`).
//!
//! The frames, bytes and repairs that loss adds are in `tests/exchange/loss.table`, and frames per round by number of
//! neighbours in `tests/exchange/neighbours.table`; tests write and check both. A window of one chunk leaves a line idle
//! while acknowledgements travel; where bytes are slow to arrive, as over USB, a window of eight carries four times as much
//! (`a_window_keeps_a_line_busy`).

mod advancing;
mod chunks;
mod error;
mod greeting;
mod membership;
mod neighbour;
mod receiving;
mod session;
mod settings;
mod speaking;
mod starting;

pub use error::ExchangeError;
pub use neighbour::Standing;
pub use settings::{Micros, Peer, Settings, SettingsError, Timing};

use session::{Session, bump};
use starting::Start;

#[cfg(feature = "codec")]
use crate::codec::{CodedNode, Integers};
use crate::codec::{Outgoing, Pull};
use crate::epoch::Epoch;
use crate::node::{Divergence, Node, NodeError, Phase, State, Variable};
use crate::oracles::Evaluations;
use crate::problem::Problem;
use crate::vector::Storage;
use crate::wire::buffer::Buffer;
use crate::wire::cobs::{self, Unstuffer};
use crate::wire::{self, Counters, Seal, Trouble};

/// What an exchange needs from a node.
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
    /// What it sends in this round, if its vectors travel in few bits; `None` if they travel as floats. Without the feature
    /// `codec` it is not called.
    fn outgoing(&self) -> Option<Outgoing<'_>> {
        None
    }
    /// Called instead of [`Learner::mix`] if vectors travel in few bits: see [how a coded node
    /// mixes](crate::codec::CodedNode::mix).
    ///
    /// # Errors
    /// As there; refuses if vectors travel as floats.
    fn mix_changes(&mut self, pull: &mut dyn FnMut(Variable, &mut Pull)) -> Result<(), NodeError> {
        let _ = pull;
        Err(NodeError::OutOfTurn)
    }
    /// See [`Node::restart`].
    fn restart(&mut self, epoch: Epoch, round: u64);
    /// How often each oracle was evaluated. The number of Hessian-vector products shows how many rounds the node has
    /// computed.
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

#[cfg(feature = "codec")]
impl<P: Problem, X: Storage, T: Storage, D: Storage, I: Integers, J: Integers> Learner
    for CodedNode<P, X, T, D, I, J>
{
    fn state(&self) -> State<'_> {
        self.state()
    }
    fn phase(&self) -> Phase {
        self.phase()
    }
    /// Refuses: floats are not what its neighbours send.
    fn mix(&mut self, _: &[f32], _: &[f32]) -> Result<(), NodeError> {
        Err(NodeError::OutOfTurn)
    }
    fn outgoing(&self) -> Option<Outgoing<'_>> {
        Some(self.outgoing())
    }
    fn mix_changes(&mut self, pull: &mut dyn FnMut(Variable, &mut Pull)) -> Result<(), NodeError> {
        self.mix(pull)
    }
    fn restart(&mut self, epoch: Epoch, round: u64) {
        self.restart(epoch, round);
    }
    fn evaluations(&self) -> Evaluations {
        self.node().evaluations()
    }
}

/// What an exchange knows of a node's codec. Without the feature it is nothing, and the compiler leaves out what follows from it.
fn outgoing<L: Learner + ?Sized>(learner: &L) -> Option<Outgoing<'_>> {
    if cfg!(feature = "codec") { learner.outgoing() } else { None }
}

/// What to do next. Treat a step that you do not know like [`Step::Wait`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Step {
    /// Compute the node's half of the next round, then advance again.
    Compute,
    /// Nothing, until bytes arrive or the deadline passes.
    Wait,
    /// A host has paused the node. Continue as with `Wait`.
    Paused,
    /// All rounds are done. Continue as with `Wait`: neighbours may still need answers.
    Finished,
    /// The node diverged and takes no further part.
    Diverged(Divergence),
    /// The node is not where the exchange left it: it was restored, restarted or mixed in between, or it is another node.
    /// It takes no further part, like one that diverged.
    Mismatch,
}

/// The exchange of one node, with room for `NEIGHBOURS` neighbours on `LINKS` links and, for each neighbour, `WINDOW`
/// chunks of `VALUES` floats.
///
/// `VALUES` is what one message carries: the elements of a chunk, or twice as many with gradient tracking, where x and y
/// travel together. It must be at least [`LEAST_VALUES`](wire::LEAST_VALUES), `WINDOW` 1 to 32, and `LINKS` 1 to 255; the
/// compiler checks all three. A window of two chunks keeps a short line busy.
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
    session: Session<NEIGHBOURS, LINKS, VALUES, WINDOW>,
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Exchange<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    /// The longest frame, and so the room [`Exchange::transmit`] needs.
    pub const BUFFER: usize = wire::frame_len(wire::message_len(VALUES));

    /// An exchange for a node. It continues from the node's state: a fresh start, or a restored checkpoint.
    ///
    /// # Errors
    /// Refuses neighbours, weights and chunks that are invalid or too many, and a node that the settings do not describe.
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

    /// An exchange without neighbours, to be [started](Exchange::start) in place: an exchange is large for a chip's stack.
    ///
    /// All its bits are zero, so as a static it takes no flash.
    #[must_use]
    pub const fn vacant() -> Self {
        const {
            assert!(VALUES >= wire::LEAST_VALUES, "VALUES must be at least LEAST_VALUES");
            assert!(WINDOW >= 1 && WINDOW <= 32, "WINDOW must be 1 to 32");
            assert!(LINKS >= 1 && LINKS <= 255, "LINKS must be 1 to 255");
        }
        Self {
            readers: [const { Unstuffer::new(Buffer::EMPTY) }; LINKS],
            session: Session::vacant(),
        }
    }

    /// Starts from scratch, as [`Exchange::new`] does.
    ///
    /// # Errors
    /// As [`Exchange::new`]; the exchange then has no neighbours.
    pub fn start<L: Learner + ?Sized>(
        &mut self,
        settings: Settings,
        peers: &[Peer],
        learner: &L,
        now: Micros,
    ) -> Result<(), SettingsError> {
        self.readers.iter_mut().for_each(Unstuffer::reset);
        let (state, phase) = (learner.state(), learner.phase());
        let outgoing = outgoing(learner);
        let started = self.session.start(settings, peers, &state, phase, outgoing.as_ref(), now);
        if started.is_err() {
            self.session.neighbours.clear();
        }
        started
    }

    /// Refuses to start: the exchange has no neighbours, and answers every request of a host with the reason.
    ///
    /// The node's number may be unknown, as it is without a blob. The exchange then answers requests to any node, under the
    /// number in the request.
    pub fn decline(&mut self, node: Option<u32>, trouble: Trouble) {
        self.session.neighbours.clear();
        self.session.settings.node = node.unwrap_or(0);
        // It may not know its key, and only reports why it does not start.
        self.session.settings.seal = Seal::PLAIN;
        self.session.state = if node.is_some() { Start::Declined } else { Start::Nameless };
        self.session.trouble = trouble;
    }

    /// Accepts bytes from a link, in pieces of any size. Damaged or unknown frames are counted; they are not errors.
    ///
    /// # Errors
    /// Refuses a link that the exchange does not have.
    pub fn receive(&mut self, link: usize, bytes: &[u8], now: Micros) -> Result<(), ExchangeError> {
        let unknown = ExchangeError::Link { link, links: LINKS };
        let reader = self.readers.get_mut(link).ok_or(unknown)?;
        let count = &mut self.session.counters.received_bytes;
        *count = count.saturating_add(bytes.len() as u64);
        for &byte in bytes {
            if let Some(frame) = reader.push(byte, &self.session.settings.seal) {
                self.session.frame(link, frame, now);
            }
        }
        Ok(())
    }

    /// Makes all the progress that is possible now: declares neighbours dead, begins epochs, mixes.
    pub fn advance<L: Learner + ?Sized>(&mut self, learner: &mut L, now: Micros) -> Step {
        self.session.advance(learner, now)
    }

    /// Writes the next frame for a link into `out` and returns its length; `None` if there is nothing to send.
    ///
    /// # Errors
    /// Refuses a link that the exchange does not have, and a buffer of fewer than [`Exchange::BUFFER`] bytes.
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
        let outgoing = outgoing(learner);
        let written =
            self.session.transmit(link, &state, outgoing.as_ref(), &evaluations, now, out);
        // Here the message is no longer on the stack.
        let len = written.and_then(|end| cobs::close(&self.session.settings.seal, out, end));
        if let Some(len) = len {
            let count = &mut self.session.counters;
            bump(&mut count.sent);
            count.sent_bytes = count.sent_bytes.saturating_add(len as u64);
        }
        Ok(len)
    }

    /// When to call [`Exchange::advance`] and [`Exchange::transmit`] again, even if no bytes arrive.
    #[must_use]
    pub fn deadline(&self) -> Micros {
        self.session.deadline()
    }

    /// Counts of frames, bytes and events on the links.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.session.counters
    }

    /// The epoch.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.session.epoch
    }

    /// The standing of each neighbour, in order of their numbers.
    pub fn standings(&self) -> impl Iterator<Item = (u32, Standing)> {
        self.session.neighbours.iter().map(|n| (n.peer.node, n.standing))
    }

    /// Whether another node has used this node's number.
    #[must_use]
    pub const fn duplicate(&self) -> bool {
        self.session.duplicate
    }

    /// Pauses after the round, or continues; a host can request both too.
    pub const fn pause(&mut self, paused: bool) {
        self.session.paused = paused;
    }

    /// Whether a host has requested a checkpoint; answer with [`Exchange::checkpoint_written`].
    #[must_use]
    pub const fn checkpoint_asked(&self) -> bool {
        self.session.checkpoint.is_some()
    }

    /// Tells the host whether the checkpoint it requested was written; does nothing if none was requested.
    pub fn checkpoint_written(&mut self, written: bool) {
        if let Some(asked) = self.session.checkpoint.take() {
            (self.session.answer, self.session.written) = (Some(asked), written);
        }
    }
}

#[cfg(feature = "defmt")]
impl<const N: usize, const L: usize, const V: usize, const W: usize> defmt::Format
    for Exchange<N, L, V, W>
{
    fn format(&self, f: defmt::Formatter<'_>) {
        let session = &self.session;
        defmt::write!(
            f,
            "Exchange of node {} (epoch {}, round {})",
            session.settings.node,
            session.epoch.number,
            session.round
        );
    }
}
