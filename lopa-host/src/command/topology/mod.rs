//! `lopa topology`: prints and draws networks, and finds one that mixes as fast as wanted.

mod figures;
mod list;

use std::path::{Path, PathBuf};

use clap::Args;
use lopa_host::config::Experiment;
use lopa_host::csv;
use lopa_host::files;
use lopa_host::topology::{BuildError, Kind, Layout, Weights, drawing, edge_list, find};

use super::{Failure, print};
use figures::Figures;

/// The most nodes whose whole matrix is written.
const MOST_NODES_OF_A_MATRIX: usize = 10_000;
/// Farther than this from a wanted rho is worth a word.
const FAR: f64 = 0.01;

/// Prints and draws a network, or finds one that mixes as fast as wanted.
///
/// The network is named in the words of the table network of a file: path, ring, star, grid 3x4, torus 3x4, complete,
/// erdos-renyi 0.3, geometric 0.4, small-world 4 0.1, rho 0.79 or file edges.txt. `lopa topology list` shows them all. Weights are
/// Metropolis' unless a file says otherwise.
///
/// rho is the factor by which the squared disagreement of the nodes shrinks in a round, or more: 0 is at once, 1 never.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lopa topology grid 3x4 --svg grid.svg\n  \
    lopa topology ring --nodes 10 --json\n  \
    lopa topology --rho 0.79 --nodes 10 --edges found.txt\n  \
    lopa topology network.toml\n\n\
    A network for `lopa run` goes into the file's [network] table:\n  \
    [network]\n  \
    nodes = 10\n  \
    topology = \"file found.txt\"   # what --edges wrote, or a name such as \"ring\"\n  \
    weights = \"weights.csv\"       # what --weights-out wrote; without it, Metropolis'\n\n\
    Exit status: 0, 2 bad usage or input.")]
pub(crate) struct Topology {
    /// The network: its name, a file for `lopa run` that ends in .toml, or `list`.
    #[arg(value_name = "NETWORK")]
    words: Vec<String>,
    /// How many nodes; a grid, a torus and a file say it themselves.
    #[arg(long, allow_negative_numbers = true)]
    nodes: Option<u32>,
    /// The seed of random networks, and of the search for a rho; 1 if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// The weights, a CSV file with the matrix W; it alone names the network too.
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Finds a network with this rho, at least 0 and below 1, with Metropolis' weights.
    #[arg(long, allow_negative_numbers = true)]
    rho: Option<f64>,
    /// Draws the network.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Writes the links, a pair of nodes a line.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
    /// Writes the weights, the matrix W as CSV; it reads back to the same bits.
    #[arg(long, value_name = "FILE")]
    weights_out: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Lists the kinds of networks.
    #[arg(long)]
    list: bool,
}

/// A network, and what it is called.
struct Named {
    weights: Weights,
    layout: Layout,
    /// In the words of a file; nothing for one that was found or read from a matrix.
    kind: Option<Kind>,
    seed: u64,
    /// The file its weights come from.
    matrix: Option<PathBuf>,
    /// The rho that was wanted.
    wanted: Option<f64>,
}

impl Topology {
    /// Prints, draws and writes what is asked for.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.list || self.words == ["list"] {
            if self.list && !self.words.is_empty() {
                return Err(Failure::input("--list shows all networks: leave the name out"));
            }
            return print(&list::list(self.json)?);
        }
        let network = self.network()?;
        let figures = Figures::new(&network.weights, network.title(), network.wanted);
        let outputs = self.outputs(&network)?;
        let text = if self.json { figures.json() } else { figures.text() + &self.advice(&network) };
        files::put_all(&outputs).map_err(Failure::input)?;
        print(&text)?;
        if let Some(wanted) = network.wanted.filter(|wanted| (figures.rho - wanted).abs() > FAR) {
            eprintln!(
                "lopa: no network of {} nodes that was tried comes closer to rho = {wanted}: change --nodes",
                figures.nodes
            );
        }
        Ok(())
    }

    /// Reads, finds or builds what the arguments name.
    fn network(&self) -> Result<Named, Failure> {
        let text = self.words.join(" ");
        if let Some(rho) = self.rho {
            return self.found(rho, &text);
        }
        let toml = Path::new(&text).extension().is_some_and(|ending| ending == "toml");
        if toml && !text.starts_with("file ") {
            return self.of_experiment(Path::new(&text));
        }
        self.by_name(&text)
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Builds a network by its name, or from its weights alone.
    fn by_name(&self, text: &str) -> Result<Named, Failure> {
        let seed = self.seed();
        let matrix = self.weights.as_deref().map(matrix).transpose()?;
        if text.is_empty() {
            let weights = matrix.ok_or_else(|| {
                Failure::input(
                    "name a network such as `ring --nodes 10` or `grid 3x4`, or a --rho to find one; \
                     `lopa topology list` shows what there is",
                )
            })?;
            let nodes = weights.topology().nodes();
            if let Some(wanted) = self.nodes.filter(|&wanted| wanted as usize != nodes) {
                let what =
                    format!("the weights are for {nodes} nodes, not {wanted}: leave --nodes out");
                return Err(Failure::input(what));
            }
            return Ok(Named {
                weights,
                layout: Layout::Springs { seed: 0 },
                kind: None,
                seed,
                matrix: self.weights.clone(),
                wanted: None,
            });
        }
        let kind: Kind = text.parse().map_err(Failure::input)?;
        let topology = kind.build(self.nodes, seed).map_err(|error| match error {
            BuildError::Nodes(kind) => {
                Failure::input(format!("`{kind}` does not say how many nodes: add --nodes 10"))
            }
            other => Failure::input(other),
        })?;
        let weights = match matrix {
            Some(weights) => {
                weights.fit(&topology).map_err(Failure::input)?;
                weights
            }
            None => Weights::metropolis(&topology),
        };
        let (layout, matrix) = (kind.layout(), self.weights.clone());
        Ok(Named { weights, layout, kind: Some(kind), seed, matrix, wanted: None })
    }

    /// Finds a network with this rho.
    fn found(&self, rho: f64, text: &str) -> Result<Named, Failure> {
        let seed = self.seed();
        if !text.is_empty() || self.weights.is_some() {
            let what =
                "--rho finds a network with Metropolis' weights: leave the name and --weights out";
            return Err(Failure::input(what));
        }
        let nodes = self
            .nodes
            .ok_or_else(|| Failure::input("--rho does not say how many nodes: add --nodes 10"))?;
        let found = find(rho, nodes, seed).map_err(Failure::input)?;
        Ok(Named {
            weights: Weights::metropolis(&found.topology),
            layout: Layout::Springs { seed: 0 },
            kind: None,
            seed,
            matrix: None,
            wanted: Some(rho),
        })
    }

    /// The network that `lopa run` would use.
    fn of_experiment(&self, file: &Path) -> Result<Named, Failure> {
        if self.nodes.is_some() || self.seed.is_some() || self.weights.is_some() {
            let what = "the file says which network: leave --nodes, --seed and --weights out";
            return Err(Failure::input(what));
        }
        let table = Experiment::read(file).map_err(Failure::input)?.network;
        let matrix = (table.weights != "metropolis").then(|| PathBuf::from(&table.weights));
        let same = Self {
            words: Vec::new(),
            nodes: Some(table.nodes),
            seed: Some(table.seed),
            weights: matrix,
            rho: None,
            svg: None,
            edges: None,
            weights_out: None,
            json: false,
            list: false,
        };
        same.by_name(&table.topology)
    }

    /// The files that are asked for.
    fn outputs(&self, network: &Named) -> Result<Vec<(PathBuf, String)>, Failure> {
        let weights = &network.weights;
        let mut files: Vec<(PathBuf, String)> = Vec::new();
        if let Some(path) = &self.svg {
            let picture = drawing::svg(weights, network.layout, &network.title());
            files.push((path.clone(), picture));
        }
        if let Some(path) = &self.edges {
            files.push((path.clone(), edge_list::format(weights.topology())));
        }
        if let Some(path) = &self.weights_out {
            let nodes = weights.topology().nodes();
            if nodes > MOST_NODES_OF_A_MATRIX {
                let what = format!(
                    "the matrix of {nodes} nodes is too large for a file: {MOST_NODES_OF_A_MATRIX} are the \
                     most; --edges writes the links"
                );
                return Err(Failure::input(what));
            }
            files.push((path.clone(), csv(weights)));
        }
        for (place, (path, _)) in files.iter().enumerate() {
            if files[..place].iter().any(|(other, _)| other == path) {
                let what = format!("{} is to hold two things: give each a file", path.display());
                return Err(Failure::input(what));
            }
        }
        Ok(files)
    }

    /// How the network goes into a file for `lopa run`.
    fn advice(&self, network: &Named) -> String {
        let quoted = |text: String| toml::Value::String(text).to_string();
        let topology = match (&self.edges, &network.kind) {
            (Some(path), _) => format!("file {}", path.display()),
            (None, Some(kind)) => kind.to_string(),
            (None, None) => {
                return "\n--edges FILE keeps the network for `lopa run`\n".into();
            }
        };
        let random = matches!(
            network.kind,
            Some(
                Kind::ErdosRenyi { .. }
                    | Kind::Geometric { .. }
                    | Kind::SmallWorld { .. }
                    | Kind::Rho { .. }
            )
        );
        let mut text = format!(
            "\nfor `lopa run`, paths relative to its file:\n  [network]\n  nodes = {}\n  topology = {}\n",
            network.weights.topology().nodes(),
            quoted(topology)
        );
        if random && self.edges.is_none() {
            text += &format!("  seed = {}\n", network.seed);
        }
        if let Some(path) = self.weights_out.as_ref().or(network.matrix.as_ref()) {
            text += &format!("  weights = {}\n", quoted(path.display().to_string()));
        }
        text
    }
}

impl Named {
    fn title(&self) -> String {
        match (&self.kind, &self.matrix, self.wanted) {
            (Some(kind), ..) => kind.to_string(),
            (None, _, Some(rho)) => format!("found for rho = {rho}"),
            (None, Some(path), None) => format!("weights {}", path.display()),
            (None, None, None) => "network".into(),
        }
    }
}

fn matrix(path: &Path) -> Result<Weights, Failure> {
    let named =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    Weights::parse(&text).map_err(|error| named(&error))
}

/// The matrix W, with what each node keeps on its diagonal.
fn csv(weights: &Weights) -> String {
    let nodes = weights.topology().nodes();
    let mut text = String::new();
    let mut edges = weights.edges().iter().peekable();
    for node in 0..nodes {
        let mut row = vec![0.0_f32; nodes];
        let mut given = 0.0_f64;
        while let Some(edge) = edges.next_if(|edge| edge.node as usize == node) {
            row[edge.neighbour as usize] = edge.weight;
            given += f64::from(edge.weight);
        }
        row[node] = (1.0 - given).max(0.0) as f32;
        text += &csv::line(row);
    }
    text
}
