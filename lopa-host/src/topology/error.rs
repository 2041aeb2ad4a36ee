//! Why a graph or its weights were refused, in words that say what to do.

use std::io;
use std::path::PathBuf;

use super::random::TRIES;
use super::{Kind, MOST_LINKS, MOST_NODES, MOST_NODES_TO_FIND};

/// Why a graph was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// There are no nodes.
    #[error("a network needs at least one node")]
    Empty,
    /// A link names a node that does not exist, or joins a node to itself.
    #[error("link {0}-{1} names a missing node or joins a node to itself")]
    Link(u32, u32),
    /// No path leads from node 0 to these, which are connected among themselves.
    #[error("no path leads from node 0 to {}: add a link that connects the network", listed(.0))]
    Disconnected(Vec<u32>),
    /// There are more than [`MOST_NODES`] nodes or [`MOST_LINKS`] links.
    #[error("the network is too large: at most {MOST_NODES} nodes and {MOST_LINKS} links")]
    TooLarge,
    /// A parameter is out of range.
    #[error("{name} must be {range}, got {value}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// The range.
        range: &'static str,
        /// Its value.
        value: f64,
    },
    /// No random graph was connected; with advice on what to change.
    #[error("none of {TRIES} random graphs was connected: {0}")]
    Unlucky(String),
    /// No graph has the wanted rho; this is the nearest that was found.
    #[error("no such graph was found; the nearest rho is {0:.4}: use that")]
    Far(f64),
    /// The kind implies another number of nodes than was given.
    #[error("the network has {0} nodes, not {1}: change one or the other")]
    Size(u64, u32),
    /// There are too many nodes to search for a rho.
    #[error(
        "a search among graphs of {0} nodes takes too long: at most {MOST_NODES_TO_FIND}; for more, vary the parameters \
         of a small world or a geometric graph"
    )]
    Search(u32),
    /// A line of an edge list is wrong.
    #[error("line {line} {problem}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// An edge list has no links, and the number of nodes is not given.
    #[error("there are no links: write one per line, such as `0 1`")]
    NoLinks,
}

impl TopologyError {
    /// Refuses a parameter that does not fit its range.
    pub(super) fn unless(
        fits: bool,
        name: &'static str,
        range: &'static str,
        value: f64,
    ) -> Result<(), Self> {
        if fits { Ok(()) } else { Err(Self::Parameter { name, range, value }) }
    }
}

/// "node 3", or "nodes 3, 4 and 5 more".
fn listed(nodes: &[u32]) -> String {
    let shown: Vec<String> = nodes.iter().take(8).map(u32::to_string).collect();
    let noun = if nodes.len() == 1 { "node" } else { "nodes" };
    let more = match nodes.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{noun} {}{more}", shown.join(", "))
}

/// Why a matrix was refused. Rows and columns are counted from 0, as nodes are.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WeightsError {
    /// An element is not a weight, or not the one it must be.
    #[error("row {row}, column {column} {problem}")]
    Element {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// A row is too long or too short, or its sum is not one.
    #[error("row {row} {problem}")]
    Row {
        /// The row.
        row: usize,
        /// What is wrong.
        problem: String,
    },
    /// There are not as many rows as columns.
    #[error("the matrix has {rows} rows and {columns} columns: W needs one of each per node")]
    Square {
        /// The rows.
        rows: usize,
        /// The columns.
        columns: usize,
    },
    /// No node keeps anything and all links lead from one half of the nodes to the other: the halves would exchange their
    /// values forever.
    #[error(
        "no node keeps a share of its own value and the network has two sides, which would swap values forever: put \
         something on the diagonal"
    )]
    Periodic,
    /// A weight is too small to be a multiple of 1/256.
    #[error(
        "the weight of nodes {node} and {neighbour} is {weight}, less than 1/256, so rounding it would cut their link: use a \
         larger weight; by the Metropolis rule, nodes may have up to 255 neighbours"
    )]
    Below {
        /// One of the two nodes.
        node: u32,
        /// The other.
        neighbour: u32,
        /// The weight.
        weight: f32,
    },
    /// The graph was refused.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The matrix has another number of nodes than the graph.
    #[error("the weights are for {got} nodes, but the network has {wanted}")]
    Nodes {
        /// The matrix's.
        got: usize,
        /// The graph's.
        wanted: usize,
    },
}

/// Why a network could not be built from its description.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The kind does not imply the number of nodes, and it was not given.
    #[error("`{0}` needs a node count: pass --nodes")]
    Nodes(Kind),
    /// There is no such graph.
    #[error("`{kind}`: {source}")]
    Graph {
        /// The kind.
        kind: Kind,
        /// Why.
        source: TopologyError,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The contents of a file were refused.
    #[error("{}: {source}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// Why.
        source: WeightsError,
    },
}
