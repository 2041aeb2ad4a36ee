//! The program: starts, then runs rounds until power is cut.

use core::future::poll_fn;
use core::task::{Context, Poll};

use embedded_hal::digital::OutputPin;
use embedded_io_async::{Read, Write};
use lopa_core::blob::{Blob, BlobError, BlobNode, BlobScratch};
use lopa_core::epoch::Epoch;
use lopa_core::exchange::{Learner, Micros, SettingsError, Step};
use lopa_core::node::{NodeError, Phase, State};
use lopa_core::oracles::Evaluations;
use lopa_core::wire::{Cause, Trouble};

use crate::board::{Board, Clock, Mapped, Watchdog};
use crate::light::Light;
use crate::lines::{Lines, once};
use crate::log::{info, warning};
use crate::store::{Store, StoreError};
use crate::{BoardExchange, LINKS, NEIGHBOURS, capacity};

/// The longest sleep: the watchdog is fed and the light is updated at least this often.
const NAP: Micros = 1_000_000;

/// The boot number of a node that cannot count its boots in flash.
const NOT_COUNTED: u32 = 0;

/// The state of a node's links: frames on their way, and the exchange. It is large for a stack: put it into a static.
#[derive(Debug)]
pub struct Desk {
    lines: Lines,
    exchange: BoardExchange,
}

impl Desk {
    /// An empty one.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a default would be built on the stack")]
    pub const fn new() -> Self {
        Self { lines: Lines::new(), exchange: BoardExchange::vacant() }
    }
}

/// A running node.
struct Program<'b, 'm, L, C, O, W, F> {
    links: [L; LINKS],
    clock: C,
    light: Light<O>,
    watchdog: W,
    store: Store<F>,
    lines: &'m mut Lines,
    exchange: &'m mut BoardExchange,
    node: BlobNode<'b, 'm>,
    scratch: BlobScratch<'m>,
    /// Rounds between checkpoints; `None` if this boot was not counted: then no checkpoints are written.
    checkpoint_every: Option<u64>,
    /// Epoch and round of the last checkpoint.
    kept: (Epoch, u64),
    /// When to wake up to feed the watchdog.
    nap: Micros,
    /// Whether all rounds were done at the last turn.
    finished: bool,
}

/// Why a node does not start.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "log", derive(defmt::Format))]
pub enum Refusal {
    /// The blob is invalid or does not fit.
    Blob(BlobError),
    /// The exchange refuses its settings.
    Settings(SettingsError),
    /// The blob has a key, but this boot was not counted: an old recording could pass for new.
    Boot(StoreError),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Blob(error) => error.into(),
            Refusal::Settings(error) => error.into(),
            Refusal::Boot(_) => Self { cause: Cause::Boot, needed: 0, found: 0 },
        }
    }
}

/// Stands in for a node that does not start.
#[derive(Debug, Clone, Copy)]
pub struct NoNode;

impl Learner for NoNode {
    fn state(&self) -> State<'_> {
        let epoch = Epoch::FIRST;
        State { round: 0, epoch, x: &[], theta: &[], v: &[], z: &[], y: &[] }
    }

    fn phase(&self) -> Phase {
        Phase::Ready
    }

    fn mix(&mut self, _: &[f32], _: &[f32]) -> Result<(), NodeError> {
        Ok(())
    }

    fn restart(&mut self, _: Epoch, _: u64) {}

    fn evaluations(&self) -> Evaluations {
        Evaluations::default()
    }
}

/// Runs the node of a blob on a board, with its vectors in `arena`. Never returns.
///
/// A blob that is invalid or does not fit is refused: the light shows it, and the log and the answer to every request of a
/// host give the reason.
pub async fn run<L, C, O, W, F>(
    board: Board<L, C, O, W, F>,
    blob: &Result<Blob<'_>, BlobError>,
    arena: &mut [f32],
    desk: &mut Desk,
) -> !
where
    L: Read + Write,
    C: Clock,
    O: OutputPin,
    W: Watchdog,
    F: Mapped,
{
    let Board { mut links, mut clock, light, mut watchdog, flash } = board;
    let (mut light, mut store) = (Light::new(light), Store::new(flash));
    let Desk { lines, exchange } = desk;
    let number = blob.as_ref().ok().map(Blob::node);
    let mut checkpoint_every = None;
    let prepared = match blob {
        Ok(blob) => prepare(blob, arena, exchange, &mut store, clock.now(), &mut checkpoint_every),
        Err(error) => Err(Refusal::Blob(*error)),
    };
    let refusal = match prepared {
        Ok((node, scratch)) => {
            let kept = (node.state().epoch, node.state().round);
            let mut program = Program {
                links,
                clock,
                light,
                watchdog,
                store,
                lines,
                exchange,
                node,
                scratch,
                checkpoint_every,
                kept,
                nap: 0,
                finished: false,
            };
            loop {
                poll_fn(|cx| program.turn(cx)).await;
            }
        }
        Err(refusal) => refusal,
    };
    warning!("refused: {}", refusal);
    exchange.decline(number, refusal.into());
    loop {
        let now = clock.now();
        let shown = light.alarm(now);
        watchdog.feed();
        poll_fn(|cx| {
            lines.speak(&mut links, exchange, &NoNode, now, cx);
            let moved = lines.serve(&mut links, exchange, now, cx);
            if moved { Poll::Ready(()) } else { passed(&mut clock, shown, cx) }
        })
        .await;
    }
}

/// Ready once a time has passed, also on boards whose alarm is never ready when it is first polled.
fn passed<C: Clock>(clock: &mut C, at: Micros, cx: &mut Context<'_>) -> Poll<()> {
    if clock.now() >= at { Poll::Ready(()) } else { once(clock.wait_until(at), cx) }
}

type Built<'b, 'm> = Result<(BlobNode<'b, 'm>, BlobScratch<'m>), Refusal>;

/// Builds the node of a blob, restored from its last checkpoint if there is one, and starts its exchange. `every` is set to the
/// rounds between checkpoints.
///
/// Not inlined, like the functions below, so that its stack is free again when it returns.
#[inline(never)]
fn prepare<'b, 'm, F: Mapped>(
    blob: &Blob<'b>,
    arena: &'m mut [f32],
    exchange: &mut BoardExchange,
    store: &mut Store<F>,
    now: Micros,
    every: &mut Option<u64>,
) -> Built<'b, 'm> {
    let mut built = build(blob, arena);
    if let Ok((node, _)) = &mut built {
        *every = begin(blob, node, exchange, store, now)?;
    }
    built
}

#[inline(never)]
fn build<'b, 'm>(blob: &Blob<'b>, arena: &'m mut [f32]) -> Built<'b, 'm> {
    blob.fits(&capacity(arena.len())).map_err(Refusal::Blob)?;
    blob.build(arena).map_err(Refusal::Blob)
}

/// Counts the boot, restores the node, and starts its exchange. Returns the rounds between checkpoints.
#[inline(never)]
fn begin<F: Mapped>(
    blob: &Blob<'_>,
    node: &mut BlobNode<'_, '_>,
    exchange: &mut BoardExchange,
    store: &mut Store<F>,
    now: Micros,
) -> Result<Option<u64>, Refusal> {
    let boot = match store.boot() {
        Ok(boot) => boot,
        Err(error) if blob.plan().seal.is_keyed() => return Err(Refusal::Boot(error)),
        // Flash that cannot store a number is not trusted with a checkpoint, and an old one in it may be long outdated.
        Err(error) => {
            warning!("cannot count boots in flash, so there are no checkpoints: {}", error);
            NOT_COUNTED
        }
    };
    let counted = boot != NOT_COUNTED;
    let len = node.checkpoint_len();
    let restored =
        counted && store.restore(blob.identity().digest, len, |bytes| node.restore(bytes).is_ok());
    let round = node.state().round;
    info!("{}, boot {}: round {} (restored: {})", blob, boot, round, restored);
    // Not `collect`, which would panic if there were too many.
    let mut peers = heapless::Vec::<_, NEIGHBOURS>::new();
    for peer in blob.peers() {
        let short = SettingsError::TooMany { room: NEIGHBOURS };
        peers.push(peer).map_err(|_| Refusal::Settings(short))?;
    }
    let started = exchange.start(blob.settings(boot), &peers, node, now);
    started.map_err(Refusal::Settings)?;
    Ok(counted.then_some(blob.checkpoint_every().into()))
}

impl<L, C, O, W, F> Program<'_, '_, L, C, O, W, F>
where
    L: Read + Write,
    C: Clock,
    O: OutputPin,
    W: Watchdog,
    F: Mapped,
{
    /// Does all that can be done now; pending until there is more to do.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.clock.now();
        self.watchdog.feed();
        let step = self.advance(now);
        let round = self.node.state().round;
        let shown = self.light.show(step, round, now);
        self.keep(matches!(step, Step::Paused | Step::Finished));
        // Before a round is computed, because neighbours wait for these frames.
        self.lines.speak(&mut self.links, self.exchange, &self.node, now, cx);
        if step == Step::Compute {
            self.compute();
            return Poll::Ready(());
        }
        // Frames that are due but not sent wait for their line, not for the clock.
        let due = Some(self.exchange.deadline()).filter(|&at| at > now);
        if self.nap <= now {
            self.nap = now.saturating_add(NAP);
        }
        // Mostly unchanged, which saves setting an alarm for every frame.
        let until = due.map_or(self.nap, |at| at.min(self.nap)).min(shown);
        let now = self.clock.now();
        let moved = self.lines.serve(&mut self.links, self.exchange, now, cx);
        if moved { Poll::Ready(()) } else { passed(&mut self.clock, until, cx) }
    }

    #[inline(never)]
    fn advance(&mut self, now: Micros) -> Step {
        let step = self.exchange.advance(&mut self.node, now);
        if step == Step::Finished && !self.finished {
            info!("all {} rounds are done", self.node.state().round);
        }
        self.finished = step == Step::Finished;
        step
    }

    #[inline(never)]
    fn compute(&mut self) {
        if let Err(error) = self.node.compute(&mut self.scratch) {
            warning!("round {}: {}", self.node.state().round, error);
        }
    }

    /// Writes a checkpoint if one is due or requested.
    #[inline(never)]
    fn keep(&mut self, resting: bool) {
        let asked = self.exchange.checkpoint_asked();
        let state = self.node.state();
        let place = (state.epoch, state.round);
        let every = match self.checkpoint_every {
            Some(every) => every,
            None if asked => return self.exchange.checkpoint_written(false),
            None => return,
        };
        let due = state.round.checked_rem(every) == Some(0);
        let wanted = asked || ((due || resting) && place != self.kept);
        match self.node.phase() {
            Phase::Ready if wanted => {}
            Phase::Diverged(_) if asked => return self.exchange.checkpoint_written(false),
            _ => return,
        }
        let written = match &mut self.node.checkpoint() {
            Ok(words) => self.store.save(words).is_ok(),
            Err(_) => false,
        };
        // A failed write is not tried again at every turn.
        self.kept = place;
        if !written {
            warning!("round {}: the checkpoint was not written", place.1);
        }
        if asked {
            self.exchange.checkpoint_written(written);
        }
    }
}

#[cfg(test)]
mod tests;
