//! A host at the end of a node's control link: it repeats each request until there is an answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lopa_core::epoch::Epoch;
use lopa_core::node::Variable;
use lopa_core::wire::{
    self, Answer, Ask, Body, Counters, HOST, Message, Metrics, Reply, Request, Seal, Status,
    Trouble, VERSION,
};

/// A request is repeated after this time: the node may not have been up yet, or the request was lost.
const AGAIN: Duration = Duration::from_secs(1);
/// A node that does not answer for this long is absent, or hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long to wait for a node's answer when the status of all is requested.
const MOMENT: Duration = Duration::from_secs(2);

/// What a node answered, with values that outlive its frame.
type Said = Answer<Vec<f32>>;

/// A reply as it came.
#[derive(Debug)]
pub(crate) struct Heard {
    sender: u32,
    epoch: u64,
    tag: u32,
    said: Said,
}

impl Heard {
    pub(crate) fn new(sender: u32, epoch: u64, reply: &Reply<&[u8]>) -> Self {
        let said = match reply.answer {
            Answer::Done => Answer::Done,
            Answer::Cannot => Answer::Cannot,
            Answer::Status(status) => Answer::Status(status),
            Answer::Counters(counters) => Answer::Counters(counters),
            Answer::Metrics(metrics) => Answer::Metrics(metrics),
            Answer::Refused(trouble) => Answer::Refused(trouble),
            Answer::Values { variable, offset, values } => {
                Answer::Values { variable, offset, values: wire::floats(values).collect() }
            }
        };
        Self { sender, epoch, tag: reply.tag, said }
    }
}

/// Why there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// The line is closed: the emulator ended, or the cable was pulled.
    #[error("the line to node {0} is closed")]
    Closed(u32),
    /// The node did not answer in time.
    #[error(
        "node {0} does not answer: it may have no power, or another key, or the port belongs to another node"
    )]
    Silent(u32),
    /// The node does not start.
    #[error("node {node} does not start: {trouble}")]
    Refused {
        /// The node.
        node: u32,
        /// Why.
        trouble: Trouble,
    },
    /// Its answer does not fit the request.
    #[error("node {0} sent an unexpected answer: flash it with this release")]
    Nonsense(u32),
}

/// Everything a node knows, read over its control link.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Where it was.
    pub status: Status,
    /// The epoch it was in.
    pub epoch: u64,
    /// What its links had done.
    pub counters: Counters,
    /// How often each oracle was evaluated.
    pub evaluations: [u64; 5],
    /// x, θ, v, z, y.
    pub variables: [Vec<f32>; 5],
}

impl Reading {
    /// How often the network changed who takes part, as far as this node knows.
    #[must_use]
    pub const fn losses(&self) -> u64 {
        Epoch { number: self.epoch, mark: 0 }.losses()
    }

    /// Every bit of x, θ, v, z, y.
    #[must_use]
    pub fn bits(&self) -> Vec<u32> {
        self.variables.iter().flatten().map(|a| a.to_bits()).collect()
    }
}

/// A host that talks to one node.
#[derive(Debug)]
pub struct Client {
    node: u32,
    outbox: SyncSender<Vec<u8>>,
    heard: Receiver<Heard>,
    closed: Arc<AtomicBool>,
    tag: u32,
    /// The challenge of the node's last status: what a request that changes something must echo.
    challenge: u32,
    epoch: u64,
    patience: Duration,
    seal: Seal,
    /// The last question has no answer yet.
    unheard: bool,
}

impl Client {
    pub(crate) fn new(
        node: u32,
        outbox: SyncSender<Vec<u8>>,
        heard: Receiver<Heard>,
        closed: Arc<AtomicBool>,
        seal: Seal,
    ) -> Self {
        // Tags that differ from those of the host before: its answers may still be on the line.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let tag = (now as u32).wrapping_mul(1_000);
        Self {
            node,
            outbox,
            heard,
            closed,
            tag,
            challenge: 0,
            epoch: 0,
            patience: PATIENCE,
            seal,
            unheard: false,
        }
    }

    /// The node it talks to.
    #[must_use]
    pub const fn node(&self) -> u32 {
        self.node
    }

    /// Whether its line is closed, for good.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// How long it asks again and again.
    #[must_use]
    pub const fn patience(&self) -> Duration {
        self.patience
    }

    /// Sets how long it asks again and again.
    pub const fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Sends a question with a new tag, and returns the tag.
    fn send(&mut self, ask: Ask) -> u32 {
        self.tag = self.tag.wrapping_add(1);
        self.send_again(ask);
        self.tag
    }

    /// Sends a question with the tag of the last one.
    fn send_again(&mut self, ask: Ask) {
        self.put(ask, self.challenge, &self.seal);
        // A node that does not start understands plain questions only, and answers with the reason.
        if self.unheard && self.seal.is_keyed() {
            self.put(Ask::Status, 0, &Seal::PLAIN);
        }
        self.unheard = true;
    }

    /// Puts a question on the line. A line that takes nothing now loses it, as lines do.
    fn put(&self, ask: Ask, echo: u32, seal: &Seal) {
        let tag = self.tag;
        let body = Body::Request(Request { to: self.node, echo, tag, ask });
        let message = Message { version: VERSION, sender: HOST, session: 0, epoch: 0, body };
        let mut frame = vec![0; wire::frame_len(wire::message_len(0))];
        if let Some(len) = wire::encode(&message, seal, &mut frame) {
            frame.truncate(len);
            let _ = self.outbox.try_send(frame);
        }
    }

    /// Waits for the answer to a question; nothing if it does not come in time.
    fn hear(&mut self, tag: u32, patience: Duration) -> Result<Option<Said>, Silence> {
        let until = Instant::now() + patience;
        let left = || until.saturating_duration_since(Instant::now());
        while let Ok(Heard { sender, epoch, tag: own, said }) = self.heard.recv_timeout(left()) {
            if (sender, own) != (self.node, tag) {
                continue;
            }
            (self.epoch, self.unheard) = (epoch, false);
            match said {
                Answer::Status(status) => self.challenge = status.challenge,
                Answer::Refused(trouble) => {
                    return Err(Silence::Refused { node: self.node, trouble });
                }
                _ => {}
            }
            return Ok(Some(said));
        }
        if self.closed.load(Ordering::Relaxed) { Err(Silence::Closed(self.node)) } else { Ok(None) }
    }

    /// Asks until there is an answer.
    fn ask(&mut self, ask: Ask) -> Result<Said, Silence> {
        self.ask_for(ask, self.patience)
    }

    /// Asks until there is an answer, or `patience` is over.
    fn ask_for(&mut self, ask: Ask, patience: Duration) -> Result<Said, Silence> {
        let start = Instant::now();
        let tag = self.send(ask);
        loop {
            let left = patience.saturating_sub(start.elapsed());
            if let Some(said) = self.hear(tag, left.min(AGAIN))? {
                return Ok(said);
            }
            if start.elapsed() >= patience {
                return Err(Silence::Silent(self.node));
            }
            // The same again: a node that has done it already only answers again.
            self.send_again(ask);
        }
    }

    /// Where the node is.
    ///
    /// # Errors
    /// If it does not say.
    pub fn status(&mut self) -> Result<Status, Silence> {
        match self.ask(Ask::Status)? {
            Answer::Status(status) => Ok(status),
            _ => Err(Silence::Nonsense(self.node)),
        }
    }

    /// What its links have done.
    ///
    /// # Errors
    /// If it does not say.
    pub fn counters(&mut self) -> Result<Counters, Silence> {
        match self.ask(Ask::Counters)? {
            Answer::Counters(counters) => Ok(counters),
            _ => Err(Silence::Nonsense(self.node)),
        }
    }

    /// How it learns.
    ///
    /// # Errors
    /// If it does not say.
    pub fn metrics(&mut self) -> Result<Metrics, Silence> {
        match self.ask(Ask::Metrics)? {
            Answer::Metrics(metrics) => Ok(metrics),
            _ => Err(Silence::Nonsense(self.node)),
        }
    }

    /// Has it go on, pause after its round, or write a checkpoint. Tells whether it did.
    ///
    /// # Errors
    /// If it does not say.
    fn change(&mut self, ask: Ask) -> Result<bool, Silence> {
        let start = Instant::now();
        loop {
            // The status has the challenge that the request must echo. Should the node reboot, or another host be
            // faster, there will be no answer to it, but another challenge.
            self.status()?;
            match self.ask_for(ask, self.patience.min(5 * AGAIN)) {
                Ok(Answer::Done) => return Ok(true),
                Ok(Answer::Cannot) => return Ok(false),
                Ok(_) => return Err(Silence::Nonsense(self.node)),
                Err(Silence::Silent(_)) if start.elapsed() < self.patience => {}
                Err(silence) => return Err(silence),
            }
        }
    }

    /// Has it go on. Tells whether it does.
    ///
    /// # Errors
    /// If it does not say.
    pub fn start(&mut self) -> Result<bool, Silence> {
        self.change(Ask::Start)
    }

    /// Has it pause after its round. Tells whether it will.
    ///
    /// # Errors
    /// If it does not say.
    pub fn stop(&mut self) -> Result<bool, Silence> {
        self.change(Ask::Stop)
    }

    /// Has it write a checkpoint. Tells whether it did.
    ///
    /// # Errors
    /// If it does not say.
    pub fn checkpoint(&mut self) -> Result<bool, Silence> {
        self.change(Ask::Checkpoint)
    }

    /// A whole variable.
    ///
    /// # Errors
    /// If it does not say.
    pub fn read(&mut self, variable: Variable) -> Result<Vec<f32>, Silence> {
        let mut values = Vec::new();
        loop {
            let offset = values.len() as u32;
            match self.ask(Ask::Read { variable, offset })? {
                Answer::Values { variable: what, offset: from, values: more }
                    if (what, from) == (variable, offset) =>
                {
                    if more.is_empty() {
                        return Ok(values);
                    }
                    values.extend(more);
                }
                _ => return Err(Silence::Nonsense(self.node)),
            }
        }
    }

    /// All it knows. It is one moment's only if the node rests meanwhile: finished, or paused.
    ///
    /// # Errors
    /// If it does not say.
    pub fn reading(&mut self) -> Result<Reading, Silence> {
        use Variable::{Direction, HessianInverseVector, Hypergradient, Inner, Outer};
        let (status, counters) = (self.status()?, self.counters()?);
        let evaluations = self.metrics()?.evaluations;
        let mut variables: [Vec<f32>; 5] = Default::default();
        let names = [Outer, Inner, HessianInverseVector, Hypergradient, Direction];
        for (place, variable) in variables.iter_mut().zip(names) {
            *place = self.read(variable)?;
        }
        Ok(Reading { status, epoch: self.epoch, counters, evaluations, variables })
    }

    /// Waits until it has completed some rounds. Only a node that stands still is waited for in vain.
    ///
    /// # Errors
    /// If it does not say, diverged, or stands still.
    pub fn wait_for_round(&mut self, round: u64) -> Result<Status, Silence> {
        let (mut last, mut moved) = (0, Instant::now());
        loop {
            let status = self.status()?;
            if status.round >= round {
                return Ok(status);
            }
            if status.round != last {
                (last, moved) = (status.round, Instant::now());
            }
            if status.diverged || moved.elapsed() > self.patience {
                return Err(Silence::Silent(self.node));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Asks all nodes at once where they are: nothing of those that do not answer in time.
pub(super) fn statuses(
    clients: &mut BTreeMap<u32, Client>,
) -> impl Iterator<Item = (u32, Result<Option<Status>, Silence>)> {
    let tags: Vec<u32> = clients.values_mut().map(|client| client.send(Ask::Status)).collect();
    clients.iter_mut().zip(tags).map(|((node, client), tag)| {
        let status = match client.hear(tag, MOMENT) {
            Ok(Some(Answer::Status(status))) => Ok(Some(status)),
            Ok(Some(_)) => Err(Silence::Nonsense(*node)),
            Ok(None) => Ok(None),
            Err(silence) => Err(silence),
        };
        (*node, status)
    })
}
