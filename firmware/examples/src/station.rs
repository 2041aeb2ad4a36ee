//! A node with its links: what to allocate, and what to call when. Copy this file.
//!
//! All calls return at once. Interrupts only move bytes; everything here runs in one task.

use lopa_core::blob::{Blob, BlobError, BlobScratch, BuiltNode, Capacity};
use lopa_core::exchange::{Exchange, Micros, Peer, SettingsError, Step};
use lopa_core::problem::Problem;

/// Features of a sample.
pub const FEATURES: usize = 24;
/// Links: one to a host, and one to each neighbour.
pub const LINKS: usize = 3;
/// The most neighbours.
pub const NEIGHBOURS: usize = 2;
/// Floats of a chunk, y included.
const VALUES: usize = 64;
/// Floats of a node for logistic regression with gradient tracking: 4n + 2p, and scratch of 2p.
const FLOATS: usize = 8 * FEATURES;

type Links = Exchange<NEIGHBOURS, LINKS, VALUES>;

/// All memory of a node. It is large for a stack: put it into a static.
#[derive(Debug)]
pub struct Memory {
    floats: [f32; FLOATS],
    links: Links,
    frames: [Frame; LINKS],
}

impl Memory {
    /// All zeros, so it takes no flash.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a default would be built on the stack")]
    pub const fn new() -> Self {
        const EMPTY: Frame = Frame { bytes: [0; Links::BUFFER], from: 0, to: 0 };
        Self { floats: [0.0; FLOATS], links: Links::vacant(), frames: [EMPTY; LINKS] }
    }
}

/// A frame on its way out.
#[derive(Debug)]
struct Frame {
    bytes: [u8; Links::BUFFER],
    from: usize,
    to: usize,
}

/// The lines that links are on. Neither function waits.
pub trait Lines {
    /// Reads what a line has received and returns the number of bytes.
    fn read(&mut self, link: usize, bytes: &mut [u8]) -> usize;
    /// Writes as many bytes as a line accepts now and returns their number.
    fn write(&mut self, link: usize, bytes: &[u8]) -> usize;
}

/// What to do after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Call [`Station::compute`], then take another turn.
    Compute,
    /// Take another turn when bytes have arrived, a line has room again, or this time has come.
    Wait(Micros),
}

/// Why a node does not start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refusal {
    /// The blob is invalid or does not fit.
    Blob(BlobError),
    /// The exchange refuses its settings.
    Settings(SettingsError),
}

/// A node with its links.
#[derive(Debug)]
pub struct Station<P: Problem> {
    /// The node.
    pub node: BuiltNode<'static, P>,
    scratch: BlobScratch<'static>,
    links: &'static mut Links,
    frames: &'static mut [Frame; LINKS],
}

impl<P: Problem> Station<P> {
    /// The node of a blob, which learns `problem`, in round 0.
    ///
    /// # Errors
    /// If the blob needs more memory, links or neighbours than there are.
    pub fn new(
        blob: &Blob<'static>,
        problem: P,
        memory: &'static mut Memory,
        now: Micros,
    ) -> Result<Self, Refusal> {
        let Memory { floats, links, frames } = memory;
        let room =
            Capacity { floats: FLOATS, links: LINKS, neighbours: NEIGHBOURS, values: VALUES };
        blob.fits(&room).map_err(Refusal::Blob)?;
        let (node, scratch) = blob.build_for(problem, floats).map_err(Refusal::Blob)?;
        let mut peers = [Peer { node: 0, link: 0, weight: 0.0 }; NEIGHBOURS];
        peers.iter_mut().zip(blob.peers()).for_each(|(place, peer)| *place = peer);
        let peers = peers.get(..blob.peers().len()).unwrap_or(&peers);
        // Boots are not counted here, so the node must start from scratch: see `Settings::boot`.
        links.start(blob.settings(0), peers, &node, now).map_err(Refusal::Settings)?;
        Ok(Self { node, scratch, links, frames })
    }

    /// Receives, does everything but compute, and sends.
    pub fn turn(&mut self, lines: &mut impl Lines, now: Micros) -> Next {
        for link in 0..LINKS {
            self.listen(link, lines, now);
        }
        let step = self.links.advance(&mut self.node, now);
        if self.links.checkpoint_asked() {
            // These programs have no flash for it, and say so.
            self.links.checkpoint_written(false);
        }
        // Before a round is computed, because neighbours wait for these frames.
        for link in 0..LINKS {
            self.speak(link, lines, now);
        }
        if step == Step::Compute {
            return Next::Compute;
        }
        // A frame that is due but not sent waits for its line, not for the clock.
        let due = self.links.deadline();
        Next::Wait(if due > now { due } else { now.saturating_add(1_000_000) })
    }

    /// The node's half of a round. A node that diverges reports it to hosts; only finite values are ever sent.
    pub fn compute(&mut self) {
        let _ = self.node.compute(&mut self.scratch);
    }

    fn listen(&mut self, link: usize, lines: &mut impl Lines, now: Micros) {
        let mut bytes = [0; 64];
        // The other links have their turn, however fast this one delivers.
        for _ in 0..16 {
            let len = lines.read(link, &mut bytes);
            let _ = self.links.receive(link, bytes.get(..len).unwrap_or(&bytes), now);
            if len < bytes.len() {
                break;
            }
        }
    }

    fn speak(&mut self, link: usize, lines: &mut impl Lines, now: Micros) {
        let Some(frame) = self.frames.get_mut(link) else { return };
        loop {
            let rest = frame.bytes.get(frame.from..frame.to).unwrap_or(&[]);
            frame.from += lines.write(link, rest);
            if frame.from < frame.to {
                return;
            }
            let next = self.links.transmit(link, &self.node, now, &mut frame.bytes);
            let Ok(Some(len)) = next else { return };
            (frame.from, frame.to) = (0, len);
        }
    }
}
