//! A network over links, in simulated time: every node with its own exchange, every byte on a line.
//!
//! Slower than [`simulation`](crate::simulation) and bit-identical to it as long as nobody is declared dead.

use lopa_core::draw::{Draws, Purpose, Stream};
use lopa_core::exchange::{Exchange, Micros, Peer, Settings, SettingsError, Step, Timing};
use lopa_core::network::Edge;
use lopa_core::node::{NodeError, Scratch};
use lopa_core::problem::Problem;
use lopa_core::wire::{self, Identity, Seal};

use crate::fault::{Faults, FaultyLine};
use crate::simulation::SimulatedNode;

/// How nodes are wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiring {
    /// A line of its own for each pair of neighbours.
    Direct,
    /// Every node has one line to a router, which passes a node's frames on to its neighbours.
    Routed,
    /// One line for all: everybody hears everybody.
    Bus,
}

/// How a network is linked.
#[derive(Debug, Clone, PartialEq)]
pub struct Linking {
    /// How nodes are wired.
    pub wiring: Wiring,
    /// Bits a second.
    pub baud: u32,
    /// How long a node computes its half of a round: from, to.
    pub compute: [Micros; 2],
    /// Elements of a chunk.
    pub chunk: u32,
    /// When nodes lose patience.
    pub timing: Timing,
    /// How frames are sealed.
    pub seal: Seal,
    /// What lines do.
    pub faults: Faults,
    /// The seed of the faults.
    pub seed: u64,
}

/// Links of a node in a simulation, at most.
pub const LINKS: usize = 16;

/// A node with its exchange.
#[derive(Debug)]
struct Member<P, const WINDOW: usize, const VALUES: usize, const FRAME: usize> {
    node: SimulatedNode<P>,
    exchange: Exchange<LINKS, LINKS, WINDOW, VALUES, FRAME>,
    /// Busy computing until then.
    busy: Option<Micros>,
    /// When it last went from one round straight to the next, as one without neighbours does: it speaks in between.
    breath: Option<Micros>,
    /// Off: it neither hears nor speaks.
    off: bool,
    step: Step,
}

/// One sender's end of a line.
#[derive(Debug)]
struct Port {
    /// The node that speaks here, and on which of its links.
    from: usize,
    link: usize,
    /// Who hears it, on which of their links, through which line.
    to: Vec<(usize, usize, FaultyLine)>,
    /// The line is taken until then.
    taken: Micros,
    /// The frame on the line, if any.
    sending: Option<Vec<u8>>,
}

/// A network over links.
#[derive(Debug)]
pub struct LinkedNetwork<P, const WINDOW: usize, const VALUES: usize, const FRAME: usize> {
    members: Vec<Member<P, WINDOW, VALUES, FRAME>>,
    ports: Vec<Port>,
    scratch: Scratch<Box<[f32]>, Box<[f32]>>,
    linking: Linking,
    peers: Vec<Vec<Peer>>,
    settings: Vec<Settings>,
    now: Micros,
    boots: u32,
    /// A bus carries one frame at a time.
    bus_taken: Micros,
    /// For how long a node computes.
    stream: Stream,
}

/// Why a run over links ended early.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkedError {
    /// A node's settings were refused.
    Settings {
        /// The node.
        node: usize,
        /// Why.
        error: SettingsError,
    },
    /// A node refused to go on.
    Node {
        /// The node.
        node: usize,
        /// Why.
        error: NodeError,
    },
    /// Simulated time ran out.
    TimeOut {
        /// The least number of rounds any node completed.
        round: u64,
    },
}

impl std::fmt::Display for LinkedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settings { node, error } => write!(f, "node {node}: {error}"),
            Self::Node { node, error } => write!(f, "node {node}: {error}"),
            Self::TimeOut { round } => {
                write!(f, "time ran out when a node had done {round} rounds")
            }
        }
    }
}

impl std::error::Error for LinkedError {}

impl<P: Problem, const WINDOW: usize, const VALUES: usize, const FRAME: usize>
    LinkedNetwork<P, WINDOW, VALUES, FRAME>
{
    /// Links nodes by weighted edges (both directions, sorted), to run `rounds` rounds.
    ///
    /// # Errors
    /// Passes on what an exchange refuses.
    pub fn new(
        nodes: Vec<SimulatedNode<P>>,
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
            settings: Vec::new(),
            linking,
            peers,
            now: 0,
            boots: 0,
            bus_taken: 0,
            stream: draws.stream(0, Purpose::custom(0x11ac)),
        };
        for (number, node) in nodes.into_iter().enumerate() {
            let size = node.problem().dimensions();
            let chunk = network.linking.chunk;
            let identity = Identity::new(0, size, node.scheme(), node.config(), chunk, rounds);
            let timing = network.linking.timing;
            let seal = network.linking.seal;
            let settings =
                Settings { node: number as u32, identity, rounds, boot: 0, timing, seal };
            network.settings.push(settings);
            let member = network.boot(number, node)?;
            network.members.push(member);
        }
        Ok(network)
    }

    /// A node that wakes up now.
    fn boot(
        &mut self,
        number: usize,
        node: SimulatedNode<P>,
    ) -> Result<Member<P, WINDOW, VALUES, FRAME>, LinkedError> {
        self.boots += 1;
        let settings = Settings { boot: self.boots, ..self.settings[number] };
        let (epoch, round) = (node.state().epoch, node.state().round);
        let exchange = Exchange::new(settings, &self.peers[number], epoch, round, self.now)
            .map_err(|error| LinkedError::Settings { node: number, error })?;
        Ok(Member { node, exchange, busy: None, breath: None, off: false, step: Step::Wait })
    }

    /// Runs until every node that is on has finished, or until `until`.
    ///
    /// # Errors
    /// Names the node that diverged, or says how far the slowest came.
    pub fn run(&mut self, until: Micros) -> Result<(), LinkedError> {
        while !self.finished() {
            if self.now >= until {
                let round =
                    self.members.iter().filter(|m| !m.off).map(|m| m.node.state().round).min();
                return Err(LinkedError::TimeOut { round: round.unwrap_or(0) });
            }
            self.turn(until)?;
        }
        Ok(())
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
    pub(crate) fn turn(&mut self, until: Micros) -> Result<(), LinkedError> {
        self.deliver();
        for number in 0..self.members.len() {
            self.work(number)?;
        }
        for port in 0..self.ports.len() {
            self.speak(port);
        }
        let mut next = until;
        for (number, member) in self.members.iter().enumerate().filter(|(_, m)| !m.off) {
            let wanted = member.busy.unwrap_or(member.exchange.deadline());
            // Whoever has something to say now waits for a line, not for a microsecond.
            let waits = wanted <= self.now;
            next = next.min(if waits { self.line_free(number) } else { wanted });
        }
        for port in &self.ports {
            if port.sending.is_some() {
                next = next.min(port.taken);
            }
            for (.., line) in &port.to {
                next = next.min(line.next().unwrap_or(Micros::MAX));
            }
        }
        if self.linking.wiring == Wiring::Bus && self.bus_taken > self.now {
            next = next.min(self.bus_taken);
        }
        self.now = next.max(self.now + 1);
        Ok(())
    }

    /// When the first line of a node that is taken now will be free; at once if none is taken.
    fn line_free(&self, number: usize) -> Micros {
        let own = self.ports.iter().filter(|port| port.from == number).map(|port| port.taken);
        let bus = (self.linking.wiring == Wiring::Bus).then_some(self.bus_taken);
        own.chain(bus).filter(|taken| *taken > self.now).min().unwrap_or(self.now + 1)
    }

    /// Frames that have left their sender enter the line; bytes that have come reach their receivers.
    fn deliver(&mut self) {
        for port in &mut self.ports {
            if port.taken <= self.now
                && let Some(frame) = port.sending.take()
            {
                port.to.iter_mut().for_each(|(.., line)| line.send(&frame, port.taken));
            }
            for (to, link, line) in &mut port.to {
                while let Some(bytes) = line.receive(self.now) {
                    let member = &mut self.members[*to];
                    if !member.off {
                        member.exchange.receive(*link, &bytes, self.now);
                    }
                }
            }
        }
    }

    fn work(&mut self, number: usize) -> Result<(), LinkedError> {
        let member = &mut self.members[number];
        if member.off {
            return Ok(());
        }
        // While it computes it hears, as an interrupt does, but does not act.
        if let Some(done) = member.busy {
            if done > self.now {
                return Ok(());
            }
            member.busy = None;
            member.breath = Some(self.now);
            if matches!(member.step, Step::Compute) {
                let fresh = member.exchange.advance(&mut member.node, self.now);
                if fresh == Step::Compute {
                    member
                        .node
                        .compute(&mut self.scratch)
                        .map_err(|error| LinkedError::Node { node: number, error })?;
                }
            }
        }
        member.step = member.exchange.advance(&mut member.node, self.now);
        match member.step {
            Step::Compute => {
                let [least, most] = self.linking.compute;
                let more = self.stream.unit() * most.saturating_sub(least) as f32;
                member.busy = Some(self.now + least + more as Micros);
            }
            Step::Diverged(divergence) => {
                let error = NodeError::Diverged(divergence);
                return Err(LinkedError::Node { node: number, error });
            }
            Step::Wait | Step::Paused | Step::Finished | Step::Mismatch => {}
        }
        Ok(())
    }

    fn speak(&mut self, port: usize) {
        let port = &mut self.ports[port];
        let member = &mut self.members[port.from];
        let bus = self.linking.wiring == Wiring::Bus;
        let taken = if bus { self.bus_taken } else { port.taken };
        let busy = member.busy.is_some() && member.breath != Some(self.now);
        if member.off || busy || taken > self.now || port.sending.is_some() {
            return;
        }
        let mut buffer = vec![0; wire::frame_len(FRAME)];
        if let Some(len) = member.exchange.transmit(port.link, &member.node, self.now, &mut buffer)
        {
            buffer.truncate(len);
            let time = (len as u64 * 10_000_000).div_ceil(u64::from(self.linking.baud.max(1)));
            port.taken = self.now + time;
            self.bus_taken = port.taken;
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
    pub fn node(&self, number: usize) -> &SimulatedNode<P> {
        &self.members[number].node
    }

    /// A node's exchange.
    #[must_use]
    pub fn exchange(&self, number: usize) -> &Exchange<LINKS, LINKS, WINDOW, VALUES, FRAME> {
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

    /// Gives a node power again, in the state of `node`: a restored one, or a fresh one.
    ///
    /// # Errors
    /// Passes on what its exchange refuses.
    pub fn revive(&mut self, number: usize, node: SimulatedNode<P>) -> Result<(), LinkedError> {
        let member = self.boot(number, node)?;
        self.members[number] = member;
        Ok(())
    }

    /// Changes the faults of the line from one node to another, in that direction only.
    pub fn set_faults_one_way(&mut self, from: usize, to: usize, faults: &Faults) {
        for port in self.ports.iter_mut().filter(|port| port.from == from) {
            for (_, _, line) in port.to.iter_mut().filter(|(at, ..)| *at == to) {
                line.set_faults(faults.clone());
            }
        }
    }

    /// Changes the faults of all lines between two groups of nodes, in both directions.
    pub fn set_faults(&mut self, between: impl Fn(usize, usize) -> bool, faults: &Faults) {
        for port in &mut self.ports {
            for (to, _, line) in &mut port.to {
                if between(port.from, *to) || between(*to, port.from) {
                    line.set_faults(faults.clone());
                }
            }
        }
    }
}

fn scratch<P: Problem>(nodes: &[SimulatedNode<P>]) -> Scratch<Box<[f32]>, Box<[f32]>> {
    let size = |of: fn(&lopa_core::problem::Dimensions) -> usize| {
        let most = nodes.iter().map(|node| of(&node.problem().dimensions())).max();
        vec![0.0; most.unwrap_or(0)].into_boxed_slice()
    };
    Scratch { direction: size(|d| d.inner), workspace: size(|d| d.workspace) }
}

/// The ports of a network, and who hears them.
fn ports(peers: &[Vec<Peer>], linking: &Linking) -> Vec<Port> {
    let mut lines = 0;
    let mut line = || {
        lines += 1;
        FaultyLine::new(linking.faults.clone(), linking.seed, lines)
    };
    let link_to = |from: usize, to: usize| {
        peers[to]
            .iter()
            .find(|peer| peer.node as usize == from)
            .map_or(0, |peer| usize::from(peer.link))
    };
    let mut ports = Vec::new();
    for (from, own) in peers.iter().enumerate() {
        let mut port = |link: usize, to: Vec<(usize, usize, FaultyLine)>| {
            ports.push(Port { from, link, to, taken: 0, sending: None });
        };
        match linking.wiring {
            Wiring::Direct => own.iter().for_each(|peer| {
                let to = peer.node as usize;
                port(usize::from(peer.link), vec![(to, link_to(from, to), line())]);
            }),
            // A router passes on what a node says to its neighbours; each stretch has its own faults.
            Wiring::Routed => {
                let to = own.iter().map(|peer| (peer.node as usize, 0, line())).collect();
                port(0, to);
            }
            Wiring::Bus => {
                let all = (0..peers.len()).filter(|&to| to != from).map(|to| (to, 0, line()));
                port(0, all.collect());
            }
        }
    }
    ports
}
