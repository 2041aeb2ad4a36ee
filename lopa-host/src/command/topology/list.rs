//! The kinds of networks, with an example of ten nodes each.

use lopa_host::topology::{Kind, Weights};
use serde::Serialize;

use crate::command::Failure;

/// An example of each kind, and what it is.
const KINDS: [(&str, &str); 11] = [
    ("path", "every node talks to the one before and the one after"),
    ("ring", "a path that is closed"),
    ("star", "every node talks to node 0"),
    ("grid 2x5", "rows and columns; neighbours left, right, above and below"),
    ("torus 2x5", "a grid whose rows and columns are closed"),
    ("complete", "every node talks to every other"),
    ("erdos-renyi 0.3", "every two nodes are linked with this probability"),
    ("geometric 0.4", "nodes fall on a unit square and talk up to this distance"),
    ("small-world 4 0.1", "a ring of the four nearest, a tenth of the links moved anywhere"),
    ("rho 0.79", "a graph with this rho, found by a search"),
    ("file edges.txt", "a link a line: two node numbers, counted from 0"),
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

/// The list: a line a kind, with its rho for ten nodes and seed 1.
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
        return Ok(serde_json::to_string(&entries).unwrap_or_default() + "\n");
    }
    let mut text = String::from("with ten nodes      links  rho\n");
    for Entry { network, what, links, rho } in entries {
        let links = links.map_or("-".into(), |links| links.to_string());
        let rho = rho.map_or("-".into(), |rho| format!("{rho:.4}"));
        text += &format!("{network:<18}  {links:>5}  {rho:<6}  {what}\n");
    }
    Ok(text)
}
