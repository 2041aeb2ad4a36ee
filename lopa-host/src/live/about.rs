//! What is known about a network before it learns.

use std::time::{SystemTime, UNIX_EPOCH};

use lopa_core::problem::Problem;
use serde::Serialize;

use crate::config::{Experiment, ProblemTable};
use crate::metrics::{Meter, Metric};
use crate::report::{self, Image};
use crate::run::Prepared;
use crate::topology::Layout;

/// Networks with more nodes than this are not drawn, and their nodes are not listed.
const MOST_NODES: usize = 1_000;
/// The most elements of x that are shown.
const MOST_ELEMENTS: usize = 16_384;

/// A network, before it learns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct About {
    /// The name of its file.
    pub title: String,
    /// The algorithm.
    pub algorithm: String,
    /// The problem.
    pub problem: String,
    /// The topology.
    pub topology: String,
    /// How many nodes there are.
    pub nodes: u32,
    /// Rounds to do.
    pub rounds: u64,
    /// Where to draw each node; nothing if there are too many.
    pub places: Vec<[f64; 2]>,
    /// The names of nodes, if they have any.
    pub names: Vec<String>,
    /// Who is linked with whom, the lower number first.
    pub links: Vec<[u32; 2]>,
    /// Titles of what is measured of single nodes, by name.
    pub values: Vec<[String; 2]>,
    /// How to draw x, if it is learned.
    pub shared: Option<Shape>,
    /// The version of lopa.
    pub version: &'static str,
    /// When it started to be watched, in seconds since 1970.
    pub since: u64,
}

/// How to draw the shared variable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// What its elements are.
    pub title: String,
    /// A sentence about it.
    pub words: String,
    /// Whether zero is in the middle of the colours.
    pub signed: bool,
    /// The names of elements, or of the columns of a matrix.
    pub names: Vec<String>,
    /// How many elements are drawn, from the first.
    pub elements: usize,
    /// How many elements there are.
    pub of: usize,
    /// Elements from one panel to the next; zero if there are no panels.
    pub stride: usize,
    /// Elements in a row of a panel.
    pub width: usize,
    /// Elements of a panel; those behind it are not drawn.
    pub panel: usize,
    /// What to add to every element.
    #[serde(skip)]
    pub base: f32,
}

impl About {
    /// Of a network from a file with this name.
    #[must_use]
    pub fn of(prepared: &Prepared, title: &str) -> Self {
        let Experiment { network, algorithm, problem, run, .. } = prepared.experiment();
        let topology = prepared.weights().topology();
        let drawn = topology.nodes() <= MOST_NODES;
        let layout: Layout = network.topology.layout();
        let owner = |shard: &crate::data::Shard| shard.owner().map(ToString::to_string);
        let names: Option<Vec<String>> = prepared.material().shards().iter().map(owner).collect();
        let value = |metric: Metric| [metric.name().to_owned(), metric.column().title];
        Self {
            title: title.to_owned(),
            algorithm: algorithm.name.about().title.to_owned(),
            problem: problem_words(*problem).to_owned(),
            topology: network.topology.to_string(),
            nodes: network.nodes,
            rounds: run.iterations,
            places: if drawn { layout.place(topology) } else { Vec::new() },
            names: names.filter(|_| drawn).unwrap_or_default(),
            links: if drawn { topology.links().map(|(a, b)| [a, b]).collect() } else { Vec::new() },
            values: Meter::NODE.map(value).into(),
            shared: Shape::of(prepared),
            version: env!("CARGO_PKG_VERSION"),
            since: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }
}

/// The problem, for people.
const fn problem_words(problem: ProblemTable) -> &'static str {
    match problem {
        ProblemTable::Logistic {} => "logistic regression",
        ProblemTable::Ridge {} => "ridge regression",
        ProblemTable::SharedLayer { .. } => "a shared layer",
        ProblemTable::MetaLogistic { .. } => "meta-learning of classifiers",
        ProblemTable::MetaSquared { .. } => "meta-learning of regressions",
        ProblemTable::Quadratic { .. } => "quadratics",
    }
}

impl Shape {
    fn of(prepared: &Prepared) -> Option<Self> {
        let experiment = prepared.experiment();
        if experiment.algorithm.name.is_single_level() {
            return None;
        }
        let samples = prepared.material().samples().ok()?;
        let of = prepared.problems(&samples).ok()?.first()?.dimensions().outer;
        let table = prepared.material().shards().first().map(|shard| &shard.train);
        let intercept = experiment.data.has_intercept();
        let names = table.map_or_else(Vec::new, |table| report::names(table, intercept));
        let image = table.and_then(|table| Image::of(table, intercept));
        let strengths = experiment.problem.has_strengths();
        let words = match experiment.problem {
            _ if strengths => {
                "The lower the strength, the more a feature is trusted; a high one mutes it."
            }
            ProblemTable::SharedLayer { .. } => "The weights of the shared layer.",
            ProblemTable::Quadratic { .. } => "The elements of the shared variable.",
            _ => "The coefficients that every node starts from before it adapts them.",
        };
        let title = if strengths { report::LOG } else { report::COEFFICIENT };
        let mut shape = Self {
            title: title.to_owned(),
            words: words.to_owned(),
            signed: !strengths,
            names,
            elements: of.min(MOST_ELEMENTS),
            of,
            stride: 0,
            width: 0,
            panel: 0,
            base: prepared.base(),
        };
        match (experiment.problem, image) {
            // A row of weights per unit, then the biases.
            (ProblemTable::SharedLayer { hidden, .. }, image) => {
                let stride = shape.names.len().max(1);
                let rows = hidden.min(MOST_ELEMENTS / stride);
                (shape.stride, shape.elements) = (stride, rows * stride);
                (shape.width, shape.panel) = match image {
                    Some(Image { side, planes }) => (side, side * side * planes),
                    None => (stride, stride),
                };
                if image.is_none() {
                    // One panel with a row per unit.
                    (shape.stride, shape.panel) = (rows * stride, rows * stride);
                }
            }
            (_, Some(Image { side, planes })) => {
                (shape.stride, shape.panel, shape.width) = (side * side, side * side, side);
                shape.elements = (side * side * planes).min(of);
            }
            (_, None) => {}
        }
        if shape.stride > 0 && image.is_some() {
            shape.names = Vec::new();
        }
        Some(shape)
    }
}
