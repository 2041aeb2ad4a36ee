//! Which node sends on which line, and which nodes receive it.

use lopa_core::exchange::{Micros, Peer};

use super::{FaultyLine, Linking, Wiring};

/// One receiver of a port: the node, the link it listens on, and the line that leads there.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) node: usize,
    pub(super) link: usize,
    pub(super) line: FaultyLine,
}

/// One sender's end of a line.
#[derive(Debug)]
pub(super) struct Port {
    /// The node that speaks here, and on which of its links.
    pub(super) from: usize,
    pub(super) link: usize,
    pub(super) to: Vec<Receiver>,
    /// The line is taken until then.
    pub(super) taken: Micros,
    /// The frame on the line, if any.
    pub(super) sending: Option<Vec<u8>>,
}

/// The ports of a network.
pub(super) fn ports(peers: &[Vec<Peer>], linking: &Linking) -> Vec<Port> {
    let mut lines = 0;
    let mut receiver = |node: usize, link: usize| {
        lines += 1;
        let line = FaultyLine::new(linking.faults.clone(), linking.seed, lines);
        Receiver { node, link, line }
    };
    let link_to = |from: usize, to: usize| {
        peers[to]
            .iter()
            .find(|peer| peer.node as usize == from)
            .map_or(0, |peer| usize::from(peer.link))
    };
    let mut ports = Vec::new();
    for (from, own) in peers.iter().enumerate() {
        let mut port = |link: usize, to: Vec<Receiver>| {
            ports.push(Port { from, link, to, taken: 0, sending: None });
        };
        match linking.wiring {
            Wiring::Direct => own.iter().for_each(|peer| {
                let to = peer.node as usize;
                port(usize::from(peer.link), vec![receiver(to, link_to(from, to))]);
            }),
            // A router passes on what a node says to its neighbours; each stretch has its own faults.
            Wiring::Routed => {
                let to = own.iter().map(|peer| receiver(peer.node as usize, 0)).collect();
                port(0, to);
            }
            Wiring::Bus => {
                let all = (0..peers.len()).filter(|&to| to != from).map(|to| receiver(to, 0));
                port(0, all.collect());
            }
        }
    }
    ports
}
