//! A fleet of boards that are plugged in: their ports from the file, the host at their control links, and their router if
//! they have no lines of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use lopa_core::blob::Wiring;
use lopa_core::wire::Status;

use super::client::{Client, Silence, statuses};
use super::gateway::{Boards, Site};
use super::port::{Port, PortError, Stream};
use super::switchboard::Switchboard;
use crate::config::Experiment;
use crate::network::Faults;
use crate::run::Prepared;

/// The rate of a board's serial lines while it has no valid blob: see `firmware/embassy-board/src/flash.rs`.
pub const BAUD_WITHOUT_BLOB: u32 = 115_200;

/// How long a board is asked at another rate than the one it should have.
const BRIEF: Duration = Duration::from_secs(3);

/// How a port is written.
const EXAMPLE: &str = "[[fleet.node]], with id and port, such as port = \"/dev/ttyACM0\"";

/// Why boards cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The file has no table `fleet`.
    #[error("the file does not say where boards are plugged in: for each, write {EXAMPLE}")]
    Table,
    /// The file has no port for a node.
    #[error("the file has no port for node {0}: write {EXAMPLE}")]
    Missing(u32),
    /// A port cannot be opened.
    #[error("node {node}: {error}")]
    Port {
        /// The node.
        node: u32,
        /// Why.
        #[source]
        error: PortError,
    },
}

/// Opens a port at a baud rate.
type Opener = Box<dyn FnMut(&Port, u32) -> Result<Stream, PortError> + Send>;

/// Opens a port that should be there.
fn at_once(port: &Port, baud: u32) -> Result<Stream, PortError> {
    port.open(baud, |_, _| false)
}

/// A board's port.
#[derive(Debug)]
struct Plug {
    port: Port,
    /// The rate it is open at.
    baud: u32,
    /// Whether the board has ever answered.
    answered: bool,
}

/// Boards that are plugged in.
///
/// A board without a valid blob does not know the baud rate of the file. So a serial port whose board has never answered is
/// also tried at [`BAUD_WITHOUT_BLOB`], where such a board says why it does not start.
pub struct Connected {
    /// Its threads carry everything.
    switch: Switchboard,
    clients: BTreeMap<u32, Client>,
    plugs: BTreeMap<u32, Plug>,
    open: Opener,
    /// The file's rate.
    baud: u32,
    routed: bool,
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").field("plugs", &self.plugs).finish_non_exhaustive()
    }
}

impl Connected {
    /// Opens the ports of all nodes of a network.
    ///
    /// # Errors
    /// Names the port that does not open.
    pub fn open(prepared: &Prepared) -> Result<Self, ConnectError> {
        Self::open_with(prepared, at_once)
    }

    /// The same, with another way to open a port at a baud rate.
    ///
    /// # Errors
    /// Names the port that does not open.
    pub fn open_with(
        prepared: &Prepared,
        open: impl FnMut(&Port, u32) -> Result<Stream, PortError> + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let experiment = prepared.experiment();
        let links = experiment.links.clone().unwrap_or_default();
        if experiment.fleet.as_ref().is_none_or(|table| table.node.is_empty()) {
            return Err(ConnectError::Table);
        }
        let mut listeners = vec![Vec::new(); experiment.network.nodes as usize];
        let routed = links.wiring != Wiring::Direct;
        for edge in prepared.weights().edges().iter().filter(|_| routed) {
            listeners[edge.node as usize].push(edge.neighbour);
        }
        let switch = Switchboard::new(listeners, Faults::NONE, 0, prepared.seal());
        let mut own = Self::new(switch, open, links.baud, routed);
        own.plug(experiment, 0..experiment.network.nodes)?;
        Ok(own)
    }

    /// Opens the ports of the nodes of a gateway; `faults` happen to frames that its nodes receive. Sockets and serial
    /// servers that are not there yet are tried again for as long as `wait` says, which gets the error and the time since the
    /// port's first try.
    ///
    /// # Errors
    /// Names the port that does not open.
    pub fn open_site(
        experiment: &Experiment,
        site: &Site,
        (faults, seed): (Faults, u64),
        mut wait: impl FnMut(&PortError, Duration) -> bool + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let routes = site.routes(experiment.network.nodes);
        let switch = Switchboard::new(routes, faults, seed, site.seal);
        let baud = experiment.links.clone().unwrap_or_default().baud;
        let patiently = move |port: &Port, baud| port.open(baud, &mut wait);
        let mut own = Self::new(switch, patiently, baud, true);
        own.plug(experiment, site.own.nodes.iter().copied())?;
        // Lines that close later are opened again while the others are in use, so without a wait.
        own.open = Box::new(at_once);
        Ok(own)
    }

    fn new(
        switch: Switchboard,
        open: impl FnMut(&Port, u32) -> Result<Stream, PortError> + Send + 'static,
        baud: u32,
        routed: bool,
    ) -> Self {
        let (clients, plugs) = (BTreeMap::new(), BTreeMap::new());
        Self { switch, clients, plugs, open: Box::new(open), baud, routed }
    }

    /// Opens the ports of some nodes.
    fn plug(
        &mut self,
        experiment: &Experiment,
        nodes: impl IntoIterator<Item = u32>,
    ) -> Result<(), ConnectError> {
        for node in nodes {
            let port = Self::port(experiment, node)?;
            self.plugs.insert(node, Plug { port, baud: self.baud, answered: false });
            self.attach(node).map_err(|error| ConnectError::Port { node, error })?;
        }
        Ok(())
    }

    /// Opens a board's port at the rate that is noted for it.
    fn attach(&mut self, node: u32) -> Result<(), PortError> {
        if let Some(plug) = self.plugs.get(&node) {
            let stream = (self.open)(&plug.port, plug.baud)?;
            self.clients.insert(node, self.switch.attach(node, stream));
        }
        Ok(())
    }

    /// Opens the port of a silent board at the other rate, if there is another and the board has never answered. Tells
    /// whether it did.
    fn change_rate(&mut self, node: u32) -> bool {
        let Some(plug) = self.plugs.get_mut(&node) else { return false };
        let serial = matches!(plug.port, Port::Serial(_));
        if plug.answered || !serial || self.baud == BAUD_WITHOUT_BLOB {
            return false;
        }
        plug.baud = if plug.baud == self.baud { BAUD_WITHOUT_BLOB } else { self.baud };
        // A port opens only once.
        self.switch.detach(node);
        // If it does not open again, its client reports a closed line.
        self.attach(node).is_ok()
    }

    /// Notes that a board answered, even if only to say that it does not start.
    fn note<T>(&mut self, node: u32, answer: &Result<T, Silence>) {
        let answered = !matches!(answer, Err(Silence::Silent(_) | Silence::Closed(_)));
        if let Some(plug) = self.plugs.get_mut(&node) {
            // A board that was refused may be flashed meanwhile, and then has the file's rate.
            let refused = matches!(answer, Err(Silence::Refused { .. }));
            plug.answered = (plug.answered || answered) && !refused;
        }
    }

    /// The baud rates at which boards were asked.
    #[must_use]
    pub fn rates(&self) -> Vec<u32> {
        let serial = |plug: &Plug| matches!(plug.port, Port::Serial(_));
        let other = self.baud != BAUD_WITHOUT_BLOB && self.plugs.values().any(serial);
        [self.baud].into_iter().chain(other.then_some(BAUD_WITHOUT_BLOB)).collect()
    }

    /// Asks a board something for at most so long; a board that has never answered, also at the other rate.
    ///
    /// # Errors
    /// If it does not say.
    pub fn ask<T>(
        &mut self,
        node: u32,
        patience: Duration,
        mut ask: impl FnMut(&mut Client) -> Result<T, Silence>,
    ) -> Result<T, Silence> {
        let mut ask = |own: &mut Self, patience| {
            let client = own.clients.get_mut(&node).ok_or(Silence::Closed(node))?;
            client.set_patience(patience);
            let answer = ask(client);
            own.note(node, &answer);
            answer
        };
        let answer = ask(self, patience);
        if !matches!(answer, Err(Silence::Silent(_))) || !self.change_rate(node) {
            return answer;
        }
        let other = ask(self, BRIEF.min(patience));
        if matches!(other, Err(Silence::Silent(_))) {
            self.change_rate(node);
        }
        other
    }

    /// Opens ports again whose lines were closed: a cable that was pulled and plugged in again, a serial server that was
    /// restarted. What does not open now is tried again with the next call.
    fn reopen(&mut self) {
        let closed = self.clients.values().filter(|client| client.is_closed());
        let closed: Vec<u32> = closed.map(Client::node).collect();
        for node in closed {
            _ = self.attach(node);
        }
    }

    /// Where the file says that a node is plugged in.
    ///
    /// # Errors
    /// If it does not say, or not in a way that can be understood.
    pub fn port(experiment: &Experiment, node: u32) -> Result<Port, ConnectError> {
        let mut own = experiment.fleet.iter().flat_map(|table| &table.node);
        let own = own.find(|own| own.id == node).and_then(|own| own.port.as_deref());
        let port = own.ok_or(ConnectError::Missing(node))?.parse();
        port.map_err(|error| ConnectError::Port { node, error })
    }

    /// Whether boards reach each other only through this host, while it runs.
    #[must_use]
    pub const fn routed(&self) -> bool {
        self.routed
    }

    /// The frames forwarded.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.switch.passed().frames
    }

    /// The nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> Vec<u32> {
        self.clients.keys().copied().collect()
    }

    /// The hosts at all control links, by node.
    pub fn clients(&mut self) -> impl Iterator<Item = &mut Client> {
        self.clients.values_mut()
    }

    /// The host at a control link.
    pub fn client(&mut self, node: u32) -> Option<&mut Client> {
        self.clients.get_mut(&node)
    }

    /// The status of all boards, or why there is none. Those that have never answered are asked at the other rate next time, and
    /// lines that were closed are opened again, if they can be.
    pub fn statuses(&mut self) -> Vec<Result<Status, Silence>> {
        self.reopen();
        let all: Vec<_> = statuses(&mut self.clients)
            .map(|(node, status)| (node, status.and_then(|s| s.ok_or(Silence::Silent(node)))))
            .collect();
        for (node, status) in &all {
            self.note(*node, status);
            if matches!(status, Err(Silence::Silent(_))) {
                self.change_rate(*node);
            }
        }
        all.into_iter().map(|(_, status)| status).collect()
    }
}

impl Boards for Connected {
    fn switch(&self) -> &Switchboard {
        &self.switch
    }

    fn look(&mut self) -> Vec<(u32, Result<Status, Silence>)> {
        self.nodes().into_iter().zip(self.statuses()).collect()
    }

    fn reopen(&mut self) {
        Self::reopen(self);
    }

    fn host(&mut self, node: u32) -> Option<&mut Client> {
        self.client(node)
    }
}
