//! A host at the end of a node's control link: it repeats each request until there is an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lopa_core::epoch::Epoch;
use lopa_core::node::Variable;
use lopa_core::wire::{
    self, Answer, Ask, Body, Counters, HOST, Message, Metrics, Request, Seal, Status, Trouble,
    VERSION,
};

/// A request is repeated after this time: the node may not have been up yet, or the request was lost.
const AGAIN: Duration = Duration::from_secs(1);
/// A node that does not answer for this long is absent, or hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a node answered, with values of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// It is done.
    Done,
    /// It cannot be done there.
    Cannot,
    /// Where the node is.
    Status(Status),
    /// What its links have done.
    Counters(Counters),
    /// How it learns.
    Metrics(Metrics),
    /// Elements of a variable, from an element on.
    Values(Variable, u32, Vec<f32>),
    /// It does not start.
    Refused(Trouble),
}

impl From<Answer<&[u8]>> for Said {
    fn from(answer: Answer<&[u8]>) -> Self {
        match answer {
            Answer::Done => Self::Done,
            Answer::Cannot => Self::Cannot,
            Answer::Status(status) => Self::Status(status),
            Answer::Counters(counters) => Self::Counters(counters),
            Answer::Metrics(metrics) => Self::Metrics(metrics),
            Answer::Refused(trouble) => Self::Refused(trouble),
            Answer::Values { variable, offset, values } => {
                Self::Values(variable, offset, wire::floats(values).collect())
            }
        }
    }
}

/// A reply as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) sender: u32,
    pub(crate) epoch: u64,
    pub(crate) tag: u32,
    pub(crate) said: Said,
}

/// Why there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// The line is closed: the emulator ended, or the cable was pulled.
    #[error("the line to node {node} is closed")]
    Closed {
        /// The node.
        node: u32,
    },
    /// The node did not answer in time.
    #[error(
        "node {node} does not answer: it may have no power, or another key, or the port belongs to another node"
    )]
    Silent {
        /// The node.
        node: u32,
    },
    /// The node does not start.
    #[error("node {node} does not start: {trouble}")]
    Refused {
        /// The node.
        node: u32,
        /// Why.
        trouble: Trouble,
    },
    /// Its answer does not fit the request.
    #[error("the answer of node {node} does not fit the request: flash it with this release")]
    Nonsense {
        /// The node.
        node: u32,
    },
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

    /// How long it asks again and again.
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

    /// Waits for the answer to a question.
    fn hear(&mut self, tag: u32, patience: Duration) -> Option<Said> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let heard = self.heard.recv_timeout(left).ok()?;
            if heard.sender == self.node && heard.tag == tag {
                (self.epoch, self.unheard) = (heard.epoch, false);
                if let Said::Status(status) = &heard.said {
                    self.challenge = status.challenge;
                }
                return Some(heard.said);
            }
        }
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
            if self.closed.load(Ordering::Relaxed) {
                return Err(Silence::Closed { node: self.node });
            }
            let left = patience.saturating_sub(start.elapsed());
            match self.hear(tag, left.min(AGAIN)) {
                Some(Said::Refused(trouble)) => {
                    return Err(Silence::Refused { node: self.node, trouble });
                }
                Some(said) => return Ok(said),
                None => {}
            }
            if start.elapsed() >= patience {
                return Err(Silence::Silent { node: self.node });
            }
            // The same again: a node that has done it already only answers again.
            self.send_again(ask);
        }
    }

    const fn nonsense(&self) -> Silence {
        Silence::Nonsense { node: self.node }
    }

    /// Where the node is.
    ///
    /// # Errors
    /// If it does not say.
    pub fn status(&mut self) -> Result<Status, Silence> {
        match self.ask(Ask::Status)? {
            Said::Status(status) => Ok(status),
            _ => Err(self.nonsense()),
        }
    }

    /// Asks where the node is, to be heard by [`Client::answered`]: so all nodes can be asked at once.
    pub(crate) fn inquire(&mut self) -> u32 {
        self.send(Ask::Status)
    }

    /// The answer to [`Client::inquire`], if it came in time.
    pub(crate) fn answered(
        &mut self,
        tag: u32,
        patience: Duration,
    ) -> Result<Option<Status>, Silence> {
        match self.hear(tag, patience) {
            Some(Said::Status(status)) => Ok(Some(status)),
            Some(Said::Refused(trouble)) => Err(Silence::Refused { node: self.node, trouble }),
            Some(_) => Err(self.nonsense()),
            None if self.closed.load(Ordering::Relaxed) => Err(Silence::Closed { node: self.node }),
            None => Ok(None),
        }
    }

    /// What its links have done.
    ///
    /// # Errors
    /// If it does not say.
    pub fn counters(&mut self) -> Result<Counters, Silence> {
        match self.ask(Ask::Counters)? {
            Said::Counters(counters) => Ok(counters),
            _ => Err(self.nonsense()),
        }
    }

    /// How it learns.
    ///
    /// # Errors
    /// If it does not say.
    pub fn metrics(&mut self) -> Result<Metrics, Silence> {
        match self.ask(Ask::Metrics)? {
            Said::Metrics(metrics) => Ok(metrics),
            _ => Err(self.nonsense()),
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
                Ok(Said::Done) => return Ok(true),
                Ok(Said::Cannot) => return Ok(false),
                Ok(_) => return Err(self.nonsense()),
                Err(Silence::Silent { .. }) if start.elapsed() < self.patience => {}
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
                Said::Values(what, from, more) if (what, from) == (variable, offset) => {
                    if more.is_empty() {
                        return Ok(values);
                    }
                    values.extend(more);
                }
                _ => return Err(self.nonsense()),
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
                return Err(Silence::Silent { node: self.node });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
