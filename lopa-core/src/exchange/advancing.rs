//! Progress within a round: mixes chunks that are complete, and waits for those that are not.

use super::neighbour::Neighbour;
use super::session::Session;
use super::settings::Micros;
use super::{Learner, Step};
use crate::codec::{BLOCK, Pull, Share, part};
use crate::node::{NodeError, Phase, Variable};
use crate::vector::add_gap;
use crate::wire::Packing;

/// How many elements are mixed at a time: bounds the stack.
const PIECE: usize = 32;

impl<const NEIGHBOURS: usize, const LINKS: usize, const VALUES: usize, const WINDOW: usize>
    Session<NEIGHBOURS, LINKS, VALUES, WINDOW>
{
    pub(super) fn advance<L: Learner + ?Sized>(&mut self, learner: &mut L, now: Micros) -> Step {
        if let Phase::Diverged(divergence) = learner.phase() {
            (self.diverged, self.out) = (true, true);
            return Step::Diverged(divergence);
        }
        self.out |= !self.in_place(learner);
        if self.out {
            return Step::Mismatch;
        }
        self.bury(now);
        loop {
            if self.restart {
                self.restart = false;
                learner.restart(self.epoch, self.start);
            }
            let round = learner.state().round;
            (self.round, self.computed) = (round, matches!(learner.phase(), Phase::Mixing { .. }));
            match learner.phase() {
                Phase::Diverged(divergence) => {
                    (self.diverged, self.out) = (true, true);
                    return Step::Diverged(divergence);
                }
                Phase::Ready if round < self.settings.rounds && !self.paused => {
                    return Step::Compute;
                }
                Phase::Ready => {
                    // A node that joined late has learned little when the others have finished all rounds.
                    let had = learner.evaluations().hessian_vector;
                    let enough = had >= self.settings.rounds.div_ceil(2);
                    if enough && round >= self.settings.rounds {
                        return Step::Finished;
                    }
                    if self.paused {
                        return Step::Paused;
                    }
                    self.begin(self.epoch.number, had, now);
                    continue;
                }
                Phase::Mixing { .. } => {}
            }
            let base = self.base;
            let ready = |n: &Neighbour| n.met() && n.filled & 1 != 0 && n.has(base);
            if !self.neighbours.iter().filter(|n| n.counts()).all(ready) {
                self.nag(now);
                return Step::Wait;
            }
            match self.mix(learner) {
                Ok(()) => {}
                Err(NodeError::Diverged(_) | NodeError::Range(_)) => continue,
                Err(_) => {
                    self.out = true;
                    return Step::Mismatch;
                }
            }
            self.base = base.saturating_add(1);
            for neighbour in &mut self.neighbours {
                neighbour.filled >>= 1;
                // The neighbour may have been waiting for room.
                if neighbour.met()
                    && neighbour.reached >= neighbour.told.saturating_add(WINDOW as u64)
                {
                    neighbour.ack_by(now);
                }
            }
        }
    }

    /// Whether the node is where the exchange left it.
    fn in_place<L: Learner + ?Sized>(&self, learner: &L) -> bool {
        if self.restart {
            // It is about to be restarted, so where it is does not matter.
            return true;
        }
        let state = learner.state();
        let next = if let Phase::Mixing { next } = learner.phase() { next } else { 0 };
        let travels = !self.coded()
            || learner.outgoing().is_some_and(|outgoing| {
                outgoing.codec().identity() == self.settings.identity.codec()
                    && outgoing.is_opening() == self.bits(state.round).is_none()
            });
        travels
            && state.epoch == self.epoch
            && self.place(state.round, next) == self.base
            && state.x.len() as u64 == u64::from(self.settings.identity.outer)
    }

    /// Mixes the chunk at the base, piece by piece.
    // With two ways to mix, neither may add to the stack of the other.
    #[cfg_attr(feature = "codec", inline(never))]
    fn mix<L: Learner + ?Sized>(&self, learner: &mut L) -> Result<(), NodeError> {
        if self.coded() {
            return self.mix_changes(learner);
        }
        let elements = self.elements(self.round, self.base);
        let len = elements.len();
        let mut done = 0;
        while done < len {
            let size = (len - done).min(PIECE);
            let (mut x_gap, mut y_gap) = ([0.0; PIECE], [0.0; PIECE]);
            let from = elements.start.saturating_add(done);
            let part = |a: &'_ [f32], from: usize| {
                from.min(a.len())..from.saturating_add(size).min(a.len())
            };
            let state = learner.state();
            let own_x = state.x.get(part(state.x, from)).unwrap_or(&[]);
            let own_y = state.y.get(part(state.y, from)).unwrap_or(&[]);
            let each = self.neighbours.iter().zip(&self.values);
            for (neighbour, slots) in each.filter(|(n, _)| n.met()) {
                let values = slots.get(Self::slot(self.base)).map_or(&[][..], |slot| &slot[..]);
                let their_x = values.get(part(values, done)).unwrap_or(&[]);
                add_gap(&mut x_gap, neighbour.peer.weight, their_x, own_x);
                if self.tracking() {
                    let their_y = values.get(part(values, len.saturating_add(done))).unwrap_or(&[]);
                    add_gap(&mut y_gap, neighbour.peer.weight, their_y, own_y);
                }
            }
            learner.mix(&x_gap[..size], &y_gap[..size])?;
            done += size;
        }
        Ok(())
    }

    /// The same for a node whose vectors travel in few bits, block by block.
    #[inline(never)]
    fn mix_changes<L: Learner + ?Sized>(&self, learner: &mut L) -> Result<(), NodeError> {
        let len = self.elements(self.round, self.base).len();
        for done in (0..len).step_by(BLOCK) {
            learner.mix_changes(&mut |variable, pull| self.pull(variable, done, pull))?;
        }
        Ok(())
    }

    /// Adds what all neighbours sent of a block of x, or of y: that which begins with element `done` of the chunk at the base.
    fn pull(&self, variable: Variable, done: usize, pull: &mut Pull) {
        let len = self.elements(self.round, self.base).len();
        let vector = usize::from(variable != Variable::Outer);
        let each = self.neighbours.iter().zip(&self.values);
        for (neighbour, slots) in each.filter(|(n, _)| n.met()) {
            // It was checked at the start.
            let Some(share) = Share::of(neighbour.peer.weight) else { continue };
            let Some(slot) = slots.get(Self::slot(self.base)) else { continue };
            if let Some(bits) = self.bits(self.round) {
                let packing = Packing { bits, len };
                if let Some(block) = packing.block(vector, done, bytemuck::cast_slice(slot)) {
                    pull.receive(share, &block);
                }
            } else {
                let values = slot.get(vector.saturating_mul(len)..).unwrap_or(&[]);
                pull.receive_values(share, part(values.get(..len).unwrap_or(values), done));
            }
        }
    }

    /// While a round waits for a neighbour's chunk, repeats the acknowledgement with growing pauses: the last one may have
    /// been lost.
    fn nag(&mut self, now: Micros) {
        for neighbour in &mut self.neighbours {
            if neighbour.met() && neighbour.filled & 1 == 0 && neighbour.ack_at.is_none() {
                let since = now.max(neighbour.told_at);
                neighbour.ack_by(since.saturating_add(neighbour.nag));
            }
        }
    }
}
