//! Graphs in text files: one link per line.
//!
//! A line has two node numbers, separated by white space or a comma; nodes are numbered from 0. Text after a `#` is a
//! comment.

use super::{Topology, TopologyError};

/// The graph that a text describes. If the number of `nodes` is not given, the highest node named is the last one.
///
/// ```
/// use lopa_host::topology::edge_list;
/// let graph = edge_list::parse("# a triangle\n0 1\n1, 2\n2 0  # closed\n", None)?;
/// assert_eq!((graph.nodes(), graph.links().count()), (3, 3));
/// let error = edge_list::parse("0 1\n1 two\n", None).unwrap_err();
/// assert!(error.to_string().starts_with("line 2 must be two node numbers"));
/// # Ok::<(), lopa_host::topology::TopologyError>(())
/// ```
///
/// # Errors
/// Names the line that is wrong, or the nodes that no path leads to.
pub fn parse(text: &str, nodes: Option<u32>) -> Result<Topology, TopologyError> {
    let mut links = Vec::new();
    // The highest node named, and where.
    let mut highest: Option<(u32, usize)> = None;
    for (line, text) in lines(text) {
        let wrong = |problem| TopologyError::Line { line, problem };
        let (a, b) = pair(text).ok_or_else(|| {
            wrong(format!("must be two node numbers, such as `0 1` or `0,1`, got `{text}`"))
        })?;
        if a == b {
            return Err(wrong(format!("joins node {a} to itself: remove it")));
        }
        let node = a.max(b);
        if let Some(nodes) = nodes.filter(|&nodes| node >= nodes) {
            let last = nodes.saturating_sub(1);
            let problem =
                format!("names node {node}, but with {nodes} nodes the last one is {last}");
            return Err(wrong(problem));
        }
        if highest.is_none_or(|(highest, _)| node > highest) {
            highest = Some((node, line));
        }
        links.push((a, b));
    }
    let nodes = match (nodes, highest) {
        (Some(nodes), _) => nodes,
        (None, None) => return Err(TopologyError::NoLinks),
        (None, Some((node, line))) if node as usize > links.len() => {
            let problem = format!(
                "names node {node}, but {} links cannot connect that many nodes: number the nodes from 0 without gaps",
                links.len()
            );
            return Err(TopologyError::Line { line, problem });
        }
        (None, Some((node, _))) => node.saturating_add(1),
    };
    Topology::new(nodes, links)
}

/// The lines of a text, counted from 1, without comments and blank lines.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.trim_start_matches('\u{feff}').lines();
    let bare = lines.map(|line| line.split('#').next().unwrap_or_default().trim());
    (1..).zip(bare).filter(|(_, line)| !line.is_empty())
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
            let expected = "line 3 must be two node numbers, such as `0 1` or `0,1`, got ";
            assert_eq!(error.to_string(), format!("{expected}`{text}`"));
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
        assert!(text("# nothing\n", None).starts_with("there are no links"));
        assert!(text("0 1\n2 3\n3 4\n2 4", None).contains("from node 0 to nodes 2, 3, 4:"));
        assert!(text("0 1", Some(3)).contains("to node 2:"));
        assert!(text("", Some(0)).contains("at least one node"));
    }
}
