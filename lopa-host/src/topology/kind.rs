//! Topologies by name, as in a file or on a command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::find::find_once;
use super::{BuildError, Layout, Topology, TopologyError, WeightsError, edge_list};
use crate::words::{Form, FormError, serde_as_text};

/// A rho this close to the wanted one is accepted.
const CLOSE: f64 = 0.005;

/// What kind of graph.
///
/// It is read from and written as a text, by serde too:
///
/// ```
/// use lopa_host::topology::Kind;
/// let kind: Kind = "grid 3x4".parse()?;
/// assert_eq!(kind, Kind::Grid { rows: 3, columns: 4 });
/// assert_eq!(kind.to_string(), "grid 3x4");
/// let error = "rign".parse::<Kind>().unwrap_err();
/// assert!(error.to_string().contains("did you mean `ring`?"));
/// # Ok::<(), lopa_host::words::FormError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `path`: every node is linked to the one before and the one after.
    Path,
    /// `ring`: a closed path.
    Ring,
    /// `star`: every node is linked to node 0.
    Star,
    /// `grid 3x4`: neighbours left, right, above and below.
    Grid {
        /// The rows.
        rows: u32,
        /// The columns.
        columns: u32,
    },
    /// `torus 3x4`: a grid whose rows and columns are rings.
    Torus {
        /// The rows.
        rows: u32,
        /// The columns.
        columns: u32,
    },
    /// `complete`: every node is linked to every other.
    Complete,
    /// `erdos-renyi 0.3`: every two nodes are linked with this probability.
    ErdosRenyi {
        /// The probability.
        probability: f64,
    },
    /// `geometric 0.4`: random points in a unit square, linked up to this distance.
    Geometric {
        /// The distance.
        radius: f64,
    },
    /// `small-world 4 0.1`: a ring with links to the four nearest nodes, a tenth of them moved to random nodes.
    SmallWorld {
        /// The nearest nodes that each node is linked to, half before and half after.
        neighbours: u32,
        /// The fraction of links that are moved.
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

const FORMS: [Form; 11] = [
    Form::new("path", "path"),
    Form::new("ring", "ring"),
    Form::new("star", "star"),
    Form::new("grid ROWSxCOLUMNS", "grid 3x4"),
    Form::new("torus ROWSxCOLUMNS", "torus 3x4"),
    Form::new("complete", "complete"),
    Form::new("erdos-renyi PROBABILITY", "erdos-renyi 0.3"),
    Form::new("geometric RADIUS", "geometric 0.4"),
    Form::new("small-world NEIGHBOURS REWIRED", "small-world 4 0.1"),
    Form::new("rho RHO", "rho 0.79"),
    Form::new("file PATH", "file edges.txt"),
];

impl FromStr for Kind {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        Form::parse("topology", &FORMS, text, |name, rest| {
            let words: Vec<&str> = rest.split_whitespace().collect();
            Some(match (name, words.as_slice()) {
                ("path", []) => Self::Path,
                ("ring", []) => Self::Ring,
                ("star", []) => Self::Star,
                ("complete", []) => Self::Complete,
                ("grid" | "torus", [size]) => {
                    let (rows, columns) = size.split_once('x')?;
                    let (rows, columns) = (rows.parse().ok()?, columns.parse().ok()?);
                    match name {
                        "grid" => Self::Grid { rows, columns },
                        _ => Self::Torus { rows, columns },
                    }
                }
                ("erdos-renyi", [p]) => Self::ErdosRenyi { probability: p.parse().ok()? },
                ("geometric", [radius]) => Self::Geometric { radius: radius.parse().ok()? },
                ("small-world", [neighbours, rewired]) => Self::SmallWorld {
                    neighbours: neighbours.parse().ok()?,
                    rewired: rewired.parse().ok()?,
                },
                ("rho", [wanted]) => Self::Rho { wanted: wanted.parse().ok()? },
                ("file", [_, ..]) => Self::File(rest.into()),
                _ => return None,
            })
        })
    }
}

serde_as_text!(Kind);

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

impl Kind {
    /// The graph. The number of `nodes` is needed unless the kind implies it: a grid, a torus or a file.
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
        let needed = || nodes.ok_or_else(|| BuildError::Nodes(self.clone()));
        let built = match *self {
            Self::Path => Topology::path(needed()?),
            Self::Ring => Topology::torus(1, needed()?),
            Self::Star => Topology::star(needed()?),
            Self::Complete => Topology::complete(needed()?),
            Self::Grid { rows, columns } | Self::Torus { rows, columns } => {
                let has = u64::from(rows) * u64::from(columns);
                match nodes {
                    Some(wanted) if u64::from(wanted) != has => {
                        Err(TopologyError::Size(has, wanted))
                    }
                    _ if matches!(self, Self::Grid { .. }) => Topology::grid(rows, columns),
                    _ => Topology::torus(rows, columns),
                }
            }
            Self::ErdosRenyi { probability } => Topology::erdos_renyi(needed()?, probability, seed),
            Self::Geometric { radius } => Topology::geometric(needed()?, radius, seed),
            Self::SmallWorld { neighbours, rewired } => {
                Topology::small_world(needed()?, neighbours, rewired, seed)
            }
            Self::Rho { wanted } => match find_once(wanted, needed()?, seed) {
                Ok(found) if found.off() > CLOSE => Err(TopologyError::Far(found.rho)),
                found => found.map(|found| found.topology),
            },
            Self::File(ref path) => {
                return read(path, |text| Ok(edge_list::parse(text, nodes)?));
            }
        };
        built.map_err(|source| BuildError::Graph { kind: self.clone(), source })
    }

    /// How a drawing places the nodes.
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

/// Reads a file that `parse` understands; every error names the file.
pub(super) fn read<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, WeightsError>,
) -> Result<T, BuildError> {
    let path = path.to_path_buf();
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text).map_err(|source| BuildError::Contents { path, source }),
        Err(source) => Err(BuildError::File { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in FORMS.map(|form| form.example).into_iter().chain(["file my edges.txt"]) {
            let kind: Kind = text.parse().unwrap();
            assert_eq!(kind.to_string(), text);
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Kind>(&json).unwrap(), kind);
        }
        let spaced: Kind = " small-world\t4  0.10 ".parse().unwrap();
        assert_eq!(spaced.to_string(), "small-world 4 0.1");
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
            let expected =
                format!("unknown topology `{name}`: did you mean `{right}`? valid forms");
            assert!(text(wrong).starts_with(&expected), "{}", text(wrong));
        }
        assert_eq!(
            text("hypercube"),
            "unknown topology `hypercube`: valid forms are `path`, `ring`, `star`, `grid ROWSxCOLUMNS`, \
             `torus ROWSxCOLUMNS`, `complete`, `erdos-renyi PROBABILITY`, `geometric RADIUS`, \
             `small-world NEIGHBOURS REWIRED`, `rho RHO`, `file PATH`"
        );
        assert!(text("").contains("valid forms are `path`"));
        for wrong in ["grid", "grid 3", "grid 3x", "grid 3x4x5", "grid 3 4", "grid -3x4"] {
            assert_eq!(
                text(wrong),
                format!("`{wrong}`: the form is `grid ROWSxCOLUMNS`, for example `grid 3x4`")
            );
        }
        assert_eq!(text("ring 5"), "`ring 5`: `ring` takes no arguments");
        assert!(text("small-world 4").ends_with("for example `small-world 4 0.1`"));
        assert!(text("erdos-renyi much").ends_with("for example `erdos-renyi 0.3`"));
        assert!(text("file").ends_with("for example `file edges.txt`"));
        let error = serde_json::from_str::<Kind>("\"rign\"").unwrap_err().to_string();
        assert!(error.contains("did you mean `ring`?"), "{error}");
    }

    #[test]
    fn build_errors_name_the_cause() {
        let text = |kind: &str, nodes: Option<u32>| {
            kind.parse::<Kind>().unwrap().build(nodes, 1).unwrap_err().to_string()
        };
        assert!(text("torus 65536x65536", Some(9)).contains("has 4294967296 nodes, not 9"));
        assert!(text("torus 65536x65536", None).contains("too large"));
        assert!(
            text("geometric 0.01", Some(50))
                .starts_with("`geometric 0.01`: none of 100 random graphs")
        );
        assert!(text("file there/is/none", None).starts_with("cannot read there/is/none: "));
    }
}
