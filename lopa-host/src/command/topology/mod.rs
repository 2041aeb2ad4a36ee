//! `lopa topology`: prints and draws networks, and finds one with a given rho.

mod list;
mod summary;

use std::path::{Path, PathBuf};

use clap::Args;
use lopa_host::config::{Experiment, NetworkTable};
use lopa_host::csv;
use lopa_host::files;
use lopa_host::topology::{Kind, Layout, WeightRule, Weights, drawing, edge_list, find};

use super::{Failure, json, print, tell};
use summary::Summary;

/// The most nodes for which the whole matrix is written.
const MOST_NODES_OF_A_MATRIX: usize = 10_000;
/// A rho farther than this from the wanted one gets a note.
const FAR: f64 = 0.01;

/// Prints and draws a network, or finds one with a given rho.
///
/// The network is named as in the table `network` of a file: path, ring, star, grid 3x4, torus 3x4, complete,
/// erdos-renyi 0.3, geometric 0.4, small-world 4 0.1, rho 0.79 or file edges.txt. `lopa topology list` describes them.
/// Weights are Metropolis weights unless --weights names a file.
///
/// rho bounds how much of the nodes' squared disagreement is left after a round: 0 means none, 1 means all of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lopa topology grid 3x4 --svg grid.svg\n  \
    lopa topology ring --nodes 10 --json\n  \
    lopa topology --rho 0.79 --nodes 10 --edges found.txt\n  \
    lopa topology network.toml\n\n\
    A network for `lopa run` goes into the file's [network] table:\n  \
    [network]\n  \
    nodes = 10\n  \
    topology = \"file found.txt\"   # written by --edges, or a name such as \"ring\"\n  \
    weights = \"weights.csv\"       # written by --weights-out; Metropolis weights if not given\n\n\
    Exit status: 0 success, 2 bad usage or input.")]
pub(crate) struct Topology {
    /// The network: its name, an experiment file (TOML), or `list`.
    #[arg(value_name = "NETWORK")]
    words: Vec<String>,
    /// Number of nodes; not needed for a grid, a torus or a file.
    #[arg(long, allow_negative_numbers = true)]
    nodes: Option<u32>,
    /// Seed of random networks and of the search for a rho [default: 1].
    #[arg(long)]
    seed: Option<u64>,
    /// CSV file with the weight matrix W; without a NETWORK it also defines the network.
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Finds a network with this rho, in [0, 1), with Metropolis weights.
    #[arg(long, allow_negative_numbers = true)]
    rho: Option<f64>,
    /// Rounds weights down to multiples of 1/256, and shows what that does to rho. Sums of values with few bits are then exact.
    #[arg(long)]
    exact: bool,
    /// Draws the network as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Writes the links, one pair of nodes per line.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
    /// Writes the weight matrix W as CSV; it reads back to the same bits.
    #[arg(long, value_name = "FILE")]
    weights_out: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Lists the kinds of networks.
    #[arg(long)]
    list: bool,
}

/// A network and its name.
struct Named {
    weights: Weights,
    title: String,
    /// As in a file; none for a network that was found, or read from a matrix.
    kind: Option<Kind>,
    seed: u64,
    /// The file its weights come from.
    matrix: Option<PathBuf>,
    /// The rho that was wanted.
    wanted: Option<f64>,
}

impl Topology {
    /// Prints, draws and writes the network.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.list || self.words == ["list"] {
            if self.list && !self.words.is_empty() {
                return Err(Failure::input("--list shows all networks: omit the name"));
            }
            return print(&list::list(self.json)?);
        }
        let mut network = self.network()?;
        let unrounded = match self.exact {
            true => {
                let exact = network.weights.in_256ths().map_err(Failure::input)?;
                Some(std::mem::replace(&mut network.weights, exact))
            }
            false => None,
        };
        let (title, wanted) = (network.title.clone(), network.wanted);
        let summary = Summary::new(&network.weights, unrounded.as_ref(), title, wanted);
        let outputs = self.outputs(&network)?;
        let text = match self.json {
            true => json(&summary)?,
            false => summary.text() + &self.advice(&network),
        };
        files::put_all(&outputs).map_err(Failure::input)?;
        print(&text)?;
        if let Some(wanted) = network.wanted.filter(|wanted| (summary.rho - wanted).abs() > FAR) {
            tell(format_args!(
                "lopa: no network of {} nodes with a rho closer to {wanted} was found: change --nodes",
                summary.nodes
            ));
        }
        Ok(())
    }

    /// Reads, finds or builds the network.
    fn network(&self) -> Result<Named, Failure> {
        let text = self.words.join(" ");
        if let Some(rho) = self.rho {
            return self.found(rho, &text);
        }
        let toml = Path::new(&text).extension().is_some_and(|ending| ending == "toml");
        if toml && !text.starts_with("file ") {
            return self.of_experiment(Path::new(&text));
        }
        let kind = match text.is_empty() {
            true => return self.of_weights(),
            false => text.parse().map_err(Failure::input)?,
        };
        let rule = self.weights.clone().map_or(WeightRule::Metropolis, WeightRule::File);
        Named::new(kind, self.nodes, self.seed(), rule)
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// A network that only its weights describe.
    fn of_weights(&self) -> Result<Named, Failure> {
        let path = self.weights.as_deref().ok_or_else(|| {
            Failure::input(
                "name a network such as `ring --nodes 10` or `grid 3x4`, or pass --rho to find one; \
                 `lopa topology list` shows all kinds",
            )
        })?;
        let weights = Weights::read(path).map_err(Failure::input)?;
        let nodes = weights.topology().nodes();
        if let Some(wanted) = self.nodes.filter(|&wanted| wanted as usize != nodes) {
            let what = format!("the weights are for {nodes} nodes, not {wanted}: omit --nodes");
            return Err(Failure::input(what));
        }
        let (title, matrix) = (format!("weights {}", path.display()), Some(path.into()));
        Ok(Named { weights, title, kind: None, seed: self.seed(), matrix, wanted: None })
    }

    /// Finds a network with this rho.
    fn found(&self, rho: f64, text: &str) -> Result<Named, Failure> {
        if !text.is_empty() || self.weights.is_some() {
            let what = "--rho finds a network with Metropolis weights: omit the name and --weights";
            return Err(Failure::input(what));
        }
        let nodes =
            self.nodes.ok_or_else(|| Failure::input("--rho needs a node count: pass --nodes"))?;
        let seed = self.seed();
        let found = find(rho, nodes, seed).map_err(Failure::input)?;
        let weights = Weights::metropolis(&found.topology);
        let title = format!("found for rho = {rho}");
        Ok(Named { weights, title, kind: None, seed, matrix: None, wanted: Some(rho) })
    }

    /// The network that `lopa run` would use.
    fn of_experiment(&self, file: &Path) -> Result<Named, Failure> {
        if self.nodes.is_some() || self.seed.is_some() || self.weights.is_some() {
            let what = "the file describes the network: omit --nodes, --seed and --weights";
            return Err(Failure::input(what));
        }
        let NetworkTable { nodes, topology, weights, seed } =
            Experiment::read(file).map_err(Failure::input)?.network;
        Named::new(topology, Some(nodes), seed, weights)
    }

    /// The files to write.
    fn outputs(&self, network: &Named) -> Result<Vec<(PathBuf, String)>, Failure> {
        let weights = &network.weights;
        let mut files: Vec<(PathBuf, String)> = Vec::new();
        if let Some(path) = &self.svg {
            let layout = network.kind.as_ref().map_or(Layout::Springs { seed: 0 }, Kind::layout);
            files.push((path.clone(), drawing::svg(weights, layout, &network.title)));
        }
        if let Some(path) = &self.edges {
            files.push((path.clone(), edge_list::format(weights.topology())));
        }
        if let Some(path) = &self.weights_out {
            let nodes = weights.topology().nodes();
            if nodes > MOST_NODES_OF_A_MATRIX {
                let what = format!(
                    "the matrix of {nodes} nodes is too large for a file: at most {MOST_NODES_OF_A_MATRIX} nodes; \
                     --edges writes the links"
                );
                return Err(Failure::input(what));
            }
            files.push((path.clone(), csv(weights)));
        }
        for (place, (path, _)) in files.iter().enumerate() {
            if files[..place].iter().any(|(other, _)| other == path) {
                let what = format!(
                    "{} is given for two outputs: name a separate file for each",
                    path.display()
                );
                return Err(Failure::input(what));
            }
        }
        Ok(files)
    }

    /// How to use the network in an experiment file.
    fn advice(&self, network: &Named) -> String {
        let quoted = |text: String| toml::Value::String(text).to_string();
        let topology = match (&self.edges, &network.kind) {
            (Some(path), _) => format!("file {}", path.display()),
            (None, Some(kind)) => kind.to_string(),
            (None, None) => {
                return "\n--edges FILE saves the network for `lopa run`\n".into();
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
    /// Builds a network by its name.
    fn new(kind: Kind, nodes: Option<u32>, seed: u64, rule: WeightRule) -> Result<Self, Failure> {
        let topology = kind.build(nodes, seed).map_err(Failure::input)?;
        let weights = rule.weights(&topology).map_err(Failure::input)?;
        let matrix = match rule {
            WeightRule::Metropolis => None,
            WeightRule::File(path) => Some(path),
        };
        let title = kind.to_string();
        Ok(Self { weights, title, kind: Some(kind), seed, matrix, wanted: None })
    }
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
