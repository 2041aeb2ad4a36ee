//! A network over links, in simulated time: every node with its own exchange, every byte on a line.
//!
//! Slower than [in-process](super::InProcess), and bit-identical to it as long as no neighbour is lost. Nodes can lose
//! power, come back, freeze and be reflashed; their clocks can drift; lines can fail; and frames can be recorded or forged.

use std::collections::VecDeque;

use lopa_core::draw::{Draws, Stream};
use lopa_core::exchange::{Exchange, Micros, Peer, Settings, Standing, Step, Timing};
use lopa_core::network::{Edge, NetworkError};
use lopa_core::node::{NodeError, Scratch};
use lopa_core::problem::Dimensions;
use lopa_core::wire::Seal;

use super::port::{Port, ports};
use super::{Clock, Faults, Health, LinkedError, LinkedNode, NodeHealth, Wiring};

/// How a network is linked.
#[derive(Debug, Clone, PartialEq)]
pub struct Linking {
    /// How nodes are wired.
    pub wiring: Wiring,
    /// Bits per second.
    pub baud: u32,
    /// How long a node computes its half of a round: from, to.
    pub compute: [Micros; 2],
    /// Elements of a chunk.
    pub chunk: u32,
    /// When nodes lose patience.
    pub timing: Timing,
    /// How frames are sealed.
    pub seal: Seal,
    /// The faults of all lines.
    pub faults: Faults,
    /// The seed of the faults.
    pub seed: u64,
    /// The nodes' clocks; nodes beyond the list have exact ones.
    pub clocks: Vec<Clock>,
}

/// Bytes that a frozen node's receive buffer holds per link; the rest is lost.
const BUFFERED: usize = 256;

/// Links of a node in a simulation, at most.
pub const LINKS: usize = 16;

/// What an exchange can refuse is checked before: an exchange with a link beyond [`LINKS`] is not made.
const SOUND: &str = "links are those of the exchange, and buffers are long enough";

/// A node with its exchange.
#[derive(Debug)]
struct Member<N, const WINDOW: usize, const VALUES: usize> {
    node: N,
    exchange: Exchange<LINKS, LINKS, VALUES, WINDOW>,
    /// Busy computing until then.
    busy: Option<Micros>,
    /// When it last went from one round straight to the next, as a node without neighbours does: it transmits in between.
    breath: Option<Micros>,
    /// Off: it neither receives nor sends.
    off: bool,
    /// It hangs until then, while bytes wait in its receive buffers.
    frozen: Option<Micros>,
    inbox: [Vec<u8>; LINKS],
    clock: Clock,
    step: Step,
}

impl<N, const WINDOW: usize, const VALUES: usize> Member<N, WINDOW, VALUES> {
    fn receive(&mut self, link: usize, bytes: &[u8], now: Micros) {
        if self.off {
            return;
        }
        if self.frozen.is_none() {
            return self.exchange.receive(link, bytes, self.clock.local(now)).expect(SOUND);
        }
        let buffer = &mut self.inbox[link];
        let room = BUFFERED - buffer.len();
        buffer.extend(&bytes[..bytes.len().min(room)]);
    }

    /// Wakes up from a hang, if it is over.
    fn thaw(&mut self, now: Micros) {
        if self.frozen.take_if(|until| *until <= now).is_some() {
            for link in 0..LINKS {
                let bytes = std::mem::take(&mut self.inbox[link]);
                self.receive(link, &bytes, now);
            }
        }
    }
}

/// A frame as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// When it was sent.
    pub at: Micros,
    /// The node that sent it.
    pub from: usize,
    /// The nodes on the line.
    pub to: Vec<usize>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A network over links.
#[derive(Debug)]
pub struct LinkedNetwork<N, const WINDOW: usize, const VALUES: usize> {
    members: Vec<Member<N, WINDOW, VALUES>>,
    ports: Vec<Port>,
    scratch: Scratch<Box<[f32]>, Box<[f32]>>,
    linking: Linking,
    peers: Vec<Vec<Peer>>,
    rounds: u64,
    now: Micros,
    boots: u32,
    /// Frames sent so far, by all nodes in all their lives.
    frames: u64,
    /// Rounds that each node has computed so far, in all its lives.
    computed: Vec<u64>,
    /// The last frames sent, at most `record` of them.
    recorded: VecDeque<Recorded>,
    record: usize,
    /// A bus carries one frame at a time.
    bus_taken: Micros,
    /// For how long a node computes.
    stream: Stream,
}

impl<N: LinkedNode, const WINDOW: usize, const VALUES: usize> LinkedNetwork<N, WINDOW, VALUES> {
    /// Links nodes by weighted edges (both directions, sorted), to run `rounds` rounds.
    ///
    /// # Errors
    /// Passes on what an exchange refuses.
    pub fn new(
        nodes: Vec<N>,
        edges: &[Edge],
        rounds: u64,
        linking: Linking,
    ) -> Result<Self, LinkedError> {
        let mut peers = vec![Vec::new(); nodes.len()];
        for edge in edges {
            let own: &mut Vec<Peer> = &mut peers[edge.node as usize];
            let link = if linking.wiring == Wiring::Direct { own.len() as u8 } else { 0 };
            own.push(Peer { node: edge.neighbour, link, weight: edge.weight });
        }
        let ports = ports(&peers, &linking);
        let draws = Draws { seed: linking.seed, node: 0 };
        let mut network = Self {
            members: Vec::new(),
            ports,
            scratch: scratch(&nodes),
            linking,
            peers,
            rounds,
            now: 0,
            boots: 0,
            frames: 0,
            computed: vec![0; nodes.len()],
            recorded: VecDeque::new(),
            record: 0,
            bus_taken: 0,
            stream: draws.stream(0, crate::purposes::COMPUTE),
        };
        for (number, node) in nodes.into_iter().enumerate() {
            let member = network.boot(number, node, true)?;
            network.members.push(member);
        }
        Ok(network)
    }

    /// A node that wakes up now; `counted` unless its flash does not count boots.
    fn boot(
        &mut self,
        number: usize,
        node: N,
        counted: bool,
    ) -> Result<Member<N, WINDOW, VALUES>, LinkedError> {
        self.boots += 1;
        let Linking { chunk, timing, seal, ref clocks, .. } = self.linking;
        let clock = clocks.get(number).copied().unwrap_or_default();
        let boot = if counted { self.boots } else { 0 };
        let plain = node.settings(self.rounds, chunk, timing);
        let settings = Settings { node: number as u32, boot, seal, ..plain };
        let now = clock.local(self.now);
        let exchange = Exchange::new(settings, &self.peers[number], &node, now)
            .map_err(|error| LinkedError::Settings { node: number, error })?;
        Ok(Member {
            node,
            exchange,
            busy: None,
            breath: None,
            off: false,
            frozen: None,
            inbox: Default::default(),
            clock,
            step: Step::Wait,
        })
    }

    /// Runs until every node that is on has finished, or until `until`.
    ///
    /// # Errors
    /// Names the node that diverged, or the round of the slowest node when time ran out.
    pub fn run(&mut self, until: Micros) -> Result<(), LinkedError> {
        loop {
            self.act()?;
            if self.finished() {
                return Ok(());
            }
            if self.now >= until {
                let round =
                    self.members.iter().filter(|m| !m.off).map(|m| m.node.state().round).min();
                return Err(LinkedError::TimeOut { round: round.unwrap_or(0) });
            }
            self.pass(until);
        }
    }

    /// Runs until a node has completed `round` rounds, or until `until`.
    ///
    /// # Errors
    /// As [`LinkedNetwork::run`].
    pub fn run_to_round(
        &mut self,
        node: usize,
        round: u64,
        until: Micros,
    ) -> Result<(), LinkedError> {
        while self.members[node].node.state().round < round {
            if self.now >= until {
                return Err(LinkedError::TimeOut { round: self.members[node].node.state().round });
            }
            self.turn(until)?;
        }
        Ok(())
    }

    /// Runs for a while.
    ///
    /// # Errors
    /// Names the node that diverged.
    pub fn run_for(&mut self, time: Micros) -> Result<(), LinkedError> {
        let until = self.now + time;
        while self.now < until {
            self.turn(until)?;
        }
        Ok(())
    }

    fn finished(&self) -> bool {
        self.members.iter().filter(|m| !m.off).all(|m| m.step == Step::Finished)
    }

    /// Everything that happens now, then on to when something happens next.
    pub(crate) fn turn(&mut self, until: Micros) -> Result<(), NetworkError> {
        self.act()?;
        self.pass(until);
        Ok(())
    }

    /// Everything that happens now.
    fn act(&mut self) -> Result<(), NetworkError> {
        self.members.iter_mut().for_each(|member| member.thaw(self.now));
        self.deliver();
        for number in 0..self.members.len() {
            self.work(number)?;
        }
        for port in 0..self.ports.len() {
            self.transmit(port);
        }
        Ok(())
    }

    /// On to when something happens next, at most to `until`.
    fn pass(&mut self, until: Micros) {
        let mut next = until;
        for (number, member) in self.members.iter().enumerate().filter(|(_, m)| !m.off) {
            let deadline = || member.clock.when(member.exchange.deadline());
            let wanted = member.frozen.or(member.busy).unwrap_or_else(deadline);
            // A node with something to send now waits for a line, not for a microsecond.
            let waits = wanted <= self.now;
            next = next.min(if waits { self.line_free(number) } else { wanted });
        }
        for port in &self.ports {
            if port.sending.is_some() {
                next = next.min(port.taken);
            }
            for receiver in &port.to {
                next = next.min(receiver.line.next().unwrap_or(Micros::MAX));
            }
        }
        if self.linking.wiring == Wiring::Bus && self.bus_taken > self.now {
            next = next.min(self.bus_taken);
        }
        self.now = next.max(self.now + 1);
    }

    /// When the first line of a node that is taken now will be free; at once if none is taken.
    fn line_free(&self, number: usize) -> Micros {
        let own = self.ports.iter().filter(|port| port.from == number).map(|port| port.taken);
        let bus = (self.linking.wiring == Wiring::Bus).then_some(self.bus_taken);
        own.chain(bus).filter(|taken| *taken > self.now).min().unwrap_or(self.now + 1)
    }

    /// Frames that have left their sender enter the line; bytes that have arrived reach their receivers.
    fn deliver(&mut self) {
        for port in &mut self.ports {
            if port.taken <= self.now
                && let Some(frame) = port.sending.take()
            {
                port.to.iter_mut().for_each(|to| to.line.send(&frame, port.taken));
            }
            for to in &mut port.to {
                while let Some(bytes) = to.line.receive(self.now) {
                    self.members[to.node].receive(to.link, &bytes, self.now);
                }
            }
        }
    }

    fn work(&mut self, number: usize) -> Result<(), NetworkError> {
        let member = &mut self.members[number];
        if member.off || member.frozen.is_some() {
            return Ok(());
        }
        let now = member.clock.local(self.now);
        // While it computes it receives, as an interrupt does, but does not act.
        if let Some(done) = member.busy {
            if done > self.now {
                return Ok(());
            }
            member.busy = None;
            member.breath = Some(self.now);
            if matches!(member.step, Step::Compute) {
                let fresh = member.exchange.advance(&mut member.node, now);
                if fresh == Step::Compute {
                    member
                        .node
                        .compute(&mut self.scratch)
                        .map_err(|error| NetworkError::Node { node: number, error })?;
                    self.computed[number] += 1;
                }
            }
        }
        member.step = member.exchange.advance(&mut member.node, now);
        match member.step {
            Step::Compute => {
                let [least, most] = self.linking.compute;
                let more = self.stream.unit() * most.saturating_sub(least) as f32;
                member.busy = Some(self.now + least + more as Micros);
            }
            Step::Diverged(divergence) => {
                // The node knows the real reason, and refuses to compute.
                let error = match member.node.compute(&mut self.scratch) {
                    Ok(()) => NodeError::Diverged(divergence),
                    Err(error) => error,
                };
                return Err(NetworkError::Node { node: number, error });
            }
            _ => {}
        }
        Ok(())
    }

    fn transmit(&mut self, port: usize) {
        let port = &mut self.ports[port];
        let member = &mut self.members[port.from];
        let bus = self.linking.wiring == Wiring::Bus;
        let taken = if bus { self.bus_taken } else { port.taken };
        let busy = member.busy.is_some() && member.breath != Some(self.now);
        let silent = member.off || member.frozen.is_some() || busy;
        if silent || taken > self.now || port.sending.is_some() {
            return;
        }
        let mut buffer = vec![0; Exchange::<LINKS, LINKS, VALUES, WINDOW>::BUFFER];
        let now = member.clock.local(self.now);
        let sent = member.exchange.transmit(port.link, &member.node, now, &mut buffer);
        if let Some(len) = sent.expect(SOUND) {
            buffer.truncate(len);
            let time = (len as u64 * 10_000_000).div_ceil(u64::from(self.linking.baud.max(1)));
            port.taken = self.now + time;
            self.bus_taken = port.taken;
            self.frames += 1;
            if self.record > 0 {
                self.recorded.truncate(self.record - 1);
                let to = port.to.iter().map(|to| to.node).collect();
                let (at, from, bytes) = (self.now, port.from, buffer.clone());
                self.recorded.push_front(Recorded { at, from, to, bytes });
            }
            port.sending = Some(buffer);
        }
    }

    /// Simulated time.
    #[must_use]
    pub const fn now(&self) -> Micros {
        self.now
    }

    /// A node.
    #[must_use]
    pub fn node(&self, number: usize) -> &N {
        &self.members[number].node
    }

    /// A node's exchange.
    #[must_use]
    pub fn exchange(&self, number: usize) -> &Exchange<LINKS, LINKS, VALUES, WINDOW> {
        &self.members[number].exchange
    }

    /// The number of nodes, off or on.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Takes a node's power away.
    pub fn kill(&mut self, number: usize) {
        self.members[number].off = true;
    }

    /// Gives a node power again, in the state of `node`: a restored one, a fresh one, or one with another configuration.
    ///
    /// # Errors
    /// Passes on what its exchange refuses.
    pub fn revive(&mut self, number: usize, node: N) -> Result<(), LinkedError> {
        self.members[number] = self.boot(number, node, true)?;
        Ok(())
    }

    /// The same for a node whose flash does not count boots, and so keeps no checkpoints either: it starts afresh.
    ///
    /// # Errors
    /// Passes on what its exchange refuses.
    pub fn revive_uncounted(&mut self, number: usize, node: N) -> Result<(), LinkedError> {
        self.members[number] = self.boot(number, node, false)?;
        Ok(())
    }

    /// Has a node hang for a while: it does nothing, and its receive buffers fill.
    pub fn freeze(&mut self, number: usize, time: Micros) {
        self.members[number].frozen = Some(self.now + time);
    }

    /// Pauses a node after its round, or has it go on.
    pub fn pause(&mut self, number: usize, paused: bool) {
        self.members[number].exchange.pause(paused);
    }

    /// Changes the faults of the lines that `which` picks by their sender and receiver.
    pub fn set_faults(&mut self, which: impl Fn(usize, usize) -> bool, faults: &Faults) {
        for port in &mut self.ports {
            for to in port.to.iter_mut().filter(|to| which(port.from, to.node)) {
                to.line.set_faults(faults.clone());
            }
        }
    }

    /// Keeps the last `most` frames sent, for [`LinkedNetwork::recorded`].
    pub fn record(&mut self, most: usize) {
        self.record = most;
        self.recorded.truncate(most);
    }

    /// The last frames sent, the newest first.
    #[must_use]
    pub const fn recorded(&self) -> &VecDeque<Recorded> {
        &self.recorded
    }

    /// Makes a node receive bytes as if `from` had sent them. Returns whether there is a line between them.
    pub fn inject(&mut self, from: usize, to: usize, bytes: &[u8]) -> bool {
        let ports = self.ports.iter().filter(|port| port.from == from);
        let Some(receiver) = ports.flat_map(|port| &port.to).find(|receiver| receiver.node == to)
        else {
            return false;
        };
        self.members[to].receive(receiver.link, bytes, self.now);
        true
    }

    /// Frames sent so far, by all nodes in all their lives.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Rounds that a node has computed so far, in all its lives.
    #[must_use]
    pub fn computed(&self, number: usize) -> u64 {
        self.computed[number]
    }

    /// How nodes and lines are doing.
    #[must_use]
    pub fn health(&self) -> Health {
        let node = |member: &Member<N, WINDOW, VALUES>| {
            let [mut met, mut dead, mut refused] = [0; 3];
            for (_, standing) in member.exchange.standings() {
                match standing {
                    Standing::Met => met += 1,
                    Standing::Dead => dead += 1,
                    Standing::Refused(_) => refused += 1,
                    // Not yet met.
                    _ => {}
                }
            }
            let (round, counters) = (member.node.state().round, *member.exchange.counters());
            NodeHealth { round, met, dead, refused, counters }
        };
        let lines = self.ports.iter().flat_map(|port| {
            port.to.iter().map(|to| to.line.health(port.from as u32, to.node as u32))
        });
        Health { nodes: self.members.iter().map(node).collect(), lines: lines.collect() }
    }

    /// Frames on their way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.ports.iter().flat_map(|port| &port.to).map(|to| to.line.in_flight()).sum()
    }
}

fn scratch<N: LinkedNode>(nodes: &[N]) -> Scratch<Box<[f32]>, Box<[f32]>> {
    let size = |of: fn(&Dimensions) -> usize| {
        let most = nodes.iter().map(|node| of(&node.dimensions())).max();
        vec![0.0; most.unwrap_or(0)].into_boxed_slice()
    };
    Scratch { direction: size(|d| d.inner), workspace: size(|d| d.workspace) }
}
