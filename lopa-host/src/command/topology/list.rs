//! The kinds of networks, each with an example of ten nodes.

use lopa_host::topology::{Kind, Weights};
use serde::Serialize;

use crate::command::{self, Failure};

/// An example of each kind, and what it is.
const KINDS: [(&str, &str); 11] = [
    ("path", "every node is linked to the one before and the one after"),
    ("ring", "a closed path"),
    ("star", "every node is linked to node 0"),
    ("grid 2x5", "rows and columns, linked left, right, up and down"),
    ("torus 2x5", "a grid whose rows and columns are rings"),
    ("complete", "every node is linked to every other"),
    ("erdos-renyi 0.3", "every two nodes are linked with this probability"),
    ("geometric 0.4", "random points in a unit square, linked up to this distance"),
    (
        "small-world 4 0.1",
        "a ring with links to the four nearest, a tenth of them moved to random nodes",
    ),
    ("rho 0.79", "a graph with this rho, found by a search"),
    ("file edges.txt", "one link per line: two node numbers, counted from 0"),
];

#[derive(Debug, Serialize)]
struct Entry {
    network: &'static str,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rho: Option<f64>,
}

/// The list: one line per kind, with its rho for ten nodes and seed 1.
pub(super) fn list(json: bool) -> Result<String, Failure> {
    let mut entries = Vec::new();
    for (network, what) in KINDS {
        let kind: Kind = network.parse().map_err(Failure::input)?;
        let (mut links, mut rho) = (None, None);
        if !matches!(kind, Kind::File(_)) {
            let topology = kind.build(10, 1).map_err(Failure::input)?;
            links = Some(topology.links().count());
            rho = Some(Weights::metropolis(&topology).spectrum().rho());
        }
        entries.push(Entry { network, what, links, rho });
    }
    if json {
        return command::json(&entries);
    }
    let mut text = String::from("with ten nodes      links  rho\n");
    for Entry { network, what, links, rho } in entries {
        let links = links.map_or("-".into(), |links| links.to_string());
        let rho = rho.map_or("-".into(), |rho| format!("{rho:.4}"));
        text += &format!("{network:<18}  {links:>5}  {rho:<6}  {what}\n");
    }
    Ok(text)
}
