//! Why a graph or its weights were refused, in words that say what to do.

use std::io;
use std::path::PathBuf;

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
    /// A parameter of a random graph is out of range.
    #[error("{name} must be {range}, got {value}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// The range.
        range: &'static str,
        /// Its value.
        value: f64,
    },
    /// No random graph was connected.
    #[error("none of {tries} random graphs was connected: {advice}")]
    Unlucky {
        /// How many were drawn.
        tries: u32,
        /// What to change.
        advice: String,
    },
    /// No network has such a rho.
    #[error("rho must be in [0, 1), got {0}")]
    Rho(f64),
    /// There are too many nodes to search for a rho.
    #[error(
        "a search among graphs of {0} nodes takes too long: at most {MOST_NODES_TO_FIND}; for more, vary the parameters \
         of a small world or a geometric graph"
    )]
    Search(u32),
    /// A line of an edge list is not a pair of numbers.
    #[error("line {line}: `{text}` is not a link: write two node numbers, such as `0 1` or `0,1`")]
    Pair {
        /// The line, counted from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// A line of an edge list joins a node to itself.
    #[error("line {line} joins node {node} to itself: remove it")]
    Loop {
        /// The line, counted from 1.
        line: usize,
        /// The node.
        node: u32,
    },
    /// A line of an edge list names a node that the network does not have.
    #[error("line {line} names node {node}, but with {nodes} nodes the last one is {}", nodes.saturating_sub(1))]
    Node {
        /// The line, counted from 1.
        line: usize,
        /// The node.
        node: u32,
        /// The number of nodes there are.
        nodes: u32,
    },
    /// A line of an edge list names a number so high that its links cannot connect all nodes below it.
    #[error(
        "line {line} names node {node}, but {links} links cannot connect that many nodes: number the nodes from 0 \
         without gaps"
    )]
    Gap {
        /// The line, counted from 1.
        line: usize,
        /// The node.
        node: u32,
        /// The links there are.
        links: usize,
    },
    /// An edge list has no links, and the number of nodes is not given.
    #[error("there are no links: write one per line, such as `0 1`")]
    NoLinks,
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
    /// An element is not a number, not finite or negative.
    #[error("row {row}, column {column}: `{text}` must be a finite number, zero or above")]
    Element {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// Its text.
        text: String,
    },
    /// A row is not as long as the first one.
    #[error("row {row} has {got} columns, but row 0 has {first}")]
    Length {
        /// The row.
        row: usize,
        /// Its length.
        got: usize,
        /// The first one's.
        first: usize,
    },
    /// There are not as many rows as columns.
    #[error("there are {rows} rows of {columns} columns: W has one row and one column per node")]
    Square {
        /// The rows.
        rows: usize,
        /// The columns.
        columns: usize,
    },
    /// Two elements differ that must be the same.
    #[error(
        "row {row}, column {column} has {here} but row {column}, column {row} has {there}: W must be symmetric"
    )]
    Asymmetric {
        /// A row.
        row: usize,
        /// A column.
        column: usize,
        /// The element there.
        here: f32,
        /// The element with row and column exchanged.
        there: f32,
    },
    /// A row's sum is not one.
    #[error("row {row} sums to {sum}: every row must sum to 1; write nine digits of each number")]
    Sum {
        /// The row.
        row: usize,
        /// Its sum.
        sum: f64,
    },
    /// No node keeps anything and all links lead from one half of the nodes to the other: the halves would exchange their
    /// values for ever.
    #[error(
        "no node keeps a share of its own value and the network has two sides, which would swap values for ever: put \
         something on the diagonal"
    )]
    Periodic,
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
    /// A weight is where the graph has no link.
    #[error("row {row}, column {column} has a weight, but nodes {row} and {column} are not linked")]
    NoLink {
        /// Its row.
        row: u32,
        /// Its column.
        column: u32,
    },
    /// A link has no weight.
    #[error("row {row}, column {column} is zero, but nodes {row} and {column} are linked")]
    NoWeight {
        /// Its row.
        row: u32,
        /// Its column.
        column: u32,
    },
}

/// Why a network could not be built from its description.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The kind does not imply the number of nodes, and it was not given.
    #[error("`{0}` needs a node count: pass --nodes")]
    Nodes(Kind),
    /// The kind implies another number of nodes than was given.
    #[error("`{kind}` has {has} nodes, not {wanted}: change the one or the other")]
    Size {
        /// The kind.
        kind: Kind,
        /// The nodes it has.
        has: u64,
        /// The nodes wanted.
        wanted: u32,
    },
    /// The graph was refused.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// There is no such random graph.
    #[error("`{kind}`: {source}")]
    Random {
        /// The kind.
        kind: Kind,
        /// Why.
        source: TopologyError,
    },
    /// No graph with this rho was found.
    #[error("no graph with rho {wanted} was found; the nearest has {nearest:.4}: use that")]
    Far {
        /// The rho wanted.
        wanted: f64,
        /// The nearest that was found.
        nearest: f64,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The edge list of a file was refused.
    #[error("{}: {source}", path.display())]
    EdgeList {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TopologyError,
    },
    /// The weights of a file were refused.
    #[error("{}: {source}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// Why.
        source: WeightsError,
    },
}
