//! A fleet of boards that are plugged in: their ports from the file, the host at their control links, and their router if
//! they have no lines of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use lopa_core::blob::Wiring;
use lopa_core::problem::Problem;
use lopa_core::wire::Status;

use super::client::{Client, Silence, statuses};
use super::port::{Port, PortError};
use super::switchboard::Switchboard;
use crate::config::Experiment;
use crate::exact::oracle::{Memory, Oracle};
use crate::network::Faults;
use crate::run::Prepared;

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

/// Boards that are plugged in.
#[derive(Debug)]
pub struct Connected {
    /// Kept for its threads, which carry everything.
    switch: Switchboard,
    clients: BTreeMap<u32, Client>,
    routed: bool,
}

impl Connected {
    /// Opens the ports of all nodes of a network.
    ///
    /// # Errors
    /// Names the port that does not open.
    pub fn open(prepared: &Prepared) -> Result<Self, ConnectError> {
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
        let mut switch = Switchboard::new(listeners, Faults::NONE, 0, prepared.seal());
        let mut clients = BTreeMap::new();
        for node in 0..experiment.network.nodes {
            let stream = Self::port(experiment, node)?.open(links.baud, Duration::ZERO);
            let stream = stream.map_err(|error| ConnectError::Port { node, error })?;
            clients.insert(node, switch.attach(node, stream));
        }
        Ok(Self { switch, clients, routed })
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

    /// The hosts at all control links, by node.
    pub fn clients(&mut self) -> impl Iterator<Item = &mut Client> {
        self.clients.values_mut()
    }

    /// The host at a control link.
    pub fn client(&mut self, node: u32) -> Option<&mut Client> {
        self.clients.get_mut(&node)
    }

    /// The status of all boards, or why there is none.
    pub fn statuses(&mut self) -> Vec<Result<Status, Silence>> {
        let all = statuses(&mut self.clients);
        all.map(|(node, status)| status?.ok_or(Silence::Silent(node))).collect()
    }

    /// A node's outer loss on its own samples, from what it has now; nothing if it does not answer.
    pub fn loss(&mut self, prepared: &Prepared, node: u32) -> Option<f64> {
        use lopa_core::node::Variable::{Inner, Outer};
        let client = self.clients.get_mut(&node)?;
        let (x, theta) = (client.read(Outer).ok()?, client.read(Inner).ok()?);
        let samples = prepared.material().samples().ok()?;
        let problems = prepared.problems(&samples).ok()?;
        let problem = problems.get(node as usize)?;
        let size = problem.dimensions();
        let fits = (size.outer, size.inner) == (x.len(), theta.len());
        fits.then(|| Oracle::new(problem, &x, &mut Memory::new(size)).outer_loss(&theta))
    }
}
