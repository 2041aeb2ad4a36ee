//! Gateways: the boards of one fleet on several machines, whose frames travel through Zenoh.
//!
//! - [`Site`]: the part of a network that is on this machine; [`Boards`]: its boards, plugged in or emulated;
//! - [`keys`]: what the frames of a node are called; [`Joined`]: the session that carries them.
//!
//! A gateway neither repairs nor orders frames: the exchange of the nodes does. It need not know their key either.

pub mod keys;
#[cfg(feature = "zenoh")]
mod session;
#[cfg(not(feature = "zenoh"))]
#[path = "no_session.rs"]
mod session;

pub use session::Joined;

use std::path::Path;

use lopa_core::wire::{Seal, Status};

use super::client::{Client, Silence};
use super::switchboard::Switchboard;
use crate::config::{Experiment, FleetGateway, FleetTable};
use crate::meeting::MeetingError;
use crate::network::Wiring;
use crate::run::{RunError, weights};
use crate::topology::Weights;
use crate::words;
use keys::Keys;

/// Why a gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The file has no gateways.
    #[error(
        "the file lists no gateways: for each machine, write [[fleet.gateway]], with name, address and nodes, such as \
         nodes = [0, 1]"
    )]
    Table,
    /// The file has no such gateway.
    #[error("the file has no gateway {name:?}: {hint}")]
    Unknown {
        /// The name given.
        name: String,
        /// What there is.
        hint: String,
    },
    /// A node has no gateway.
    #[error("node {0} has no gateway: list it in the nodes of one [[fleet.gateway]]")]
    Homeless(u32),
    /// Boards have lines of their own.
    #[error(
        "nodes behind gateways have no lines between them: write wiring = \"routed\" in the table [links], and flash the \
         boards again"
    )]
    Wiring,
    /// The others could not reach it.
    #[error(
        "gateway {0} has no address: write address = \"HOST:PORT\", or name a configuration file of Zenoh with zenoh = \"FILE\" \
         in the table [fleet]"
    )]
    Address(String),
    /// The network is not sound.
    #[error(transparent)]
    Network(#[from] RunError),
    /// A name cannot be part of a key.
    #[error(transparent)]
    Key(#[from] keys::KeyError),
    /// Gateways do not meet.
    #[error(transparent)]
    Meeting(#[from] MeetingError),
}

/// The part of a network that is on one machine.
#[derive(Debug, Clone)]
pub struct Site {
    /// The gateway.
    pub own: FleetGateway,
    /// All gateways of the file, in its order.
    pub all: Vec<FleetGateway>,
    /// Which nodes are linked.
    pub weights: Weights,
    /// How frames are sealed; nothing if this machine does not know their key.
    pub seal: Option<Seal>,
    /// What frames are called.
    pub keys: Keys,
}

impl Site {
    /// Finds the gateway of a file, whose name is the fleet's unless it has another.
    ///
    /// # Errors
    /// Says what the file lacks.
    pub fn new(
        experiment: &Experiment,
        file: &Path,
        name: &str,
        seal: Option<Seal>,
    ) -> Result<Self, GatewayError> {
        let table = table(experiment)?;
        let found = table.gateway.iter().find(|gateway| gateway.name == name);
        let own = found.cloned().ok_or_else(|| {
            let known: Vec<&str> = table.gateway.iter().map(|own| own.name.as_str()).collect();
            let hint = match words::nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("choose one of {}", known.join(", ")),
            };
            GatewayError::Unknown { name: name.into(), hint }
        })?;
        if let Some(node) = (0..experiment.network.nodes).find(|id| table.gateway_of(*id).is_none())
        {
            return Err(GatewayError::Homeless(node));
        }
        if experiment.links.as_ref().is_none_or(|links| links.wiring == Wiring::Direct) {
            return Err(GatewayError::Wiring);
        }
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let fleet = table.name.clone().or(stem).unwrap_or_default();
        let keys = Keys::new(&fleet)?;
        table.gateway.iter().try_for_each(|own| keys::check(&own.name))?;
        let all = table.gateway.clone();
        Ok(Self { own, all, weights: weights(experiment)?, seal, keys })
    }

    /// The gateway of a node, by its name.
    ///
    /// # Errors
    /// If the file has none.
    pub fn of_node(experiment: &Experiment, node: u32) -> Result<&FleetGateway, GatewayError> {
        table(experiment)?.gateway_of(node).ok_or(GatewayError::Homeless(node))
    }

    /// The neighbours of every node of the network.
    pub(super) fn routes(&self, nodes: u32) -> Vec<Vec<u32>> {
        let mut routes = vec![Vec::new(); nodes as usize];
        for edge in self.weights.edges() {
            if let Some(own) = routes.get_mut(edge.node as usize) {
                own.push(edge.neighbour);
            }
        }
        routes
    }

    /// The links between a node here and one elsewhere, in this order.
    #[must_use]
    pub fn borders(&self) -> Vec<(u32, u32)> {
        let here = |node: u32| self.own.nodes.contains(&node);
        let edges = self.weights.edges().iter().map(|edge| (edge.node, edge.neighbour));
        edges.filter(|(node, other)| here(*node) && !here(*other)).collect()
    }
}

fn table(experiment: &Experiment) -> Result<&FleetTable, GatewayError> {
    experiment.fleet.as_ref().filter(|table| !table.gateway.is_empty()).ok_or(GatewayError::Table)
}

/// Gateways that may not know that all nodes have finished, by name: they would wait for ever if nobody told them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unaware {
    /// Those that are there.
    pub there: Vec<String>,
    /// Those that are gone, and may return.
    pub gone: Vec<String>,
}

/// The boards of a gateway.
pub trait Boards {
    /// What their lines lead to.
    fn switch(&self) -> &Switchboard;

    /// The status of each, or why there is none. Lines that were closed are opened again, if they can be.
    fn look(&mut self) -> Vec<(u32, Result<Status, Silence>)>;

    /// Opens lines again that were closed, if they can be.
    fn reopen(&mut self);

    /// The host at a control link.
    fn host(&mut self, node: u32) -> Option<&mut Client>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: &str = "network = { nodes = 4 }\nproblem = { kind = \"logistic\" }\n\
        algorithm = { name = \"lopa-gt\", alpha = 0.1, beta = 0.05, lambda = 0.05, gamma = 0.3, tau = 0.5 }\n\
        links = { wiring = \"routed\" }\nrun = { iterations = 9 }\n[fleet]\n\
        gateway = [{ name = \"attic\", nodes = [0, 1] }, { name = \"cellar\", nodes = [2, 3] }]\n";

    fn site(text: &str, name: &str) -> Result<Site, GatewayError> {
        Site::new(&Experiment::parse(text).unwrap(), Path::new("a/ring.toml"), name, None)
    }

    #[test]
    fn only_links_between_machines_are_borders() {
        assert_eq!(site(RING, "attic").unwrap().borders(), [(0, 3), (1, 2)]);
        assert_eq!(site(RING, "cellar").unwrap().borders(), [(2, 1), (3, 0)]);
    }

    #[test]
    fn mistakes_come_with_a_way_out() {
        for (from, to, name, what) in [
            ("", "", "atic", "did you mean \"attic\"?"),
            ("", "", "shed", "choose one of attic, cellar"),
            ("[2, 3]", "[2]", "attic", "node 3 has no gateway"),
            ("\"routed\"", "\"direct\"", "attic", "wiring = \"routed\""),
            ("links = { wiring = \"routed\" }\n", "", "attic", "wiring = \"routed\""),
            ("\"cellar\"", "\"a/b\"", "attic", "\"a/b\""),
        ] {
            let error = site(&RING.replace(from, to), name).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let (without, _) = RING.split_once("[fleet]").unwrap();
        assert!(site(without, "attic").unwrap_err().to_string().contains("[[fleet.gateway]]"));
    }
}
