//! A network as blobs, one for each chip, and what they cost there.
//!
//! ```
//! use lopa_host::config::Experiment;
//! use lopa_host::run::Prepared;
//! use lopa_host::shards::{Limits, shard};
//!
//! let experiment = Experiment::parse(
//!     r#"
//!     network = { nodes = 4 }
//!     problem = { kind = "logistic" }
//!     algorithm = { name = "lopa-gt", alpha = 0.1, beta = 0.05, lambda = 0.05, gamma = 0.3, tau = 0.5, batch = 20 }
//!     links = { baud = 115200 }
//!     run = { iterations = 100 }
//!     "#,
//! )?;
//! let limits = Limits { flash: Some(64 * 1024), ram: Some(8 * 1024) };
//! let shards = shard(&Prepared::new(experiment)?, limits)?;
//! assert_eq!(shards.len(), 4);
//! assert!(shards.iter().all(|shard| shard.budget.seconds < 0.1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use lopa_core::blob::{self, Blob, BlobError, Plan, Start};
use lopa_core::exchange::{Peer, Timing};
use lopa_core::node::Scheme;
use lopa_core::wire::{self, Acks, Body, Data, Floats, Held, Message};
use serde::Serialize;

use crate::linked::{Linking, Wiring};
use crate::run::{Prepared, RunError, linking};

/// Serial lines of a board to neighbours, at most.
pub const LINES: usize = 4;
/// Floats of a chunk that the node program holds, y behind x with gradient tracking.
pub const VALUES: u32 = 64;

/// A node's blob and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// The blob: see [`lopa_core::blob`].
    pub blob: Vec<u8>,
    /// What it costs.
    pub budget: Budget,
}

/// What a node costs on a chip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// The node.
    pub node: u32,
    /// Its neighbours.
    pub neighbours: usize,
    /// Bytes of its blob, in flash.
    pub flash: usize,
    /// Bytes of its vectors, its scratch and the rest of a node, in RAM; the exchange's buffers come on top, as large as
    /// the image was built.
    pub ram: usize,
    /// Bytes of a checkpoint, in flash.
    pub checkpoint: usize,
    /// Bytes it sends in a round, over all its lines.
    pub sent: u64,
    /// Seconds a round takes at least: bytes one after the other on its busiest line, and the computation.
    pub seconds: f64,
}

/// What a chip has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes of flash for a blob.
    pub flash: Option<usize>,
    /// Bytes of RAM for a node.
    pub ram: Option<usize>,
}

/// What of the blobs is not as the file has it. None of it changes a bit of what is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// The wiring.
    pub wiring: Option<Wiring>,
    /// The most floats of a chunk, y behind x with gradient tracking: longer chunks are cut shorter.
    pub values: Option<u32>,
    /// When to lose patience.
    pub timing: Option<Timing>,
    /// Rounds between checkpoints, where the file names none.
    pub checkpoint_every: Option<u32>,
}

/// Why there are no blobs.
#[derive(Debug)]
pub enum ShardError {
    /// The network cannot be built.
    Network(RunError),
    /// A node has more neighbours than a board has lines.
    Lines {
        /// The node.
        node: u32,
        /// Its neighbours.
        neighbours: usize,
    },
    /// A node takes more than there is.
    Room {
        /// The node.
        node: u32,
        /// Of what: flash or RAM.
        name: &'static str,
        /// Bytes it takes.
        needed: usize,
        /// Bytes there are.
        room: usize,
    },
    /// A blob that a chip would refuse.
    Blob {
        /// The node.
        node: u32,
        /// Why.
        error: BlobError,
    },
}

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => error.fmt(f),
            Self::Lines { node, neighbours } => write!(
                f,
                "node {node} has {neighbours} neighbours, a board has lines to {LINES}: write wiring = \"routed\" \
                 in the table [links], or choose another topology"
            ),
            Self::Room { node, name, needed, room } => {
                write!(f, "node {node} needs {needed} bytes of {name}, there are {room}")
            }
            Self::Blob { node, error } => write!(f, "node {node}: {error}"),
        }
    }
}

impl std::error::Error for ShardError {}

impl From<RunError> for ShardError {
    fn from(error: RunError) -> Self {
        Self::Network(error)
    }
}

/// A blob in memory, where its floats can be read: at a multiple of four bytes, which a file's bytes need not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    words: Vec<u32>,
    len: usize,
}

impl Loaded {
    /// Takes the bytes of a file.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0; bytes.len().div_ceil(4)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, len: bytes.len() }
    }

    /// The blob.
    ///
    /// # Errors
    /// As a chip would.
    pub fn blob(&self) -> Result<Blob<'_>, BlobError> {
        Blob::read(&bytemuck::cast_slice(&self.words)[..self.len])
    }
}

/// A blob for each node of a network, each read back as a chip reads it.
///
/// Without a table `links` its defaults are taken. With direct wiring a node's neighbours are on links 1, 2, … in order
/// of their numbers, link 0 being for a host; otherwise all are on link 0, behind the router.
///
/// # Errors
/// Names the first node that does not fit.
pub fn shard(prepared: &Prepared, limits: Limits) -> Result<Vec<Shard>, ShardError> {
    shard_as(prepared, limits, Form::default())
}

/// The same in another form.
///
/// # Errors
/// As [`shard`].
pub fn shard_as(prepared: &Prepared, limits: Limits, form: Form) -> Result<Vec<Shard>, ShardError> {
    let samples = prepared.material().samples()?;
    let simulation = prepared.simulation(&samples)?;
    let nodes = simulation.nodes();
    let experiment = prepared.experiment();
    let mut peers = vec![Vec::new(); nodes.len()];
    for edge in prepared.weights().edges() {
        peers[edge.node as usize].push(Peer { node: edge.neighbour, link: 0, weight: edge.weight });
    }
    let degrees: Vec<usize> = peers.iter().map(Vec::len).collect();
    let scheme = experiment.algorithm.scheme().map_err(RunError::from)?;
    let mut table = experiment.links.clone().unwrap_or_default();
    table.wiring = form.wiring.unwrap_or(table.wiring);
    if let Some(values) = form.values {
        let vectors = if scheme == Scheme::GradientTracking { 2 } else { 1 };
        table.chunk = table.chunk.min((values / vectors).max(1));
    }
    let mut linking = linking(&table, scheme, &degrees, prepared.seal());
    linking.timing = form.timing.unwrap_or(linking.timing);
    let network = network(prepared, nodes.first().map_or(&[][..], |node| node.state().x));
    let checkpoint_every =
        experiment.run.checkpoint_every.unwrap_or(form.checkpoint_every.unwrap_or(0).into());
    let mut shards = Vec::new();
    for ((number, node), peers) in (0..).zip(nodes).zip(&mut peers) {
        if linking.wiring == Wiring::Direct {
            if peers.len() > LINES {
                return Err(ShardError::Lines { node: number, neighbours: peers.len() });
            }
            (1..).zip(peers.iter_mut()).for_each(|(link, peer)| peer.link = link);
        }
        let plan = Plan {
            network,
            rounds: experiment.run.iterations,
            scheme,
            config: *node.config(),
            chunk: linking.chunk,
            timing: linking.timing,
            baud: linking.baud,
            wiring: linking.wiring,
            checkpoint_every: u32::try_from(checkpoint_every).unwrap_or(u32::MAX),
            seal: prepared.seal(),
        };
        let mut bytes = Vec::new();
        let wrong = |error| ShardError::Blob { node: number, error };
        blob::write(&plan, node.problem(), start(node.state().x), peers, |piece| {
            bytes.extend_from_slice(piece);
        })
        .map_err(wrong)?;
        let loaded = Loaded::new(&bytes);
        let budget = budget(&loaded.blob().map_err(wrong)?, &linking, degrees.len());
        for (name, needed, room) in
            [("flash", budget.flash, limits.flash), ("RAM", budget.ram, limits.ram)]
        {
            if let Some(room) = room.filter(|room| needed > *room) {
                return Err(ShardError::Room { node: number, name, needed, room });
            }
        }
        shards.push(Shard { blob: bytes, budget });
    }
    Ok(shards)
}

/// One number if it is the same everywhere, to the last bit.
fn start(x0: &[f32]) -> Start<'_> {
    match x0.first() {
        Some(first) if x0.iter().all(|x| x.to_bits() == first.to_bits()) => Start::Number(*first),
        _ => Start::Vector(x0),
    }
}

/// A checksum of all that nodes must have in common and no greeting says otherwise.
fn network(prepared: &Prepared, x0: &[f32]) -> u32 {
    let mut digest = crc32fast::Hasher::new();
    digest.update(&prepared.digest().to_le_bytes());
    x0.iter().for_each(|x| digest.update(&x.to_le_bytes()));
    let problem = serde_json::to_vec(&prepared.experiment().problem).unwrap_or_default();
    digest.update(&problem);
    digest.finalize()
}

fn budget(blob: &Blob<'_>, linking: &Linking, nodes: usize) -> Budget {
    let footprint = blob.footprint();
    let neighbours = blob.peers().len();
    let direct = linking.wiring == Wiring::Direct;
    let (lines, heard) = if direct { (neighbours, 1) } else { (1, neighbours) };
    let vectors = round_bytes(blob, heard);
    let sent = vectors * lines as u64 * u64::from(neighbours > 0);
    // What one line carries in one direction in a round: a node's own frames, or those of all neighbours behind a router;
    // on a bus everybody's.
    let busiest = match linking.wiring {
        _ if neighbours == 0 => 0,
        Wiring::Direct => vectors,
        Wiring::Routed => vectors * neighbours as u64,
        Wiring::Bus => vectors * nodes as u64,
    };
    // Ten bits a byte.
    let line = busiest as f64 * 10.0 / f64::from(linking.baud);
    Budget {
        node: blob.node(),
        neighbours,
        flash: blob.len(),
        ram: footprint.ram(),
        checkpoint: footprint.checkpoint,
        sent,
        seconds: line + linking.compute[1] as f64 * 1e-6,
    }
}

/// The bytes of a round's chunks as frames on one line, acknowledgements for `heard` neighbours with them.
fn round_bytes(blob: &Blob<'_>, heard: usize) -> u64 {
    let plan = blob.plan();
    let (outer, chunk) = (blob.dimensions().outer as u64, u64::from(plan.chunk));
    let whole = frame(blob, chunk.min(outer) as usize, heard);
    let last = (outer % chunk) as usize;
    let rest = if last > 0 && outer > chunk { frame(blob, last, heard) } else { 0 };
    (outer / chunk).max(1) * whole + rest
}

/// The bytes of a frame with so many elements in the last round, by writing one.
fn frame(blob: &Blob<'_>, elements: usize, heard: usize) -> u64 {
    let plan = blob.plan();
    // Any float without a zero byte: those of a vector seldom have one.
    let values = vec![core::f32::consts::PI; elements];
    let y = if plan.scheme == Scheme::GradientTracking { &values[..] } else { &[] };
    let chunks = (blob.dimensions().outer as u64).div_ceil(u64::from(plan.chunk));
    let round = plan.rounds.saturating_sub(1);
    let mut acks = Acks { next: round.saturating_mul(chunks), ..Acks::default() };
    for peer in blob.peers().take(heard) {
        if acks.held.push(Held { to: peer.node, chunks: 1 }).is_err() {
            break;
        }
    }
    let chunk = chunks.saturating_sub(1).min(u64::from(u32::MAX)) as u32;
    let data = Data { round, chunk, acks, values: Floats(&values, y) };
    let (version, sender) = (wire::VERSION, plan.node());
    let message = Message { version, sender, session: 1, epoch: 0, body: Body::Data(data) };
    let longest = wire::frame_len(wire::message_len(2 * elements));
    wire::encode(&message, &plan.seal, &mut vec![0; longest]).unwrap_or(longest) as u64
}
