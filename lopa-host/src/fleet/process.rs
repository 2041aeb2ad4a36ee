//! A node that is a process: on a single-board computer, say, among nodes that are boards.
//!
//! It does what the node program of a board does, with a blob, a folder instead of flash, and a socket instead of a serial
//! line; its neighbours cannot tell.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lopa_core::blob::{Blob, BlobError, BlobNode, BlobScratch, Capacity};
use lopa_core::exchange::{Exchange, Micros, SettingsError, Step};
use lopa_core::node::Phase;

use super::kept::{Kept, KeptError};
use super::offered::Offered;
use super::port::{BREATH, Port, PortError};
use crate::chips::VALUES;

/// The most neighbours.
const NEIGHBOURS: usize = 64;
/// One to a host, which is the router.
const LINKS: usize = 1;
/// As on a board: neighbours are not to notice.
const WINDOW: usize = 2;

type HostExchange = Exchange<NEIGHBOURS, LINKS, { VALUES as usize }, WINDOW>;

/// Why a node does not run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// Its blob is not sound, or not for a process.
    #[error("node {node}: {error}")]
    Blob {
        /// The node.
        node: u32,
        /// Why.
        error: BlobError,
    },
    /// Its settings are refused.
    #[error("node {node}: {error}")]
    Settings {
        /// The node.
        node: u32,
        /// Why.
        error: SettingsError,
    },
    /// Boots are not counted.
    #[error(
        "node {0} has a key, so its boots must be counted, or an old recording could pass for new: name a folder with --state"
    )]
    Boot(u32),
    /// Its folder cannot be used.
    #[error(transparent)]
    Kept(#[from] KeptError),
    /// Its line cannot be offered.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doing {
    /// The rounds it has completed.
    pub round: u64,
    /// The rounds to do.
    pub rounds: u64,
    /// Whether it diverged.
    pub diverged: bool,
}

/// A node, its line and its folder, ready to run.
#[derive(Debug)]
pub struct Process {
    line: Offered,
    kept: Option<Kept>,
}

impl Process {
    /// A node that offers its line at a port. It counts boots and keeps checkpoints in the folder `state`; without, it starts
    /// from scratch whenever it runs.
    ///
    /// # Errors
    /// If the folder cannot be used, or the line not be offered.
    pub fn new(port: &Port, state: Option<PathBuf>) -> Result<Self, ProcessError> {
        let kept = state.map(Kept::open).transpose()?;
        Ok(Self { line: Offered::new(port)?, kept })
    }

    /// Runs until `stop` is true; a node that has finished still answers. `tick` receives what it does, whenever that
    /// changes.
    ///
    /// # Errors
    /// Says why it does not start.
    pub fn run(
        &mut self,
        blob: &Blob<'_>,
        stop: &AtomicBool,
        mut tick: impl FnMut(Doing),
    ) -> Result<(), ProcessError> {
        let node = blob.node();
        let wrong = |error| ProcessError::Blob { node, error };
        let mut memory = vec![0.0; blob.floats()];
        let room = Capacity {
            floats: memory.len(),
            neighbours: NEIGHBOURS,
            links: LINKS,
            values: VALUES as usize,
        };
        blob.fits(&room).map_err(wrong)?;
        let (learner, scratch) = blob.build(&mut memory).map_err(wrong)?;
        let mut turns = Turns::boot(blob, learner, scratch, self.kept.as_mut())?;
        let mut last = None;
        while !stop.load(Ordering::Relaxed) {
            let doing = turns.turn(&self.line, blob.plan().rounds);
            if last.replace(doing) != Some(doing) {
                tick(doing);
            }
        }
        Ok(())
    }
}

/// A node that runs.
struct Turns<'b, 'm, 'k> {
    node: BlobNode<'b, 'm>,
    scratch: BlobScratch<'m>,
    exchange: Box<HostExchange>,
    frame: Vec<u8>,
    kept: Option<&'k mut Kept>,
    /// Rounds between checkpoints.
    every: u64,
    /// Where the last checkpoint was written: the epoch's number and mark, and the round.
    place: (u64, u32, u64),
    start: Instant,
}

impl<'b, 'm, 'k> Turns<'b, 'm, 'k> {
    fn boot(
        blob: &Blob<'b>,
        mut node: BlobNode<'b, 'm>,
        scratch: BlobScratch<'m>,
        mut kept: Option<&'k mut Kept>,
    ) -> Result<Self, ProcessError> {
        let number = blob.node();
        // 0 is the number of a boot that is not counted.
        let boot = match &mut kept {
            Some(kept) => kept.boot()?,
            None if blob.plan().seal.is_keyed() => return Err(ProcessError::Boot(number)),
            None => 0,
        };
        if let Some(bytes) = kept.as_mut().and_then(|kept| kept.checkpoint(blob.identity().digest))
        {
            // One that is damaged, or another node's, is as good as none.
            let _ = node.restore(&bytes);
        }
        let peers: Vec<_> = blob.peers().collect();
        let exchange = Exchange::new(blob.settings(boot), &peers, &node, 0)
            .map_err(|error| ProcessError::Settings { node: number, error })?;
        let state = node.state();
        let place = (state.epoch.number, state.epoch.mark, state.round);
        let every = blob.checkpoint_every().into();
        let (exchange, frame) = (Box::new(exchange), vec![0; HostExchange::BUFFER]);
        Ok(Self { node, scratch, exchange, frame, kept, every, place, start: Instant::now() })
    }

    fn now(&self) -> Micros {
        Micros::try_from(self.start.elapsed().as_micros()).unwrap_or(Micros::MAX)
    }

    /// Does all that can be done now, and waits until there is more to do, but not for long.
    fn turn(&mut self, line: &Offered, rounds: u64) -> Doing {
        let now = self.now();
        line.frames().try_iter().for_each(|frame| self.take(&frame));
        let step = self.exchange.advance(&mut self.node, now);
        self.keep(matches!(step, Step::Paused | Step::Finished));
        // The link exists and the buffer is long enough, so nothing is refused.
        while let Ok(Some(len)) = self.exchange.transmit(0, &self.node, now, &mut self.frame) {
            line.put(&self.frame[..len]);
        }
        if step == Step::Compute {
            // A node that diverges stays where it is, and tells its host.
            let _ = self.node.compute(&mut self.scratch);
        } else {
            let due = Duration::from_micros(self.exchange.deadline().saturating_sub(self.now()));
            let wait = due.clamp(Duration::from_micros(100), BREATH);
            if let Ok(frame) = line.frames().recv_timeout(wait) {
                self.take(&frame);
            }
        }
        let diverged = matches!(self.node.phase(), Phase::Diverged(_));
        Doing { round: self.node.state().round, rounds, diverged }
    }

    fn take(&mut self, frame: &[u8]) {
        let now = self.now();
        // The link exists.
        let _ = self.exchange.receive(0, frame, now);
    }

    /// Writes a checkpoint if one is due or requested.
    fn keep(&mut self, resting: bool) {
        let asked = self.exchange.checkpoint_asked();
        let state = self.node.state();
        let place = (state.epoch.number, state.epoch.mark, state.round);
        let due = state.round.checked_rem(self.every) == Some(0);
        let wanted = asked || ((due || resting) && place != self.place);
        if !wanted
            || (self.node.phase() != Phase::Ready
                && !matches!(self.node.phase(), Phase::Diverged(_)))
        {
            return;
        }
        let written = match (&mut self.kept, self.node.checkpoint()) {
            (Some(kept), Ok(words)) => kept.save(words).is_ok(),
            _ => false,
        };
        // One that could not be written is not tried again at every turn.
        self.place = place;
        if asked {
            self.exchange.checkpoint_written(written);
        }
    }
}
