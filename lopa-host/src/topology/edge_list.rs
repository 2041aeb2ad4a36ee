//! Graphs in text files: a link a line.
//!
//! A line has two node numbers, separated by white space or a comma; nodes are numbered from 0. What follows a
//! `#` is a comment.

use std::fmt;

use super::{Topology, TopologyError};

/// Why an edge list was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EdgeListError {
    /// A line is not a pair of numbers.
    Pair {
        /// The line, counted from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A line joins a node to itself.
    Loop {
        /// The line, counted from 1.
        line: usize,
        /// The node.
        node: u32,
    },
    /// A line names a node that the network does not have.
    Node {
        /// The line, counted from 1.
        line: usize,
        /// The node.
        node: u32,
        /// The number of nodes there are.
        nodes: u32,
    },
    /// A line names a number so high that the links of the file cannot connect all nodes below it.
    Gap {
        /// The line, counted from 1.
        line: usize,
        /// The node.
        node: u32,
        /// The links there are.
        links: usize,
    },
    /// There is no link, and nothing says how many nodes there are.
    NoLinks,
    /// The graph was refused.
    Topology(TopologyError),
}

impl fmt::Display for EdgeListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair { line, text } => write!(
                f,
                "line {line}: `{text}` is not a link: write two node numbers, such as `0 1` or `0,1`"
            ),
            Self::Loop { line, node } => {
                write!(f, "line {line} joins node {node} to itself: remove it")
            }
            Self::Node { line, node, nodes } => write!(
                f,
                "line {line} names node {node}, but with {nodes} nodes the last one is {}",
                nodes.saturating_sub(1)
            ),
            Self::Gap { line, node, links } => write!(
                f,
                "line {line} names node {node}, but {links} links cannot connect that many nodes: number the \
                 nodes from 0 without gaps"
            ),
            Self::NoLinks => write!(f, "there is no link: write one a line, such as `0 1`"),
            Self::Topology(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EdgeListError {}

/// The graph that a text describes. Without a number of `nodes`, the last one named is the last one.
///
/// ```
/// use lopa_host::topology::edge_list;
/// let graph = edge_list::parse("# a triangle\n0 1\n1, 2\n2 0  # closed\n", None)?;
/// assert_eq!((graph.nodes(), graph.links().count()), (3, 3));
/// let error = edge_list::parse("0 1\n1 two\n", None).unwrap_err();
/// assert!(error.to_string().starts_with("line 2: `1 two` is not a link"));
/// # Ok::<(), edge_list::EdgeListError>(())
/// ```
///
/// # Errors
/// Names the line that is wrong, or the nodes that no path leads to.
pub fn parse(text: &str, nodes: Option<u32>) -> Result<Topology, EdgeListError> {
    let mut links = Vec::new();
    // The highest node named, and where.
    let mut highest: Option<(u32, usize)> = None;
    for (line, text) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let (a, b) =
            pair(text).ok_or_else(|| EdgeListError::Pair { line, text: text.to_owned() })?;
        if a == b {
            return Err(EdgeListError::Loop { line, node: a });
        }
        let node = a.max(b);
        if let Some(nodes) = nodes.filter(|&nodes| node >= nodes) {
            return Err(EdgeListError::Node { line, node, nodes });
        }
        if highest.is_none_or(|(highest, _)| node > highest) {
            highest = Some((node, line));
        }
        links.push((a, b));
    }
    let nodes = match (nodes, highest) {
        (Some(nodes), _) => nodes,
        (None, None) => return Err(EdgeListError::NoLinks),
        (None, Some((node, line))) if node as usize > links.len() => {
            return Err(EdgeListError::Gap { line, node, links: links.len() });
        }
        (None, Some((node, _))) => node.saturating_add(1),
    };
    Topology::new(nodes, links).map_err(EdgeListError::Topology)
}

/// Two numbers with white space or one comma between them.
fn pair(text: &str) -> Option<(u32, u32)> {
    let (a, b) = match text.split_once(',') {
        Some(pair) => pair,
        None => text.split_once(char::is_whitespace)?,
    };
    // `u32` reads a plus sign too; a file with one is not an edge list.
    let number = |text: &str| {
        let text = text.trim();
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
    };
    Some((number(a)?, number(b)?))
}

/// The text that [`parse`] reads as this graph.
#[must_use]
pub fn format(topology: &Topology) -> String {
    let mut text = format!("# {} nodes, {} links\n", topology.nodes(), topology.links().count());
    for (a, b) in topology.links() {
        text.push_str(&format!("{a} {b}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_write_a_pair_are_read() {
        let text = "\u{feff}# links\r\n0 1\r\n\r\n 1\t2 # a tab\n2,3\n3 , 0\n0 1\n1 0\n";
        let graph = parse(text, None).unwrap();
        assert_eq!(graph.links().collect::<Vec<_>>(), [(0, 1), (0, 3), (1, 2), (2, 3)]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let graph = Topology::geometric(30, 0.4, 2).unwrap();
        assert_eq!(parse(&format(&graph), None).unwrap(), graph);
        let alone = Topology::path(1).unwrap();
        assert_eq!(parse(&format(&alone), Some(1)).unwrap(), alone);
    }

    #[test]
    fn errors_name_the_line() {
        for text in
            ["1", "1 2 3", "1,2,3", "1;2", "-1 2", "+1 2", "1.0 2", "1 99999999999", ",", "a"]
        {
            let error = parse(&format!("0 1\n# so far so good\n{text}\n"), None).unwrap_err();
            assert_eq!(error, EdgeListError::Pair { line: 3, text: text.to_owned() });
        }
        let text = |text, nodes| parse(text, nodes).unwrap_err().to_string();
        assert_eq!(text("0 1\n1 1", None), "line 2 joins node 1 to itself: remove it");
        assert_eq!(
            text("0 1\n\n1 4", Some(4)),
            "line 3 names node 4, but with 4 nodes the last one is 3"
        );
        // No memory is set aside for nodes that cannot be connected.
        assert!(
            text("0 1\n1 4294967295", None)
                .starts_with("line 2 names node 4294967295, but 2 links")
        );
        assert!(text("# nothing\n", None).starts_with("there is no link"));
        assert!(text("0 1\n2 3\n3 4\n2 4", None).contains("from node 0 to nodes 2, 3, 4:"));
        assert!(text("0 1", Some(3)).contains("to node 2:"));
        assert!(text("", Some(0)).contains("at least one node"));
    }
}
