//! How an exchange begins: vacant, started or declined.

use super::chunks::Cut;
use super::neighbour::Neighbour;
use super::session::Session;
use super::settings::{Micros, Peer, Settings, SettingsError};
use crate::codec::Outgoing;
#[cfg(feature = "codec")]
use crate::codec::{Share, whole_blocks};
use crate::epoch::Epoch;
use crate::node::{Phase, Scheme, State};
use crate::wire::{Ask, Cause, Counters, HOST, Trouble};

/// Whether a node starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// It does.
    Sound,
    /// It does not, but knows its number.
    Declined,
    /// It does not, and has no number.
    Nameless,
}

/// A host's request, if one is waiting. All its bits are zero at first: see `Exchange::vacant`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub waits: bool,
    pub tag: u32,
    pub ask: Ask,
}

impl Asked {
    const NOTHING: Self = Self { waits: false, tag: 0, ask: Ask::Start };

    pub fn take(&mut self) -> Option<(u32, Ask)> {
        core::mem::take(&mut self.waits).then_some((self.tag, self.ask))
    }
}

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    pub(super) const fn vacant() -> Self {
        Self {
            settings: Settings::VACANT,
            neighbours: heapless::Vec::new(),
            values: [[[0.0; VALUES]; WINDOW]; NEIGHBOURS],
            counters: Counters::ZERO,
            session: 0,
            epoch: Epoch::FIRST,
            start: 0,
            resumed: false,
            opening: false,
            restart: false,
            floats: Cut::NONE,
            changes: Cut::NONE,
            base: 0,
            round: 0,
            settled: false,
            computed: false,
            paused: false,
            diverged: false,
            out: false,
            duplicate: false,
            challenges: 0,
            host_challenge: 0,
            changed: (0, 0),
            asked: [Asked::NOTHING; LINKS],
            checkpoint: None,
            answer: None,
            written: false,
            refuse_twin: None,
            state: Start::Sound,
            trouble: Trouble { cause: Cause::NoBlob, needed: 0, found: 0 },
        }
    }

    /// Starts from scratch, field by field: a copy of the whole would be large.
    pub(super) fn start(
        &mut self,
        settings: Settings,
        peers: &[Peer],
        state: &State<'_>,
        phase: Phase,
        outgoing: Option<&Outgoing<'_>>,
        now: Micros,
    ) -> Result<(), SettingsError> {
        if settings.node > 0xffff {
            return Err(SettingsError::Number { node: settings.node });
        }
        if !settings.timing.is_sound() {
            return Err(SettingsError::Timing);
        }
        let vectors = if settings.identity.scheme == Scheme::GradientTracking { 2 } else { 1 };
        let chunk = settings.identity.chunk as usize;
        if chunk == 0 || settings.identity.outer == 0 || chunk.saturating_mul(vectors) > VALUES {
            return Err(SettingsError::Chunk { room: VALUES });
        }
        if state.x.len() as u64 != u64::from(settings.identity.outer) || phase != Phase::Ready {
            return Err(SettingsError::Node);
        }
        if settings.identity.codec() != outgoing.map_or(0, |outgoing| outgoing.codec().identity()) {
            return Err(SettingsError::Codec);
        }
        #[cfg(feature = "codec")]
        if outgoing.is_some() && !whole_blocks(chunk, state.x.len()) {
            return Err(SettingsError::Blocks);
        }
        let State { epoch, round, .. } = *state;
        self.neighbours.clear();
        (self.settings, self.counters) = (settings, Counters::ZERO);
        self.session = settings.boot;
        (self.epoch, self.start, self.resumed, self.restart) = (epoch, round, true, false);
        self.opening = outgoing.is_some_and(Outgoing::is_opening);
        let (chunk, outer) = (settings.identity.chunk, settings.identity.outer);
        (self.floats, self.changes) = (Cut::new(chunk, outer), Cut::NONE);
        #[cfg(feature = "codec")]
        if let Some(outgoing) = outgoing {
            self.changes = Cut::new(outgoing.codec().bits().chunk(chunk, outer), outer);
        }
        (self.base, self.round) = (self.first(round), round);
        (self.settled, self.computed, self.paused) = (false, false, false);
        (self.diverged, self.out, self.duplicate) = (false, false, false);
        (self.challenges, self.changed, self.asked) = (0, (0, 0), [Asked::NOTHING; LINKS]);
        self.host_challenge = self.new_challenge(HOST, now);
        (self.checkpoint, self.answer, self.refuse_twin) = (None, None, None);
        self.state = Start::Sound;
        let mut total = 0.0;
        let mut last = None;
        for _ in peers {
            // In order of their numbers, in whatever order they are given.
            let next = peers.iter().filter(|peer| last.is_none_or(|last| peer.node > last));
            let Some(peer) = next.min_by_key(|peer| peer.node) else {
                let twice = |a: &&Peer| peers.iter().filter(|b| a.node == b.node).count() > 1;
                let node = peers.iter().find(twice).map_or(settings.node, |peer| peer.node);
                return Err(SettingsError::Neighbour { node });
            };
            last = Some(peer.node);
            let node = peer.node;
            if node > 0xffff {
                return Err(SettingsError::Number { node });
            }
            if node == settings.node {
                return Err(SettingsError::Neighbour { node });
            }
            if usize::from(peer.link) >= LINKS {
                return Err(SettingsError::Link { node });
            }
            if !(peer.weight > 0.0 && peer.weight.is_finite()) {
                return Err(SettingsError::Weight { node });
            }
            #[cfg(feature = "codec")]
            if outgoing.is_some() && Share::of(peer.weight).is_none() {
                return Err(SettingsError::Share { node });
            }
            total += peer.weight;
            let challenge = self.new_challenge(node, now);
            let mut neighbour = Neighbour::new(*peer, challenge, now, &settings.timing);
            neighbour.begin(self.base, now, &settings.timing);
            if self.neighbours.push(neighbour).is_err() {
                return Err(SettingsError::TooMany { room: NEIGHBOURS });
            }
        }
        if total >= 1.0 {
            return Err(SettingsError::Weights);
        }
        Ok(())
    }
}
