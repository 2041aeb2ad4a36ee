//! Topologies by name, as in a file or on a command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::edge_list::{self, EdgeListError};
use super::{FindError, Layout, RandomError, Topology, TopologyError, find};

/// A rho this close to the one asked for is it.
const CLOSE: f64 = 0.005;

/// What kind of graph.
///
/// It is read from and written as one line of text, by serde too:
///
/// ```
/// use lopa_host::topology::Kind;
/// let kind: Kind = "grid 3x4".parse()?;
/// assert_eq!(kind, Kind::Grid { rows: 3, columns: 4 });
/// assert_eq!(kind.to_string(), "grid 3x4");
/// let error = "rign".parse::<Kind>().unwrap_err();
/// assert!(error.to_string().contains("did you mean `ring`?"));
/// # Ok::<(), lopa_host::topology::KindError>(())
/// ```
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Kind {
    /// `path`: every node talks to the one before and the one after.
    Path,
    /// `ring`: a path that is closed.
    Ring,
    /// `star`: every node talks to node 0.
    Star,
    /// `grid 3x4`: neighbours left, right, above and below.
    Grid {
        /// The rows.
        rows: u32,
        /// The columns.
        columns: u32,
    },
    /// `torus 3x4`: a grid whose rows and columns are closed.
    Torus {
        /// The rows.
        rows: u32,
        /// The columns.
        columns: u32,
    },
    /// `complete`: every node talks to every other.
    Complete,
    /// `erdos-renyi 0.3`: every two nodes are linked with this probability.
    ErdosRenyi {
        /// The probability.
        probability: f64,
    },
    /// `geometric 0.4`: nodes fall on a unit square and talk up to this distance.
    Geometric {
        /// The distance.
        radius: f64,
    },
    /// `small-world 4 0.1`: a ring of the four nearest, a tenth of the links moved anywhere.
    SmallWorld {
        /// The nearest ones that each node talks to, half before and half after.
        neighbours: u32,
        /// The share of links moved.
        rewired: f64,
    },
    /// `rho 0.79`: a graph whose rho with Metropolis weights is this, found by [a search](super::find()).
    Rho {
        /// The rho.
        wanted: f64,
    },
    /// `file edges.txt`: an [edge list](edge_list).
    File(PathBuf),
}

/// The names, and how each is written.
const FORMS: [(&str, &str); 11] = [
    ("path", "path"),
    ("ring", "ring"),
    ("star", "star"),
    ("grid", "grid ROWSxCOLUMNS"),
    ("torus", "torus ROWSxCOLUMNS"),
    ("complete", "complete"),
    ("erdos-renyi", "erdos-renyi PROBABILITY"),
    ("geometric", "geometric RADIUS"),
    ("small-world", "small-world NEIGHBOURS REWIRED"),
    ("rho", "rho RHO"),
    ("file", "file PATH"),
];

/// Why a text names no kind of graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindError {
    /// There is no such name.
    Name {
        /// What was written.
        name: String,
        /// A name that looks like it.
        nearest: Option<&'static str>,
    },
    /// What follows the name is not what it takes.
    Form {
        /// What was written.
        text: String,
        /// How to write it.
        form: &'static str,
    },
}

impl fmt::Display for KindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, nearest: Some(nearest) } => {
                write!(f, "there is no topology `{name}`: did you mean `{nearest}`?")
            }
            Self::Name { name, nearest: None } => {
                let names = FORMS.map(|(name, _)| name).join(", ");
                write!(f, "there is no topology `{name}`: choose one of {names}")
            }
            Self::Form { text, form } => {
                let example = form
                    .replace("ROWSxCOLUMNS", "3x4")
                    .replace("PROBABILITY", "0.3")
                    .replace("RADIUS", "0.4")
                    .replace("NEIGHBOURS REWIRED", "4 0.1")
                    .replace("RHO", "0.79")
                    .replace("PATH", "edges.txt");
                if example == *form {
                    write!(f, "`{text}` says too much: write `{form}`")
                } else {
                    write!(f, "`{text}` is not of the form `{form}`: write for example `{example}`")
                }
            }
        }
    }
}

impl std::error::Error for KindError {}

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        let text = text.trim();
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let &(_, form) = FORMS
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| KindError::Name { name: name.to_owned(), nearest: nearest(name) })?;
        let kind = match (name, words.as_slice()) {
            ("path", []) => Some(Self::Path),
            ("ring", []) => Some(Self::Ring),
            ("star", []) => Some(Self::Star),
            ("complete", []) => Some(Self::Complete),
            ("grid", [size]) => sides(size).map(|(rows, columns)| Self::Grid { rows, columns }),
            ("torus", [size]) => sides(size).map(|(rows, columns)| Self::Torus { rows, columns }),
            ("erdos-renyi", [p]) => {
                p.parse().ok().map(|probability| Self::ErdosRenyi { probability })
            }
            ("geometric", [radius]) => radius.parse().ok().map(|radius| Self::Geometric { radius }),
            ("small-world", [neighbours, rewired]) => neighbours
                .parse()
                .ok()
                .zip(rewired.parse().ok())
                .map(|(neighbours, rewired)| Self::SmallWorld { neighbours, rewired }),
            ("rho", [wanted]) => wanted.parse().ok().map(|wanted| Self::Rho { wanted }),
            ("file", [_, ..]) => Some(Self::File(rest.into())),
            _ => None,
        };
        kind.ok_or_else(|| KindError::Form { text: text.to_owned(), form })
    }
}

/// The two numbers of `3x4`.
fn sides(text: &str) -> Option<(u32, u32)> {
    let (rows, columns) = text.split_once('x')?;
    rows.parse().ok().zip(columns.parse().ok())
}

/// The name that looks most like this one, if any does.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase().replace('_', "-");
    FORMS
        .iter()
        .map(|&(known, _)| (strsim::damerau_levenshtein(&name, known), known))
        .min_by_key(|&(distance, _)| distance)
        .filter(|(distance, known)| 2 * distance <= known.len())
        .map(|(_, known)| known)
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("path"),
            Self::Ring => f.write_str("ring"),
            Self::Star => f.write_str("star"),
            Self::Grid { rows, columns } => write!(f, "grid {rows}x{columns}"),
            Self::Torus { rows, columns } => write!(f, "torus {rows}x{columns}"),
            Self::Complete => f.write_str("complete"),
            Self::ErdosRenyi { probability } => write!(f, "erdos-renyi {probability}"),
            Self::Geometric { radius } => write!(f, "geometric {radius}"),
            Self::SmallWorld { neighbours, rewired } => {
                write!(f, "small-world {neighbours} {rewired}")
            }
            Self::Rho { wanted } => write!(f, "rho {wanted}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

impl TryFrom<String> for Kind {
    type Error = KindError;

    fn try_from(text: String) -> Result<Self, KindError> {
        text.parse()
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.to_string()
    }
}

/// Why a kind of graph could not be built.
#[derive(Debug)]
pub enum BuildError {
    /// The kind does not say how many nodes, and nothing else did.
    Nodes(Kind),
    /// The kind says how many nodes, and it was not the number asked for.
    Size {
        /// The kind.
        kind: Kind,
        /// The nodes it has.
        has: u64,
        /// The nodes asked for.
        wanted: u32,
    },
    /// The graph was refused.
    Topology(TopologyError),
    /// There is no such random graph.
    Random {
        /// The kind.
        kind: Kind,
        /// Why.
        error: RandomError,
    },
    /// There is no search for such a graph.
    Find(FindError),
    /// No graph with this rho was found.
    Far {
        /// The rho asked for.
        wanted: f64,
        /// The nearest that was found.
        nearest: f64,
    },
    /// The file cannot be read.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file's edge list was refused.
    EdgeList {
        /// The file.
        path: PathBuf,
        /// Why.
        error: EdgeListError,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(kind) => write!(f, "`{kind}` does not say how many nodes: say it"),
            Self::Size { kind, has, wanted } => {
                write!(f, "`{kind}` has {has} nodes, not {wanted}: change the one or the other")
            }
            Self::Topology(error) => error.fmt(f),
            Self::Random { kind, error } => write!(f, "`{kind}`: {error}"),
            Self::Find(error) => error.fmt(f),
            Self::Far { wanted, nearest } => {
                write!(
                    f,
                    "no graph with rho {wanted} was found, the nearest has {nearest:.4}: ask for that"
                )
            }
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::EdgeList { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for BuildError {}

impl Kind {
    /// The graph. A number of `nodes` is needed unless the kind says it: a grid, a torus or a file.
    ///
    /// ```
    /// use lopa_host::topology::{Kind, Topology};
    /// assert_eq!(Kind::Ring.build(5, 0)?, Topology::ring(5));
    /// let torus: Kind = "torus 3x3".parse()?;
    /// assert_eq!(torus.build(None, 0)?.nodes(), 9);
    /// assert!(torus.build(10, 0).unwrap_err().to_string().contains("has 9 nodes, not 10"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Says what is wrong with the number of nodes, a parameter, or the file.
    pub fn build(&self, nodes: impl Into<Option<u32>>, seed: u64) -> Result<Topology, BuildError> {
        let nodes = nodes.into();
        let random = |error| BuildError::Random { kind: self.clone(), error };
        let needed = || nodes.ok_or_else(|| BuildError::Nodes(self.clone()));
        match *self {
            Self::Path => Topology::path(needed()?).map_err(BuildError::Topology),
            Self::Ring => Topology::torus(1, needed()?).map_err(BuildError::Topology),
            Self::Star => Topology::star(needed()?).map_err(BuildError::Topology),
            Self::Complete => Topology::complete(needed()?).map_err(BuildError::Topology),
            Self::Grid { rows, columns } | Self::Torus { rows, columns } => {
                let has = u64::from(rows) * u64::from(columns);
                if let Some(wanted) = nodes.filter(|&nodes| u64::from(nodes) != has) {
                    return Err(BuildError::Size { kind: self.clone(), has, wanted });
                }
                let grid = matches!(self, Self::Grid { .. });
                let build = if grid { Topology::grid } else { Topology::torus };
                build(rows, columns).map_err(BuildError::Topology)
            }
            Self::ErdosRenyi { probability } => {
                Topology::erdos_renyi(needed()?, probability, seed).map_err(random)
            }
            Self::Geometric { radius } => {
                Topology::geometric(needed()?, radius, seed).map_err(random)
            }
            Self::SmallWorld { neighbours, rewired } => {
                Topology::small_world(needed()?, neighbours, rewired, seed).map_err(random)
            }
            Self::Rho { wanted } => {
                let found = find(wanted, needed()?, seed).map_err(BuildError::Find)?;
                if found.off() > CLOSE {
                    return Err(BuildError::Far { wanted, nearest: found.rho });
                }
                Ok(found.topology)
            }
            Self::File(ref path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| BuildError::File { path: path.clone(), error })?;
                edge_list::parse(&text, nodes)
                    .map_err(|error| BuildError::EdgeList { path: path.clone(), error })
            }
        }
    }

    /// Where a picture has the nodes.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match *self {
            Self::Path | Self::Ring | Self::Complete | Self::SmallWorld { .. } => Layout::Circle,
            Self::Star => Layout::Star,
            Self::Grid { columns, .. } | Self::Torus { columns, .. } => Layout::Grid { columns },
            Self::ErdosRenyi { .. } | Self::Geometric { .. } | Self::Rho { .. } | Self::File(_) => {
                Layout::Springs { seed: 0 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 11] = [
        "path",
        "ring",
        "star",
        "grid 3x4",
        "torus 2x7",
        "complete",
        "erdos-renyi 0.3",
        "geometric 0.4",
        "small-world 4 0.1",
        "rho 0.79",
        "file my edges.txt",
    ];

    #[test]
    fn texts_come_back() {
        for (text, (name, _)) in TEXTS.iter().zip(FORMS) {
            assert!(text.starts_with(name));
            let kind: Kind = text.parse().unwrap();
            assert_eq!(kind.to_string(), *text);
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Kind>(&json).unwrap(), kind);
        }
        assert_eq!(" small-world\t4  0.10 ".parse::<Kind>().unwrap().to_string(), TEXTS[8]);
    }

    #[test]
    fn errors_say_what_was_meant() {
        let text = |text: &str| text.parse::<Kind>().unwrap_err().to_string();
        for (wrong, right) in [
            ("rnig", "ring"),
            ("Ring", "ring"),
            ("erdos_renyi 0.2", "erdos-renyi"),
            ("smallworld 4 0.1", "small-world"),
            ("gird 3x4", "grid"),
            ("compleet", "complete"),
        ] {
            let name = wrong.split(' ').next().unwrap();
            let expected = format!("there is no topology `{name}`: did you mean `{right}`?");
            assert_eq!(text(wrong), expected);
        }
        assert!(text("hypercube").ends_with(
            "choose one of path, ring, star, grid, torus, complete, erdos-renyi, geometric, small-world, rho, file"
        ));
        assert!(text("").contains("choose one of path"));
        for wrong in ["grid", "grid 3", "grid 3x", "grid 3x4x5", "grid 3 4", "grid -3x4"] {
            assert_eq!(
                text(wrong),
                format!(
                    "`{wrong}` is not of the form `grid ROWSxCOLUMNS`: write for example `grid 3x4`"
                )
            );
        }
        assert_eq!(text("ring 5"), "`ring 5` says too much: write `ring`");
        assert!(text("small-world 4").ends_with("write for example `small-world 4 0.1`"));
        assert!(text("erdos-renyi much").ends_with("write for example `erdos-renyi 0.3`"));
        assert!(text("file").ends_with("write for example `file edges.txt`"));
        let error = serde_json::from_str::<Kind>("\"rign\"").unwrap_err().to_string();
        assert!(error.contains("did you mean `ring`?"), "{error}");
    }

    #[test]
    fn what_cannot_be_built_is_said() {
        let text = |kind: &str, nodes: Option<u32>| {
            kind.parse::<Kind>().unwrap().build(nodes, 1).unwrap_err().to_string()
        };
        assert_eq!(text("ring", None), "`ring` does not say how many nodes: say it");
        assert!(text("ring", Some(0)).contains("at least one node"));
        assert!(text("grid 0x4", None).contains("at least one node"));
        assert!(text("torus 65536x65536", Some(9)).contains("has 4294967296 nodes, not 9"));
        assert!(text("torus 65536x65536", None).contains("too large"));
        assert!(
            text("geometric 0.01", Some(50)).starts_with("`geometric 0.01`: none of 100 graphs")
        );
        assert!(text("erdos-renyi NaN", Some(5)).contains("not NaN"));
        assert!(text("file there/is/none", None).starts_with("there/is/none: "));
    }
}
