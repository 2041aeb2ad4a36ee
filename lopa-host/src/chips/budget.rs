//! What a node needs of a chip: flash, RAM, bytes on the line, and time.

use lopa_core::blob::Blob;
use lopa_core::codec::{BLOCK, Block};
use lopa_core::node::Scheme;
use lopa_core::wire::{self, Acks, Body, Data, Held, Message};
use serde::Serialize;

use crate::network::{Linking, Wiring};

/// What a node needs of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// The node.
    pub node: u32,
    /// Its neighbours.
    pub neighbours: usize,
    /// Bytes of its blob, in flash.
    pub flash: usize,
    /// Bytes of its vectors, its scratch and the rest of a node, in RAM; the exchange's buffers come on top; the image
    /// sets their size.
    pub ram: usize,
    /// Bytes of a checkpoint, in flash.
    pub checkpoint: usize,
    /// Bytes it sends per round, over all its lines.
    pub sent: u64,
    /// The least seconds per round: the bytes on its busiest line one after the other, and the computation.
    pub seconds: f64,
}

impl Budget {
    pub(super) fn new(blob: &Blob<'_>, linking: &Linking, nodes: usize) -> Self {
        let footprint = blob.footprint();
        let neighbours = blob.peers().len();
        let direct = linking.wiring == Wiring::Direct;
        let (lines, heard) = if direct { (neighbours, 1) } else { (1, neighbours) };
        let vectors = round_bytes(blob, heard);
        let sent = vectors * lines as u64 * u64::from(neighbours > 0);
        // What one line carries in one direction per round: a node's own frames; behind a router, those of all its
        // neighbours; on a bus, those of all nodes.
        let busiest = match linking.wiring {
            _ if neighbours == 0 => 0,
            Wiring::Direct => vectors,
            Wiring::Routed => vectors * neighbours as u64,
            Wiring::Bus => vectors * nodes as u64,
        };
        // Ten bits per byte.
        let line = busiest as f64 * 10.0 / f64::from(linking.baud);
        Self {
            node: blob.node(),
            neighbours,
            flash: blob.len(),
            ram: footprint.ram(),
            checkpoint: footprint.checkpoint,
            sent,
            seconds: line + linking.compute[1] as f64 * 1e-6,
        }
    }
}

/// The bytes of a round's chunks as frames on one line, with acknowledgements for `heard` neighbours.
fn round_bytes(blob: &Blob<'_>, heard: usize) -> u64 {
    let (outer, chunk) = (blob.dimensions().outer as u64, chunk(blob));
    let whole = frame(blob, chunk.min(outer) as usize, heard);
    let last = (outer % chunk) as usize;
    let rest = if last > 0 && outer > chunk { frame(blob, last, heard) } else { 0 };
    (outer / chunk).max(1) * whole + rest
}

/// The elements of a chunk, in all rounds but those that open an epoch.
fn chunk(blob: &Blob<'_>) -> u64 {
    let (chunk, outer) = (blob.plan().chunk, blob.dimensions().outer as u32);
    blob.codec().map_or(chunk, |codec| codec.bits().chunk(chunk, outer)).into()
}

/// The bytes of a frame with so many elements in the last round, measured by encoding one.
fn frame(blob: &Blob<'_>, elements: usize, heard: usize) -> u64 {
    let plan = blob.plan();
    let vectors = if plan.scheme == Scheme::GradientTracking { 2 } else { 1 };
    // Any bytes without a zero: those of a vector seldom have one.
    let bytes = match blob.codec() {
        Some(codec) => {
            let blocks = (0..elements).step_by(BLOCK).map(|at| BLOCK.min(elements - at));
            blocks.map(|len| Block::bytes(codec.bits(), len)).sum()
        }
        None => elements * size_of::<f32>(),
    };
    let values = vec![0x5a; vectors * bytes];
    let chunks = (blob.dimensions().outer as u64).div_ceil(chunk(blob));
    let round = plan.rounds.saturating_sub(1);
    let mut acks = Acks { next: round.saturating_mul(chunks), ..Acks::default() };
    for peer in blob.peers().take(heard) {
        if acks.held.push(Held { to: peer.node, chunks: 1 }).is_err() {
            break;
        }
    }
    let chunk = chunks.saturating_sub(1).min(u64::from(u32::MAX)) as u32;
    let data = Data { round, chunk, acks, values: &values[..] };
    let (version, sender) = (wire::VERSION, plan.node());
    let message = Message { version, sender, session: 1, epoch: 0, body: Body::Data(data) };
    let longest = wire::frame_len(wire::message_len(vectors * elements));
    wire::encode_received(&message, &plan.seal, &mut vec![0; longest]).unwrap_or(longest) as u64
}
