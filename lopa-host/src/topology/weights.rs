//! The mixing matrix W on a graph: symmetric, doubly stochastic, connected.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use lopa_core::network::Edge;

use super::edge_list::lines;
use super::kind::read;
use super::spectrum::Spectrum;
use super::{BuildError, Topology, TopologyError, WeightsError};
use crate::words::serde_as_text;

/// A validated mixing matrix, without its diagonal: a node keeps what its neighbours leave of one.
///
/// ```
/// use lopa_host::topology::{Topology, Weights};
/// let metropolis = Weights::metropolis(&Topology::path(3)?);
/// let third = 1.0 / 3.0_f32;
/// let text = format!("{},{third},0\n{third},{third},{third}\n0,{third},{}", 2.0 * third, 2.0 * third);
/// assert_eq!(Weights::parse(&text)?, metropolis);
///
/// let error = Weights::parse("0.5, 0.5\n0.4, 0.6").unwrap_err();
/// assert_eq!(error.to_string(), "row 0, column 1 has 0.5 but row 1, column 0 has 0.4: W must be symmetric");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Weights {
    topology: Topology,
    edges: Vec<Edge>,
    /// Computed when it is first asked for: it takes long on large networks.
    pub(super) spectrum: OnceLock<Spectrum>,
}

impl PartialEq for Weights {
    fn eq(&self, other: &Self) -> bool {
        self.topology == other.topology && self.edges == other.edges
    }
}

/// Where the weights come from: `metropolis`, or the name of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WeightRule {
    /// The Metropolis rule.
    #[default]
    Metropolis,
    /// A file with the matrix W.
    File(PathBuf),
}

impl FromStr for WeightRule {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "metropolis" { Self::Metropolis } else { Self::File(text.into()) })
    }
}

impl fmt::Display for WeightRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metropolis => f.write_str("metropolis"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

serde_as_text!(WeightRule);

impl WeightRule {
    /// The weights on a graph.
    ///
    /// # Errors
    /// Says what is wrong with the file, or where its weights do not fit the graph.
    pub fn weights(&self, topology: &Topology) -> Result<Weights, BuildError> {
        let Self::File(path) = self else { return Ok(Weights::metropolis(topology)) };
        read(path, |text| {
            let weights = Weights::parse(text)?;
            weights.fit(topology)?;
            Ok(weights)
        })
    }
}

impl Weights {
    /// The Metropolis rule: [`Topology::metropolis`].
    #[must_use]
    pub fn metropolis(topology: &Topology) -> Self {
        Self::known(topology.clone(), topology.metropolis())
    }

    /// Weights that are known to fit the graph.
    const fn known(topology: Topology, edges: Vec<Edge>) -> Self {
        Self { topology, edges, spectrum: OnceLock::new() }
    }

    /// Reads a file with a matrix, as [`Weights::parse`] takes it.
    ///
    /// # Errors
    /// Names the file, and the row and column that are wrong.
    pub fn read(path: &Path) -> Result<Self, BuildError> {
        read(path, Self::parse)
    }

    /// Reads a matrix: one row per line, numbers separated by commas or white space; text after a `#` is a comment. Nodes
    /// are linked where it is positive.
    ///
    /// # Errors
    /// Names the row (and column) that is wrong, or the nodes that no path leads to.
    pub fn parse(text: &str) -> Result<Self, WeightsError> {
        let rows = rows(text)?;
        let at = |row: usize, column: u32| {
            let row = &rows[row];
            row.binary_search_by_key(&column, |&(column, _)| column).map_or(0.0, |i| row[i].1)
        };
        let mut edges = Vec::new();
        for (row, elements) in rows.iter().enumerate() {
            let node = row as u32;
            for &(neighbour, weight) in elements {
                let (column, there) = (neighbour as usize, at(neighbour as usize, node));
                if there != weight {
                    let problem = format!(
                        "has {weight} but row {column}, column {row} has {there}: W must be symmetric"
                    );
                    return Err(WeightsError::Element { row, column, problem });
                }
                if node != neighbour {
                    edges.push(Edge { node, neighbour, weight });
                }
            }
            let sum: f64 = elements.iter().map(|&(_, weight)| f64::from(weight)).sum();
            // Each number, and each sum of a program that works in f32, is rounded once.
            let slack = (elements.len() + 1) as f64 * f64::from(f32::EPSILON);
            if (sum - 1.0).abs() > slack {
                let problem = format!(
                    "sums to {sum}: every row must sum to 1; write nine digits of each number"
                );
                return Err(WeightsError::Row { row, problem });
            }
        }
        let links = edges.iter().filter(|e| e.node < e.neighbour).map(|e| (e.node, e.neighbour));
        let topology = Topology::new(rows.len() as u32, links)?;
        let keeps = (0..).zip(&rows).any(|(row, _)| at(row, row as u32) > 0.0);
        if !keeps && two_sided(&topology) {
            return Err(WeightsError::Periodic);
        }
        Ok(Self::known(topology, edges))
    }

    /// Checks that there is a weight exactly where this graph has a link.
    ///
    /// # Errors
    /// Names the first row and column where there is not.
    pub fn fit(&self, topology: &Topology) -> Result<(), WeightsError> {
        let (got, wanted) = (self.topology.nodes(), topology.nodes());
        if got != wanted {
            return Err(WeightsError::Nodes { got, wanted });
        }
        let missing = |from: &Topology, of: &Topology, has: &str, are: &str| {
            let (a, b) = from.links().find(|(a, b)| of.neighbours(*a).binary_search(b).is_err())?;
            let problem = format!("{has}, but nodes {a} and {b} are {are}");
            Some(WeightsError::Element { row: a as usize, column: b as usize, problem })
        };
        let extra = missing(&self.topology, topology, "has a weight", "not linked");
        let error = extra.or_else(|| missing(topology, &self.topology, "is zero", "linked"));
        error.map_or(Ok(()), Err)
    }

    /// The graph: nodes are linked where W is positive.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Both directions of every link, sorted by (node, neighbour).
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The same nodes, none of which mixes with another.
    #[must_use]
    pub fn silent(&self) -> Self {
        Self::known(self.topology.clone(), Vec::new())
    }

    /// The same weights, rounded down to multiples of 1/256: sums of values that have few bits are then exact, see
    /// [`lopa_core::codec`].
    ///
    /// Both directions of a link stay equal, and nodes keep what is rounded off, so W stays symmetric and doubly stochastic.
    ///
    /// ```
    /// use lopa_host::topology::{Topology, Weights};
    /// let ring = Weights::metropolis(&Topology::ring(10));
    /// let exact = ring.in_256ths()?;
    /// assert!(exact.edges().iter().all(|edge| edge.weight == 85.0 / 256.0));
    /// assert!(exact.spectrum().rho() - ring.spectrum().rho() < 0.001);
    /// # Ok::<(), lopa_host::topology::WeightsError>(())
    /// ```
    ///
    /// # Errors
    /// Names the first link whose weight is below 1/256: it would be cut.
    pub fn in_256ths(&self) -> Result<Self, WeightsError> {
        let rounded = |edge: &Edge| {
            let weight = libm::floorf(edge.weight * 256.0) / 256.0;
            let Edge { node, neighbour, .. } = *edge;
            match weight > 0.0 {
                true => Ok(Edge { node, neighbour, weight }),
                false => Err(WeightsError::Below { node, neighbour, weight: edge.weight }),
            }
        };
        let edges = self.edges.iter().map(rounded).collect::<Result<_, _>>()?;
        Ok(Self::known(self.topology.clone(), edges))
    }

    /// How many neighbours each node has.
    #[must_use]
    pub fn degrees(&self) -> Vec<usize> {
        let mut degrees = vec![0; self.topology().nodes()];
        self.edges.iter().for_each(|edge| degrees[edge.node as usize] += 1);
        degrees
    }
}

/// The elements of a square matrix that are not zero, row by row.
fn rows(text: &str) -> Result<Vec<Vec<(u32, f32)>>, WeightsError> {
    let (mut rows, mut columns) = (Vec::new(), 0);
    for (row, (_, line)) in lines(text).enumerate() {
        // Between commas, or between white space if there are no commas.
        let fields: Vec<&str> = match line.contains(',') {
            true => line.split(',').map(str::trim).collect(),
            false => line.split_whitespace().collect(),
        };
        let mut elements = Vec::new();
        for (column, text) in fields.iter().enumerate() {
            let number = text.parse::<f32>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            let element = number.ok_or_else(|| {
                let problem = format!("is `{text}`, but must be a finite number, zero or above");
                WeightsError::Element { row, column, problem }
            })?;
            if element > 0.0 {
                elements.push((column as u32, element));
            }
        }
        if row == 0 {
            columns = fields.len();
        }
        if fields.len() != columns {
            let problem = format!("has {} columns, but row 0 has {columns}", fields.len());
            return Err(WeightsError::Row { row, problem });
        }
        rows.push(elements);
    }
    match rows.len() {
        0 => Err(TopologyError::Empty.into()),
        len if len != columns => Err(WeightsError::Square { rows: len, columns }),
        _ => Ok(rows),
    }
}

/// Whether all links lead from one half of the nodes to the other.
fn two_sided(topology: &Topology) -> bool {
    let distances = topology.distances(0);
    let odd = |node: u32| distances[node as usize].is_some_and(|length| length % 2 == 1);
    topology.links().all(|(a, b)| odd(a) != odd(b))
}

#[cfg(test)]
mod tests {
    use lopa_core::codec::Share;

    use super::*;

    fn error(text: &str) -> String {
        Weights::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_matrix_of_any_program_is_read() {
        let topology = Topology::erdos_renyi(30, 0.2, 4).unwrap();
        let weights = Weights::metropolis(&topology);
        // Once with the digits of f64 and once with those of f32; rounded sums in both.
        for wide in [true, false] {
            let mut matrix = vec![vec![0.0_f64; 30]; 30];
            for e in weights.edges() {
                let degree = |node| topology.neighbours(node).len();
                let exact = 1.0 / (1 + degree(e.node).max(degree(e.neighbour))) as f64;
                matrix[e.node as usize][e.neighbour as usize] = exact;
            }
            let mut text = String::from("# W\n\n");
            for (i, row) in matrix.iter_mut().enumerate() {
                row[i] = 1.0 - row.iter().sum::<f64>();
                let row =
                    row.iter().map(|&w| if wide { w.to_string() } else { (w as f32).to_string() });
                text += &row.collect::<Vec<_>>().join(if wide { ", " } else { "\t" });
                text += "\r\n";
            }
            assert_eq!(Weights::parse(&text).unwrap(), weights);
        }
        assert_eq!(weights.fit(&topology), Ok(()));
        assert_eq!(Weights::parse("1").unwrap().edges(), []);
    }

    #[test]
    fn weights_in_256ths_are_symmetric_and_doubly_stochastic() {
        let graphs = [
            Topology::ring(10),
            Topology::star(200).unwrap(),
            Topology::complete(255).unwrap(),
            Topology::erdos_renyi(60, 0.2, 3).unwrap(),
            Topology::geometric(80, 0.3, 5).unwrap(),
        ];
        for topology in graphs {
            let weights = Weights::metropolis(&topology);
            let exact = weights.in_256ths().unwrap();
            let mut sums = vec![0.0_f32; topology.nodes()];
            for (edge, before) in exact.edges().iter().zip(weights.edges()) {
                let share = Share::of(edge.weight).unwrap();
                assert!(edge.weight <= before.weight && before.weight - edge.weight < 1.0 / 256.0);
                assert_eq!(share.weight(), edge.weight);
                let back = |e: &&Edge| (e.node, e.neighbour) == (edge.neighbour, edge.node);
                assert_eq!(exact.edges().iter().find(back).unwrap().weight, edge.weight);
                // Exact in f32: all are multiples of 1/256.
                sums[edge.node as usize] += edge.weight;
            }
            assert!(sums.iter().all(|sum| (0.0..1.0).contains(sum)), "{sums:?}");
            // Once rounded, they stay as they are.
            assert_eq!(exact.in_256ths(), Ok(exact));
        }
    }

    #[test]
    fn a_link_that_rounding_would_cut_is_named() {
        let star = Weights::metropolis(&Topology::star(257).unwrap());
        let error = star.in_256ths().unwrap_err().to_string();
        assert!(error.starts_with("the weight of nodes 0 and 1 is 0.0038"), "{error}");
        assert!(Weights::metropolis(&Topology::star(256).unwrap()).in_256ths().is_ok());
    }

    #[test]
    fn errors_name_row_and_column() {
        for wrong in ["x", "nan", "inf", "1e39", "-0.5", ""] {
            assert_eq!(
                error(&format!("0.5,0.5,0\n0.5,0,{wrong}\n0,0.5,0.5")),
                format!("row 1, column 2 is `{wrong}`, but must be a finite number, zero or above")
            );
        }
        assert_eq!(error("1 0\n0"), "row 1 has 1 columns, but row 0 has 2");
        assert!(error("0.5 0.5").starts_with("the matrix has 1 rows and 2 columns"));
        assert!(error("# nothing").contains("at least one node"));
        assert!(
            error("0.5 0.5 0\n0.5 0.5 0\n0 0.1 0.9")
                .starts_with("row 2, column 1 has 0.1 but row 1")
        );
        assert!(error("0.5 0.5 0\n0.5 0.25 0.2\n0 0.2 0.8").starts_with("row 1 sums to 0.95"));
        // Four digits are too few, and the advice says so.
        assert!(error("0.6667 0.3333\n0.3333 0.6666").contains("write nine digits"));
        assert!(error("1 0 0\n0 .5 .5\n0 .5 .5").contains("from node 0 to nodes 1, 2:"));
        assert!(error("0 1\n1 0").contains("put something on the diagonal"));
        assert!(error("0 .5 0 .5\n.5 0 .5 0\n0 .5 0 .5\n.5 0 .5 0").contains("two sides"));
        // A triangle has no two sides.
        assert!(Weights::parse("0 .5 .5\n.5 0 .5\n.5 .5 0").is_ok());
    }

    #[test]
    fn weights_of_another_graph_are_refused() {
        let ring = Weights::metropolis(&Topology::ring(4));
        let text = |topology: &Topology| ring.fit(topology).unwrap_err().to_string();
        assert_eq!(text(&Topology::ring(5)), "the weights are for 4 nodes, but the network has 5");
        assert_eq!(
            text(&Topology::path(4).unwrap()),
            "row 0, column 3 has a weight, but nodes 0 and 3 are not linked"
        );
        assert_eq!(
            text(&Topology::complete(4).unwrap()),
            "row 0, column 2 is zero, but nodes 0 and 2 are linked"
        );
    }
}
