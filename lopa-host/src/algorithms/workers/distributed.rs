//! A network whose parts are in different processes, behind the same trait as in one.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use lopa_core::network::{Edge, NetworkError};

use super::message::{self, Failure, Word};
use super::{Border, Gone, Mesh, Split};
use crate::algorithms::{
    Algorithm, NodeView, Participant, RestoreError, Sent, StepError, restore_all, save_all,
};
use crate::network::{InProcess, Member, Outbox, Traffic};

/// A part of a network, and what connects it with the others.
#[derive(Debug, Clone)]
pub struct Place {
    /// How the nodes are divided.
    pub split: Split,
    /// Which part is here.
    pub part: usize,
    /// What connects the parts.
    pub mesh: Arc<dyn Mesh>,
}

impl Place {
    /// Whether this part tells the others what to do, and measures and saves the nodes of all.
    const fn leads(&self) -> bool {
        self.part == 0
    }

    /// The other parts.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.part;
        (0..self.split.parts()).filter(move |part| *part != own)
    }

    /// The first node here.
    pub(crate) fn first(&self) -> usize {
        self.split.nodes(self.part).start
    }

    fn send(&self, to: usize, word: Word, bytes: &[u8]) -> Result<(), Gone> {
        self.mesh.send(to, message::write(word, bytes))
    }

    /// The next message of a part, which may be that it misses another one.
    pub(crate) fn receive(&self, from: usize) -> Result<Vec<u8>, Gone> {
        let message = self.mesh.receive(from)?;
        match message::read(&message) {
            Some((Word::Lost { part }, _)) => Err(Gone { part: part as usize }),
            _ => Ok(message),
        }
    }

    fn tell_others(&self, word: Word) -> Result<(), Gone> {
        self.others().try_for_each(|part| self.send(part, word, &[]))
    }
}

/// The nodes of one part, which learn with those of the others. The first part also keeps the nodes of all others, where they
/// were when they were last gathered.
#[derive(Debug)]
pub struct Distributed<M: Member> {
    place: Place,
    own: InProcess<M>,
    border: Border,
    others: Vec<M>,
    /// The bytes that the nodes of the others had sent when they were last gathered.
    sent: u64,
    failed: Option<Failure>,
    buffer: Vec<u8>,
}

impl<M: Member> Distributed<M> {
    /// Joins the nodes of a part, or of all parts in the first one, by the edges of the whole network.
    ///
    /// # Errors
    /// As in one process.
    pub fn join(mut nodes: Vec<M>, edges: &[Edge], place: Place) -> Result<Self, NetworkError> {
        InProcess::<M>::check(edges, place.split.all())?;
        let border = place.split.border(place.part, edges);
        let others = nodes.split_off(border.own.len());
        let (local, strangers) = (border.edges(edges), border.strangers.len());
        let own = InProcess::part(nodes, local, strangers)?;
        let (failed, buffer) = (None, Vec::new());
        Ok(Self { place, own, border, others, sent: 0, failed, buffer })
    }

    /// One round of the nodes here. `round` is how many they have completed.
    fn round(&mut self, round: u64) -> Result<(), StepError> {
        let first = self.border.own.start;
        let failure = |error| Failure::new(error, round, first);
        if self.failed.is_none() {
            self.failed = self.own.compute().err().map(failure);
        }
        let exchanged = self.exchange(round);
        if exchanged.is_ok() && self.failed.is_none() {
            self.failed = self.own.mix().err().map(failure);
        }
        self.own.take_back();
        exchanged?;
        self.failed.map_or(Ok(()), |failure| Err(NetworkError::from(failure).into()))
    }

    /// Sends what nodes of other parts read in this round, and receives what those here read, or that a node diverged.
    fn exchange(&mut self, round: u64) -> Result<(), StepError> {
        for part in self.place.others() {
            if let Some(failure) = self.failed {
                self.place.send(part, Word::Failed(failure), &[])?;
                continue;
            }
            self.buffer.clear();
            for node in &self.border.to[part] {
                for vector in self.own.sent(*node) {
                    self.buffer.extend_from_slice(bytemuck::cast_slice(vector));
                }
            }
            self.place.send(part, Word::Vectors { round }, &self.buffer)?;
        }
        for part in self.place.others() {
            let message = self.place.receive(part)?;
            match message::read(&message) {
                Some((Word::Failed(failure), _)) => self.fail(failure),
                Some((Word::Vectors { round: theirs }, bytes)) if theirs == round => {
                    let slots = self.own.received_mut(self.border.from[part].clone());
                    if !put(bytes, slots) {
                        return Err(Gone { part }.into());
                    }
                }
                // It speaks another language: there is nothing to go on with.
                _ => return Err(Gone { part }.into()),
            }
        }
        Ok(())
    }

    /// Where the nodes of another part are among the others. Only the first part has them, and its own come first.
    fn of(&self, part: usize) -> Range<usize> {
        let (nodes, first) = (self.place.split.nodes(part), self.border.own.end);
        nodes.start - first..nodes.end - first
    }

    fn fail(&mut self, failure: Failure) {
        self.failed = Some(self.failed.map_or(failure, |own| own.first(failure)));
    }
}

/// Puts bytes into all vectors, one behind the other. Changes nothing if they are not as many.
fn put<A: bytemuck::Pod>(mut bytes: &[u8], slots: &mut [Outbox<A>]) -> bool {
    let vectors = slots.iter().flatten().map(|vector| size_of_val(&**vector)).sum::<usize>();
    if vectors != bytes.len() {
        return false;
    }
    for vector in slots.iter_mut().flatten() {
        let vector: &mut [u8] = bytemuck::cast_slice_mut(vector);
        let own = bytes.split_off(..vector.len()).unwrap_or_default();
        vector.copy_from_slice(own);
    }
    true
}

impl<P, M: Participant<P> + fmt::Debug> Algorithm<P> for Distributed<M> {
    fn step(&mut self) -> Result<(), StepError> {
        if self.place.leads() {
            self.place.tell_others(Word::Go)?;
        }
        Self::round(self, Algorithm::<P>::round(self))
    }

    fn round(&self) -> u64 {
        self.own.nodes().first().map_or(0, |node| node.view().round)
    }

    fn nodes(&self) -> Vec<NodeView<'_, P>> {
        self.own.nodes().iter().chain(&self.others).map(Participant::view).collect()
    }

    fn sent(&self) -> Sent {
        Sent::of(self.own.nodes().first())
    }

    fn gather(&mut self) -> Result<(), StepError> {
        if !self.place.leads() || self.failed.is_some() {
            return Ok(());
        }
        self.place.tell_others(Word::Report)?;
        self.sent = 0;
        for part in self.place.others() {
            let message = self.place.receive(part)?;
            match message::read(&message) {
                Some((Word::Failed(failure), _)) => self.fail(failure),
                Some((Word::Nodes { sent }, bytes)) => {
                    let nodes = self.of(part);
                    // They were saved by this program, in a part whose data have the same checksum.
                    restore_all(&mut self.others[nodes], bytes).map_err(|_| Gone { part })?;
                    self.sent += sent;
                }
                _ => return Err(Gone { part }.into()),
            }
        }
        self.failed.map_or(Ok(()), |failure| Err(NetworkError::from(failure).into()))
    }

    fn checkpoint(&self) -> Option<Vec<u8>> {
        let round = Algorithm::<P>::round(self);
        let gathered = self.others.iter().all(|node| node.view().round == round);
        if self.failed.is_some() || self.own.has_failed() || !gathered {
            return None;
        }
        save_all(self.own.nodes().iter().chain(&self.others))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), RestoreError> {
        restore_all(self.own.nodes_mut().iter_mut().chain(&mut self.others), bytes)?;
        self.failed = None;
        if !self.place.leads() {
            return Ok(());
        }
        for part in self.place.others() {
            // They were just restored, so they can be saved.
            let bytes = save_all(&self.others[self.of(part)]).unwrap_or_default();
            self.place.send(part, Word::Restore, &bytes).map_err(RestoreError::Worker)?;
        }
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        Traffic { bytes: self.own.bytes() + self.sent, frames: None }
    }
}

impl<M: Member> Drop for Distributed<M> {
    fn drop(&mut self) {
        if self.place.leads() {
            // Those that are gone need not know.
            for part in self.place.others() {
                let _ = self.place.send(part, Word::End, &[]);
            }
        }
    }
}

/// Does what the first part says, until the run is over.
///
/// # Errors
/// If another part is gone.
pub fn serve<P>(network: &mut dyn Algorithm<P>, mesh: &dyn Mesh) -> Result<(), Gone> {
    let served = follow(network, mesh);
    if let Err(Gone { part }) = served
        && part != 0
    {
        // The first part says when it is over: one that ended now might be taken for the one that was lost.
        mesh.send(0, message::write(Word::Lost { part: part as u64 }, &[]))?;
        while message::read(&mesh.receive(0)?).is_none_or(|(word, _)| word != Word::End) {}
    }
    served
}

fn follow<P>(network: &mut dyn Algorithm<P>, mesh: &dyn Mesh) -> Result<(), Gone> {
    let mut failed = None;
    loop {
        let message = mesh.receive(0)?;
        match message::read(&message) {
            Some((Word::Go, _)) => match network.step() {
                Ok(()) => {}
                Err(StepError::Network(error)) => {
                    // Already numbered as in the whole network.
                    failed = Some(Failure::new(error, network.round(), 0));
                }
                Err(StepError::Worker(gone)) => return Err(gone),
            },
            Some((Word::Report, _)) => {
                let (word, bytes) = match (failed, network.checkpoint()) {
                    (Some(failure), _) => (Word::Failed(failure), Vec::new()),
                    (None, nodes) => {
                        let sent = network.traffic().bytes;
                        (Word::Nodes { sent }, nodes.unwrap_or_default())
                    }
                };
                mesh.send(0, message::write(word, &bytes))?;
            }
            Some((Word::Restore, bytes)) => {
                // The first part has restored the same bytes before.
                network.restore(bytes).map_err(|_| Gone { part: 0 })?;
                failed = None;
            }
            Some((Word::End, _)) => return Ok(()),
            _ => return Err(Gone { part: 0 }),
        }
    }
}
