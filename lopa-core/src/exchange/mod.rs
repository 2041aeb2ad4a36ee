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
mod session;
mod settings;
mod speaking;
mod starting;

pub use error::ExchangeError;
pub use neighbour::Standing;
pub use settings::{Micros, Peer, Settings, SettingsError, Timing};

use session::{Session, bump};
use starting::Start;

use crate::epoch::Epoch;
use crate::node::{Divergence, Node, NodeError, Phase, State};
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
    session: Session<NEIGHBOURS, LINKS, VALUES, WINDOW>,
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
        Self { readers: [const { Unstuffer::new(Buffer::EMPTY) }; LINKS], session: Session::vacant() }
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
        let started = self.session.start(settings, peers, &learner.state(), learner.phase(), now);
        if started.is_err() {
            self.session.neighbours.clear();
        }
        started
    }

    /// Does not start: it knows nobody, and answers every request of a host with the reason.
    ///
    /// Its number may be unknown, as that of a node without a blob is. Then it answers whoever is asked, under the number
    /// that was asked.
    pub fn decline(&mut self, node: Option<u32>, trouble: Trouble) {
        self.session.neighbours.clear();
        self.session.settings.node = node.unwrap_or(0);
        // It may not know its key; all it says is why it does not start.
        self.session.settings.seal = Seal::PLAIN;
        self.session.state = if node.is_some() { Start::Declined } else { Start::Nameless };
        self.session.trouble = trouble;
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
        let count = &mut self.session.counters.received_bytes;
        *count = count.saturating_add(bytes.len() as u64);
        for &byte in bytes {
            if let Some(frame) = reader.push(byte, &self.session.settings.seal) {
                self.session.frame(link, frame, now);
            }
        }
        Ok(())
    }

    /// Does what can be done with what was received: deaths, new epochs, mixing.
    pub fn advance<L: Learner + ?Sized>(&mut self, learner: &mut L, now: Micros) -> Step {
        self.session.advance(learner, now)
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
        let written = self.session.transmit(link, &state, &evaluations, now, out);
        // Here, where the message is gone from the stack.
        let len = written.and_then(|end| cobs::close(&self.session.settings.seal, out, end));
        if let Some(len) = len {
            let count = &mut self.session.counters;
            bump(&mut count.sent);
            count.sent_bytes = count.sent_bytes.saturating_add(len as u64);
        }
        Ok(len)
    }

    /// When to call [`Exchange::advance`] and [`Exchange::transmit`] again, even if no bytes come.
    #[must_use]
    pub fn deadline(&self) -> Micros {
        self.session.deadline()
    }

    /// What the links have done.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.session.counters
    }

    /// The epoch.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.session.epoch
    }

    /// How the node stands with its neighbours, in order of their numbers.
    pub fn standings(&self) -> impl Iterator<Item = (u32, Standing)> {
        self.session.neighbours.iter().map(|n| (n.peer.node, n.standing))
    }

    /// Whether another node with this node's number was heard.
    #[must_use]
    pub const fn duplicate(&self) -> bool {
        self.session.duplicate
    }

    /// Pauses after the round, or goes on, as a host can ask too.
    pub const fn pause(&mut self, paused: bool) {
        self.session.paused = paused;
    }

    /// Whether a host asked for a checkpoint; answer with [`Exchange::checkpoint_written`].
    #[must_use]
    pub const fn checkpoint_asked(&self) -> bool {
        self.session.checkpoint.is_some()
    }

    /// Tells the host that asked whether its checkpoint was written; does nothing if none has asked.
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
