//! A fleet of emulated boards: an image, a blob each, and wires between them as the blobs say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lopa_core::blob::{BlobError, Wiring};
use lopa_core::exchange::Peer;
use lopa_core::wire::{Seal, Status};

use super::client::{Client, Reading, Silence, statuses};
use super::emulator::{Cord, Emulator, EmulatorError};
use super::gateway::Boards;
use super::port::{Port, PortError};
use super::switchboard::{Eavesdropper, Passed, Switchboard};
use crate::chips::{Board, EMULATED, LINES, Loaded};
use crate::files::{self, Access, WriteError};
use crate::network::{Faults, LineHealth};

/// An emulator that offers no socket after this time has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why a fleet fails.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A blob is not sound.
    #[error("node {node}: {error}")]
    Blob {
        /// The node.
        node: u32,
        /// Why.
        error: BlobError,
    },
    /// Blobs are not those of nodes 0, 1, … of one network.
    #[error("the blob of node {0} belongs to another node")]
    Blobs(u32),
    /// An emulator does not run.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// A line does not open.
    #[error("node {node}: {error}{}{}", if log.is_empty() { "" } else { "; its emulator printed: " }, log.trim())]
    Port {
        /// The node.
        node: u32,
        /// Why.
        #[source]
        error: PortError,
        /// What the board and its emulator printed.
        log: String,
    },
    /// A node does not answer.
    #[error(transparent)]
    Silence(#[from] Silence),
    /// There is no such node, or it is off.
    #[error("node {0} is off")]
    Off(u32),
}

/// A fleet of emulated boards. All are ended when it is dropped.
#[derive(Debug)]
pub struct Emulated {
    folder: tempfile::TempDir,
    /// The board of each node, and its image.
    boards: Vec<(Board, PathBuf)>,
    wiring: Wiring,
    /// Every node's neighbours, with the links that lead to them.
    peers: Vec<Vec<Peer>>,
    /// Whether the host stands in the middle of wires.
    between: bool,
    emulators: BTreeMap<u32, Emulator>,
    clients: BTreeMap<u32, Client>,
    switch: Switchboard,
    /// More words for the emulators.
    more: Vec<String>,
}

impl Emulated {
    /// Boards with their blobs, off. With `faults` the host stands in the middle of every wire, where it can damage
    /// and cut; without, wires lead from board to board.
    ///
    /// # Errors
    /// Refuses blobs that are not sound, or not those of nodes 0, 1, …
    pub fn new(
        image: &Path,
        blobs: &[Vec<u8>],
        faults: Option<(Faults, u64)>,
    ) -> Result<Self, FleetError> {
        let folder = tempfile::Builder::new().prefix("lopa").tempdir();
        let folder = folder.map_err(|error| EmulatorError::Folder(std::env::temp_dir(), error))?;
        let mut peers = Vec::new();
        let (mut wiring, mut seal) = (Wiring::Direct, Seal::PLAIN);
        for (node, bytes) in (0_u32..).zip(blobs) {
            let loaded = Loaded::new(bytes);
            let blob = loaded.blob().map_err(|error| FleetError::Blob { node, error })?;
            if blob.node() != node {
                return Err(FleetError::Blobs(node));
            }
            (wiring, seal) = (blob.plan().wiring, blob.plan().seal);
            peers.push(blob.peers().collect::<Vec<Peer>>());
        }
        // On a bus all nodes receive everything; only neighbours listen.
        let heard = |own: &Vec<Peer>| own.iter().map(|peer| peer.node).collect();
        let routes = match wiring {
            Wiring::Direct => Vec::new(),
            Wiring::Routed | Wiring::Bus => peers.iter().map(heard).collect(),
        };
        let between = faults.is_some() && wiring == Wiring::Direct;
        let (faults, seed) = faults.unwrap_or((Faults::NONE, 0));
        let fleet = Self {
            folder,
            boards: vec![(EMULATED, image.to_path_buf()); peers.len()],
            wiring,
            peers,
            between,
            emulators: BTreeMap::new(),
            clients: BTreeMap::new(),
            switch: Switchboard::new(routes, faults, seed, seal),
            more: Vec::new(),
        };
        for (node, blob) in (0..).zip(blobs) {
            let own = fleet.folder(node);
            let made = fs::create_dir(&own);
            made.map_err(|error| EmulatorError::Folder(own, error))?;
            fleet.flash(node, blob)?;
        }
        Ok(fleet)
    }

    /// A board's folder.
    #[must_use]
    pub fn folder(&self, node: u32) -> PathBuf {
        self.folder.path().join(node.to_string())
    }

    /// How many boards, on or off.
    #[must_use]
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Gives a board another blob, for when it starts next.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flash(&self, node: u32, blob: &[u8]) -> Result<(), FleetError> {
        let path = self.folder(node).join("blob.bin");
        // With a key in it, perhaps.
        files::put_all_as(&[(path, blob)], Access::Private)
            .map_err(|WriteError { path, error }| EmulatorError::Folder(path, error))?;
        Ok(())
    }

    /// Gives a node another board, for when it starts next.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn put_on(&mut self, node: u32, board: &Board, image: &Path) -> Result<(), FleetError> {
        let place = self.boards.get_mut(node as usize).ok_or(FleetError::Off(node))?;
        *place = (*board, image.to_path_buf());
        Ok(())
    }

    /// Gives emulators that start from now on more words: to look into a board, say.
    pub fn tell_emulators(&mut self, words: &[&str]) {
        self.more.extend(words.iter().map(|word| (*word).to_owned()));
    }

    /// What each link of a board leads to.
    fn cords(&self, node: u32, peers: &[Peer]) -> Vec<Cord> {
        let mut cords = vec![Cord::Open; LINES + 1];
        cords[0] = Cord::Awaits("host".into());
        if self.wiring != Wiring::Direct {
            return cords;
        }
        for peer in peers {
            let other = peer.node;
            let cord = match () {
                () if self.between => Cord::Awaits(format!("wire-{other}").into()),
                () if node < other => Cord::Offers(format!("../{node}-{other}").into()),
                () => Cord::Seeks(format!("../{other}-{node}").into()),
            };
            if let Some(place) = cords.get_mut(usize::from(peer.link)) {
                *place = cord;
            }
        }
        cords
    }

    /// Switches a board on, and takes up its lines.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn start(&mut self, node: u32) -> Result<&mut Client, FleetError> {
        let mut peers = self.peers.get(node as usize).ok_or(FleetError::Off(node))?.clone();
        let (board, image) = self.boards.get(node as usize).ok_or(FleetError::Off(node))?.clone();
        self.kill(node);
        let own = self.folder(node);
        let cords = self.cords(node, &peers);
        let emulator = Emulator::start(&own, &board, &image, &cords, &self.more)?;
        let open = |name: String| {
            let port = Port::Unix(own.join(name));
            port.open(0, |_, waited| waited < PATIENCE).map_err(|error| {
                let log = emulator.log();
                FleetError::Port { node, error, log }
            })
        };
        // In the order of the links, in which the emulator waits for them.
        let host = open("host".into())?;
        if self.between {
            peers.sort_by_key(|peer| peer.link);
            for peer in &peers {
                let stream = open(format!("wire-{}", peer.node))?;
                self.switch.attach_wire(node, peer.node, stream);
            }
        }
        let client = self.switch.attach(node, host);
        self.emulators.insert(node, emulator);
        Ok(self.clients.entry(node).or_insert(client))
    }

    /// Switches all boards on.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn start_all(&mut self) -> Result<(), FleetError> {
        (0..self.len() as u32).try_for_each(|node| self.start(node).map(drop))
    }

    /// Takes a board's power away.
    pub fn kill(&mut self, node: u32) {
        self.clients.remove(&node);
        self.emulators.remove(&node);
        self.switch.detach(node);
    }

    /// Whether a board is on.
    #[must_use]
    pub fn is_on(&self, node: u32) -> bool {
        self.emulators.contains_key(&node)
    }

    /// Cuts the line between two neighbours, or repairs it: where the host stands in the middle.
    pub fn cut(&self, a: u32, b: u32, cut: bool) {
        self.switch.cut(a, b, cut);
    }

    /// The host at a board's control link.
    ///
    /// # Errors
    /// If the board is off.
    pub fn client(&mut self, node: u32) -> Result<&mut Client, FleetError> {
        self.clients.get_mut(&node).ok_or(FleetError::Off(node))
    }

    /// What a board and its emulator printed; nothing if it is off.
    #[must_use]
    pub fn log(&self, node: u32) -> String {
        self.emulators.get(&node).map(Emulator::log).unwrap_or_default()
    }

    /// What a board logged, as it came; nothing if it is off.
    #[must_use]
    pub fn logged(&self, node: u32) -> Vec<u8> {
        self.emulators.get(&node).map(Emulator::logged).unwrap_or_default()
    }

    /// An eavesdropper on the lines between boards, where the host is in between.
    #[must_use]
    pub fn eavesdropper(&self) -> Eavesdropper {
        self.switch.eavesdropper()
    }

    /// What the host did with frames.
    #[must_use]
    pub fn passed(&self) -> Passed {
        self.switch.passed()
    }

    /// How the lines between boards are doing, where the host is in between.
    #[must_use]
    pub fn lines(&self) -> Vec<LineHealth> {
        self.switch.lines()
    }

    /// Where all boards are: nothing of those that are off, or too busy to say.
    ///
    /// # Errors
    /// If an emulator ended.
    pub fn statuses(&mut self) -> Result<Vec<Option<Status>>, FleetError> {
        let mut all = vec![None; self.len()];
        for (node, status) in statuses(&mut self.clients) {
            all[node as usize] = status?;
        }
        Ok(all)
    }

    /// All that the boards that are on know.
    ///
    /// # Errors
    /// If one does not say.
    pub fn readings(&mut self) -> Result<BTreeMap<u32, Reading>, FleetError> {
        let readings = self.clients.iter_mut().map(|(node, client)| Ok((*node, client.reading()?)));
        readings.collect()
    }
}

impl Boards for Emulated {
    fn switch(&self) -> &Switchboard {
        &self.switch
    }

    fn look(&mut self) -> Vec<(u32, Result<Status, Silence>)> {
        let all = statuses(&mut self.clients);
        all.map(|(node, status)| {
            (node, status.and_then(|status| status.ok_or(Silence::Silent(node))))
        })
        .collect()
    }

    /// The lines of an emulated board last as long as it does.
    fn reopen(&mut self) {}

    fn host(&mut self, node: u32) -> Option<&mut Client> {
        self.clients.get_mut(&node)
    }
}
