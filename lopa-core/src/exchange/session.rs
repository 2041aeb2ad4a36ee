//! What a node knows while it exchanges rounds: about its neighbours, its epoch and its host.

use super::chunks::Cut;
use super::neighbour::Neighbour;
use super::settings::Settings;
use super::starting::{Asked, Start};
use crate::epoch::Epoch;
use crate::node::Scheme;
use crate::wire::{Counters, Trouble};

/// An exchange without its readers, so that a frame can stay in its reader while it is handled.
#[derive(Debug, Clone)]
pub(super) struct Session<
    const NEIGHBOURS: usize,
    const LINKS: usize,
    const VALUES: usize,
    const WINDOW: usize,
> {
    pub settings: Settings,
    pub neighbours: heapless::Vec<Neighbour, NEIGHBOURS>,
    /// Chunks received from each neighbour: the chunk at place p is in slot p modulo `WINDOW`. Floats as they are; changes of
    /// few bits as the [bytes](crate::wire::Packing) they came in.
    pub values: [[[f32; VALUES]; WINDOW]; NEIGHBOURS],
    pub counters: Counters,
    /// What distinguishes this boot of the node from others: the boot number. For a node that cannot count its boots, a
    /// number made from the first challenge it receives, and 0 before that.
    pub session: u32,
    pub epoch: Epoch,
    /// The round in which the epoch began; for a node that booted in it, the round it had completed then.
    pub start: u64,
    /// It booted in this epoch: only nodes that did so in the same round are in step with it.
    pub resumed: bool,
    /// Round `start` opens the epoch: with a codec, its values travel in full. Always false with floats.
    pub opening: bool,
    /// The node has not been restarted in the epoch yet.
    pub restart: bool,
    /// How rounds of floats are cut into chunks, and those of changes in few bits.
    pub floats: Cut,
    pub changes: Cut,
    /// The place of the next chunk to mix.
    pub base: u64,
    /// The round the node is in, as of the last advance.
    pub round: u64,
    /// Whether it has met a neighbour since it booted, or has given one up.
    pub settled: bool,
    /// Whether the node has computed its half of that round.
    pub computed: bool,
    pub paused: bool,
    pub diverged: bool,
    /// It takes no further part: it diverged, or was changed outside the exchange.
    pub out: bool,
    /// Another node has used this node's number.
    pub duplicate: bool,
    /// How many challenges were made, to make the next one new.
    pub challenges: u32,
    /// What a host must echo to change something, and what it echoed last, with the tag of that request.
    pub host_challenge: u32,
    pub changed: (u32, u32),
    /// A host's request to be answered on each link.
    pub asked: [Asked; LINKS],
    /// A checkpoint that a host has requested: the link and the tag.
    pub checkpoint: Option<(usize, u32)>,
    /// An answer about a checkpoint: the link, the tag; and whether it was written.
    pub answer: Option<(usize, u32)>,
    pub written: bool,
    /// A refusal of a node whose number is taken: the link, the number, its challenge.
    pub refuse_twin: Option<(usize, u32, u32)>,
    /// Whether the node starts, and why not.
    pub state: Start,
    pub trouble: Trouble,
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    pub fn tracking(&self) -> bool {
        self.settings.identity.scheme == Scheme::GradientTracking
    }
}

/// Counts one more; a counter stays at its highest value.
pub(super) fn bump(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// The neighbour with a number, if that link leads to it.
pub(super) fn find(neighbours: &mut [Neighbour], link: usize, node: u32) -> Option<&mut Neighbour> {
    neighbours.iter_mut().find(|n| n.is(link, node))
}
