//! What was learned, in a form that can be used.
//!
//! A run writes its [`Model`] to `model.json`: the variables of every node that a prediction needs, and how the numbers of a
//! file become features. [`Model::predict`] applies it to [new samples](crate::data::Fresh), and [`export`] writes one node's
//! part as source code for a chip. All of them use the same [`Folded`] weights and add the same numbers in the same order, so
//! a score has the same bits everywhere.

mod affine;
mod centred;
mod error;
pub mod export;
mod fold;
mod largest;
mod predict;
mod sigmoid;

pub use error::ModelError;
pub use fold::{Folded, Rows};
pub use predict::{Prediction, Predictions, Quality};

use std::path::Path;

use lopa_core::samples::LabelKind;
use serde::{Deserialize, Serialize};

use crate::config::{Experiment, ProblemTable};
use crate::data::csv::Layout;
use crate::data::{Shard, Values};
use crate::words::nearest;

/// The version of the format.
const FORMAT: u32 = 1;

/// The model that every node has learned, and how to apply it to the numbers of a file: `model.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The version of this format.
    format: u32,
    /// What was learned.
    pub problem: Kind,
    /// The units of the shared layer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
    /// What is predicted.
    pub target: Target,
    /// What the columns of the file are that it was learned from. Samples that were not from a CSV file count as one without
    /// a header, with the label in front.
    pub columns: Layout,
    /// Whether features are pixels: 0 to 255 mean 0 to 1.
    pub pixels: bool,
    /// How features are scaled, if they are.
    pub scaling: Option<Scaling>,
    /// Whether there is one more feature, the last, which is always 1.
    pub intercept: bool,
    /// The nodes.
    pub nodes: Vec<NodeModel>,
}

/// A problem, as an experiment file names it. Its other parameters do not change predictions.
// Not the table itself: a tagged table cannot be read if another crate asks serde_json for arbitrary precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Logistic regression.
    Logistic,
    /// Ridge regression.
    Ridge,
    /// A shared sigmoid layer with a personal softmax head.
    SharedLayer,
    /// A classifier that has adapted in one step.
    MetaLogistic,
    /// A regression that has adapted in one step.
    MetaSquared,
}

impl Kind {
    /// The kind of a problem, and the units of its layer; none for quadratics, which have no samples.
    const fn of(problem: ProblemTable) -> Option<(Self, Option<usize>)> {
        Some(match problem {
            ProblemTable::Logistic {} => (Self::Logistic, None),
            ProblemTable::Ridge {} => (Self::Ridge, None),
            ProblemTable::SharedLayer { hidden, .. } => (Self::SharedLayer, Some(hidden)),
            ProblemTable::MetaLogistic { .. } => (Self::MetaLogistic, None),
            ProblemTable::MetaSquared { .. } => (Self::MetaSquared, None),
            ProblemTable::Quadratic { .. } => return None,
        })
    }

    /// The labels it learns from.
    #[must_use]
    pub const fn labels(self) -> LabelKind {
        match self {
            Self::Logistic | Self::MetaLogistic => LabelKind::Binary,
            Self::Ridge | Self::MetaSquared => LabelKind::Real,
            Self::SharedLayer => LabelKind::Class,
        }
    }
}

/// What a model predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Target {
    /// One of these classes.
    Classes(Vec<String>),
    /// A number.
    Number {
        /// Added to what a node predicts, after the multiplication.
        mean: f64,
        /// Multiplies what a node predicts.
        deviation: f64,
    },
}

/// How the numbers of a file became features: less their mean, divided by their deviation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// The mean of every feature.
    pub mean: Vec<f64>,
    /// The deviation of every feature; one that did not change has deviation 0, and is not used.
    pub deviation: Vec<f64>,
}

/// What one node has learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeModel {
    /// Its number in the network.
    pub id: u32,
    /// Its name in the file, or its number.
    pub name: String,
    /// Its own variable.
    pub theta: Vec<f32>,
    /// Its copy of the shared variable, where predictions need it: copies agree only in the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<Vec<f32>>,
}

/// The variables of a node that a model is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variables<'a> {
    /// Its number.
    pub id: u32,
    /// The shared variable.
    pub x: &'a [f32],
    /// Its own variable.
    pub theta: &'a [f32],
}

impl Model {
    /// The name of its file among the results of a run.
    pub const FILE: &'static str = "model.json";

    /// The model of an experiment with these samples; none if it has no samples, as quadratics, or if a node has diverged.
    #[must_use]
    pub fn new<'a>(
        experiment: &Experiment,
        shards: &[Shard],
        learned: impl IntoIterator<Item = Variables<'a>>,
    ) -> Option<Self> {
        let first = shards.first()?;
        let (problem, hidden) = Kind::of(experiment.problem)?;
        let table = &first.train;
        let intercept = experiment.data.has_intercept();
        let width = table.width() - usize::from(intercept);
        let standard = first.standard.as_deref();
        let target = match problem.labels() {
            LabelKind::Real => {
                let (mean, deviation) = standard.map_or((0.0, 1.0), |standard| standard.target);
                Target::Number { mean, deviation }
            }
            LabelKind::Binary | LabelKind::Class => {
                Target::Classes(table.classes().iter().map(|class| class.name.clone()).collect())
            }
        };
        let name = |id: u32| {
            let name = table.owners().and_then(|owners| owners.names.get(id as usize));
            name.cloned().unwrap_or_else(|| id.to_string())
        };
        let node = |Variables { id, x, theta }: Variables<'_>| NodeModel {
            id,
            name: name(id),
            theta: theta.to_vec(),
            x: hidden.map(|_| x.to_vec()),
        };
        let nodes: Vec<NodeModel> = learned.into_iter().map(node).collect();
        let finite = |node: &NodeModel| {
            node.theta.iter().chain(node.x.iter().flatten()).all(|a| a.is_finite())
        };
        nodes.iter().all(finite).then_some(Self {
            format: FORMAT,
            problem,
            hidden,
            target,
            columns: table.layout().cloned().unwrap_or_else(|| Layout::label_first(width)),
            pixels: matches!(table.values(), Values::Bytes(_)),
            scaling: standard.map(|standard| Scaling {
                mean: standard.mean.clone(),
                deviation: standard.deviation.clone(),
            }),
            intercept,
            nodes,
        })
    }

    /// Reads the model in a folder of results.
    ///
    /// # Errors
    /// Says why there is none, or what is wrong with it.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = folder.as_ref().join(Self::FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) => return Err(ModelError::Read { path, error }),
        };
        let wrong = |what| ModelError::Damaged { path: path.clone(), what };
        // Another format may lack anything but its number.
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let parsed = serde_json::from_slice(&text);
        let Format { format } = parsed.map_err(|error| wrong(error.to_string()))?;
        if format != FORMAT {
            return Err(ModelError::Format { path, format });
        }
        let model = serde_json::from_slice::<Self>(&text);
        let model = model.map_err(|error| wrong(error.to_string()))?;
        model.check().map_err(wrong)?;
        Ok(model)
    }

    /// The number of features of a sample, without the intercept.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.columns.features.len()
    }

    /// The names of the features; none if they have none.
    #[must_use]
    pub fn feature_names(&self) -> Option<Vec<&str>> {
        let names = self.columns.header.as_ref()?;
        Some(self.columns.features.iter().map(|&column| names[column].as_str()).collect())
    }

    /// The classes; none if it predicts numbers.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        match &self.target {
            Target::Classes(classes) => classes,
            Target::Number { .. } => &[],
        }
    }

    /// The node that a name or a number means: the only one if none is given.
    ///
    /// # Errors
    /// Says which nodes there are.
    pub fn node(&self, wanted: Option<&str>) -> Result<usize, ModelError> {
        let names = || self.nodes.iter().map(|node| node.name.as_str());
        let Some(wanted) = wanted else {
            return match self.nodes.len() {
                1 => Ok(0),
                _ => Err(ModelError::Which { nodes: list(names()) }),
            };
        };
        // Nodes that have numbers for names are known by these alone.
        let numbered = names().any(|name| name.parse::<f64>().is_ok());
        let by_number = || {
            let id = wanted.parse::<u32>().ok().filter(|_| !numbered)?;
            self.nodes.iter().position(|node| node.id == id)
        };
        names().position(|name| name == wanted).or_else(by_number).ok_or_else(|| {
            let near = nearest(wanted, names());
            let hint = match near {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("nodes are {}", list(names())),
            };
            ModelError::Unknown { wanted: wanted.to_owned(), hint }
        })
    }

    /// Refuses parts that do not fit together.
    fn check(&self) -> Result<(), String> {
        let (columns, width) = (self.columns.columns, self.width());
        let Layout { header, label, node, features, .. } = &self.columns;
        let outside = features.iter().chain([label]).chain(node).any(|&column| column >= columns);
        if width == 0 || outside || header.as_ref().is_some_and(|names| names.len() != columns) {
            return Err("columns do not fit together".into());
        }
        if let Some(Scaling { mean, deviation }) = &self.scaling {
            let finite = mean.iter().chain(deviation).all(|a| a.is_finite());
            if mean.len() != width || deviation.len() != width || !finite {
                return Err("scaling does not fit the features".into());
            }
        }
        let classes = self.classes().len();
        let fits = match self.problem.labels() {
            LabelKind::Binary => classes == 2,
            LabelKind::Class => classes > 1,
            LabelKind::Real => classes == 0,
        };
        if !fits || self.hidden.is_some() != (self.problem == Kind::SharedLayer) {
            return Err("the problem does not fit the target".into());
        }
        let inputs = width + usize::from(self.intercept);
        let (theta, x) = match self.hidden {
            None => (Some(inputs), None),
            Some(hidden) => {
                let inner = hidden.checked_add(1).and_then(|rows| rows.checked_mul(classes));
                (inner, Some(hidden.checked_mul(inputs + 1).filter(|_| hidden > 0)))
            }
        };
        for node in &self.nodes {
            let numbers = node.theta.iter().chain(node.x.iter().flatten());
            let sizes =
                (Some(node.theta.len()), node.x.as_ref().map(|x| Some(x.len()))) == (theta, x);
            if !sizes || numbers.into_iter().any(|a| !a.is_finite()) {
                return Err(format!("the variables of node \"{}\" do not fit", node.name));
            }
        }
        if self.nodes.is_empty() { Err("there are no nodes".into()) } else { Ok(()) }
    }
}

/// The first of many names.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let names: Vec<&str> = names.take(MOST + 1).collect();
    let more = if names.len() > MOST { ", …" } else { "" };
    names[..names.len().min(MOST)].join(", ") + more
}
