//! The blobs of a network, one per node.

use lopa_core::blob::{self, Blob, BlobError, Plan, Start};
use lopa_core::codec::{BLOCK, whole_blocks};
use lopa_core::exchange::{Peer, Timing};
use lopa_core::node::Scheme;

use super::{Budget, ChipError, LINES};
use crate::network::Wiring;
use crate::run::{Prepared, RunError, linking};

/// A node's blob, and what it needs of a chip.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeBlob {
    /// The blob: see [`lopa_core::blob`].
    pub bytes: Vec<u8>,
    /// What it needs.
    pub budget: Budget,
}

/// The room on a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes of flash for a blob.
    pub flash: Option<usize>,
    /// Bytes of RAM for a node.
    pub ram: Option<usize>,
}

/// Where blobs differ from the file. None of it changes a bit of what is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// The wiring.
    pub wiring: Option<Wiring>,
    /// The most floats of a chunk, y behind x with gradient tracking: longer chunks are shortened.
    pub values: Option<u32>,
    /// The timeouts.
    pub timing: Option<Timing>,
    /// Rounds between checkpoints, if the file does not say.
    pub checkpoint_every: Option<u32>,
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
/// Without a table `links`, its defaults are used. With direct wiring, a node's neighbours are on links 1, 2, … in order of
/// their numbers, and link 0 is for a host; otherwise all are on link 0, behind the router.
///
/// # Errors
/// Names the first node that does not fit.
pub fn blobs(prepared: &Prepared, limits: Limits, form: Form) -> Result<Vec<NodeBlob>, ChipError> {
    let samples = prepared.material().samples()?;
    let simulation = prepared.simulation(&samples)?;
    let nodes = simulation.nodes();
    // Chips scale raw samples themselves, to the same bits: raw ones are often smaller, and so are those of a sensor.
    let raw = prepared.material().raw_samples()?;
    let problems = prepared.learners(&raw)?;
    let experiment = prepared.experiment();
    let mut peers = vec![Vec::new(); nodes.len()];
    for edge in prepared.weights().edges() {
        peers[edge.node as usize].push(Peer { node: edge.neighbour, link: 0, weight: edge.weight });
    }
    let degrees: Vec<usize> = peers.iter().map(Vec::len).collect();
    let scheme = experiment.algorithm.scheme().map_err(RunError::from)?;
    let codec = experiment.codec().map_err(RunError::from)?;
    let mut table = experiment.links.clone().unwrap_or_default();
    table.wiring = form.wiring.unwrap_or(table.wiring);
    if let Some(values) = form.values {
        let vectors = if scheme == Scheme::GradientTracking { 2 } else { 1 };
        table.chunk = table.chunk.min((values / vectors).max(1));
    }
    let outer = nodes.first().map_or(0, |node| node.state().x.len());
    if codec.is_some() && !whole_blocks(table.chunk as usize, outer) {
        table.chunk = (table.chunk / BLOCK as u32 * BLOCK as u32).max(1);
    }
    let mut linking = linking(&table, scheme, &degrees, prepared.seal());
    linking.timing = form.timing.unwrap_or(linking.timing);
    let network = network(prepared, nodes.first().map_or(&[][..], |node| node.state().x))?;
    let checkpoint_every =
        experiment.run.checkpoint_every.unwrap_or(form.checkpoint_every.unwrap_or(0).into());
    let mut blobs = Vec::new();
    for (((number, node), problem), peers) in (0..).zip(nodes).zip(&problems).zip(&mut peers) {
        if linking.wiring == Wiring::Direct {
            if peers.len() > LINES {
                return Err(ChipError::Lines { node: number, neighbours: peers.len() });
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
            codec,
        };
        let mut bytes = Vec::new();
        let wrong = |source| ChipError::Blob { node: number, source };
        blob::write(&plan, problem, start(node.state().x), peers, |piece| {
            bytes.extend_from_slice(piece);
        })
        .map_err(wrong)?;
        let loaded = Loaded::new(&bytes);
        let budget = Budget::new(&loaded.blob().map_err(wrong)?, &linking, degrees.len());
        for (name, needed, room) in
            [("flash", budget.flash, limits.flash), ("RAM", budget.ram, limits.ram)]
        {
            if let Some(room) = room.filter(|room| needed > *room) {
                return Err(ChipError::Room { node: number, name, needed, room });
            }
        }
        blobs.push(NodeBlob { bytes, budget });
    }
    Ok(blobs)
}

/// One number if it is the same everywhere, to the last bit.
fn start(x0: &[f32]) -> Start<'_> {
    match x0.first() {
        Some(first) if x0.iter().all(|x| x.to_bits() == first.to_bits()) => Start::Number(*first),
        _ => Start::Vector(x0),
    }
}

/// A checksum of what all nodes must have in common and no greeting compares.
fn network(prepared: &Prepared, x0: &[f32]) -> Result<u32, ChipError> {
    let mut digest = crc32fast::Hasher::new();
    digest.update(&prepared.digest().to_le_bytes());
    digest.update(&prepared.base().to_le_bytes());
    x0.iter().for_each(|x| digest.update(&x.to_le_bytes()));
    if let Some(codec) = prepared.experiment().codec().map_err(RunError::from)? {
        // Greetings compare it too, but checkpoints of another codec must not be continued either.
        digest.update(&codec.identity().to_le_bytes());
    }
    digest.update(&serde_json::to_vec(&prepared.experiment().problem)?);
    Ok(digest.finalize())
}
